"""Comparing what was found with today's setting: functions that the last phase calls; `comparison`
decides."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from noisewise._types import FloatArray
from noisewise.measured.differences import Compared
from noisewise.measured.estimate import Estimate
from noisewise.measured.population import Population
from noisewise.methods.method import Method
from noisewise.run import comparison, fallback, feasibility
from noisewise.run.comparison import CHALLENGER, INCUMBENT, Verdict
from noisewise.run.reserve import Reserve, reserve, reserve_of_list
from noisewise.run.run import Run

#: Pairs of values that say something about the size of the noise.
_PAIRS = 8


class Standing(NamedTuple):
    """Where a comparison stands: the challenger (inner coordinates), what the values say about
    both, and which to return."""

    challenger: FloatArray
    compared: Compared
    verdict: Verdict
    #: Whether the challenger is the incumbent itself.
    same: bool

    @property
    def estimate(self) -> Estimate:
        """The value at the point to return."""
        return self.compared.second if self.verdict.challenger else self.compared.first

    def answer(self, run: Run) -> FloatArray:
        """The point to return, inner coordinates."""
        assert run.comparison is not None
        return self.challenger if self.verdict.challenger else run.comparison.incumbent


def wanted(run: Run, exact: bool, pace: float = 0.0, races: bool = True) -> Reserve:
    """What to keep for the last phase where the library decides."""
    setup, budget = run.setup, run.ledger.budget
    if setup.options is not None:
        found = reserve_of_list(budget, len(setup.options))
    else:
        speed = pace if run.comparison is None else 0.0
        found = reserve(budget, setup.dimension, exact, speed, races, setup.race_part)
    return found if run.comparison is None else comparison.reserve(found, budget, exact)


def rivals(method: Method, run: Run, points: FloatArray) -> FloatArray:
    """``points`` without the incumbent, or the method's next finalists where nothing else is left:
    the budget is better spent on the best other point. The incumbent alone if there is none."""
    if run.comparison is None:
        return points
    box = run.setup.box
    today = box.outer(run.comparison.incumbent)
    for found in (points, feasibility.safe(run, method.finalists(run.memory))):
        other = found[(box.outer(found) != today).any(axis=1)]
        if len(other):
            return np.asarray(other)
    return points[:1]


def wave(run: Run) -> int:
    """Evaluations of both points to hand out now, see `fallback.wave`."""
    left, one = run.ledger.remaining, fallback.wave(run)
    return left if one == left else min(left, 2 * one)


def settle(run: Run, population: Population) -> FloatArray:
    """Keep the values of the two points; returns those of the challenger."""
    assert run.comparison is not None
    samples = population.samples
    run.comparison = run.comparison.told(samples.values, samples.errors)
    new = samples.values[-1]
    return np.asarray(new[~np.isnan(new)])


def challenge(run: Run) -> None:
    """The chosen point of the last phase is the challenger."""
    if run.comparison is not None and run.final is not None:
        run.comparison = run.comparison.against(run.final.chosen)


def standing(method: Method, run: Run) -> Standing:
    """Where the comparison stands. Before the last phase the challenger is what the method
    recommends."""
    now = run.comparison
    assert now is not None
    if run.final is None:
        now = now.against(feasibility.safe(run, method.recommend(run.memory).x[None])[0])
    found = now.compared(run.evidence, run.setup.target)
    verdict = now.verdict(found, _feasible(run, now.challenger))
    return Standing(now.challenger, found, verdict, now.same)


def _feasible(run: Run, challenger: FloatArray) -> tuple[bool, bool]:
    """Whether the incumbent and the challenger meet the measured constraints, as far as is
    known."""
    if run.limits is None:
        return True, True
    assert run.comparison is not None
    points = np.array([run.comparison.incumbent, challenger])
    fine = np.all(run.limits.predict(points)[0] <= 0.0, axis=0)
    return bool(fine[INCUMBENT]), bool(fine[CHALLENGER])


def smallest_gain(run: Run) -> float:
    """The true gain that the comparison of this run will show in four runs of five, from what the
    values say about the noise so far; nan before that is known. Common seeds may show smaller
    ones."""
    if run.comparison is None:
        return math.nan
    kept = run.setup.confirm
    return comparison.smallest_gain(_noise(run), kept // 2)


def _noise(run: Run) -> float:
    """Standard deviation of the noise: of two values of the same point, or of outcomes such as won
    and lost; nan if it is not known."""
    if run.evidence.deterministic:
        return 0.0
    if len(run.evidence.levels) == 2:
        good = np.concatenate([y[np.isfinite(y)] for _, y in run.evidence.recent.rounds])
        return float(good.std(ddof=1)) if len(good) > 1 else math.nan
    pairs = [y[:, :2] for _, y in run.evidence.recent.rounds if y.shape[1] > 1]
    if not pairs:
        return math.nan
    both = np.concatenate(pairs)
    d = np.diff(both[np.isfinite(both).all(axis=1)])
    return float(np.sqrt(0.5 * np.mean(d * d))) if len(d) >= _PAIRS else math.nan
