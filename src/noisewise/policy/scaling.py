"""How observations are scaled before they enter a network.

| symbol | meaning | shape |
|---|---|---|
| S | number, sum and sum of squares of observations | (1 + 2 n_in,) |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import FloatArray

#: Below this part of its mean a coordinate counts as constant.
_CONSTANT = 1e-6


@dataclass(frozen=True)
class Scaling:
    """Observations enter a network as (o - shift) / scale."""

    shift: FloatArray
    scale: FloatArray


def moments(observations: Any) -> FloatArray:
    """S of the observations of an episode, one per row."""
    o = np.array(observations, dtype=float).reshape(len(observations), -1)
    return np.concatenate([[len(o)], o.sum(axis=0), (o * o).sum(axis=0)])


def of_moments(S: FloatArray) -> Scaling:
    """Mean and standard deviation of all observations; what did not vary is only shifted."""
    n, (total, squares) = S[0], np.split(S[1:], 2)
    mean = total / n
    sd = np.sqrt(np.maximum(squares / n - mean * mean, 0.0))
    return Scaling(mean, np.where(sd > _CONSTANT * (1.0 + np.abs(mean)), sd, 1.0))
