"""Measures a few points again at the end of a search that has seen no noise.

A value that was measured once may be wrong, and the smallest of many values most of all: where one
value in a hundred comes out too low, it is the luckiest one. So nothing is believed that was not
measured twice at that very point.

| row of ``points`` | why it is measured again |
|---|---|
| recommended | what the method returns; it may never have been measured |
| best | the smallest value of the search that may be right: returned only if it came again |
| strange | the values farthest above those around them: they tell a cliff from an outlier |
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.measured.samples import agree
from noisewise.select.race import Race

#: Neighbours in time, on either side, with which a value is compared.
_NEIGHBOURS = 10
#: A value is strange from this many median distances above the median of its neighbours on.
_STRANGE = 20.0
#: Strange points that are measured again, at most: one outlier in twenty may come again.
_MOST = 2
#: Fewer values than this are not compared.
_LEAST = 8


@data
@dataclass(frozen=True)
class Recheck:
    """Points to measure again, the recommended one first, and what came of it.

    >>> import numpy as np
    >>> check = start(np.zeros(1), (np.ones(1), -3.0), [])
    >>> request(check, 4).tolist()
    [1, 0, 0, 1]
    >>> from dataclasses import replace
    >>> check = replace(check, values=np.array([[2.0, 2.0], [1.0, 1.0]]))
    >>> check.best_holds, check.contradicted
    (False, True)
    """

    points: FloatArray
    #: Value of each point from the search; nan where there is none.
    known: FloatArray
    #: Row of the best point; 0 where it is the recommended one or there is none to check.
    best: int = 0
    #: Whether the value of the best point is far below those around it.
    strict: bool = True
    #: New values by point and slot, nan where there is none, +inf where it failed.
    values: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    #: Known standard errors of these values; None: none was given.
    errors: FloatArray | None = None

    @property
    def asked(self) -> bool:
        """Whether the values are there."""
        return len(self.values) > 0

    def at(self, row: int) -> FloatArray:
        """New values of one point."""
        found = self.values[row] if self.asked else np.empty(0)
        return found[~np.isnan(found)]

    def errors_at(self, row: int) -> FloatArray | None:
        """Known standard errors of these values."""
        return None if self.errors is None else self.errors[row][~np.isnan(self.values[row])]

    @property
    def best_holds(self) -> bool:
        """Whether the best point gave the value of the search again: every time if it was strange,
        more often than not if it was not."""
        again = self.at(self.best)
        same, n = int(agree(again, self.known[self.best]).sum()), len(again)
        return self.best > 0 and (0 < n == same if self.strict else 2 * same > n)

    @property
    def best_wins(self) -> bool:
        """Whether to return the best point: it holds, and is not worse than the recommended one."""
        own = self.at(0)
        own = own[np.isfinite(own)]
        rival = float(np.median(own)) if len(own) else math.inf
        return self.best_holds and bool(self.known[self.best] <= rival)

    @property
    def answer(self) -> int:
        """Row of the point to return where no noise was seen."""
        return self.best if self.best_wins else 0

    @property
    def contradicted(self) -> bool:
        """Whether a value of the search did not come again."""
        return any(
            not math.isnan(value) and not agree(self.at(i), value).all()
            for i, value in enumerate(self.known.tolist())
        )

    def more(self, values: FloatArray) -> Recheck:
        """After further values of the best point."""
        k = len(self.points)
        wide = np.full((k, len(values)), np.nan)
        wide[self.best] = values
        errors = (
            None if self.errors is None else np.hstack((self.errors, np.full_like(wide, np.nan)))
        )
        return replace(self, values=np.hstack((self.values, wide)), errors=errors)


@data
@dataclass(slots=True)
class Final:
    """The last phase: a few points measured again where no noise was seen, a race of finalists
    (inner coordinates), then evaluations of the point to return."""

    finalists: FloatArray
    race: Race
    recheck: Recheck | None = None
    #: Finalists before these that failed whenever they were confirmed.
    given_up: int = 0

    @property
    def chosen(self) -> FloatArray:
        """The point to return, as far as is known."""
        if self.recheck is not None and self.recheck.best_wins:
            best: FloatArray = self.recheck.points[self.recheck.best]
            return best
        x: FloatArray = self.finalists[self.race.winner]
        return x


def start(
    recommended: FloatArray,
    best: tuple[FloatArray, float] | None,
    strange: Sequence[tuple[FloatArray, float]],
    strict: bool = True,
) -> Recheck:
    """A check of the recommended point, and of the best and strange ones with their values;
    ``strict``: the value of the best one is strange, too."""
    points, known, at = [recommended], [math.nan], 0
    for one in (best, *strange):
        if one is None:
            continue
        if np.array_equal(one[0], recommended):
            known[0] = one[1]
            continue
        at = len(points) if one is best else at
        points.append(one[0])
        known.append(one[1])
    return Recheck(np.array(points), np.array(known), at, strict)


def request(check: Recheck, n: int) -> IntArray:
    """Rows to measure, as many as ``n``: the best point, the recommended one and the strange ones,
    then these again with the recommended one first."""
    others = [i for i in range(len(check.points)) if i != check.best]
    order = [check.best, *others, *sorted((check.best, *others))]
    return np.resize(np.array(order, dtype=np.intp), n)


def strangeness(y: FloatArray) -> FloatArray:
    """How far each value is from the median of those measured just before and after it, in units
    of their median distance from it; positive: above. Zero where that says nothing."""
    out = np.zeros(len(y))
    good = np.flatnonzero(np.isfinite(y))
    n = len(good)
    if n < _LEAST:
        return out
    width = min(n, 2 * _NEIGHBOURS + 1)
    windows = np.lib.stride_tricks.sliding_window_view(y[good], width)
    middle = np.median(windows, axis=1)
    spread = np.median(np.abs(windows - middle[:, None]), axis=1)
    at = np.clip(np.arange(n) - width // 2, 0, n - width)
    fine = spread[at] > 0.0
    with np.errstate(over="ignore"):
        out[good[fine]] = (y[good[fine]] - middle[at[fine]]) / spread[at[fine]]
    return out


def strangest(X: FloatArray, y: FloatArray) -> list[tuple[FloatArray, float]]:
    """The points whose values are farthest above those around them in time, with these values."""
    away = strangeness(y)
    first = np.argsort(-away, kind="stable")[:_MOST]
    return [(X[i], float(y[i])) for i in first if away[i] > _STRANGE]


def lowest(X: FloatArray, y: FloatArray) -> tuple[FloatArray, float] | None:
    """The point with the smallest value that is not far below those around it in time, and this
    value; None if there is none."""
    fine = np.isfinite(y) & (strangeness(y) >= -_STRANGE)
    if not fine.any():
        return None
    i = int(np.argmin(np.where(fine, y, math.inf)))
    return X[i], float(y[i])


def denied(X: FloatArray, y: FloatArray, x: FloatArray, value: float) -> bool:
    """Whether one of the values ``y`` was measured at ``x``, too, and is not ``value``. A point
    that a method proposes again comes back rounded."""
    here = agree(X, x).all(axis=1)
    return not bool(agree(y[here], value).all())


def strange_share(y: FloatArray) -> float:
    """Share of the values that are strange, in either direction."""
    n = int(np.isfinite(y).sum())
    return float((np.abs(strangeness(y)) > _STRANGE).sum()) / n if n else 0.0
