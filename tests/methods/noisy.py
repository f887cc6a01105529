"""Noisy functions and short runs that the tests of several methods share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import noisewise as nw
from noisewise.methods import Method

Noise = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def gaussian(scale: float) -> Noise:
    """Noise of the same size everywhere."""
    return lambda rng, f: f + scale * rng.standard_normal(len(f))


def cauchy(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
    """Noise without a mean."""
    return f + rng.standard_cauchy(len(f))


def none(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
    return f


def only(rng: np.random.Generator, f: np.ndarray) -> np.ndarray:
    """Noise that has nothing to do with the point."""
    return rng.standard_normal(len(f))


def run(
    method: Method, noise: Noise = none, d: int = 5, budget: int = 1000, seed: int = 0, **given: Any
) -> nw.Result:
    """A run on the sphere, from three away in every coordinate; nothing is kept for the answer."""
    rng = np.random.default_rng([seed, 99])

    def fun(X: np.ndarray) -> np.ndarray:
        return noise(rng, (X * X).sum(axis=1))

    options = {"x0": [3.0] * d, "sigma0": 1.0, "confirm": 0} | given
    return nw.minimize(fun, budget=budget, method=method, rng=seed, vectorized=True, **options)


def mean_log_regret(method: Method, noise: Noise, seeds: int = 5, **given: Any) -> float:
    """log10 of the noise-free value at the recommendation, averaged over seeds."""
    runs = [run(method, noise, seed=seed, **given) for seed in range(seeds)]
    return float(np.mean([np.log10(r.x @ r.x) for r in runs]))


def evaluations_per_generation(result: nw.Result) -> np.ndarray:
    return np.diff(result.history["evaluations"], prepend=0.0)
