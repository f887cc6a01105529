"""How observations are scaled before they enter a network.

| symbol | meaning | shape |
|---|---|---|
| S | number of observations, sums, sums of squares, minus the smallest, largest | (1 + 4 n_in,) |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import FloatArray

#: Below this part of its mean, or below this, a coordinate counts as constant up to rounding.
_CONSTANT, _ROUNDING = 1e-6, 1e-12
#: The scale is at least this part of the largest deviation from the mean: what is rarely other than
#: usual, such as a flag, would else drown all other observations when it is.
_RARE = 0.3
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
    ends = np.array([-o, o]).max(axis=1, initial=-np.inf).ravel()
    return np.concatenate([[len(o)], o.sum(axis=0), (o * o).sum(axis=0), ends])


def combined(parts: FloatArray) -> FloatArray:
    """S of several episodes, from S of each in rows."""
    sums = 1 + (parts.shape[1] - 1) // 2
    return np.concatenate([parts[:, :sums].sum(axis=0), parts[:, sums:].max(axis=0)])


def of_moments(S: FloatArray) -> Scaling:
    """Mean and standard deviation of all observations; what did not vary is only shifted, and what
    varied rarely is scaled by more."""
    n, (total, squares, low, high) = S[0], np.split(S[1:], 4)
    mean = total / n
    sd = np.sqrt(np.maximum(squares / n - mean * mean, 0.0))
    varied = sd > np.maximum(_CONSTANT * np.abs(mean), _ROUNDING)
    scale = np.maximum(sd, _RARE * np.maximum(low + mean, high - mean))
    return Scaling(mean, np.where(varied, scale, 1.0))
