"""Simple methods written here, because everybody knows them: random search, a plain GP, xNES."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import linalg, stats

from ..problem import FloatArray, Oracle
from ._common import Outcome, box, inside, library


@dataclass(frozen=True)
class RandomSearch:
    """Uniform points in the box, after the start if ``middle``; recommends the one of the smallest
    value."""

    middle: bool = False

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        rng = np.random.default_rng([seed, 1])
        low, high = box(oracle)
        X = rng.uniform(low, high, (oracle.remaining, oracle.dimension))
        if self.middle:
            X[0] = oracle.x0
        return Outcome(X[int(np.argmin(oracle(X)))])


@dataclass(frozen=True)
class PlainGP:
    """Constant mean, ARD Matern 5/2, learned noise and expected improvement, one at a time.

    scikit-learn's regressor on standardised values, after a Sobol start of 2d points (at least
    four, at most half the budget). Expected improvement over the smallest posterior mean of an
    evaluated point is maximised over ``candidates`` points, half of them uniform, half around
    that point. It recommends the evaluated point of the smallest posterior mean. Beyond 30
    evaluations the hyperparameters are fitted again whenever their number has grown by a tenth.
    """

    candidates: int = 2000

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        library("sklearn")
        rng = np.random.default_rng([seed, 1])
        low, high = box(oracle)
        d, n = oracle.dimension, oracle.remaining
        sobol = stats.qmc.Sobol(d, seed=rng)
        n_start = min(max(4, 2 * d), max(1, n // 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Sobol's powers of two, kernel bounds
            U = sobol.random(n_start)
            y = oracle(low + U * (high - low))
            kernel, next_fit = None, 0
            while True:
                if len(y) >= next_fit:
                    kernel, next_fit = None if len(y) < 3 else _fit(U, y, kernel), _again(len(y))
                model = _regressor(kernel, d).fit(U, y)
                mean = model.predict(U)
                best = int(np.argmin(mean))
                oracle.report(low + U[best] * (high - low))
                if not oracle.remaining:
                    return Outcome(low + U[best] * (high - low))
                u = self._next(model, U[best], float(mean[best]), rng)
                U, y = np.vstack([U, u]), np.append(y, oracle(low + u * (high - low)))

    def _next(self, model: Any, best: FloatArray, target: float, rng: Any) -> FloatArray:
        half, d = self.candidates // 2, len(best)
        spread = 10.0 ** rng.uniform(-2.5, -0.5, (half, 1))
        near = np.clip(best + spread * rng.standard_normal((half, d)), 0.0, 1.0)
        C = np.vstack([rng.random((half, d)), near])
        mean, sd = model.predict(C, return_std=True)
        sd = np.maximum(sd, 1e-12)
        z = (target - mean) / sd
        gain = sd * (z * stats.norm.cdf(z) + stats.norm.pdf(z))
        return np.asarray(C[int(np.argmax(gain))])


def least_mean(U: FloatArray, y: FloatArray) -> int:
    """Which of the points of the unit cube with the values ``y`` has the smallest posterior mean of
    such a process."""
    if len(y) < 3:
        return int(np.argmin(y))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # kernel bounds
        model = _regressor(_fit(U, y, None), U.shape[1]).fit(U, y)
        return int(np.argmin(model.predict(U)))


def _again(n: int) -> int:
    """Number of evaluations at which hyperparameters are fitted next."""
    return n + 1 if n < 30 else int(np.ceil(1.1 * n))


def _kernel(d: int) -> Any:
    kernels = library("sklearn.gaussian_process.kernels")
    matern = kernels.Matern(np.full(d, 0.5), (0.01, 100.0), nu=2.5)
    signal = kernels.ConstantKernel(1.0, (1e-3, 1e3)) * matern
    return signal + kernels.WhiteKernel(0.1, (1e-6, 1e1))


def _fit(U: FloatArray, y: FloatArray, start: Any) -> Any:
    process = library("sklearn.gaussian_process").GaussianProcessRegressor
    model = process(start or _kernel(U.shape[1]), normalize_y=True)
    return model.fit(U, y).kernel_


def _regressor(kernel: Any, d: int) -> Any:
    """A regressor with fixed hyperparameters whose standard deviation leaves the noise out."""
    process = library("sklearn.gaussian_process").GaussianProcessRegressor
    kernel = kernel or _kernel(d)
    noise = float(kernel.k2.noise_level)  # in units of the standardised values
    return process(kernel.k1, alpha=noise + 1e-10, optimizer=None, normalize_y=True)


#: Published defaults of xNES (Glasmachers et al. 2010, Exponential natural evolution strategies).
ETA_MEAN: Final = 1.0


@dataclass(frozen=True)
class XNES:
    """Exponential natural evolution strategy with its published defaults; recommends its mean.

    symbol  meaning                                     shape
    m, A    mean, and square root of the covariance     (d,), (d, d)
    Z       standard normal draws, x = m + A z          (n, d)
    u       utilities by rank, sum zero                 (n,)
    """

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        rng = np.random.default_rng([seed, 1])
        d = oracle.dimension
        n = 4 + int(3.0 * np.log(d))
        utility = np.maximum(0.0, np.log(n / 2.0 + 1.0) - np.log(np.arange(1, n + 1)))
        utility = utility / utility.sum() - 1.0 / n
        eta = 0.6 * (3.0 + np.log(d)) / (d * np.sqrt(d))
        m, A, generations = oracle.x0, oracle.sigma0 * np.eye(d), 0
        while oracle.remaining:
            Z = rng.standard_normal((n, d))
            X = inside(oracle, m + Z @ A.T)[: oracle.remaining]
            y = oracle(X)
            if len(y) < n:
                break
            Z = Z[np.argsort(y, kind="stable")]
            gradient = (Z.T * utility) @ Z  # sum of u (z z' - I), because u sums to zero
            m = inside(oracle, m + ETA_MEAN * A @ (utility @ Z))
            A = A @ linalg.expm(0.5 * min(eta, 1.0) * gradient)
            generations += 1
            oracle.report(m)
        return Outcome(m, generations)
