"""Optuna: a sampler for noisy objectives, and the point to use in the end.

>>> import optuna
>>> from noisewise.integrations.optuna import NoisewiseSampler, recommended_params
>>> study = optuna.create_study(sampler=NoisewiseSampler(n_trials=200, seed=1))

See docs/guides/optuna.md.
"""

from __future__ import annotations

import logging
import math
import threading
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from noisewise._check import positive_real, shown
from noisewise.integrations import _records
from noisewise.integrations._distributions import searchable
from noisewise.integrations._extra import extra
from noisewise.integrations._settings import Wanted, check_start, encoded
from noisewise.methods import Method
from noisewise.noise.estimate import estimate

optuna = extra("optuna")
_BaseSampler: Any = optuna.samplers.BaseSampler

__all__ = ["NoisewiseSampler", "Recommended", "recommended_params"]

#: Shortest and longest pause, in seconds, between two looks at what other workers do.
_PAUSE = (0.01, 1.0)
#: How often a worker tries for an evaluation that others claim at the same moment.
_TRIES = 20
#: Seconds of waiting after which the user is told for what.
_PATIENCE = 10.0

#: Below Optuna's, so that its verbosity counts.
_logger = logging.getLogger("optuna.noisewise")


@dataclass(frozen=True)
class Recommended:
    """The parameters to use, with an honest estimate of the objective there.

    ``params`` has what was searched and what has a single value; what was left to the independent
    sampler is not in it.

    ``value`` is the mean of the ``n_values`` trials that measured these very parameters after they
    had been chosen, ``standard_error`` its standard error. Where there are fewer than two,
    ``n_values`` is 0 and both are those of the last generation, which was sampled around the
    recommendation and not selected. nan where too little is known.

    >>> from noisewise.integrations.optuna import Recommended
    >>> Recommended({"rate": 0.01}, value=0.5, standard_error=0.1, n_values=10).params
    {'rate': 0.01}
    """

    params: dict[str, Any]
    value: float
    standard_error: float
    n_values: int


