"""Rank -> weight profiles.

| symbol | meaning | shape |
|---|---|---|
| n | number of candidates, lambda | |
| mu | number of candidates with a positive weight | |
| w[r] | weight of the candidate of rank r, best first | (n,) |

Every profile is non-increasing in the rank and its positive part sums to one. A negative part,
where there is one, sums to minus one; the strategy scales it so that the covariance stays
positive definite.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from noisewise._check import positive_real
from noisewise._data import data
from noisewise._types import FloatArray


class Profile(ABC):
    """Maps ranks to weights for any number of candidates."""

    @abstractmethod
    def weights(self, n: int, progress: float = 0.0) -> FloatArray:
        """Weight of each rank, best first, at ``progress`` in [0, 1] of the budget. Read-only."""


@data
@dataclass(frozen=True)
class Log(Profile):
    """Positive logarithmic weights (the default of CMA-ES), optionally with a negative half.

    >>> from noisewise.core.profiles import Log
    >>> Log().weights(4).round(3).tolist()
    [0.804, 0.196, 0.0, 0.0]
    """

    active: bool = False

    def weights(self, n: int, progress: float = 0.0) -> FloatArray:
        return _log(n, self.active)


@data
@dataclass(frozen=True)
class Uniform(Profile):
    """Equal weights for the better half: top-mu truncation.

    >>> from noisewise.core.profiles import Uniform
    >>> Uniform().weights(4).tolist()
    [0.5, 0.5, 0.0, 0.0]
    """

    def weights(self, n: int, progress: float = 0.0) -> FloatArray:
        return _uniform(n)


@data
@dataclass(frozen=True)
class PowerLift(Profile):
    """``(1 - r/(n-1))**e`` for the better half; e grows from ``start`` to ``end`` over the run.

    >>> from noisewise.core.profiles import PowerLift
    >>> PowerLift(start=1.0, end=2.0).weights(5, progress=1.0).tolist()
    [0.64, 0.36, 0.0, 0.0, 0.0]
    """

    start: float = 1.2
    end: float = 4.0

    def __post_init__(self) -> None:
        positive_real("start", self.start)
        positive_real("end", self.end)

    def weights(self, n: int, progress: float = 0.0) -> FloatArray:
        exponent = self.start + (self.end - self.start) * min(max(progress, 0.0), 1.0)
        w = np.zeros(n)
        mu = max(1, n // 2)
        w[:mu] = (1.0 - np.arange(mu) / max(n - 1, 1)) ** exponent
        w /= w.sum()
        return w


@lru_cache(maxsize=128)
def _log(n: int, active: bool) -> FloatArray:
    # Eq. (app_log_weights): log(mu + 1/2) - log j, and zero below rank mu. For even n the
    # active form log((n + 1)/2) - log j is the same on its positive half.
    mu = max(1, n // 2)
    j = np.arange(1, n + 1)
    raw = np.log((n + 1) / 2 if active else mu + 0.5) - np.log(j)
    if n == 1:
        raw[:] = 1.0
    positive = np.maximum(raw, 0.0)
    w: FloatArray = positive / positive.sum()
    negative = np.minimum(raw, 0.0)
    if active and negative.any():
        w = w + negative / -negative.sum()
    w.setflags(write=False)
    return w


@lru_cache(maxsize=128)
def _uniform(n: int) -> FloatArray:
    mu = max(1, n // 2)
    w = np.zeros(n)
    w[:mu] = 1.0 / mu
    w.setflags(write=False)
    return w


def by_name(profile: object) -> Profile:
    """A profile from its name, or the profile itself."""
    if isinstance(profile, Profile):
        return profile
    known: dict[str, Profile] = {
        "log": Log(),
        "active": Log(active=True),
        "uniform": Uniform(),
        "power-lift": PowerLift(),
    }
    if not isinstance(profile, str) or profile not in known:
        names = ", ".join(repr(name) for name in known)
        raise ValueError(f"profile must be one of {names} or a Profile, got {profile!r}")
    return known[profile]
