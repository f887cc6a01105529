"""The newest evaluated candidates, round by round."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray


@data
@dataclass(slots=True)
class Recent:
    """Candidates (inner coordinates) and their mean values, of as many of the newest rounds as it
    takes to have ``wanted`` candidates."""

    wanted: int
    rounds: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)
    size: int = 0

    def add(self, X: FloatArray, y: FloatArray) -> None:
        """The candidates of one more round; the arrays are kept, not copied."""
        if self.wanted == 0:
            return
        rounds, size = self.rounds, self.size + len(y)
        rounds.append((X, y))
        while (left := size - len(rounds[0][1])) >= self.wanted:
            size = left
            del rounds[0]
        self.size = size

    def points(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """Points, values and the index of their round, oldest first."""
        X = np.concatenate([X for X, _ in self.rounds])
        y = np.concatenate([y for _, y in self.rounds])
        return X, y, np.repeat(np.arange(len(self.rounds)), [len(y) for _, y in self.rounds])

    def fits(self, n: int) -> bool:
        """Whether this could be a record of points with ``n`` coordinates."""
        return (
            self.wanted >= 0
            and all(X.ndim == 2 and X.shape == (len(y), n) and y.ndim == 1 for X, y in self.rounds)
            and self.size == sum(len(y) for _, y in self.rounds)
        )
