"""Whether a search under noise goes astray: the average value of its candidates rises.

An evolution strategy follows ranks. Where the noise is skewed, or larger in some places than in
others, single values rank well by luck, and ranks can lead to where the average is worse: without
bounds, ever farther away. The average of whole generations tells, since nobody selected them.

Values are gathered in blocks. Where two blocks in a row are clearly worse than the best one, the
search should go back to where it was then, and look at values instead of ranks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.core.strategy import State

#: Values of a block: at least so many, and this share of the budget.
_LEAST, _SHARE = 100, 0.025
#: Standard errors by which the average is worse, and blocks in a row that have to be.
_CLEARLY, _BLOCKS = 4.0, 2


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
        if self.n < max(_LEAST, _SHARE * budget):
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
