"""Today's setting (the incumbent) and what was found (the challenger), measured side by side.

The search has about three fifths of the budget. The rest measures both points, as often each, in
the order challenger, incumbent, incumbent, challenger, ..., so that a drift in time hits both
alike. Where trials have seeds, each pair shares one. The challenger is returned if the 95 %
interval of its improvement lies above zero, else the incumbent.

Values of this phase chose neither point, so that they estimate both without bias. They are kept
when the budget grows. Those of a challenger that another one replaces are dropped; the
incumbent's count on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.measured import intervals
from noisewise.measured.differences import Compared, compare
from noisewise.measured.evidence import Evidence
from noisewise.run.reserve import Reserve

#: Rows of the values, and the order in which evaluations take turns.
INCUMBENT, CHALLENGER = 0, 1
_TURNS = (CHALLENGER, INCUMBENT, INCUMBENT, CHALLENGER)
#: Share of the budget that measures the two, at least so many evaluations, and the smallest budget
#: that leaves enough for a search.
_SHARE, LEAST, SMALLEST = 0.4, 4, 10
#: Some of those are for points that are measured again to see whether there is noise. Without noise
#: so many in all are enough: two of each point show that there is none.
_AGAIN, _EXACT = 2, 8
#: Standard errors of a true gain that is shown in four runs of five: 1.96 + 0.84.
SHOWN = 2.8


class Verdict(NamedTuple):
    """Which of the two points to return, and why."""

    challenger: bool
    #: Set where something other than the values decided.
    why: str = ""


@data
@dataclass(frozen=True)
class Comparison:
    """The two points and their values.

    >>> import numpy as np
    >>> both = Comparison(np.zeros(1)).against(np.ones(1))
    >>> both.request(6).tolist()
    [1, 0, 0, 1, 1, 0]
    >>> both = both.told(np.array([[3.0, 4.0, 3.5, 4.5], [1.0, 2.0, 1.5, 2.5]]), None)
    >>> both.verdict(both.compared(Evidence(), "mean")).challenger
    True
    """

    #: Points in inner coordinates; the challenger is empty before the last phase.
    incumbent: FloatArray
    challenger: FloatArray = field(default_factory=lambda: np.empty(0))
    #: Whether the two values of a column have their seed in common.
    paired: bool = False
    #: Values: a row for the incumbent and one for the challenger, nan where there is none, +inf
    #: where it failed; and their known standard errors, None where no value has one.
    values: FloatArray = field(default_factory=lambda: np.empty((2, 0)))
    errors: FloatArray | None = None

    @property
    def same(self) -> bool:
        """Whether the search found nothing else than the incumbent."""
        return np.array_equal(self.challenger, self.incumbent)

    @property
    def points(self) -> FloatArray:
        """The two points in rows, or the one that both are."""
        return np.array([self.incumbent] if self.same else [self.incumbent, self.challenger])

    def against(self, challenger: FloatArray) -> Comparison:
        """With this challenger; values of another one are dropped."""
        if np.array_equal(challenger, self.challenger):
            return self
        values = self.values.copy()
        values[CHALLENGER] = math.nan
        return Comparison(self.incumbent, challenger.copy(), self.paired, values, self.errors)

    def request(self, n: int) -> IntArray:
        """Rows of `points` to measure, in this order, ``n`` in all."""
        turns = np.zeros(1) if self.same else np.array(_TURNS)
        return np.resize(turns, n).astype(np.intp)

    def told(self, values: FloatArray, errors: FloatArray | None) -> Comparison:
        """After a wave of `request`, with the values of each row of `points`."""
        values, errors = _two(values), None if errors is None else _two(errors)
        both = np.hstack((self.values, values))
        if self.errors is not None or errors is not None:
            old = np.full_like(self.values, math.nan) if self.errors is None else self.errors
            new = np.full_like(values, math.nan) if errors is None else errors
            errors = np.hstack((old, new))
        return Comparison(self.incumbent, self.challenger, self.paired, both, errors)

    def at(self, row: int) -> FloatArray:
        """Values of one of the points so far."""
        values = self.values[row]
        return np.asarray(values[~np.isnan(values)])

    def compared(self, evidence: Evidence, target: str) -> Compared:
        """What the values say about the two points."""
        return compare(self.values, self.errors, evidence, target, self.paired)

    def verdict(self, found: Compared, feasible: tuple[bool, bool] = (True, True)) -> Verdict:
        """Which point to return; ``feasible``: whether each meets the measured constraints."""
        incumbent, challenger = found.first, found.second
        if self.same or not len(self.challenger) or challenger.n == 0:
            return Verdict(False)
        if not feasible[CHALLENGER]:
            return Verdict(False, "the challenger probably violates the constraints")
        if incumbent.failed:
            return Verdict(True, "every evaluation of today's setting failed")
        if not feasible[INCUMBENT]:
            return Verdict(True, "today's setting probably violates the constraints")
        if _fails_more_often(challenger.failures, challenger.n, incumbent.failures, incumbent.n):
            return Verdict(False, "the challenger fails more often than today's setting")
        return Verdict(found.gain.low > 0.0)


def reserve(wanted: Reserve, budget: int, exact: bool) -> Reserve:
    """What is kept for the race and for measuring the two points, instead of ``wanted``."""
    kept = max(LEAST + _AGAIN, 2 * round(0.5 * _SHARE * budget))
    return Reserve(0, min(kept, _EXACT)) if exact else Reserve(wanted.race, kept)


def smallest_gain(noise: float, each: int) -> float:
    """The true gain that is shown in four runs of five with so many evaluations of each point,
    under independent noise of this standard deviation."""
    return SHOWN * noise * math.sqrt(2.0 / each) if each else math.nan


def evaluations_to_decide(found: Compared) -> int | None:
    """Evaluations of each point, those that were made included, with which a true gain of the
    size that was seen is shown in four runs of five; None if that cannot be said."""
    gain, n = found.gain, min(found.first.n, found.second.n)
    if not gain.se > 0.0 or not abs(gain.value) > 0.0 or n < 2:
        return None
    needed = n * (SHOWN * gain.se / abs(gain.value)) ** 2
    return math.ceil(needed) if needed < 1e15 else None


def _fails_more_often(failures: int, n: int, others: int, m: int) -> bool:
    """Whether ``failures`` beside ``n`` successes are clearly more than ``others`` beside ``m``."""
    if failures == 0:
        return False
    a, b = intervals.share(failures, failures + n), intervals.share(others, others + m)
    return a.value - b.value > math.hypot(a.value - a.low, b.high - b.value)


def _two(rows: FloatArray) -> FloatArray:
    """A row for each point; where both are the same, the values are the incumbent's."""
    if len(rows) == 2:
        return rows
    return np.vstack((rows, np.full_like(rows, math.nan)))
