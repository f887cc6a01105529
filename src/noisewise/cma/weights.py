"""From values and rankings to one weight per candidate, and the profiles that say which rank earns
which weight.

| symbol | meaning | shape |
|---|---|---|
| n, k | number of candidates, lambda | |
| mu | number of candidates with a positive weight | |
| w[r], profile | weight of the candidate of rank r, best first | (n,) |
| order | candidates from best to worst, one row per ranking | (b, k) |
| w | weight of each candidate | (k,) |
| s | normal scores of the ranks, best positive | (k,) |

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
from noisewise._types import FloatArray, IntArray
from noisewise.measured.samples import Samples

AGGREGATES = ("mean", "median", "trimmed")


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


def expected_weights(order: IntArray, profile: FloatArray) -> FloatArray:
    """Mean weight of each candidate over rankings (Eq. (36)); ``order`` (b, k) lists, per
    ranking, the candidates from best to worst."""
    return _averaged(order, _handed_out(order, profile))


def weight_variance(order: IntArray, profile: FloatArray) -> FloatArray:
    """U, the variance of each candidate's weight over rankings (Eq. (47))."""
    handed_out = _handed_out(order, profile)
    mean = _averaged(order, handed_out)
    return np.asarray(_averaged(order, handed_out * handed_out) - mean * mean)


def _handed_out(order: IntArray, profile: FloatArray) -> FloatArray:
    """The weight of each entry of ``order``, flat."""
    return profile.reshape(1, -1).repeat(len(order), axis=0).ravel()


def _averaged(order: IntArray, handed_out: FloatArray) -> FloatArray:
    """Mean over rankings of what each candidate was handed out."""
    b, k = order.shape
    return np.asarray(np.bincount(order.ravel(), handed_out, k) / b, dtype=float)


@lru_cache(maxsize=512)
def normal_scores(k: int) -> FloatArray:
    """s for ranks 0..k-1, summing to zero. Read-only."""
    from scipy.special import ndtri  # takes long to import

    s = -ndtri((np.arange(k) + 0.625) / (k + 0.25))
    s -= s.mean()
    s.setflags(write=False)
    return np.asarray(s)


# -- profiles: from ranks to weights
class Profile(ABC):
    """Maps ranks to weights for any number of candidates."""

    @abstractmethod
    def weights(self, n: int, progress: float = 0.0) -> FloatArray:
        """Weight of each rank, best first, at ``progress`` in [0, 1] of the budget. Read-only."""


@data
@dataclass(frozen=True)
class Log(Profile):
    """Positive logarithmic weights (the default of CMA-ES), optionally with a negative half.

    >>> from noisewise.cma.weights import Log
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

    >>> from noisewise.cma.weights import Uniform
    >>> Uniform().weights(4).tolist()
    [0.5, 0.5, 0.0, 0.0]
    """

    def weights(self, n: int, progress: float = 0.0) -> FloatArray:
        mu = max(1, n // 2)
        return np.where(np.arange(n) < mu, 1.0 / mu, 0.0)


@data
@dataclass(frozen=True)
class PowerLift(Profile):
    """``(1 - r/(n-1))**e`` for the better half; e grows from ``start`` to ``end`` over the run.

    >>> from noisewise.cma.weights import PowerLift
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
    # Eq. (31): log(mu + 1/2) - log j, and zero below rank mu. For even n the
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
