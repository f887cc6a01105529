"""A table of scalars that grows by one row per generation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray


@data
@dataclass(slots=True)
class History:
    """Named columns of floats; appending costs amortised constant time."""

    columns: tuple[str, ...]
    rows: FloatArray
    n: int = 0

    def append(self, row: tuple[float, ...]) -> None:
        if self.n == len(self.rows):
            bigger = np.zeros((max(16, 2 * self.n), len(self.columns)))
            bigger[: self.n] = self.rows[: self.n]
            self.rows = bigger
        self.rows[self.n] = row
        self.n += 1

    def as_dict(self) -> dict[str, FloatArray]:
        """One read-only array per column, of what is recorded so far."""
        done = self.rows[: self.n]  # a view: what is recorded never changes
        done.setflags(write=False)
        return {name: done[:, j] for j, name in enumerate(self.columns)}
