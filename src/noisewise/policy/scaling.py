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

#: Below this part of its mean, or below this, a coordinate counts as constant up to rounding.
_CONSTANT, _ROUNDING = 1e-6, 1e-12
#: Observations beyond this, whose squares would overflow, do not enter the scaling.
_LARGEST = 1e100


@dataclass(frozen=True)
class Scaling:
    """Observations enter a network as (o - shift) / scale."""

    shift: FloatArray
    scale: FloatArray


def moments(observations: Any) -> FloatArray:
    """S of the observations of an episode, one per row; rows that are not finite are left out."""
    o = np.array(observations, dtype=float).reshape(len(observations), -1)
    o = o[(np.abs(o) < _LARGEST).all(axis=1)]
    return np.concatenate([[len(o)], o.sum(axis=0), (o * o).sum(axis=0)])


def of_moments(S: FloatArray) -> Scaling:
    """Mean and standard deviation of all observations; what did not vary is only shifted."""
    n, (total, squares) = S[0], np.split(S[1:], 2)
    mean = total / n
    sd = np.sqrt(np.maximum(squares / n - mean * mean, 0.0))
    return Scaling(mean, np.where(sd > np.maximum(_CONSTANT * np.abs(mean), _ROUNDING), sd, 1.0))
