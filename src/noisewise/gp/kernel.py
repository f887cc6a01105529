"""The prior of the function: an ARD Matern 5/2 term plus a quadratic trend that opens upwards; with
choices, an effect of each besides, and a Matern term that differs between combinations of them.

    symbol  meaning                                                             shape
    x       a point in unit coordinates                                         (d,)
    z       the point centred and divided by the length scales, (x - 1/2) / l   (d,)
    r       Euclidean distance of two points z, z'                              scalar
    s       standard deviation of the Matern term                               scalar
    v       standard deviation of the trend's coefficients                      scalar
    p       1 + z . z'                                                          scalar
    e       number of choices with the same option in both points, of q         scalar
    a, t    standard deviation of the effect of a choice; how much each different
            option takes from the correlation of the Matern term                scalars

    mean        m(x) = KAPPA v |z|^2
    covariance  k(x, x') = C0 + a^2 e + v^2 p^2
                           + s^2 exp(-t (q - e)) (1 + sqrt5 r + 5/3 r^2) exp(-sqrt5 r)

``p^2`` is the covariance of a full quadratic polynomial whose coefficients are independent and
normal, so the trend is a Bayesian basis without the basis: constant, linear, squared and mixed
terms. ``C0`` is the variance of an unknown constant, on standardised values. The coefficients of
the squares have the mean ``KAPPA v``, a weak belief that the function rises towards the corners
of the box. Choices are the last columns of x, as numbers of options; z has a column of 0 or 1 for
each option, so that e is a product of rows. The choices share their hyperparameters.
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
    """Logarithms of the length scales of the numbers (d - q,), of ``s``, of ``v`` and of the
    standard deviation of the learned noise of one evaluation; values are standardised, points in
    unit coordinates."""

    lengths: FloatArray
    signal: float
    trend: float
    noise: float
    #: The same of what a seed adds to all values that share it; None: none is shared.
    shared: float | None = None
    #: Numbers of options of the q choices, and the logarithms of ``a`` and of ``t``.
    options: tuple[int, ...] = ()
    same: float = 0.0
    apart: float = 0.0

    def vector(self) -> FloatArray:
        """All of them, the length scales first."""
        choices = [self.same, self.apart] if self.options else []
        last = [] if self.shared is None else [self.shared]
        return np.concatenate([self.lengths, [self.signal, self.trend, self.noise], choices, last])

    @classmethod
    def of(cls, theta: FloatArray, shared: bool = False, options: tuple[int, ...] = ()) -> Hyper:
        """The inverse of `vector`; ``shared``: whether seeds add something."""
        if shared:
            return replace(cls.of(theta[:-1], options=options), shared=float(theta[-1]))
        if options:
            same, apart = map(float, theta[-2:])
            return replace(cls.of(theta[:-2]), options=options, same=same, apart=apart)
        signal, trend, noise = theta[-3:]
        return cls(np.array(theta[:-3]), float(signal), float(trend), float(noise))

    def scales(self) -> FloatArray:
        """Distances along all columns of x that count as the same, 1 for those of choices."""
        lengths = np.exp(self.lengths)
        return np.append(lengths, np.ones(len(self.options))) if self.options else lengths


def scaled(X: FloatArray, hyper: Hyper) -> FloatArray:
    """z of every row."""
    if not hyper.options:
        return np.asarray((X - 0.5) * np.exp(-hyper.lengths))
    d = len(hyper.lengths)
    parts = [(X[..., :d] - 0.5) * np.exp(-hyper.lengths)]
    parts += [X[..., d + j, None] == np.arange(k) for j, k in enumerate(hyper.options)]
    return np.concatenate(parts, axis=-1)


def _apart(Z: FloatArray, hyper: Hyper) -> tuple[FloatArray, FloatArray]:
    """The columns of numbers and those of options."""
    d = len(hyper.lengths)
    return (Z[..., :d], Z[..., d:]) if hyper.options else (Z, Z[..., :0])


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
    (Z, chosen), (W, others) = _apart(Z, hyper), _apart(W, hyper)
    trend = Z @ W.T
    r = _distances(Z, W, trend)
    matern = r / 3.0
    matern += 1.0
    matern *= r
    matern += 1.0
    np.negative(r, out=r)
    if hyper.options:
        e = chosen @ others.T
        r += np.exp(hyper.apart) * (e - len(hyper.options))
    np.exp(r, out=r)
    matern *= r
    matern *= np.exp(2.0 * hyper.signal)
    if hyper.options:
        e *= np.exp(2.0 * hyper.same)
        matern += e
    trend += 1.0
    trend *= trend
    trend *= np.exp(2.0 * hyper.trend)
    matern += trend
    matern += C0
    return np.asarray(matern)


def variance(Z: FloatArray, hyper: Hyper) -> FloatArray:
    """k(x, x) of every row."""
    Z, _ = _apart(Z, hyper)
    p = 1.0 + np.einsum("ij,ij->i", Z, Z)
    k = C0 + np.exp(2.0 * hyper.signal) + np.exp(2.0 * hyper.trend) * p * p
    return np.asarray(k + len(hyper.options) * np.exp(2.0 * hyper.same) if hyper.options else k)


def bowl(Z: FloatArray, hyper: Hyper) -> FloatArray:
    """Prior mean at every row, up to the unknown constant."""
    Z, _ = _apart(Z, hyper)
    return np.asarray(KAPPA * np.exp(hyper.trend) * np.einsum("ij,ij->i", Z, Z))


def bowl_slope(z: FloatArray, hyper: Hyper) -> FloatArray:
    """Derivatives of the prior mean by the numbers among the coordinates of x."""
    z, _ = _apart(z, hyper)
    return np.asarray(2.0 * KAPPA * np.exp(hyper.trend - hyper.lengths) * z)


def slope(z: FloatArray, W: FloatArray, hyper: Hyper) -> FloatArray:
    """Derivatives of k(x, w) by the numbers among the coordinates of x, one row per w."""
    (z, chosen), (W, others) = _apart(z, hyper), _apart(W, hyper)
    r = _distances(z[None], W, z[None] @ W.T)[0]
    s2, v2 = np.exp(2.0 * hyper.signal), np.exp(2.0 * hyper.trend)
    if hyper.options:
        s2 = s2 * np.exp(np.exp(hyper.apart) * (others @ chosen - len(hyper.options)))[:, None]
    matern = -(5.0 / 3.0) * s2 * ((1.0 + r) * np.exp(-r))[:, None] * (z - W)
    trend = 2.0 * v2 * (1.0 + W @ z)[:, None] * W
    return np.asarray((matern + trend) * np.exp(-hyper.lengths))


def slope_covariance(z: FloatArray, hyper: Hyper) -> FloatArray:
    """Second derivatives of k(x, x') by the numbers of x and x' at x = x': the prior covariance of
    the gradient."""
    z, _ = _apart(z, hyper)
    s2, v2 = np.exp(2.0 * hyper.signal), np.exp(2.0 * hyper.trend)
    C = 2.0 * v2 * np.outer(z, z)
    C[np.diag_indices(len(z))] += (5.0 / 3.0) * s2 + 2.0 * v2 * (1.0 + z @ z)
    return np.asarray(C * np.exp(-np.add.outer(hyper.lengths, hyper.lengths)))


def with_derivatives(Z: FloatArray, hyper: Hyper) -> tuple[FloatArray, tuple[FloatArray, ...]]:
    """k of all pairs, and what `contract` needs: p, the Matern term, the factor of
    (z_i - z_i')^2 in its derivatives by log l_i and, with choices, e."""
    Z, chosen = _apart(Z, hyper)
    p = Z @ Z.T
    r = _distances(Z, Z, p)
    p += 1.0
    s2, v2 = np.exp(2.0 * hyper.signal), np.exp(2.0 * hyper.trend)
    same = chosen @ chosen.T if hyper.options else None
    if same is None:
        e = s2 * np.exp(-r)
    else:
        e = s2 * np.exp(np.exp(hyper.apart) * (same - len(hyper.options)) - r)
    matern = (1.0 + r + r * r / 3.0) * e
    K, parts = C0 + matern + v2 * p * p, (p, matern, (5.0 / 3.0) * (1.0 + r) * e)
    if same is None:
        return K, parts
    return K + np.exp(2.0 * hyper.same) * same, (*parts, same)


def contract(
    A: FloatArray, Z: FloatArray, hyper: Hyper, parts: tuple[FloatArray, ...]
) -> FloatArray:
    """Sums of ``A * dk`` over all pairs, by log l, log s, log v and, with choices, log a and
    log t; A is symmetric."""
    Z, _ = _apart(Z, hyper)
    p, matern, factor, *same = parts
    v2 = np.exp(2.0 * hyper.trend)
    Ap = A * p
    B = A * factor
    # sum_ij B_ij (z_i - z_j)^2 = 2 (sum_i (B 1)_i z_i^2 - z B z), for all coordinates at once.
    by_lengths = 2.0 * (B.sum(axis=1) @ (Z * Z) - np.einsum("ij,ij->j", Z, B @ Z))
    by_lengths -= 4.0 * v2 * np.einsum("ij,ij->j", Z, Ap @ Z)
    by_signal = 2.0 * float(np.vdot(A, matern))
    by_trend = 2.0 * v2 * float(np.vdot(Ap, p))
    by_choices = []
    for e in same:
        by_same = 2.0 * np.exp(2.0 * hyper.same) * float(np.vdot(A, e))
        different = float(np.vdot(A, matern * (e - len(hyper.options))))
        by_choices = [by_same, np.exp(hyper.apart) * different]
    return np.concatenate([by_lengths, [by_signal, by_trend], by_choices])
