"""The parameters to use, and what the objective is worth there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.answer.written import estimated
from noisewise.auditing.audit import audit
from noisewise.integrations._extra import extra
from noisewise.integrations.optuna import constraints, records
from noisewise.integrations.optuna.view import View, latest
from noisewise.measured.estimate import Estimate, estimate
from noisewise.measured.evidence import Evidence

optuna = extra("optuna")

#: Of the trials nearest to the recommendation, at least so many and this share are looked at for
#: parameters that are not searched; of these the best, again so many at least and this share.
_NEAR, _NEAR_SHARE = 10, 0.5
_BEST, _BEST_SHARE = 3, 0.25
#: Values that count as measured at once where the shape of the noise is looked at.
_ROUND = 10


@dataclass(frozen=True)
class Recommended:
    """The parameters to use, with an honest estimate of the objective there.

    ``params`` is complete, so that ``study.enqueue_trial(best.params)`` measures it once more:
    what was searched, and values for parameters that were left to the independent sampler, such as
    conditional ones. These are taken from one trial, a typical one of the best trials that were
    near to the recommendation.

    All of ``n_trials`` are spent on the search; trials after the last of them measure the
    recommendation. ``value``, ``standard_error``, ``interval`` and ``kind`` are the estimate from
    the ``n_values`` trials that measured these parameters after they had been chosen, as
    ``fun``, ``fun_se``, ``interval`` and ``estimate`` of a `noisewise.Result` are, and as text
    they are shown in the same words. ``n_failures`` such trials failed; the estimate is about the
    others. Where fewer than two succeeded, ``n_values`` is 0 and ``kind`` "unknown": ``value`` is
    what the search expects there, and its error is not known (nan).

    >>> from noisewise.integrations.optuna import Recommended
    >>> print(Recommended({"rate": 0.01}, 0.5, 0.1, 10, (0.27, 0.73), "mean"))
    {'rate': 0.01}: 0.5 (95 % interval 0.27 to 0.73)
    """

    params: dict[str, Any]
    value: float
    standard_error: float
    n_values: int
    interval: tuple[float, float] = (math.nan, math.nan)
    kind: str = "unknown"
    n_failures: int = 0
    #: Only with an incumbent: how much better the best that was found is than today's parameters
    #: (positive: better) with a 95 % interval, whether today's are recommended, and all of it in a
    #: sentence.
    improvement: float = math.nan
    improvement_interval: tuple[float, float] = (math.nan, math.nan)
    kept: bool | None = None
    verdict: str = ""
    #: Only with constraints: the chance that the means of all of them are at most 0 there.
    p_feasible: float = math.nan
    #: Where a single categorical parameter is searched: how its choices stand, columns by name as
    #: in ``options`` of a `noisewise.Result`; else None.
    options: dict[str, list[Any]] | None = None

    def __str__(self) -> str:
        n = self.n_values + self.n_failures
        said = estimated(self.value, self.interval, self.kind, n, self.n_failures)
        if self.n_failures and not self.n_values:
            said += f"; {self.n_failures} trials of it failed"
        if not math.isnan(self.p_feasible):
            said += f"; constraints are met with probability {self.p_feasible:.2g}"
        return f"{self.params}: {said}" + (f"; {self.verdict}" if self.verdict else "")


def recommended_params(study: Any) -> Recommended:
    """The parameters to use, which is not ``study.best_trial``: that is the luckiest draw.

    A study of another sampler is audited, see `noisewise.audit`: ``kind`` is then "model".

    >>> import optuna
    >>> from noisewise.integrations.optuna import NoisewiseSampler, recommended_params
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> study = optuna.create_study(sampler=NoisewiseSampler(n_trials=40, seed=1))
    >>> study.optimize(lambda trial: trial.suggest_float("x", -1, 1) ** 2, n_trials=40)
    >>> abs(recommended_params(study).params["x"]) < 0.2
    True
    """
    constraints.single_objective(study)
    view = latest(study)
    if view is None:
        return _of_others(study)
    best = view.replay.recommend()
    model = _model(study, view, best.x)
    params = {} if model is None else _rest(view, model)
    measured = np.array(_measured(study, view, best.x, params))
    n = int(np.isfinite(measured).sum())
    failures, n = len(measured) - n, n if n >= 2 else 0
    found = Estimate(best.fun, best.fun_se, *best.interval, best.kind)
    today = _today(view)
    result = view.replay.result()
    if today and result.n_confirmations > n + failures and np.array_equal(result.x, best.x):
        failures = result.n_confirmations_failed
        n = result.n_confirmations - failures
    elif n:
        found = estimate(measured, background=_noise(study, view))
    params |= view.points.named.decode(best.x)
    value, *ends = (records.minimised(study, v) for v in (found.value, found.low, found.high))
    low, high = sorted(ends)
    options = _options(study, view)
    today["options"] = options
    today["p_feasible"] = float(result.get("p_feasible", math.nan))
    return Recommended(params, value, found.se, n, (low, high), found.kind, failures, **today)


def _of_others(study: Any) -> Recommended:
    """What an audit says of a study without trials of a NoisewiseSampler."""
    found = audit(study)
    return Recommended(found.params or {}, found.fun, found.fun_se, 0, found.interval, "model")


def _options(study: Any, view: View) -> dict[str, list[Any]] | None:
    """How the choices stand where they are a list."""
    found: dict[str, list[Any]] | None = view.replay.result().get("options")
    if found is not None:
        for name in ("mean", "shrunk"):
            found[name] = [records.minimised(study, v) for v in found[name]]
    return found


def _today(view: View) -> dict[str, Any]:
    """What the comparison with today's parameters says, where there is one."""
    result = view.replay.result()
    names = ("improvement", "improvement_interval", "kept", "verdict")
    return {name: result[name] for name in names} if "verdict" in result else {}


