"""The sampler, as Optuna calls it. `NoisewiseSampler.sample_relative` is the story of a trial."""

from __future__ import annotations

import math
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np

from noisewise._check import positive_real, shown
from noisewise.integrations._extra import extra
from noisewise.integrations.optuna import constraints, recommendation, records
from noisewise.integrations.optuna.distributions import (
    conditions,
    distribution,
    parameter,
    searchable,
)
from noisewise.integrations.optuna.settings import Wanted, check_incumbent, check_start, encoded
from noisewise.integrations.optuna.view import View, latest
from noisewise.integrations.optuna.waiting import Waiting
from noisewise.methods import Method
from noisewise.problem.space import Space

optuna = extra("optuna")
_BaseSampler: Any = optuna.samplers.BaseSampler

#: How often a worker tries for an evaluation that others claim at the same moment, and the longest
#: pause between two tries, in seconds.
_TRIES, _PAUSE = 20, 0.01
#: Seconds after which a worker that began a run and did not end doing so is taken for dead.
_PATIENCE = 30.0


@final
class NoisewiseSampler(_BaseSampler):  # type: ignore[misc]
    """An Optuna sampler that minimises (or maximises) an expected value under a fixed budget.

    Parameters
    ----------
    n_trials
        How many trials the study will have, from the first of this sampler on. Trials before are
        data for the search and do not count; those that you enqueue later are data and count.
        None: the search goes on without end in stages, each twice as long as the one before and
        starting from its recommendation.
    seed
        A non-negative whole number; None: drawn from the study. The first worker's seed holds for
        the study, so workers may bring the same or none.
    method
        A name of `noisewise.list_methods` or an object from `noisewise.methods`.
    workers
        How many trials run at the same time. With several, none of them waits for a generation to
        end: each new trial follows from all values that are known by then.
    search_space
        Distributions by name, where they are known beforehand, or a `noisewise.Space`, whose
        parameters may apply only ``when`` others have certain values; None: learnt from the first
        completed trial, which is drawn at random.
    x0
        Parameters to start at; the middle of every range that is left out.
    sigma0
        First step size, as a share of each parameter's range.
    overdue
        Seconds after which the trial of another worker is taken for dead and evaluated again
        elsewhere; None: three times the longest completed trial, and at least five seconds.
    independent_sampler
        For parameters that not every trial has; None: ``optuna.samplers.RandomSampler``. Where
        the recommendation is measured, they have the values that it recommends.
    incumbent
        Today's parameters, all by name: the search starts there, and about 40 % of ``n_trials``,
        which must be given, measure them beside what was found. They are recommended unless the
        others are shown to be better; see `recommended_params`.
    constraints_func
        As of other samplers: called with a trial that has ended, returns a value per constraint,
        whose mean must be at most 0. ``trial.set_constraint`` of Optuna 5 needs none. All trials
        of a run have the same constraints; one that lacks them counts as failed.

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
        search_space: Mapping[str, Any] | Space | None = None,
        x0: Mapping[str, Any] | None = None,
        sigma0: float = 0.3,
        overdue: float | None = None,
        independent_sampler: Any = None,
        incumbent: Mapping[str, Any] | None = None,
        constraints_func: Callable[[Any], Sequence[float]] | None = None,
    ) -> None:
        self._constraints_func = constraints.checked(constraints_func)
        #: Conditions of parameters, by name.
        self._when = conditions(search_space) if isinstance(search_space, Space) else {}
        self._search_space = _checked_space(search_space)
        self._wanted = Wanted(n_trials, seed, encoded(method), workers, x0, sigma0, incumbent)
        if self._search_space is not None:
            check_start(self._wanted.x0, self._search_space, self._when)
            check_incumbent(incumbent, self._search_space, self._when)
        self._overdue = None if overdue is None else positive_real("overdue", overdue)
        if not isinstance(independent_sampler, _BaseSampler | None):
            raise ValueError(
                f"independent_sampler must be an Optuna sampler or None, got "
                f"{shown(independent_sampler)}"
            )
        self._independent = independent_sampler or optuna.samplers.RandomSampler()
        #: What random parameters follow from; None: the independent sampler draws them.
        self._seed = seed if independent_sampler is None else None
        self._chosen = independent_sampler is not None
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
        self._view: View | None = None
        #: Which thread asked for which trial that is not told yet.
        self._asked: dict[int, int] = {}
        self._warned = False
        #: What the newest trial searches, and what it was said of that is drawn at random.
        self._searched: set[str] = set()
        self._random: set[str] = set()

    def __getstate__(self) -> dict[str, Any]:
        # What can be read from the storage again stays at home.
        own = {"_lock", "_study", "_intersection", "_view", "_asked", "_warned"}
        own |= {"_searched", "_random"}
        return {name: value for name, value in vars(self).items() if name not in own}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def reseed_rng(self) -> None:
        self._independent.reseed_rng()

    def infer_relative_search_space(self, study: Any, trial: Any) -> dict[str, Any]:
        if self._search_space is not None:
            self._searched = set(self._search_space)
            return dict(self._search_space)
        with self._lock:
            self._turn_to(study)
            found = self._intersection.calculate(study)
        found = searchable(found)
        self._searched = set(found)
        return found

    def sample_relative(
        self, study: Any, trial: Any, search_space: dict[str, Any]
    ) -> dict[str, Any]:
        """The parameters of a trial: those of the next evaluation that nobody has claimed, or the
        recommendation where there is none. Waits while only other workers can move the run on."""
        constraints.single_objective(study)
        if _is_given(trial, search_space) or not search_space:
            self._note(study, trial)
            return {}  # the run learns from it when its value is there, see `View.place`
        waiting = Waiting(trial.number)
        while True:
            with self._lock:
                view = self._run(study, trial, search_space)
                view.place(study, trial)
                if view.replay.gave_up:
                    return {}
                params = self._claim(study, trial, view, waiting.seconds)
                if params is None and view.step(study, trial):
                    continue
                if params is None and not self._others_will_move_on(view):
                    params = recommendation.measure(study, trial, view, waiting.seconds)
                if params is not None:
                    self._asked[trial.number] = threading.get_ident()
                    return params
                limit = view.limit(self._overdue)
            waiting.pause(view, limit)

    def _note(self, study: Any, trial: Any) -> None:
        """Mark a trial that is no evaluation of the run, so that it counts."""
        if not records.mark(trial):
            enqueued = "fixed_params" in trial.system_attrs
            records.write(study, trial, {"kind": "enqueued" if enqueued else "start"})

    def sample_independent(
        self, study: Any, trial: Any, param_name: str, param_distribution: Any
    ) -> Any:
        constraints.single_objective(study)
        kept = records.mark(trial).get("rest", {}).get(param_name)
        if kept is not None and param_distribution._contains(kept):
            return param_distribution.to_external_repr(kept)
        self._say_what_is_random(param_name, param_distribution)
        sampler = self._independent
        if self._seed is not None:
            seed = _seed_of(self._seed, trial.number, param_name)
            sampler = optuna.samplers.RandomSampler(seed)
        return sampler.sample_independent(study, trial, param_name, param_distribution)

    def _say_what_is_random(self, name: str, distribution: Any) -> None:
        """Warn of a parameter that could be searched and is not, once for each."""
        known = self._searched and name not in self._random and parameter(distribution) is not None
        if not known or self._chosen:
            return
        self._random.add(name)
        if name in self._searched:
            said = (
                f"{name!r} was asked for where search_space does not have it: it is drawn at random"
            )
        else:
            said = (
                f"{name!r} is not in every trial, so it is not searched but drawn at random; give "
                "search_space a noisewise.Space in which it applies when= others have certain "
                "values, or choose an independent_sampler"
            )
        warnings.warn(said, stacklevel=2)

    def before_trial(self, study: Any, trial: Any) -> None:
        self._independent.before_trial(study, trial)

    def after_trial(self, study: Any, trial: Any, state: Any, values: Any) -> None:
        self._asked.pop(trial.number, None)
        if self._constraints_func is not None:
            constraints.keep(self._constraints_func, study, trial, state)
        self._independent.after_trial(study, trial, state, values)

    def _run(self, study: Any, trial: Any, space: Mapping[str, Any]) -> View:
        """The run over ``space``, up to date; begun with ``trial`` if there is none."""
        self._turn_to(study)
        name = records.attribute(space, self._when)
        kept = records.settings(study, name) or self._begun(study, trial, name, space)
        longer = self._wanted.extended(kept)
        if longer is not None:
            kept = longer
            records.keep_settings(study, name, kept)
        self._say_what_differs(kept)
        if self._view is None or self._view.run != kept["run"]:
            self._view = View(study, kept)
        self._view.extend(kept)
        self._view.sync(study)
        return self._view

    def _begun(self, study: Any, trial: Any, name: str, space: Mapping[str, Any]) -> dict[str, Any]:
        """Settings of a new run, or those that another worker kept in the meantime."""
        earlier = latest(study)
        _wait_to_begin(study, trial, name)
        # Only now: were the earlier run that of another worker over this very space, its settings
        # would be there.
        kept = records.settings(study, name)
        if kept is None:
            records.keep_settings(
                study, name, self._wanted.begin(study, trial, space, self._when, earlier)
            )
            kept = records.settings(study, name)
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

    def _claim(self, study: Any, trial: Any, view: View, waited: float) -> dict[str, Any] | None:
        """Parameters of an evaluation that the trial could claim: one that nobody has, or one
        whose trial is overdue."""
        rng = np.random.default_rng()
        for tried in range(_TRIES):
            ids = view.free() or view.overdue(self._overdue)
            if not ids:
                return None
            id = ids[0] if tried == 0 else int(rng.choice(ids))
            found = view.claim(study, trial, id, waited)
            if found is not None:
                return found
            time.sleep(rng.uniform(0.0, _PAUSE))
            view.sync(study)
        return None

    def _others_will_move_on(self, view: View) -> bool:
        """Whether the run waits for trials that other threads or processes make, and it is known
        how long these take at most."""
        me = threading.get_ident()
        others = any(self._asked.get(number) != me for number in view.holders())
        return view.others_step or (others and math.isfinite(view.limit(self._overdue)))


def _wait_to_begin(study: Any, trial: Any, name: str) -> None:
    """Return when the settings ``name`` are there, or when only this worker may write them: two
    workers that begin at once would make two runs. As in `View`, a worker says so, looks whether
    another does, and withdraws if so; one that died while it began is not waited for."""
    rng, patience = np.random.default_rng(), time.monotonic() + _PATIENCE
    while records.settings(study, name) is None:
        records.write(study, trial, {"kind": "begin", "settings": name})
        if not records.beginners(study, name) - {trial.number} or time.monotonic() > patience:
            return
        records.write(study, trial, {"kind": "withdrawn"})
        time.sleep(rng.uniform(0.0, _PAUSE))


def _is_given(trial: Any, space: Mapping[str, Any]) -> bool:
    """Whether the trial has parameters already: the user enqueued it, or it repeats another."""
    settled = trial.system_attrs.keys() & {"fixed_params", records.MARK}
    return bool(settled or trial.params.keys() & space.keys())


def _checked_space(space: Any) -> dict[str, Any] | None:
    if space is None:
        return None
    if isinstance(space, Space):
        space = {name: distribution(p) for name, p in space.parameters.items()}
    known = optuna.distributions.BaseDistribution
    if not isinstance(space, Mapping) or not all(isinstance(d, known) for d in space.values()):
        raise ValueError(
            "search_space must be a dictionary of Optuna distributions, a noisewise.Space or "
            f"None, got {shown(space)}"
        )
    kept = searchable(space)
    if not kept:
        raise ValueError(f"search_space must leave something to choose, got {shown(space)}")
    return kept


def _seed_of(seed: int, number: int, name: str) -> int:
    """The seed of one random parameter of a trial: workers with the same seed must not draw the
    same points."""
    key = (seed, number, zlib.crc32(name.encode()))
    return int(np.random.SeedSequence(key).generate_state(1)[0])
