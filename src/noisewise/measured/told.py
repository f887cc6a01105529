"""Every evaluation that was told, in the order in which the values came."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.measured.population import COMPARISON, CONFIRMATION, RACE, SEARCH, Population

#: What an evaluation was for, in the words of `noisewise.Trial`.
KINDS = ("candidate", "reevaluation", "finalist", "confirmation", "comparison")
_FIRST = {SEARCH: 0, RACE: 2, CONFIRMATION: 3, COMPARISON: 4}
#: Columns before the coordinates: id, kind, generation, value, standard error, seed.
_HEAD = 6
#: Groups that wait before they become rows.
_FRESH = 64


class Rows(NamedTuple):
    """Evaluations, one per entry: points (inner coordinates), values to be minimised (+inf:
    failed), standard errors (nan: not known), seeds (-1: none), kinds (places in `KINDS`), the
    generation under way, from 1, and the ids of the trials."""

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
    """The newest evaluations, at most ``most`` of them."""

    most: int
    rows: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    #: Groups of them that are not rows yet: a group costs little where it is told.
    fresh: list[tuple[Any, ...]] = field(default_factory=list)

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
        seeds = [int(part.seeds[place]) for place in places] if len(part.seeds) else None
        X = part.X.copy() if len(ids) > 1 else part.X[places[0][0]][None]
        at = places if len(ids) > 1 else ((0, places[0][1]),)
        kind = _FIRST[part.kind]
        self.fresh.append((kind, round, tuple(ids), tuple(at), tuple(ys), ses, seeds, X))
        if len(self.fresh) >= _FRESH:
            self.rows, self.fresh = self._all(), []

    def still(self) -> Told:
        """What is remembered now, whatever is added later."""
        return Told(self.most, self.rows, list(self.fresh))

    def read(self, dimension: int, newest: int | None = None) -> Rows:
        """All that is remembered at points with so many coordinates, or the ``newest``."""
        first = len(self.fresh)
        if newest is not None:
            missing = newest
            while first > 0 and missing > 0:
                first -= 1
                missing -= len(self.fresh[first][2])
        rows = self._all(first if newest is not None and missing <= 0 else None)
        if len(rows) == 0:
            rows = np.empty((0, _HEAD + dimension))
        rows = rows if newest is None else rows[len(rows) - newest :]
        id, kind, generation, y, se, seed = rows[:, :_HEAD].T
        seed, kind, generation, id = (
            np.asarray(v, dtype=np.intp) for v in (seed, kind, generation, id)
        )
        return Rows(rows[:, _HEAD:].copy(), y.copy(), se.copy(), seed, kind, generation, id)

    def _all(self, first: int | None = None) -> FloatArray:
        """What is remembered as rows, without the oldest where there are too many, or only what is
        fresh from group ``first`` on."""
        fresh = [_rows(*group) for group in self.fresh[first or 0 :]]
        old = [self.rows] if first is None and (len(self.rows) or not fresh) else []
        return np.concatenate([*old, *fresh])[-self.most :]


def _rows(
    kind: int,
    round: int,
    ids: tuple[int, ...],
    places: tuple[tuple[int, int], ...],
    ys: tuple[float, ...],
    ses: Sequence[float | None] | None,
    seeds: list[int] | None,
    X: FloatArray,
) -> FloatArray:
    """A group as rows."""
    row, slot = np.array(places).T
    out = np.empty((len(ids), _HEAD + X.shape[1]))
    out[:, 0] = ids
    out[:, 1] = kind + (slot > 0) if kind == 0 else kind
    out[:, 2] = round + 1
    out[:, 3] = ys
    out[:, 4] = np.nan if ses is None else [np.nan if se is None else se for se in ses]
    out[:, 5] = -1 if seeds is None else seeds
    out[:, _HEAD:] = X[row]
    return out