def measure(study: Any, trial: Any, view: View, waited: float) -> dict[str, Any]:
    """Searched parameters of the recommendation, which the trial is to measure; its mark has the
    others."""
    x = view.replay.recommend().x
    model = _model(study, view, x)
    rest = {}
    if model is not None:
        for name, value in _rest(view, model).items():
            rest[name] = float(model.distributions[name].to_internal_repr(value))
    return view.measure(study, trial, x, rest, waited)


def _measured(study: Any, view: View, x: FloatArray, rest: dict[str, Any]) -> list[float]:
    """Values, to be minimised, of the trials at the recommendation from which the run has not
    learnt: those that were to measure it (+inf: they failed), and those that the user fed back."""
    apart = [*view.confirmations(study), *filter(records.complete, view.foreign().values())]
    return [
        records.minimised(study, trial.value) if records.complete(trial) else math.inf
        for trial in apart
        if view.points.has(trial, x)
        and all(trial.params.get(name, value) == value for name, value in rest.items())
    ]


def _noise(study: Any, view: View) -> Evidence:
    """What the values that the run has learnt from say about the noise."""
    values = np.array([records.minimised(study, trial.value) for trial in view.learnt(study)])
    seen = Evidence()
    for i in range(0, len(values), _ROUND):
        seen = seen.saw(values[i : i + _ROUND])
    return seen


# -- parameters that are not searched


def _rest(view: View, trial: Any) -> dict[str, Any]:
    """The parameters of a trial that are not searched."""
    return {name: value for name, value in trial.params.items() if name not in view.space}


def _model(study: Any, view: View, x: FloatArray) -> Any | None:
    """The trial whose parameters that are not searched are recommended; None if no trial has any.
    All are taken from one trial, because conditional parameters belong together."""
    trials = view.learnt(study)
    if not any(_rest(view, trial) for trial in trials):
        return None
    best = _best_near(study, view, x, trials)
    rests = [_coordinates(view, trial) for trial in best]
    apart = [sum(_difference(one, other) for other in rests) for one in rests]
    return best[int(np.argmin(apart))] if best else None


def _best_near(study: Any, view: View, x: FloatArray, trials: Sequence[Any]) -> list[Any]:
    """The trials with the best values of those near to ``x``, with the same choices as there."""
    meant = view.points.named.decode(x)
    choices = [
        name
        for name, d in view.space.items()
        if isinstance(d, optuna.distributions.CategoricalDistribution)
    ]
    placed = [(trial, point) for trial in trials if (point := view.points.of(trial)) is not None]
    alike = [
        (trial, point)
        for trial, point in placed
        if all(trial.params.get(name) == meant.get(name) for name in choices)
    ]
    near = sorted(alike or placed, key=lambda pair: float(np.linalg.norm(pair[1] - x)))
    near = near[: max(_NEAR, math.ceil(_NEAR_SHARE * len(near)))]
    fine = [trial for trial, _ in near if not constraints.violated(trial)]
    ranked = sorted(
        fine or [trial for trial, _ in near], key=lambda t: records.minimised(study, t.value)
    )
    return ranked[: max(_BEST, math.ceil(_BEST_SHARE * len(ranked)))]


def _coordinates(view: View, trial: Any) -> dict[str, float | str]:
    """What is not searched, by name: a number as its place in the range, 0 to 1; a choice as
    text."""
    found: dict[str, float | str] = {}
    for name, value in _rest(view, trial).items():
        d = trial.distributions[name]
        if d.single() or isinstance(d, optuna.distributions.CategoricalDistribution):
            found[name] = repr(value)
        else:
            low, high, here = (math.log(v) if d.log else v for v in (d.low, d.high, value))
            found[name] = (here - low) / (high - low)
    return found


def _difference(a: dict[str, float | str], b: dict[str, float | str]) -> float:
    """How much two such sets of parameters differ: 1 for each name that only one of them has and
    for each other choice."""
    total = 0.0
    for name in a.keys() | b.keys():
        u, v = a.get(name), b.get(name)
        if isinstance(u, float) and isinstance(v, float):
            total += abs(u - v)
        else:
            total += float(u != v)
    return total
