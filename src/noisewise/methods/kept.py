"""What an evolution strategy keeps of all that it measured: the best points, among which the last
evaluations decide, and the averages of whole generations, which tell whether it goes astray.

| symbol | meaning | shape |
|---|---|---|
| mean | mean of the search distribution | (d,) |
| tenth | average of the tenth of the measured points with the smallest values | (d,) |
| best | the point with the smallest value: the luckiest draw | (d,) |

Noise in the last rounds moves the mean. The average of the best tenth depends on the whole run
and less on any single draw, but it lags behind a search that still makes progress; it then lies
outside the search distribution and is not used. Otherwise half way between the two is better
than either where the run is long; where it is short the mean has not arrived yet and the tenth
alone is better.

An evolution strategy follows ranks. Where the noise is skewed, or larger in some places than in
others, single values rank well by luck, and ranks can lead to where the average is worse: without
bounds, ever farther away. The average of whole generations tells, since nobody selected them.
Values are gathered in blocks. Where two blocks in a row are clearly worse than the best one, the
search should go back to where it was then, and look at values instead of ranks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.cma.strategy import State

#: Points that are kept at most, and that make the average at least.
_MOST, _LEAST = 200, 5
#: A run counts as short up to five dimensions and 50 evaluations per parameter.
_LOW, _SHORT = 5, 50
#: Root mean square distance from the mean, in standard deviations, up to which the tenth counts as
#: inside the search distribution. It is about one half where noise dominates.
_INSIDE = 1.5


@data
@dataclass(frozen=True)
class Best:
    """The measured points with the smallest values, sorted by value.

    >>> import numpy as np
    >>> kept = Best.empty(budget=100, dimension=1).insert(np.array([[2.0], [1.0]]), np.ones(2))
    >>> kept.X.tolist(), kept.seen
    ([[2.0], [1.0]], 2)
    """

    X: FloatArray
    values: FloatArray
    #: Points kept at most, and points seen so far, failed ones included.
    capacity: int
    seen: int = 0

    @classmethod
    def empty(cls, budget: int, dimension: int) -> Best:
        """Before the first evaluation."""
        return cls(np.empty((0, dimension)), np.empty(0), _capacity(budget))

    def resized(self, budget: int) -> Best:
        """For another budget; fewer are kept where it is smaller."""
        k = _capacity(budget)
        return replace(self, X=self.X[:k], values=self.values[:k], capacity=k)

    def insert(self, X: FloatArray, values: FloatArray) -> Best:
        """After a round: points in rows and one value each, +inf or nan where it failed."""
        seen = self.seen + len(values)
        worst = self.values[-1] if len(self.values) == self.capacity else np.inf
        good = values < worst
        if not good.any():
            return Best(self.X, self.values, self.capacity, seen)
        values = np.concatenate((self.values, values[good]))
        order = values.argsort(kind="stable")[: self.capacity]
        X = np.concatenate((self.X, X[good]))
        return Best(X[order], values[order], self.capacity, seen)

    def tenth(self) -> FloatArray | None:
        """Average of the best tenth of the points seen; None before the first success."""
        if len(self.values) == 0:
            return None
        k = min(max(self.seen // 10, _LEAST), len(self.values))
        return np.asarray(self.X[:k].mean(axis=0))


def _capacity(budget: int) -> int:
    return min(max(budget // 10, _LEAST), _MOST)


def finalists(mean: FloatArray, deviations: FloatArray, best: Best, budget: int) -> FloatArray:
    """Up to three points in rows, the preferred one first: the point to return without a race,
    the best measured one, and the mean of the distribution if it is not the first.

    ``deviations`` are the standard deviations of the search distribution along the coordinates,
    in the units of ``mean``.
    """
    tenth = best.tenth()
    if tenth is None:
        return np.array([mean])
    d = len(mean)
    away = (tenth - mean) / np.maximum(deviations, np.finfo(float).tiny)
    if not float(np.sqrt(np.mean(np.minimum(np.abs(away), 1e100) ** 2))) <= _INSIDE:
        return np.array([mean, best.X[0]])
    short = d <= _LOW and budget <= _SHORT * d
    preferred = tenth if short else 0.5 * (mean + tenth)
    return np.array([preferred, best.X[0], mean])


# -- averages of whole generations
#: Fewest values of a block.
_BLOCK = 100
#: Values of a block as a share of the budget.
_BLOCK_SHARE = 0.025
#: Standard errors by which the average of a block must be worse than the best one.
_CLEARLY = 4.0
#: Blocks in a row that must be worse before the search goes back.
_BLOCKS = 2


@data
@dataclass(slots=True)
class Averages:
    """Averages of blocks of values, and where the lowest one was.

    >>> import numpy as np
    >>> state = State(np.zeros(1), 1.0, None, np.zeros(1), np.zeros(1))
    >>> averages, rng = Averages(), np.random.default_rng(0)
    >>> [averages.astray(rng.normal(level, size=100), state, 1000) for level in (2, 1, 1, 2, 2)]
    [False, False, False, False, True]
    """

    #: The block under way: values, their sum, and the sum of squares about the first one.
    n: int = 0
    total: float = 0.0
    squares: float = 0.0
    origin: float = 0.0
    #: The lowest average, its squared standard error, and the search distribution after it.
    lowest: float = math.inf
    error2: float = 0.0
    state: State | None = None
    #: Blocks in a row that were clearly worse, and how often the search was called astray.
    worse: int = 0
    times: int = 0

    def astray(self, values: FloatArray, state: State, budget: int) -> bool:
        """Take note of a generation's successful ``values``, after which the search stands at
        ``state``; whether it should go back to ``self.state``."""
        if self.n == 0:
            self.origin = float(values[0])
        away = values - self.origin
        self.n += len(away)
        self.total += float(away.sum())
        self.squares += float(away.dot(away))
        if self.n < max(_BLOCK, _BLOCK_SHARE * budget):
            return False
        mean = self.total / self.n
        error2 = max(0.0, self.squares / self.n - mean * mean) / self.n
        mean += self.origin
        self.n, self.total, self.squares = 0, 0.0, 0.0
        if mean < self.lowest:
            self.lowest, self.error2, self.state, self.worse = mean, error2, state, 0
            return False
        clearly = mean - self.lowest > _CLEARLY * math.sqrt(error2 + self.error2)
        self.worse = self.worse + 1 if clearly else 0
        if self.worse < _BLOCKS:
            return False
        # Anew from here: under a drift of the whole function the old level never comes back.
        self.lowest, self.worse = math.inf, 0
        self.times += 1
        return True
