"""Every evaluation that was told, in the order of trials: that of their values leaves no trace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.measured.population import COMPARISON, CONFIRMATION, RACE, SEARCH, Population

#: What an evaluation was for, in the words of `noisewise.Trial`.
KINDS = ("candidate", "reevaluation", "finalist", "confirmation", "comparison")
_FIRST = {SEARCH: 0, RACE: 2, CONFIRMATION: 3, COMPARISON: 4}
#: Columns before the coordinates: id, kind, generation, value, standard error, seed.
_HEAD = 6


class Rows(NamedTuple):
    """Evaluations, one per entry: points (inner coordinates), values to be minimised (+inf:
    failed), standard errors (nan: not known), seeds (-1: none), kinds (places in `KINDS`), the
    generation of the candidate, from 1, and the ids of the trials."""

    X: FloatArray
    y: FloatArray
    se: FloatArray
    seed: IntArray
    kind: IntArray
    generation: IntArray
    id: IntArray


@data
@dataclass(slots=True)
class Told:
    """The newest evaluations, at most ``most`` of them, in rows that grow in amortised constant
    time; ``n`` of them are in use, the others are zero."""

    most: int
    rows: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    n: int = 0

    def add(
        self,
        part: Population,
        round: int,
        ids: Sequence[int],
        places: Sequence[tuple[int, int]],
        ys: Sequence[float],
        ses: Sequence[float | None] | None = None,
    ) -> None:
        """Trials ``ids`` were told the values ``ys`` of these candidates and slots of ``part``, in
        round ``round``."""
        k, kind = len(ids), _FIRST[part.kind]
        self._make_room(k, _HEAD + part.X.shape[1])
        new = self.rows[self.n : self.n + k]
        row, slot = zip(*places, strict=True)
        new[:, 0] = ids
        new[:, 1] = kind if kind else [int(one > 0) for one in slot]
        sampled = None if part.origins is None else part.origins.versions[list(row)]
        new[:, 2] = 1 + (round if sampled is None else sampled)
        new[:, 3] = ys
        new[:, 4] = np.nan if ses is None else [np.nan if se is None else se for se in ses]
        new[:, 5] = part.seeds[list(row), list(slot)] if len(part.seeds) else -1
        new[:, _HEAD:] = part.X[list(row)]
        last = self.rows[self.n - 1, 0] if self.n else -1.0
        self.n += k
        if min(ids) < last or any(a > b for a, b in pairwise(ids)):
            self.rows[: self.n] = self.rows[np.argsort(self.rows[: self.n, 0], kind="stable")]

    def _make_room(self, k: int, width: int) -> None:
        """Have room for ``k`` more; the oldest half is dropped where there are too many."""
        while self.n + k > len(self.rows):
            if len(self.rows) >= 2 * self.most:
                kept = self.rows[self.n - self.most : self.n].copy()
                self.rows[:] = 0.0
                self.rows[: self.most] = kept
                self.n = self.most
                return
            bigger = np.zeros((min(max(16, 2 * len(self.rows)), max(2 * self.most, k)), width))
            bigger[: self.n] = self.rows[: self.n] if self.n else 0.0
            self.rows = bigger

    def still(self) -> Told:
        """What is remembered now, whatever is added later."""
        return Told(self.most, self.rows[: self.n].copy(), self.n)

    def read(self, dimension: int, ids: Sequence[int] | None = None) -> Rows:
        """All that is remembered at points with so many coordinates, or these trials."""
        rows = self.rows[: self.n] if self.n else np.empty((0, _HEAD + dimension))
        rows = rows[-self.most :] if ids is None else rows[np.searchsorted(rows[:, 0], list(ids))]
        id, kind, generation, y, se, seed = rows[:, :_HEAD].T
        seed, kind, generation, id = (
            np.asarray(v, dtype=np.intp) for v in (seed, kind, generation, id)
        )
        return Rows(rows[:, _HEAD:].copy(), y.copy(), se.copy(), seed, kind, generation, id)
