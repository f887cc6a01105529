"""Weights from the joint ranking of first and repeated evaluations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._check import one_of
from noisewise._types import FloatArray
from noisewise.generation import Generation, Selection
from noisewise.noise.misranking import displacement
from noisewise.noise.rank_change import RankChange, rank_change
from noisewise.noise.samples import Samples
from noisewise.selection.hard import AGGREGATES, aggregate, rank_weights


@dataclass(frozen=True)
class RankSum(Selection):
    """Rank by the sum of a candidate's two ranks among all values, old and new. Ties go to the
    smaller rank change, then to the smaller value."""

    aggregate: str = "median"

    def __post_init__(self) -> None:
        one_of("aggregate", self.aggregate, AGGREGATES)

    def weigh(self, gen: Generation, memory: Any) -> tuple[FloatArray, Any]:
        values = aggregate(gen.samples, self.aggregate)
        change = reranked(gen, self.aggregate)
        if change is None:
            return rank_weights(values, gen.profile), memory
        gen.notes["misranking"] = displacement(gen.samples)
        delta = change.delta.astype(float)
        delta[~change.again] = delta[change.again].mean()
        order = np.lexsort((values, delta, change.old + change.new))
        place = np.empty(len(order))
        place[order] = np.arange(len(order))
        place[np.isinf(values)] = np.inf
        return rank_weights(place, gen.profile), memory


def reranked(gen: Generation, how: str) -> RankChange | None:
    """Rank changes between the first ``repeats`` values of each candidate and those that came
    later, each aggregated; None where no candidate was evaluated again."""
    repeats, samples = gen.controls.repeats, gen.samples
    later = samples.values[:, repeats:]
    again = ~np.isnan(later).all(axis=1)
    if not again.any():
        return None
    old = aggregate(Samples(samples.values[:, :repeats]), how)
    new = np.where(again, aggregate(Samples(later), how), np.nan)
    return rank_change(old, new)
