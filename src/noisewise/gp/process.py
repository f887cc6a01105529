"""Gaussian process regression: posterior, leave-one-out predictions, maximum a posteriori fit.

    symbol  meaning                                                             shape
    X       points with values, one row per group of replicates; the process is
            stationary in these coordinates or in those of a `Focus`            (n, d)
    m       means of the groups, standardised                                   (n,)
    c, S    values per group; sums of squares about the group means             (n,)
    tau     error variance of one value: learned sigma^2 + known variance       (n,)
    w, E    what a seed adds to all values that share it has variance w^2;
            E_ij = 1 where groups i and j have the same seed, else 0            (n, n)
    K       covariance of m: k(X, X) + diag(tau / c) + w^2 E = L L'              (n, n)
    b       prior mean at X: the bowl of the trend                              (n,)
    alpha   K^-1 (m - b)                                                        (n,)

Log likelihood of all single values, groups merged:

    log N(m; b, K) - 1/2 sum[(c - 1) log(2 pi tau) + S / tau + log c]
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.gp import kernel
from noisewise.gp.focus import Focus
from noisewise.gp.kernel import Hyper
from noisewise.gp.prior import Prior
from noisewise.gp.values import Merged

_LOG_2PI = float(np.log(2.0 * np.pi))
#: Smallest addition to the diagonal, relative to its mean.
_JITTER = 1e-10


def factor(K: FloatArray) -> FloatArray:
    """Lower Cholesky factor of ``K``; the diagonal is raised until there is one. ``K`` is
    overwritten."""
    from scipy.linalg import lapack  # takes long to import

    diagonal = np.array(np.diagonal(K))
    jitter = _JITTER * float(diagonal.mean())
    for _ in range(12):
        K[np.diag_indices(len(K))] = diagonal + jitter
        L, failed = lapack.dpotrf(K, lower=1, clean=1)
        if not failed:
            return np.asarray(L)
        jitter *= 10.0
    raise np.linalg.LinAlgError("the covariance matrix is not finite")


def log_likelihood(
    theta: FloatArray, groups: Merged, options: tuple[int, ...] = ()
) -> tuple[float, FloatArray]:
    """Log marginal likelihood of all values, and its gradient by ``Hyper.vector``."""
    from scipy.linalg import lapack  # takes long to import

    hyper = Hyper.of(theta, groups.seed is not None, options)
    Z = kernel.scaled(groups.X, hyper)
    K, parts = kernel.with_derivatives(Z, hyper)
    n, c, S = len(Z), groups.count, groups.scatter
    s2 = np.exp(2.0 * hyper.noise)
    tau = s2 + groups.known
    same = _with_noise(K, groups, hyper)
    L = factor(K)
    # dpotri leaves the upper triangle as it was, that is, zero.
    inverse, _ = lapack.dpotri(L, lower=1)
    inverse = inverse + np.tril(inverse, -1).T
    residual = groups.mean - kernel.bowl(Z, hyper)
    alpha = inverse @ residual
    value = -0.5 * (residual @ alpha + n * _LOG_2PI) - np.log(np.diagonal(L)).sum()
    value -= 0.5 * float(np.sum((c - 1.0) * (_LOG_2PI + np.log(tau)) + S / tau + np.log(c)))
    A = np.outer(alpha, alpha) - inverse
    by_noise = s2 * np.sum(np.diagonal(A) / c - (c - 1.0) / tau + S / tau**2)
    by_rest = 0.5 * kernel.contract(A, Z, hyper, parts)
    d = len(hyper.lengths)
    bend = kernel.KAPPA * np.exp(hyper.trend) * (alpha @ (Z[:, :d] * Z[:, :d]))
    by_rest[:d] -= 2.0 * bend
    by_rest[d + 1] += bend.sum()
    by_shared = []
    if same is not None and hyper.shared is not None:
        by_shared = [np.exp(2.0 * hyper.shared) * np.vdot(A, same)]
    by_kernel, by_choices = by_rest[: d + 2], by_rest[d + 2 :]
    return float(value), np.concatenate([by_kernel, [by_noise], by_choices, by_shared])


def _with_noise(K: FloatArray, groups: Merged, hyper: Hyper) -> FloatArray | None:
    """Add diag(tau / c) + w^2 E to ``K``; E, None where no seed is shared."""
    tau = np.exp(2.0 * hyper.noise) + groups.known
    K[np.diag_indices(len(K))] += tau / groups.count
    if groups.seed is None or hyper.shared is None:
        return None
    same: FloatArray = (groups.seed[:, None] == groups.seed).astype(float)
    K += np.exp(2.0 * hyper.shared) * same
    return same


def log_posterior(theta: FloatArray, groups: Merged, prior: Prior) -> tuple[float, FloatArray]:
    """Log likelihood plus log prior (without its constant), and the gradient."""
    value, gradient = log_likelihood(theta, groups, prior.options)
    off = (theta - prior.mean) / prior.sd
    return value - 0.5 * float(off @ off), gradient - off / prior.sd


def fit(
    groups: Merged, prior: Prior, starts: list[Hyper], iterations: int = 30
) -> tuple[Hyper, float]:
    """The hyperparameters of the largest posterior density found from ``starts``, and its log."""
    from scipy.optimize import minimize

    def negative(theta: FloatArray) -> tuple[float, FloatArray]:
        value, gradient = log_posterior(theta, groups, prior)
        return -value, -gradient

    best: Any = None
    bounds = list(zip(prior.low, prior.high, strict=True))
    for start in starts:
        found = minimize(
            negative,
            np.clip(prior.suited(start).vector(), prior.low, prior.high),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": iterations, "ftol": 1e-4, "maxcor": 8},
        )
        if best is None or found.fun < best.fun:
            best = found
    return prior.hyper(best.x), -float(best.fun)


@dataclass(frozen=True, eq=False)
class Posterior:
    """The process given the groups; a pure function of them and of the hyperparameters."""

    groups: Merged
    hyper: Hyper
    Z: FloatArray
    L: FloatArray
    alpha: FloatArray
    #: Coordinates in which the process is stationary; None: those of the points.
    focus: Focus | None = None

    @classmethod
    def of(cls, groups: Merged, hyper: Hyper, focus: Focus | None = None) -> Posterior:
        """The posterior at these hyperparameters."""
        Z = _scaled(groups.X, hyper, focus)
        K = kernel.covariance(Z, Z, hyper)
        _with_noise(K, groups, hyper)
        L = factor(K)
        return cls(groups, hyper, Z, L, _solve(L, groups.mean - kernel.bowl(Z, hyper)), focus)

    def scaled(self, X: FloatArray) -> FloatArray:
        """z of every row."""
        return _scaled(X, self.hyper, self.focus)

    def lengths(self, x: FloatArray) -> FloatArray:
        """Length scales around one point, in its coordinates."""
        return np.asarray(self.hyper.scales() / self._by_x(x))

    def flat(self) -> Posterior:
        """The same process as a function of the coordinates in which it is stationary."""
        if self.focus is None:
            return self
        X = self.focus.forward(self.groups.X)
        return replace(self, groups=replace(self.groups, X=X), focus=None)

    def _whole(self, slope: FloatArray) -> FloatArray:
        """Derivatives by all columns of points, given those by the numbers."""
        q = len(self.hyper.options)
        return np.append(slope, np.zeros(q)) if q else slope

    def _by_x(self, x: FloatArray) -> FloatArray:
        """dw/dx at one point; ones without a focus."""
        return np.ones(len(x)) if self.focus is None else self.focus.slope(x)

    def mean(self, X: FloatArray) -> FloatArray:
        """Posterior mean of the noise-free value at every row."""
        W = self.scaled(X)
        known = kernel.covariance(W, self.Z, self.hyper) @ self.alpha
        return np.asarray(kernel.bowl(W, self.hyper) + known)

    def smoothed(self) -> FloatArray:
        """Posterior mean at the groups' own points:
        k(X, X) alpha = m - b - (diag(tau / c) + w^2 E) alpha."""
        g = self.groups
        tau = np.exp(2.0 * self.hyper.noise) + g.known
        smooth = np.asarray(g.mean - tau / g.count * self.alpha)
        if g.seed is None or self.hyper.shared is None:
            return smooth
        _, of = np.unique(g.seed, return_inverse=True)
        return np.asarray(smooth - self._shared() * np.bincount(of, self.alpha)[of])

    def added(self, seed: IntArray | None, n: int) -> FloatArray:
        """What each seed is expected to add to values, w^2 E alpha; zero where nothing is known."""
        own = self.groups.seed
        if own is None or seed is None:
            return np.zeros(n)
        return np.asarray(self._shared() * ((seed[:, None] == own) @ self.alpha))

    def _shared(self) -> float:
        """w^2; zero where no seed is shared."""
        if self.groups.seed is None or self.hyper.shared is None:
            return 0.0
        return float(np.exp(2.0 * self.hyper.shared))

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Posterior mean and variance of the noise-free value at every row."""
        mean, V = self.project(X)
        prior = kernel.variance(self.scaled(X), self.hyper)
        return mean, _positive(prior - np.einsum("ij,ij->j", V, V), prior)

    def project(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Posterior mean (q,) and V = L^-1 k(data, X), (n, q): the posterior covariance of rows
        a and b is k(a, b) - V_a . V_b."""
        from scipy.linalg import solve_triangular  # takes long to import

        W = self.scaled(X)
        K = kernel.covariance(self.Z, W, self.hyper)
        V = solve_triangular(self.L, K, lower=True, check_finite=False)
        return np.asarray(kernel.bowl(W, self.hyper) + self.alpha @ K), np.asarray(V)

    def joint(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Posterior mean and covariance matrix of the noise-free values at all rows."""
        mean, V = self.project(X)
        W = self.scaled(X)
        return mean, kernel.covariance(W, W, self.hyper) - V.T @ V

    def mean_slope(self, x: FloatArray) -> tuple[float, FloatArray]:
        """Mean at one point, and its gradient by the point's coordinates."""
        z = self.scaled(x)
        k = kernel.covariance(z[None], self.Z, self.hyper)[0]
        mean = float(kernel.bowl(z[None], self.hyper)[0] + k @ self.alpha)
        slope = kernel.bowl_slope(z, self.hyper) + self.alpha @ kernel.slope(z, self.Z, self.hyper)
        return mean, self._whole(slope) * self._by_x(x)

    def gradient_covariance(self, x: FloatArray) -> FloatArray:
        """Posterior covariance of the gradient of the noise-free function by the numbers among the
        coordinates of one point."""
        from scipy.linalg import solve_triangular  # takes long to import

        z = self.scaled(x)
        half = solve_triangular(self.L, kernel.slope(z, self.Z, self.hyper), lower=True)
        C = kernel.slope_covariance(z, self.hyper) - half.T @ half
        by_x = self._by_x(x)[: len(C)]
        return np.asarray(C * np.outer(by_x, by_x))

    def noise(self, seed_known: bool = False) -> float:
        """Error variance of one more evaluation: the learned one, plus the median known one, plus
        that of its seed unless values under the same seed have shown what that adds."""
        known = self.groups.known
        usual = np.median(known) if known.any() else 0.0  # a median takes long
        noise = float(np.exp(2.0 * self.hyper.noise) + usual)
        return noise if seed_known else noise + self._shared()

    def given(self, X: FloatArray) -> Posterior:
        """The posterior with every row measured once more, with the expected values, so that the
        mean stays and the variance shrinks. For points whose values are still to come, or will
        never come."""
        mean, B = self.project(X)
        W = self.scaled(X)
        C = kernel.covariance(W, W, self.hyper) - B.T @ B
        C[np.diag_indices(len(C))] += self.noise()
        n, q = len(self.Z), len(X)
        L = np.zeros((n + q, n + q))
        L[:n, :n], L[n:, :n], L[n:, n:] = self.L, B.T, factor(C)
        g, one = self.groups, np.ones(q)
        groups = Merged(
            np.vstack([g.X, X]),
            np.concatenate([g.mean, mean]),
            np.concatenate([g.count, one]),
            np.concatenate([g.scatter, 0.0 * one]),
            np.concatenate([g.known, np.median(g.known) * one]),
            None if g.seed is None else np.append(g.seed, _unused(g.seed, q)),
        )
        alpha = np.concatenate([self.alpha, np.zeros(q)])
        return replace(self, groups=groups, Z=np.vstack([self.Z, W]), L=L, alpha=alpha)

    def leave_one_out(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of every group's mean, predicted from the other groups."""
        from scipy.linalg import lapack  # takes long to import

        inverse, _ = lapack.dpotri(self.L, lower=1)
        var = 1.0 / np.diagonal(inverse)
        return self.groups.mean - self.alpha * var, np.asarray(var)

    def surprises(self) -> FloatArray:
        """Distance of every group's mean from what the others predict, in standard deviations."""
        mean, var = self.leave_one_out()
        return np.asarray(np.abs(self.groups.mean - mean) / np.sqrt(var))

    def loo_density(self) -> FloatArray:
        """Log predictive density of every group's values, given the other groups."""
        mean, var = self.leave_one_out()
        g = self.groups
        tau = np.exp(2.0 * self.hyper.noise) + g.known
        between = _LOG_2PI + np.log(var) + (g.mean - mean) ** 2 / var
        within = (g.count - 1.0) * (_LOG_2PI + np.log(tau)) + g.scatter / tau + np.log(g.count)
        return np.asarray(-0.5 * (between + within))


def _scaled(X: FloatArray, hyper: Hyper, focus: Focus | None) -> FloatArray:
    return kernel.scaled(X if focus is None else focus.forward(X), hyper)


def _unused(seed: IntArray, n: int) -> IntArray:
    """``n`` seeds that no value has."""
    return np.arange(n) + 1 + max(0, int(seed.max(initial=0)))


def _solve(L: FloatArray, b: FloatArray) -> FloatArray:
    from scipy.linalg import lapack  # takes long to import

    x, _ = lapack.dpotrs(L, b, lower=1)
    return np.asarray(x)


def _positive(var: FloatArray, prior: FloatArray) -> FloatArray:
    """Variances, kept above what rounding leaves of the prior variance."""
    return np.maximum(var, 1e-12 * prior)
