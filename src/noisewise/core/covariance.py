"""Covariance models: full and diagonal siblings behind one interface.

| symbol | meaning | shape |
|---|---|---|
| C | covariance | (n, n) or (n,) |
| B, D | eigenvectors and square roots of eigenvalues, C = B D^2 B^T | (n, n), (n,) |
| Z | standard normal rows | (k, n) |
| Y | steps, ~ N(0, C) | (k, n) |
| q | squared ratio of the step sizes after and before an update | |
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.core.rates import Rates, diagonal_rates, full_rates

#: Eigenvalues below this fraction of the largest are lifted to it.
_SMALLEST = 1e-14
#: In a centred update no variance shrinks below this fraction of itself.
_LEAST_KEPT = 0.2


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
        sampled: FloatArray | None = None,
        centring: float = 1.0,
    ) -> Any:
        """keep C + c_1 p_c p_c^T + c_mu sum_i w_i y_i y_i^T; where the model can, with the mean
        square of the rows ``sampled`` in place of the share ``centring`` of the C that c_mu
        makes way for."""

    @abstractmethod
    def deviations(self, state: Any) -> FloatArray:
        """Standard deviation of each coordinate."""

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
        Y: FloatArray = Z.dot(state.B.T)
        return Y

    def whiten(self, state: FullState, Y: FloatArray) -> FloatArray:
        out: FloatArray = (Y.dot(state.B) / state.D).dot(state.B.T)
        return out

    def update(
        self,
        state: FullState,
        keep: float,
        rates: Rates,
        p_c: FloatArray,
        w: FloatArray,
        Y: FloatArray,
        sampled: FloatArray | None = None,
        centring: float = 1.0,
    ) -> FullState:
        n = len(p_c)
        C: FloatArray = (Y.T * (rates.c_mu * w)).dot(Y)
        C += np.outer(rates.c_1 * p_c, p_c)
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

    def deviations(self, state: FullState) -> FloatArray:
        out: FloatArray = np.sqrt(np.diagonal(state.C))
        return out

    def movement(self, before: FullState, after: FullState, q: float) -> FloatArray:
        root = (before.B / before.D) @ before.B.T
        out: FloatArray = root @ (q * after.C - before.C) @ root
        out *= math.sqrt(0.5)
        return out

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
        out: FloatArray = Y / state.D
        return out

    def update(
        self,
        state: DiagonalState,
        keep: float,
        rates: Rates,
        p_c: FloatArray,
        w: FloatArray,
        Y: FloatArray,
        sampled: FloatArray | None = None,
        centring: float = 1.0,
    ) -> DiagonalState:
        C: FloatArray = w.dot(Y * Y)
        C *= rates.c_mu
        C += rates.c_1 * (p_c * p_c)
        C += keep * state.C
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

    def deviations(self, state: DiagonalState) -> FloatArray:
        return state.D

    def movement(self, before: DiagonalState, after: DiagonalState, q: float) -> FloatArray:
        out: FloatArray = (q * after.C - before.C) / before.C
        out *= math.sqrt(0.5)
        return out

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
