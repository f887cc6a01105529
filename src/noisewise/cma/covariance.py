"""Covariance models: full and diagonal siblings behind one interface.

| symbol | meaning | shape |
|---|---|---|
| C | covariance | (n, n) or (n,) |
| B, D | eigenvectors and square roots of eigenvalues, C = B D^2 B^T | (n, n), (n,) |
| Z | standard normal rows | (k, n) |
| Y | steps, ~ N(0, C) | (k, n) |
| q | squared ratio of the step sizes after and before an update | |
| mu_eff | 1 / sum of squared positive weights | |
| c_sigma, d_sigma | cumulation and damping of the step size | |
| c_c | cumulation of the rank-one path | |
| c_1, c_mu | learning rates of the rank-one and rank-mu update | |

The learning rates follow from dimension and mu_eff; a diagonal learns faster.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray

#: Eigenvalues below this fraction of the largest are lifted to it.
_SMALLEST = 1e-14
#: In a centred update no variance shrinks below this fraction of itself.
_LEAST_KEPT = 0.2


# -- learning rates
class Rates(NamedTuple):
    """Learning rates of one update."""

    c_sigma: float
    d_sigma: float
    c_c: float
    c_1: float
    c_mu: float
    #: Gains of a new step in p_sigma and p_c, and E|N(0, I)|.
    g_sigma: float
    g_c: float
    chi_n: float


@lru_cache(maxsize=256)
def full_rates(n: int, mu_eff: float) -> Rates:
    """Rates for a full covariance matrix (Hansen's tutorial, eq. 55-58)."""
    return with_paths(n, mu_eff, *_full(n, mu_eff))


def _full(n: int, mu_eff: float) -> tuple[float, float]:
    """c_1 and c_mu of a full matrix."""
    c_1 = 2.0 / ((n + 1.3) ** 2 + mu_eff)
    c_mu = min(1.0 - c_1 - 1e-8, 2.0 * (mu_eff - 2.0 + 1.0 / mu_eff) / ((n + 2.0) ** 2 + mu_eff))
    return c_1, c_mu


@lru_cache(maxsize=256)
def diagonal_rates(n: int, mu_eff: float) -> Rates:
    """Rates for a diagonal covariance: n parameters instead of n(n+1)/2 are learnt (n+2)/3
    times as fast (Ros and Hansen 2008)."""
    full_1, full_mu = _full(n, mu_eff)
    faster = (n + 2.0) / 3.0
    c_1 = min(0.5, faster * full_1)
    c_mu = min(1.0 - c_1 - 1e-8, faster * full_mu)
    return with_paths(n, mu_eff, c_1, c_mu)


def with_paths(n: int, mu_eff: float, c_1: float, c_mu: float) -> Rates:
    """These rates of the covariance with the usual ones of the paths."""
    c_sigma = (mu_eff + 2.0) / (n + mu_eff + 5.0)
    d_sigma = 1.0 + 2.0 * max(0.0, math.sqrt((mu_eff - 1.0) / (n + 1.0)) - 1.0) + c_sigma
    c_c = (4.0 + mu_eff / n) / (n + 4.0 + 2.0 * mu_eff / n)
    return Rates(
        c_sigma,
        d_sigma,
        c_c,
        c_1,
        c_mu,
        g_sigma=math.sqrt(c_sigma * (2.0 - c_sigma) * mu_eff),
        g_c=math.sqrt(c_c * (2.0 - c_c) * mu_eff),
        chi_n=math.sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n * n)),
    )


# -- models
@data
@dataclass(slots=True)
class FullState:
    C: FloatArray
    B: FloatArray
    D: FloatArray
    #: Learning weight gathered since C was last decomposed.
    stale: float = 0.0


@data
@dataclass(slots=True)
class DiagonalState:
    C: FloatArray
    D: FloatArray


class Covariance(ABC):
    """How the shape of the search distribution is represented and learnt."""

    @abstractmethod
    def start(self, n: int) -> Any:
        """The state of the identity."""

    @abstractmethod
    def of(self, C: FloatArray) -> Any:
        """The state of this covariance, (n, n) or its diagonal (n,)."""

    @abstractmethod
    def rates(self, n: int, mu_eff: float) -> Rates:
        """Default learning rates of this model."""

    @abstractmethod
    def stretch(self, state: Any, Z: FloatArray) -> FloatArray:
        """A Z: standard normal rows to rows ~ N(0, C)."""

    @abstractmethod
    def whiten(self, state: Any, Y: FloatArray) -> FloatArray:
        """C^(-1/2) Y, for one vector or rows."""

    @abstractmethod
    def update(
        self,
        state: Any,
        keep: float,
        rates: Rates,
        p_c: FloatArray,
        w: FloatArray,
        Y: FloatArray,
        sampled: FloatArray | None,
        centring: float,
    ) -> Any:
        """keep C + c_1 p_c p_c^T + c_mu sum_i w_i y_i y_i^T; where the model can, with the mean
        square of the rows ``sampled`` in place of the share ``centring`` of the C that c_mu
        makes way for."""

    @abstractmethod
    def movement(self, before: Any, after: Any, q: float) -> FloatArray:
        """C^(-1/2) (q C' - C) C^(-1/2) / sqrt(2): how far ``after`` is from ``before``, in the
        coordinates in which the Fisher information of ``before`` is the identity."""

    @abstractmethod
    def blend(self, before: Any, after: Any, q: float, eta: float) -> tuple[Any, float]:
        """C + eta (q C' - C) as a state of determinant one, and the factor by which the step
        size of ``before`` has to grow to make up for that."""

    @abstractmethod
    def scatter(self, n: int) -> float:
        """E |z z^T - I|^2 over the entries this model learns, z standard normal."""


