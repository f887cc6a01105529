"""Exact PEM: expected rank weights by Monte Carlo over the true noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.generation import Generation, Selection
from noisewise.noise.misranking import expected_weights
from noisewise.selection.hard import normalised


@dataclass(frozen=True)
class ExactPEM(Selection):
    """The expected weights themselves, from ``n_draws`` fresh evaluations that nobody pays for.
    For studies only."""

    draws: Callable[..., Any]
    n_draws: int = 128

    def weigh(self, gen: Generation, memory: Any) -> tuple[FloatArray, Any]:
        Y = np.asarray(self.draws(gen.outer(gen.X), self.n_draws, gen.rng), dtype=float)
        if Y.shape != (self.n_draws, len(gen.X)):
            raise ValueError(f"draws must return shape {(self.n_draws, len(gen.X))}, got {Y.shape}")
        weights = expected_weights(Y.argsort(axis=1, kind="stable"), gen.profile)
        # Negative weights cancel positive ones in the average.
        return normalised(weights) if gen.profile[-1] < 0.0 else weights, memory
