"""What a log of evaluations says about each option of a list.

| symbol | meaning | shape |
|---|---|---|
| i, y | option of each successful evaluation, and its value | (N,) |
| e | known standard error of each value | (N,) |
| s | what a seed adds to all values that share it | (blocks,) |
| n, m, SS, v | as in `noisewise.select.allocation` | (K,) |

Values are brought to about 1 first, so that squares neither overflow nor vanish.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from noisewise._data import data
from noisewise._types import BoolArray, FloatArray, IntArray
from noisewise.select import allocation

#: Passes over options and seeds in turn that tell what each adds.
_PASSES = 30
#: Variance of a median over that of a mean, and standard deviation over the median distance from
#: the median, under a normal law.
_MEDIAN, _DISTANCE = math.pi / 2.0, 1.4826


@data
@dataclass(frozen=True)
class OptionValues:
    """Evaluations of the options of a list, in the order in which they were learnt.

    >>> import numpy as np
    >>> log = OptionValues().add(np.array([0, 1, 0]), np.array([1.0, 2.0, 3.0]))
    >>> tally = Tally.of(log, 3)
    >>> tally.n.tolist(), tally.m[:2].tolist()
    ([2, 1, 0], [2.0, 2.0])
    """

    option: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    #: +inf where the evaluation failed.
    value: FloatArray = field(default_factory=lambda: np.empty(0))
    #: Known standard error, nan where there is none.
    error: FloatArray = field(default_factory=lambda: np.empty(0))
    #: Seed that values share; -1: none.
    seed: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.intp))

    def __len__(self) -> int:
        return len(self.value)

    def add(
        self,
        option: IntArray,
        value: FloatArray,
        error: FloatArray | None = None,
        seed: IntArray | None = None,
    ) -> OptionValues:
        """With more evaluations."""
        k = len(value)
        error = np.full(k, np.nan) if error is None else error
        seed = np.full(k, -1, dtype=np.intp) if seed is None else seed
        return OptionValues(
            np.concatenate((self.option, option)),
            np.concatenate((self.value, np.where(np.isfinite(value), value, np.inf))),
            np.concatenate((self.error, error)),
            np.concatenate((self.seed, seed)),
        )


@dataclass(frozen=True)
class Tally:
    """Successes and failures of each option, mean (or median) of its values, variance of one of
    them, and what it is expected to be."""

    n: IntArray
    failed: IntArray
    m: FloatArray
    v: FloatArray
    #: Expected value and its standard deviation; +inf and 0 without a value.
    e: FloatArray
    q: FloatArray
    #: Whether standard errors are known.
    known: bool = False

    def weights(self, among: BoolArray) -> FloatArray:
        """How much each option deserves to be measured. Where standard errors are known, a mean
        with a large error is worth little, and so is one more such value."""
        n = np.where(among, self.n, 0)
        if not self.known:
            return allocation.weights(n, self.m, self.v)
        some = (self.n > 0) & (self.v > 0.0)
        part = np.where(some, self.n * self.q**2 / np.where(some, self.v, 1.0), 1.0)
        return allocation.weights(n, self.e, self.v * part**2)

    def given_up(self, tries: int) -> BoolArray:
        """Which options have failed ``tries`` times more often than they succeeded."""
        return np.asarray(self.failed >= self.n + tries)

    @classmethod
    def of(cls, log: OptionValues, options: int, median: bool = False) -> Tally:
        good = np.isfinite(log.value)
        option, value, error = log.option[good], log.value[good], log.error[good]
        failed = np.bincount(log.option[~good], minlength=options)
        n = np.bincount(option, minlength=options)
        if len(value) == 0:
            nothing = np.full(options, np.inf)
            return cls(n, failed, nothing, np.zeros(options), nothing, np.zeros(options))
        centre = float(np.median(value))
        unit = float(np.abs(value - centre).max()) or 1.0
        y, e = (value - centre) / unit, error / unit
        y, lost = _without_seeds(y, option, log.seed[good], options)
        known = bool(np.isfinite(e).any()) and not median
        if known:
            m, v = _known(y, e, option, n)
        elif median:
            m, v = _medians(y, option, n)
        else:
            m, squares = _means(y, option, n)
            v = allocation.variances(n, m, squares, lost, same=_two_valued(value))
        expected, sd = allocation.shrunk(n, m, v)
        seen = n > 0
        return cls(
            n,
            failed,
            np.where(seen, centre + unit * m, np.inf),
            unit * unit * v,
            centre + unit * expected,
            unit * sd,
            known,
        )


def _means(y: FloatArray, option: IntArray, n: IntArray) -> tuple[FloatArray, FloatArray]:
    """m and SS."""
    m = np.bincount(option, y, minlength=len(n)) / np.maximum(n, 1)
    squares = np.asarray(np.bincount(option, (y - m[option]) ** 2, minlength=len(n)), dtype=float)
    return m, squares


def _medians(y: FloatArray, option: IntArray, n: IntArray) -> tuple[FloatArray, FloatArray]:
    """m and v where options are compared by their medians; deviations count by their median."""
    m, squares = np.zeros(len(n)), np.zeros(len(n))
    for i in np.flatnonzero(n):
        mine = y[option == i]
        m[i] = np.median(mine)
        squares[i] = max(0, n[i] - 1) * (_DISTANCE * float(np.median(np.abs(mine - m[i])))) ** 2
    return m, _MEDIAN * allocation.variances(n, m, squares)


def _known(
    y: FloatArray, e: FloatArray, option: IntArray, n: IntArray
) -> tuple[FloatArray, FloatArray]:
    """m and v where standard errors are known; those that are not count as their median."""
    known = np.isfinite(e)
    e = np.maximum(np.where(known, e, np.median(e[known])), 1e-9)
    weight = (float(e.min()) / e) ** 2
    total = np.bincount(option, weight, minlength=len(n))
    m = np.bincount(option, weight * y, minlength=len(n)) / np.where(n > 0, total, 1.0)
    v = float(e.min()) ** 2 * n / np.where(n > 0, total, 1.0)
    return m, np.where(n > 0, v, float(np.median(e)) ** 2)


def _without_seeds(
    y: FloatArray, option: IntArray, seed: IntArray, options: int
) -> tuple[FloatArray, int]:
    """Values without what their seeds add to them, and the degrees of freedom that this takes."""
    shared = seed >= 0
    if not shared.any():
        return y, 0
    _, at, count = np.unique(seed[shared], return_inverse=True, return_counts=True)
    at = at.reshape(-1)
    n = np.maximum(np.bincount(option, minlength=options), 1)
    added, out = np.zeros(len(count)), y.copy()
    for _ in range(_PASSES):
        m = np.bincount(option, out, minlength=options) / n
        rest = y[shared] - m[option[shared]]
        added = np.bincount(at, rest) / count
        added -= float(added @ count) / float(count.sum())
        out[shared] = y[shared] - added[at]
    return out, len(count) - 1


def _two_valued(value: FloatArray) -> bool:
    """Whether values are outcomes such as win and loss, more than once each."""
    low, high = float(value.min()), float(value.max())
    one = value == low
    other = value == high
    return (
        low < high and bool((one | other).all()) and min(one.sum(), other.sum(), len(one) - 3) > 0
    )
