"""Weights from one ranking of the candidates, taken at face value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._check import one_of
from noisewise._types import FloatArray
from noisewise.generation import Generation, Selection
from noisewise.noise.misranking import displacement
from noisewise.noise.samples import Samples

AGGREGATES = ("mean", "median", "trimmed")


@dataclass(frozen=True)
class HardRank(Selection):
    """Rank candidates by an aggregate of their values; the rank decides the weight."""

    aggregate: str = "mean"

    def __post_init__(self) -> None:
        one_of("aggregate", self.aggregate, AGGREGATES)

    def weigh(self, gen: Generation, memory: Any) -> tuple[FloatArray, Any]:
        if gen.samples.values.shape[1] > 1:
            gen.notes["misranking"] = displacement(gen.samples)
        return rank_weights(aggregate(gen.samples, self.aggregate), gen.profile), memory


def aggregate(samples: Samples, how: str) -> FloatArray:
    """One value per candidate; +inf where every evaluation failed."""
    if how == "mean":
        return samples.mean()
    return samples.median() if how == "median" else samples.trimmed_mean()


def rank_weights(values: FloatArray, profile: FloatArray) -> FloatArray:
    """``profile`` handed out by rank. Candidates without a value (+inf) rank last and never
    pull the mean: their positive weight goes to the others."""
    order = values.argsort(kind="stable")
    weights = np.empty(len(values))
    weights[order] = profile
    if values[order[-1]] == np.inf:
        weights[(values == np.inf) & (weights > 0.0)] = 0.0
        return normalised(weights)
    return weights


def normalised(weights: FloatArray) -> FloatArray:
    """``weights`` with a positive part that sums to one; equal weights if there is none."""
    total = float(np.maximum(weights, 0.0).sum())
    if total == 0.0:
        return np.full(len(weights), 1.0 / len(weights))
    return np.where(weights > 0.0, weights / total, weights)