@dataclass(frozen=True)
class Full(Covariance):
    """A full matrix. It is decomposed when the weight of what it learnt since the last
    decomposition exceeds ``laziness``/n, that is, after it changed by about that much along any
    axis."""

    laziness: float = 0.5

    def start(self, n: int) -> FullState:
        return FullState(np.eye(n), np.eye(n), np.ones(n))

    def of(self, C: FloatArray) -> FullState:
        return self._decomposed(np.diag(C) if C.ndim == 1 else C.copy())

    def rates(self, n: int, mu_eff: float) -> Rates:
        return full_rates(n, mu_eff)

    def stretch(self, state: FullState, Z: FloatArray) -> FloatArray:
        Z *= state.D
        return np.asarray(Z.dot(state.B.T))

    def whiten(self, state: FullState, Y: FloatArray) -> FloatArray:
        return np.asarray((Y.dot(state.B) / state.D).dot(state.B.T))

    def update(
        self,
        state: FullState,
        keep: float,
        rates: Rates,
        p_c: FloatArray,
        w: FloatArray,
        Y: FloatArray,
        sampled: FloatArray | None,
        centring: float,
    ) -> FullState:
        n = len(p_c)
        C: FloatArray = (Y.T * (rates.c_mu * w)).dot(Y) + np.outer(rates.c_1 * p_c, p_c)
        C += keep * state.C
        least = 0.0
        if sampled is not None:
            C += (centring * rates.c_mu) * (state.C - sampled.T.dot(sampled) / len(sampled))
            least = _LEAST_KEPT * float(state.D[0]) ** 2
        stale = state.stale + rates.c_1 + rates.c_mu
        if stale <= self.laziness / n:
            return FullState(C, state.B, state.D, stale)
        return self._decomposed(C, least)

    def _decomposed(self, C: FloatArray, least: float = 0.0) -> FullState:
        """The state of ``C`` with no eigenvalue below ``least``; that of the identity where
        ``C`` is beyond repair."""
        from scipy.linalg import lapack  # takes long to import

        C += C.T
        C *= 0.5
        D2, B, info = lapack.dsyevd(C)
        if info != 0 or not max(D2[-1], least) > 0.0 or not math.isfinite(D2[-1]):
            return self.start(len(C))
        least = max(least, _SMALLEST * D2[-1])
        if D2[0] < least:
            np.maximum(D2, least, out=D2)
            C = (B * D2) @ B.T
        return FullState(C, B, np.sqrt(D2))

    def movement(self, before: FullState, after: FullState, q: float) -> FloatArray:
        root = (before.B / before.D) @ before.B.T
        return np.asarray(math.sqrt(0.5) * (root @ (q * after.C - before.C) @ root))

    def blend(
        self, before: FullState, after: FullState, q: float, eta: float
    ) -> tuple[FullState, float]:
        state = self._decomposed((1.0 - eta) * before.C + (eta * q) * after.C)
        growth = math.exp(float(np.log(state.D).mean()))
        return FullState(state.C / growth**2, state.B, state.D / growth), growth

    def scatter(self, n: int) -> float:
        return n * (n + 1.0)


@dataclass(frozen=True)
class Diagonal(Covariance):
    """Variances only: linear time and memory, and far fewer parameters to learn. ``slow`` learns
    them no faster than a full matrix would."""

    slow: bool = False

    def start(self, n: int) -> DiagonalState:
        return DiagonalState(np.ones(n), np.ones(n))

    def of(self, C: FloatArray) -> DiagonalState:
        return self._rooted(C.copy() if C.ndim == 1 else np.diagonal(C).copy())

    def rates(self, n: int, mu_eff: float) -> Rates:
        return full_rates(n, mu_eff) if self.slow else diagonal_rates(n, mu_eff)

    def stretch(self, state: DiagonalState, Z: FloatArray) -> FloatArray:
        Z *= state.D
        return Z

    def whiten(self, state: DiagonalState, Y: FloatArray) -> FloatArray:
        return np.asarray(Y / state.D)

    def update(
        self,
        state: DiagonalState,
        keep: float,
        rates: Rates,
        p_c: FloatArray,
        w: FloatArray,
        Y: FloatArray,
        sampled: FloatArray | None,
        centring: float,
    ) -> DiagonalState:
        C: FloatArray = rates.c_mu * w.dot(Y * Y) + rates.c_1 * (p_c * p_c) + keep * state.C
        if sampled is not None:
            spread = np.add.reduce(sampled * sampled) / len(sampled)
            C += (centring * rates.c_mu) * (state.C - spread)
            np.maximum(C, _LEAST_KEPT * state.C, out=C)
        return self._rooted(C)

    def _rooted(self, C: FloatArray) -> DiagonalState:
        """The state of ``C``; that of the identity where ``C`` is beyond repair."""
        size = math.sqrt(float(C.dot(C)))
        if not 0.0 < size < math.inf:
            return self.start(len(C))
        np.maximum(C, _SMALLEST * size, out=C)
        return DiagonalState(C, np.sqrt(C))

    def movement(self, before: DiagonalState, after: DiagonalState, q: float) -> FloatArray:
        return np.asarray(math.sqrt(0.5) * ((q * after.C - before.C) / before.C))

    def blend(
        self, before: DiagonalState, after: DiagonalState, q: float, eta: float
    ) -> tuple[DiagonalState, float]:
        state = self._rooted((1.0 - eta) * before.C + (eta * q) * after.C)
        growth = math.exp(float(np.log(state.D).mean()))
        return DiagonalState(state.C / growth**2, state.D / growth), growth

    def scatter(self, n: int) -> float:
        return 2.0 * n


#: The models by name.
MODELS: dict[str, Covariance] = {
    "full": Full(),
    "diagonal": Diagonal(),
    "slow-diagonal": Diagonal(slow=True),
}
