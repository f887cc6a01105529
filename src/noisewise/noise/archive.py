"""The newest evaluated points, for models that borrow strength from earlier generations."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.noise.ring import places


@data
@dataclass(slots=True)
class Archive:
    """A ring of the newest ``capacity`` points (inner coordinates) and values."""

    capacity: int
    X: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    y: FloatArray = field(default_factory=lambda: np.empty(0))
    inserted: int = 0

    @property
    def size(self) -> int:
        return min(self.inserted, self.capacity)

    def insert(self, X: FloatArray, y: FloatArray) -> None:
        if len(self.y) == 0:
            self.X, self.y = np.zeros((self.capacity, X.shape[1])), np.zeros(self.capacity)
        for place, part in places(self.inserted, self.capacity, len(y)):
            self.X[place], self.y[place] = X[part], y[part]
        self.inserted += len(y)

    def points(self) -> tuple[FloatArray, FloatArray]:
        """Points and values, in no particular order."""
        return self.X[: self.size], self.y[: self.size]