@final
class NoisewiseSampler(_BaseSampler):  # type: ignore[misc]
    """An Optuna sampler that minimises (or maximises) an expected value under a fixed budget.

    Parameters
    ----------
    n_trials
        How many trials the study will have in all. None: the search goes on without end in stages,
        each twice as long as the one before and starting from its recommendation.
    seed
        A non-negative whole number; None: drawn from the study. The first worker's seed holds for
        the study, so workers may bring the same or none.
    method
        A name of `noisewise.list_methods` or an object from `noisewise.methods`.
    workers
        How many trials run at the same time; methods make generations that fill them.
    search_space
        Distributions by name, where they are known beforehand; None: learnt from the first
        completed trial, which is drawn at random.
    x0
        Parameters to start at; the middle of every range that is left out.
    sigma0
        First step size, as a share of each parameter's range.
    overdue
        Seconds after which the trial of another worker is taken for dead and evaluated again
        elsewhere; None: three times the longest completed trial, and at least five seconds.
    independent_sampler
        For parameters that not every trial has; None: ``optuna.samplers.RandomSampler``.

    Examples
    --------
    >>> import optuna
    >>> from noisewise.integrations.optuna import NoisewiseSampler
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=NoisewiseSampler(n_trials=20, seed=1))
    >>> study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=20)
    >>> len(study.trials)
    20
    """

    def __init__(
        self,
        n_trials: int | None = None,
        *,
        seed: int | None = None,
        method: str | Method = "auto",
        workers: int = 1,
        search_space: Mapping[str, Any] | None = None,
        x0: Mapping[str, Any] | None = None,
        sigma0: float = 0.3,
        overdue: float | None = None,
        independent_sampler: Any = None,
    ) -> None:
        self._search_space = _checked_space(search_space)
        self._wanted = Wanted(
            n_trials, seed, encoded(method), workers, x0, sigma0, self._search_space is not None
        )
        if self._search_space is not None:
            check_start(self._wanted.x0, self._search_space)
        self._overdue = None if overdue is None else positive_real("overdue", overdue)
        if not isinstance(independent_sampler, _BaseSampler | None):
            raise ValueError(
                f"independent_sampler must be an Optuna sampler or None, got "
                f"{shown(independent_sampler)}"
            )
        default = optuna.samplers.RandomSampler(seed=None if seed is None else seed % 2**32)
        self._independent = independent_sampler or default
        self._forget()

    def _forget(self) -> None:
        self._lock = threading.RLock()
        self._turn_to(None)

    def _turn_to(self, study: Any) -> None:
        """Forget what is known of another study; one at a time is remembered."""
        name = None if study is None else study.study_name
        if study is not None and name == self._study:
            return
        self._study: str | None = name
        self._intersection = optuna.search_space.IntersectionSearchSpace()
        self._view: _records.View | None = None
        #: Which thread asked for which trial that is not told yet.
        self._asked: dict[int, int] = {}
        self._warned = False

    def __getstate__(self) -> dict[str, Any]:
        # What can be read from the storage again stays at home.
        own = ("_lock", "_study", "_intersection", "_view", "_asked", "_warned")
        return {name: value for name, value in vars(self).items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def reseed_rng(self) -> None:
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        if self._search_space is not None:
            return dict(self._search_space)
        with self._lock:
            self._turn_to(study)
            found = self._intersection.calculate(study)
        return searchable(found)

    def sample_relative(
        self, study: Any, trial: Any, search_space: dict[str, Any]
    ) -> dict[str, Any]:
        _single_objective(study)
        settled = trial.system_attrs.keys() & {"fixed_params", _records.MARK}
        if not search_space or settled or trial.params.keys() & search_space.keys():
            return {}  # enqueued by the user, or a repetition of a trial that failed
        start, said = time.monotonic(), False
        while True:
            waited = time.monotonic() - start
            with self._lock:
                self._turn_to(study)
                view = self._run(study, search_space)
                found = self._take(study, trial, view, waited)
                if found is not None:
                    self._asked[trial.number] = threading.get_ident()
                    return found
                pause = 0.02 * view.limit(self._overdue)
            if waited > _PATIENCE and not said:
                said = True
                _say_who_is_awaited(trial.number, view, self._overdue)
            time.sleep(min(max(pause, _PAUSE[0]), _PAUSE[1]))

    def sample_independent(
        self, study: Any, trial: Any, param_name: str, param_distribution: Any
    ) -> Any:
        _single_objective(study)
        return self._independent.sample_independent(study, trial, param_name, param_distribution)

    def before_trial(self, study: Any, trial: Any) -> None:
        self._independent.before_trial(study, trial)

    def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
        self._asked.pop(trial.number, None)
        self._independent.after_trial(study, trial, state, values)

    def _run(self, study: Any, space: Mapping[str, Any]) -> _records.View:
        """The run over ``space``, up to date; begun if there is none."""
        name = _records.attribute(space)
        kept = _records.settings(study, name) or self._begun(study, name, space)
        longer = self._wanted.extended(kept)
        if longer is not None:
            kept = longer
            _records.keep_settings(study, name, kept)
        self._say_what_differs(kept)
        if self._view is None or self._view.run != kept["run"]:
            self._view = _records.View(kept)
        self._view.extend(kept)
        self._view.sync(study)
        return self._view

    def _begun(self, study: Any, name: str, space: Mapping[str, Any]) -> dict[str, Any]:
        """Settings of a new run, or those that another worker kept in the meantime."""
        earlier = _records.latest(study)
        # Only now: were the earlier run that of another worker over this very space, its settings
        # would be there.
        kept = _records.settings(study, name)
        if kept is None:
            _records.keep_settings(study, name, self._wanted.begin(study, space, earlier))
            kept = _records.settings(study, name)
            assert kept is not None
        return kept

    def _say_what_differs(self, kept: Mapping[str, Any]) -> None:
        other = self._wanted.differences(kept)
        if other and not self._warned:
            self._warned = True
            warnings.warn(
                f"the study's run was begun with other settings ({', '.join(other)}); it goes on "
                "with those",
                stacklevel=2,
            )

    def _take(
        self, study: Any, trial: Any, view: _records.View, waited: float
    ) -> dict[str, Any] | None:
        """Parameters for the trial; None: wait for other workers."""
        if view.replay.gave_up:
            return {}
        rng = np.random.default_rng()
        for tried in range(_TRIES):
            ids = view.free() or view.overdue(self._overdue)
            if not ids:
                break
            id = ids[0] if tried == 0 else int(rng.choice(ids))
            found = view.claim(study, trial, id, waited)
            if found is not None:
                return found
            time.sleep(rng.uniform(0.0, _PAUSE[0]))
            view.sync(study)
        me = threading.get_ident()
        others = any(self._asked.get(number) != me for number in view.holders())
        if others and math.isfinite(view.limit(self._overdue)):
            return None
        return view.measure(study, trial, waited)


def recommended_params(study: Any) -> Recommended:
    """The parameters to use, which is not ``study.best_trial``: that is the luckiest draw.

    >>> import optuna
    >>> from noisewise.integrations.optuna import NoisewiseSampler, recommended_params
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=NoisewiseSampler(n_trials=40, seed=1))
    >>> study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=40)
    >>> abs(recommended_params(study).params["x"]) < 0.2
    True
    """
    _single_objective(study)
    view = _records.latest(study)
    if view is None:
        raise ValueError(
            f"study {study.study_name!r} has no trials of a NoisewiseSampler to recommend from; "
            "without search_space, the first are those after a completed one"
        )
    best = view.replay.recommend()
    params = view.named.decode(best.x)
    measured = np.array(view.measured(study, params))
    n = len(measured) if len(measured) >= 2 else 0
    value, error = best.fun, best.fun_se
    if n:
        found = estimate(measured)
        value, error = found.value, found.se
    return Recommended(view.constants(study) | params, _records.minimised(study, value), error, n)


def _single_objective(study: Any) -> None:
    if len(study.directions) > 1:
        raise ValueError(
            f"NoisewiseSampler takes studies with one objective, got {len(study.directions)}"
        )


def _say_who_is_awaited(number: int, view: _records.View, overdue: float | None) -> None:
    others = ", ".join(map(str, sorted(view.holders())))
    _logger.warning(
        f"trial {number} waits for the values of trials {others}; those that run for more than "
        f"{view.limit(overdue):.0f} seconds are evaluated again; if one is dead, say so with "
        "study.tell(number, state=optuna.trial.TrialState.FAIL)"
    )


def _checked_space(space: Any) -> dict[str, Any] | None:
    if space is None:
        return None
    known = optuna.distributions.BaseDistribution
    if not isinstance(space, Mapping) or not all(isinstance(d, known) for d in space.values()):
        raise ValueError(
            f"search_space must be a dictionary of Optuna distributions or None, got {shown(space)}"
        )
    kept = searchable(space)
    if not kept:
        raise ValueError(f"search_space must leave something to choose, got {shown(space)}")
    return kept
