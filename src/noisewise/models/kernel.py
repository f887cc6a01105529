"""The prior of the function: an ARD Matern 5/2 term plus a quadratic trend that opens upwards.

    symbol  meaning                                                             shape
    x       a point in unit coordinates                                         (d,)
    z       the point centred and divided by the length scales, (x - 1/2) / l   (d,)
    r       Euclidean distance of two points z, z'                              scalar
    s       standard deviation of the Matern term                               scalar
    v       standard deviation of the trend's coefficients                      scalar
    p       1 + z . z'                                                          scalar

    mean        m(x) = KAPPA v |z|^2
    covariance  k(x, x') = C0 + s^2 (1 + sqrt5 r + 5/3 r^2) exp(-sqrt5 r) + v^2 p^2

``p^2`` is the covariance of a full quadratic polynomial whose coefficients are independent and
normal, so the trend is a Bayesian basis without the basis: constant, linear, squared and mixed
terms. ``C0`` is the variance of an unknown constant, on standardised values. The coefficients of
the squares have the mean ``KAPPA v``, a weak belief that the function rises towards the corners
of the box.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray

C0 = 1.0
#: Mean of the squares' coefficients in units of their standard deviation.
KAPPA = 1.0


@data
@dataclass(frozen=True)
class Hyper:
    """Logarithms of the length scales (d,), of ``s``, of ``v`` and of the standard deviation of
    the learned noise of one evaluation; values are standardised, points in unit coordinates."""

    lengths: FloatArray
    signal: float
    trend: float
    noise: float
    #: The same of what a seed adds to all values that share it; None: none is shared.
    shared: float | None = None

    def vector(self) -> FloatArray:
        """All of them, the length scales first."""
        last = [] if self.shared is None else [self.shared]
        return np.concatenate([self.lengths, [self.signal, self.trend, self.noise, *last]])

    @classmethod
    def of(cls, theta: FloatArray, shared: bool = False) -> Hyper:
        """The inverse of `vector`; ``shared``: whether seeds add something."""
        if shared:
            return replace(cls.of(theta[:-1]), shared=float(theta[-1]))
        signal, trend, noise = theta[-3:]
        return cls(np.array(theta[:-3]), float(signal), float(trend), float(noise))


def scaled(X: FloatArray, hyper: Hyper) -> FloatArray:
    """z of every row."""
    return np.asarray((X - 0.5) * np.exp(-hyper.lengths))


def _distances(Z: FloatArray, W: FloatArray, products: FloatArray) -> FloatArray:
    """sqrt5 r of every pair of rows, from their products Z W'."""
    r = -2.0 * products
    r += np.einsum("ij,ij->i", Z, Z)[:, None]
    r += np.einsum("ij,ij->i", W, W)
    r *= 5.0
    np.maximum(r, 0.0, out=r)
    return np.asarray(np.sqrt(r, out=r))


def covariance(Z: FloatArray, W: FloatArray, hyper: Hyper) -> FloatArray:
    """k of every pair of rows, given as `scaled` points."""
    # In place, because this is where most of the time goes.
    trend = Z @ W.T
    r = _distances(Z, W, trend)
    matern = r / 3.0
    matern += 1.0
    matern *= r
    matern += 1.0
    np.exp(np.negative(r, out=r), out=r)
    matern *= r
    matern *= np.exp(2.0 * hyper.signal)
    trend += 1.0
    trend *= trend
    trend *= np.exp(2.0 * hyper.trend)
    matern += trend
    matern += C0
    return np.asarray(matern)


def variance(Z: FloatArray, hyper: Hyper) -> FloatArray:
    """k(x, x) of every row."""
    p = 1.0 + np.einsum("ij,ij->i", Z, Z)
    return np.asarray(C0 + np.exp(2.0 * hyper.signal) + np.exp(2.0 * hyper.trend) * p * p)


def bowl(Z: FloatArray, hyper: Hyper) -> FloatArray:
    """Prior mean at every row, up to the unknown constant."""
    return np.asarray(KAPPA * np.exp(hyper.trend) * np.einsum("ij,ij->i", Z, Z))


def bowl_slope(z: FloatArray, hyper: Hyper) -> FloatArray:
    """Derivatives of the prior mean by the coordinates of x."""
    return np.asarray(2.0 * KAPPA * np.exp(hyper.trend - hyper.lengths) * z)


def slope(z: FloatArray, W: FloatArray, hyper: Hyper) -> FloatArray:
    """Derivatives of k(x, w) by the coordinates of x, one row per w, shape (n, d)."""
    r = _distances(z[None], W, z[None] @ W.T)[0]
    s2, v2 = np.exp(2.0 * hyper.signal), np.exp(2.0 * hyper.trend)
    matern = -(5.0 / 3.0) * s2 * ((1.0 + r) * np.exp(-r))[:, None] * (z - W)
    trend = 2.0 * v2 * (1.0 + W @ z)[:, None] * W
    return np.asarray((matern + trend) * np.exp(-hyper.lengths))


def variance_slope(z: FloatArray, hyper: Hyper) -> FloatArray:
    """Derivatives of k(x, x) by the coordinates of x."""
    v2 = np.exp(2.0 * hyper.trend)
    return np.asarray(4.0 * v2 * (1.0 + z @ z) * z * np.exp(-hyper.lengths))


def slope_covariance(z: FloatArray, hyper: Hyper) -> FloatArray:
    """Second derivatives of k(x, x') by x and x' at x = x': the prior covariance of the gradient,
    shape (d, d)."""
    s2, v2 = np.exp(2.0 * hyper.signal), np.exp(2.0 * hyper.trend)
    C = 2.0 * v2 * np.outer(z, z)
    C[np.diag_indices(len(z))] += (5.0 / 3.0) * s2 + 2.0 * v2 * (1.0 + z @ z)
    return np.asarray(C * np.exp(-np.add.outer(hyper.lengths, hyper.lengths)))


def with_derivatives(Z: FloatArray, hyper: Hyper) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """k of all pairs, and what `contract` needs: p, the Matern term, and the factor of
    (z_i - z_i')^2 in its derivatives by log l_i."""
    p = Z @ Z.T
    r = _distances(Z, Z, p)
    p += 1.0
    s2, v2 = np.exp(2.0 * hyper.signal), np.exp(2.0 * hyper.trend)
    e = s2 * np.exp(-r)
    matern = (1.0 + r + r * r / 3.0) * e
    return C0 + matern + v2 * p * p, (p, matern, (5.0 / 3.0) * (1.0 + r) * e)


def contract(
    A: FloatArray, Z: FloatArray, hyper: Hyper, parts: tuple[FloatArray, ...]
) -> FloatArray:
    """Sums of ``A * dk`` over all pairs, by log l (d), log s and log v; A is symmetric."""
    p, matern, factor = parts
    v2 = np.exp(2.0 * hyper.trend)
    Ap = A * p
    B = A * factor
    # sum_ij B_ij (z_i - z_j)^2 = 2 (sum_i (B 1)_i z_i^2 - z B z), for all coordinates at once.
    by_lengths = 2.0 * (B.sum(axis=1) @ (Z * Z) - np.einsum("ij,ij->j", Z, B @ Z))
    by_lengths -= 4.0 * v2 * np.einsum("ij,ij->j", Z, Ap @ Z)
    by_signal = 2.0 * float(np.vdot(A, matern))
    by_trend = 2.0 * v2 * float(np.vdot(Ap, p))
    return np.concatenate([by_lengths, [by_signal, by_trend]])
