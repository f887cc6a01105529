"""Runs as studies, for Optuna's dashboard and plots, and studies as data for a run."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.answer.result import Result
from noisewise.integrations._extra import extra
from noisewise.integrations.optuna import records
from noisewise.integrations.optuna.constraints import single_objective
from noisewise.integrations.optuna.distributions import distribution, parameter
from noisewise.loop.optimizer import Optimizer
from noisewise.problem.parameters import Choice, Float, Parameter
from noisewise.problem.space import Space

optuna = extra("optuna")


def to_study(
    run: Optimizer | str | os.PathLike[str],
    *,
    study_name: str | None = None,
    storage: Any = None,
    load_if_exists: bool = False,
) -> Any:
    """A study with the candidates of a run, for Optuna's dashboard and plots.

    Every candidate is a trial with the mean of its values; a failed one is a failed trial. The
    recommendation is the last trial, with ``recommended``, its standard error and its interval
    among the user attributes, if it was measured. A run keeps its newest candidates, 30,000 numbers
    in all (10,000 candidates in two dimensions, 300 in a hundred); the study's user attribute
    ``noisewise`` says how many are there.

    Parameters
    ----------
    run
        An optimizer, or the checkpoint of a run of `noisewise.minimize` or ``noisewise tune``.
        Coordinates without names become x1, x2, ...
    study_name, storage, load_if_exists
        As for ``optuna.create_study``.

    Examples
    --------
    >>> import noisewise as nw
    >>> from noisewise.integrations.optuna import to_study
    >>> opt = nw.Optimizer(space={"rate": "1e-4..1:log"}, budget=20, rng=0)
    >>> while not opt.done:
    ...     for trial in opt.ask():
    ...         opt.tell(trial.id, abs(trial.params["rate"] - 0.01))
    >>> study = to_study(opt)
    >>> study.best_trial.params.keys()
    dict_keys(['rate'])
    """
    opt = run if isinstance(run, Optimizer) else Optimizer.load(run)
    space, found = _space(opt), opt.result()
    study = optuna.create_study(
        study_name=study_name,
        storage=storage,
        load_if_exists=load_if_exists,
        direction="maximize" if opt.maximize else "minimize",
    )
    known = {name: distribution(p) for name, p in space.parameters.items()}
    candidates = _candidates(opt, space, known)
    measured = math.isfinite(found.fun) and found.estimate != "unknown"
    about = {
        "method": found.method,
        "evaluations": found.nfev,
        "generations": found.nit,
        "candidates": len(candidates),
        # The last phase may measure a point that belongs to no generation.
        "of candidates": max(len(candidates), int(np.sum(found.history["population"]))),
        "message": found.message,
    }
    study.set_user_attr("noisewise", about)
    study.add_trials(candidates)
    if measured:
        study.add_trial(_recommended(found, _params(opt, space, found.x), known))
    return study


def from_study(study: Any) -> dict[str, Any]:
    """What a study gives to `noisewise.minimize` or `noisewise.Optimizer`: ``space``, ``data`` (the
    completed trials) and ``maximize``. Parameters that not every completed trial has are left out.

    Examples
    --------
    >>> import optuna, noisewise as nw
    >>> from noisewise.integrations.optuna import from_study
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    >>> study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=20)
    >>> r = nw.minimize(lambda p: p["x"] ** 2, budget=20, rng=0, **from_study(study))
    >>> r.nfev
    20
    """
    single_objective(study)
    done = usable(study)
    searched = optuna.search_space.intersection_search_space(done) if done else {}
    parameters = {name: p for name, d in searched.items() if (p := _parameter(d)) is not None}
    if not parameters:
        raise ValueError(
            f"study {study.study_name!r} has no parameter that every completed trial has"
        )
    rows = [{name: trial.params[name] for name in parameters} for trial in done]
    maximize = study.direction == optuna.study.StudyDirection.MAXIMIZE
    data = (rows, [trial.value for trial in done])
    return {"space": Space(parameters), "data": data, "maximize": maximize}


def usable(study: Any) -> list[Any]:
    """The completed trials with a finite value."""
    return [t for t in records.trials(study) if records.complete(t) and math.isfinite(t.value)]


def _parameter(d: Any) -> Parameter | None:
    """The parameter of a distribution; one that leaves nothing to choose has a single value."""
    if not d.single():
        return parameter(d)
    if isinstance(d, optuna.distributions.CategoricalDistribution):
        return Choice(tuple(d.choices))
    return Choice((d.low,))


def _space(opt: Optimizer) -> Space:
    """Names of the run's parameters; x1, x2, ... between the bounds, or as far as the points go
    where there are none."""
    if opt.space is not None:
        return opt.space
    if "space" in opt.extra:  # of the command line
        return Space(opt.extra["space"])
    low, high = opt.state.setup.box.bounds
    X = np.vstack((_points(opt)[0], opt.recommend().x[None]))
    low = np.where(np.isfinite(low), low, X.min(axis=0))
    high = np.where(np.isfinite(high), high, X.max(axis=0))
    ends = zip(low.tolist(), high.tolist(), strict=True)
    return Space({f"x{i}": Float(a, b) for i, (a, b) in enumerate(ends, start=1)})


def _params(opt: Optimizer, space: Space, x: FloatArray) -> dict[str, Any]:
    """Values by name at a point of the run."""
    if opt.space is None and "space" not in opt.extra:
        return dict(zip(space.names, x.tolist(), strict=True))
    return space.decode(x)


def _points(opt: Optimizer) -> tuple[FloatArray, FloatArray, Any]:
    """Candidates (outer coordinates), their mean values in the user's sign, and their rounds."""
    run = opt.state
    if not run.evidence.recent.rounds:
        return np.empty((0, opt.dimension)), np.empty(0), np.empty(0, dtype=int)
    X, y, rounds = run.evidence.recent.points()
    first = max(0, run.round - len(run.evidence.recent.rounds))
    return run.setup.box.outer(X), -y if opt.maximize else y, first + rounds


def _candidates(opt: Optimizer, space: Space, known: Mapping[str, Any]) -> list[Any]:
    """The candidates as trials."""
    state = optuna.trial.TrialState
    return [
        optuna.trial.create_trial(
            state=state.COMPLETE if math.isfinite(value) else state.FAIL,
            value=float(value) if math.isfinite(value) else None,
            params=_params(opt, space, x),
            distributions=known,
            user_attrs={"generation": int(k)},
        )
        for x, value, k in zip(*_points(opt), strict=True)
    ]


def _recommended(found: Result, params: dict[str, Any], known: Mapping[str, Any]) -> Any:
    """The recommendation as a trial, whose value is the estimate."""
    numbers = (found.fun_se, *found.interval)
    se, *interval = (v if math.isfinite(v) else None for v in numbers)  # JSON has no nan
    about = {
        "recommended": True,
        "estimate": found.estimate,
        "standard_error": se,
        "interval": interval,
    }
    return optuna.trial.create_trial(
        value=found.fun, params=params, distributions=known, user_attrs=about
    )
