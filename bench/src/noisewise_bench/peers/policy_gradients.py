"""Methods that people use for policies, written here from their papers.

| symbol | meaning | shape |
|---|---|---|
| m, sd | mean and standard deviations of the parameters | (d,) |
| E | directions, evaluated in pairs m + E and m - E | (n, d) |
| up, down | returns (minus the values) of the pairs | (n,) |
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problem import FloatArray, Oracle
from ._common import Outcome, inside


def _pairs(oracle: Oracle, m: FloatArray, E: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Returns of m + E and m - E; None where the budget ends before."""
    rows = inside(oracle, np.concatenate([m + E, m - E]))
    n = oracle.remaining
    values = oracle(rows[:n])
    if n < len(rows):
        return None
    up, down = np.split(-np.where(np.isfinite(values), values, np.nanmax(values)), 2)
    return up, down


@dataclass(frozen=True)
class ARS:
    """Augmented random search (Mania, Guy, Recht 2018), version t; recommends its mean.

    Of ``directions`` pairs the ``best`` by the larger return move the mean by ``step``, over the
    standard deviation of their returns. Both lengths are in units of sigma0. The normalisation of
    observations of its version 2 is the problem's business.
    """

    step: float = 0.02
    length: float = 0.03
    directions: int = 8
    best: int = 4

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        rng, m, generations = np.random.default_rng([seed, 1]), oracle.x0, 0
        while oracle.remaining:
            E = rng.standard_normal((self.directions, oracle.dimension))
            found = _pairs(oracle, m, self.length * oracle.sigma0 * E)
            if found is None:
                break
            up, down = found
            top = np.argsort(-np.maximum(up, down), kind="stable")[: self.best]
            spread = float(np.std(np.concatenate([up[top], down[top]])))
            gradient = (up[top] - down[top]) @ E[top] / self.best
            m = inside(oracle, m + self.step * oracle.sigma0 / max(spread, 1e-8) * gradient)
            generations += 1
            oracle.report(m)
        return Outcome(m, generations)


@dataclass(frozen=True)
class PGPE:
    """Policy gradients with parameter-based exploration (Sehnke et al. 2010), symmetric samples
    and the rates of its paper; recommends its mean. The best return that it needs is the best one
    seen, the baseline a running mean."""

    rate: float = 0.2
    rate_sd: float = 0.1
    pairs: int = 4
    forget: float = 0.1

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        rng, m, generations = np.random.default_rng([seed, 1]), oracle.x0, 0
        sd = np.full(oracle.dimension, oracle.sigma0)
        best, baseline = -np.inf, np.nan
        while oracle.remaining:
            E = sd * rng.standard_normal((self.pairs, oracle.dimension))
            found = _pairs(oracle, m, E)
            if found is None:
                break
            up, down = found
            mean = 0.5 * (up + down)
            best = max(best, float(up.max()), float(down.max()))
            before = float(mean.mean()) if np.isnan(baseline) else baseline
            r = (up - down) / np.maximum(2.0 * best - up - down, 1e-8)
            s = np.clip((mean - before) / max(best - before, 1e-8), -1.0, 1.0)
            m = inside(oracle, m + self.rate * (r @ E))
            slope = (s @ ((E * E - sd * sd) / sd)) / self.pairs
            sd = np.clip(sd + self.rate_sd * slope, 0.5 * sd, 2.0 * sd)
            baseline = before + self.forget * self.pairs * (float(mean.mean()) - before)
            generations += 1
            oracle.report(m)
        return Outcome(m, generations)


@dataclass(frozen=True)
class PGPEClipUp:
    """PGPE as it is run today (Toklu, Liskowski, Srivastava 2020): symmetric samples, centred
    ranks, ClipUp for the mean, rates for the standard deviations, no baseline; recommends its mean.

    ``speed`` is the largest step of the mean in units of sigma0 sqrt(d), a step of it half of that.
    """

    speed: float = 0.6
    momentum: float = 0.9
    rate_sd: float = 0.1
    pairs: int = 8

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        rng, m, generations = np.random.default_rng([seed, 1]), oracle.x0, 0
        sd, v = np.full(oracle.dimension, oracle.sigma0), np.zeros(oracle.dimension)
        fastest = self.speed * oracle.sigma0 * float(np.sqrt(oracle.dimension))
        while oracle.remaining:
            E = sd * rng.standard_normal((self.pairs, oracle.dimension))
            found = _pairs(oracle, m, E)
            if found is None:
                break
            up, down = np.split(_centred(np.concatenate(found)), 2)
            g = (up - down) @ E
            v = self.momentum * v + 0.5 * fastest * g / max(float(np.linalg.norm(g)), 1e-12)
            v *= min(1.0, fastest / max(float(np.linalg.norm(v)), 1e-12))
            m = inside(oracle, m + v)
            slope = (0.5 * (up + down)) @ ((E * E - sd * sd) / sd) / self.pairs
            sd = np.clip(sd + self.rate_sd * slope, 0.8 * sd, 1.2 * sd)
            generations += 1
            oracle.report(m)
        return Outcome(m, generations)


@dataclass(frozen=True)
class OpenAIES:
    """Evolution strategies of Salimans et al. (2017): symmetric samples of a fixed length, centred
    ranks, Adam; recommends its mean. ``rate`` and ``length`` are in units of sigma0."""

    rate: float = 1.0
    length: float = 1.0
    pairs: int = 8

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        rng, m, t = np.random.default_rng([seed, 1]), oracle.x0, 0
        first, second = np.zeros(oracle.dimension), np.zeros(oracle.dimension)
        while oracle.remaining:
            E = rng.standard_normal((self.pairs, oracle.dimension))
            found = _pairs(oracle, m, self.length * oracle.sigma0 * E)
            if found is None:
                break
            up, down = np.split(_centred(np.concatenate(found)), 2)
            g, t = (up - down) @ E / (2 * self.pairs), t + 1
            first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g * g
            root = np.sqrt(second / (1.0 - 0.999**t)) + 1e-8
            m = inside(oracle, m + self.rate * oracle.sigma0 * first / (1.0 - 0.9**t) / root)
            oracle.report(m)
        return Outcome(m, t)


def _centred(values: FloatArray) -> FloatArray:
    """Ranks from -0.5 (worst) to 0.5; ties share theirs."""
    below = (values[:, None] > values).sum(axis=1)
    same = (values[:, None] == values).sum(axis=1)
    return np.asarray((below + 0.5 * (same - 1.0)) / (len(values) - 1) - 0.5)
