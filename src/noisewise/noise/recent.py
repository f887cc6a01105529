"""The newest evaluated candidates, round by round."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.noise.samples import Samples


@data
@dataclass(slots=True)
class Recent:
    """Candidates (inner coordinates) and all their values (nan: none, +inf: failed), of as many of
    the newest rounds as it takes to have ``wanted`` places of values."""

    wanted: int
    rounds: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)
    size: int = 0

    def add(self, X: FloatArray, values: FloatArray) -> None:
        """The candidates of one more round; the arrays are kept, not copied."""
        if self.wanted == 0:
            return
        rounds, size = self.rounds, self.size + values.size
        rounds.append((X, values))
        while (left := size - rounds[0][1].size) >= self.wanted:
            size = left
            del rounds[0]
        self.size = size

    def points(self, most: int | None = None) -> tuple[FloatArray, FloatArray, IntArray]:
        """Candidates of the newest rounds with at least ``most`` of them (all, if it is None or
        there are not as many), their mean values and the index of their round, oldest first."""
        first, count = len(self.rounds), 0
        while first > 0 and (most is None or count < most):
            first -= 1
            count += len(self.rounds[first][1])
        rounds = self.rounds[first:]
        X = np.concatenate([X for X, _ in rounds])
        y = np.concatenate([Samples(values).mean() for _, values in rounds])
        return X, y, np.repeat(np.arange(len(rounds)), [len(X) for X, _ in rounds])

    def evaluations(self) -> tuple[FloatArray, FloatArray, IntArray]:
        """A point, a value and a round for every evaluation, oldest first. Within a round, first
        evaluations come before second ones."""
        X, y, which = [], [], []
        for i, (candidates, values) in enumerate(self.rounds):
            slot, row = np.nonzero(~np.isnan(values.T))
            X.append(candidates[row])
            y.append(values[row, slot])
            which.append(np.full(len(row), i))
        return np.concatenate(X), np.concatenate(y), np.concatenate(which)

    def fits(self, n: int) -> bool:
        """Whether this could be a record of points with ``n`` coordinates."""
        return (
            self.wanted >= 0
            and all(
                X.ndim == values.ndim == 2 and X.shape == (len(values), n)
                for X, values in self.rounds
            )
            and self.size == sum(values.size for _, values in self.rounds)
        )
