"""Warm start of an evolution strategy from earlier data, as in WS-CMA-ES (Nomura et al. 2021),
with a guard against data that mislead.

| symbol | meaning | shape |
|---|---|---|
| X, y | earlier points and values, replicates averaged | (n, d), (n,) |
| gamma | share of the points, those with the smallest values, that count as promising | |
| alpha | standard deviation around each promising point, in initial step sizes | |
| m, S | mean and covariance of the promising distribution | (d,), (d, d) |
| z | rank correlation of values with steps towards m, times sqrt(k - 1): ~ N(0, 1) by chance | |

The mixture of N(x_i, alpha^2 sigma_0^2 I) over the promising points has the mean m and the
covariance S = alpha^2 sigma_0^2 I + cov(x_i); of all normal distributions N(m, S) has the smallest
Kullback-Leibler divergence from it.

The search begins as it would without data. After its first generations their values decide
whether to go on from N(m, S): candidates in the direction of m must have had smaller values. The
next generation decides whether to stay: its values must be smaller than those before. Otherwise the
search goes on from where it was, and the data have cost one generation.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.cma.strategy import State, Strategy
from noisewise.measured.population import Population
from noisewise.measured.samples import midranks
from noisewise.methods.method import Distribution
from noisewise.problem.earlier import Earlier

#: gamma, and the number of promising points that is wanted at least.
_SHARE, _LEAST = 0.1, 5
_ALPHA = 0.2
#: Points, or candidates of a generation, from which anything can be said.
_FEWEST = 3
#: Dimension above which S is diagonal.
_FULL_UP_TO = 200
#: Root mean square distance, in initial step sizes, of a mean that is among the candidates.
_NEAR = 0.2
#: z from which on the search jumps to the promising distribution.
_AGREES = 2.0
#: Generations after which it is too late for that.
_LOOKS = 4
#: Standard deviations by which the values must be smaller after the jump.
_BETTER = 0.5
#: Where a warm start stands.
LOOKING, TRYING, KEPT, DROPPED = "looking", "trying", "kept", "dropped"


@data
@dataclass(slots=True)
class Warm:
    """Earlier data of a search, and what came of them. The data go when that is decided."""

    rows: int
    X: FloatArray
    y: FloatArray
    #: Initial mean and step size of the search.
    mean: FloatArray
    sigma: float
    stage: str = LOOKING
    #: Sum of z, and the generations behind it.
    evidence: float = 0.0
    looks: int = 0
    #: The distribution to go back to, and the values of its last generation.
    cold: State | None = None
    values: FloatArray = field(default_factory=lambda: np.empty(0))

    @property
    def undecided(self) -> bool:
        return self.stage in (LOOKING, TRYING)

    def said(self) -> str:
        """What came of the data, in plain words."""
        return {
            LOOKING: f"{self.rows} rows of earlier data are being checked",
            TRYING: f"{self.rows} rows of earlier data are being tried",
            KEPT: f"went on from {self.rows} rows of earlier data",
            DROPPED: f"{self.rows} rows of earlier data were dropped: new values disagree",
        }[self.stage]


def prepare(data: Earlier, state: State, old: Warm | None = None) -> Warm | None:
    """The warm start of a search that begins with ``state``, from these data beside the ``old``;
    None where they say nothing."""
    X, y = _merged(data)
    rows = len(data.y)
    if old is not None:
        X, y, rows = np.vstack((old.X, X)), np.concatenate((old.y, y)), old.rows + rows
    if len(y) < _FEWEST or y.min() == y.max():
        return None
    return Warm(rows, X, y, state.mean, state.sigma)


def promising(X: FloatArray, y: FloatArray, sigma: float) -> Distribution:
    """The promising distribution of points and values, det C = 1."""
    n, d = X.shape
    k = max(math.ceil(_SHARE * n), min(_LEAST, math.ceil(n / 3)))
    best = X[np.argsort(y, kind="stable")[:k]]
    mean = best.mean(axis=0)
    steps = (best - mean) / sigma
    variances = (steps * steps).mean(axis=0)
    # Few points say little about a shape.
    trust = k / (k + d)
    if d > _FULL_UP_TO:
        S = _ALPHA**2 + np.minimum(trust * variances + (1 - trust) * variances.mean(), 1.0)
        variance = math.exp(float(np.log(S).mean()))
        return Distribution(mean, sigma * math.sqrt(variance), S / variance)
    S = trust * (steps.T @ steps) / k + (1.0 - trust) * variances.mean() * np.eye(d)
    values, B = np.linalg.eigh(S)
    values = _ALPHA**2 + np.clip(values, 0.0, 1.0)
    variance = math.exp(float(np.log(values).mean()))
    C = (B * (values / variance)) @ B.T
    return Distribution(mean, sigma * math.sqrt(variance), 0.5 * (C + C.T))


def follow(warm: Warm, strategy: Strategy, state: State, population: Population) -> State:
    """The distribution with which the next generation starts; ``state`` is what the search has
    learnt from the ``population``. Changes ``warm``."""
    fresh = population.fresh(population.version)  # others are of distributions before
    values, X = population.samples.mean()[fresh], population.X[fresh]
    if warm.stage == TRYING:
        assert warm.cold is not None
        cold, kept = warm.cold, _lower(values, warm.values) >= _BETTER
        _decide(warm, KEPT if kept else DROPPED)
        return state if kept else cold
    warm.looks += 1
    good = np.isfinite(values)
    start = promising(warm.X, warm.y, warm.sigma)
    if good.sum() >= _FEWEST:
        warm.evidence += _agreement(_foretold(warm, start, X[good]), values[good])
    if warm.evidence >= _AGREES * math.sqrt(warm.looks):
        warm.stage, warm.cold, warm.values = TRYING, state, values.copy()
        return strategy.start(*start)
    if warm.looks >= _LOOKS:
        _decide(warm, DROPPED)
    return state


def _decide(warm: Warm, stage: str) -> None:
    """Nothing is needed any more but what came of the data."""
    warm.stage, warm.cold, warm.values = stage, None, np.empty(0)
    warm.X, warm.y = warm.X[:0], warm.y[:0]


def _merged(data: Earlier) -> tuple[FloatArray, FloatArray]:
    """Points with a success, each once, and the means of their values; means that are known badly
    are drawn towards the others."""
    good = np.isfinite(data.y)
    X, at = np.unique(data.X[good], axis=0, return_inverse=True)
    at = at.reshape(-1)
    count = np.maximum(np.bincount(at, minlength=len(X)), 1)
    y = np.bincount(at, data.y[good], minlength=len(X)) / count
    known = np.nan_to_num(data.se[good]) ** 2
    error = np.bincount(at, known, minlength=len(X)) / count**2
    if len(y) > 2 and error.any():
        signal = max(float(np.var(y) - error.mean()), 0.01 * float(np.var(y)))
        y = y.mean() + (y - y.mean()) * (signal / (signal + error))
    return X, y


def _foretold(warm: Warm, start: Distribution, X: FloatArray) -> FloatArray:
    """What the promising distribution says about the order of candidates: how far each went the
    way from the first mean to m, in units of S. The rest of the distance from m says that
    candidates far from all others are worse, which is right wherever the minimum is. If m is
    close to the first mean, the whole distance counts."""
    way, steps = start.mean - warm.mean, X - X.mean(axis=0)
    if math.sqrt(float(np.mean(way * way))) < _NEAR * warm.sigma:
        way, steps = X - start.mean, -0.5 * (X - start.mean)
    if start.C.ndim == 1:
        return np.asarray((-2.0 * steps * (way / start.C)).sum(axis=1))
    toward = np.linalg.solve(start.C, np.atleast_2d(way).T).T
    return np.asarray((-2.0 * steps * toward).sum(axis=1))


def _agreement(distances: FloatArray, values: FloatArray) -> float:
    """z: how well the order of the distances foretells that of the values."""
    a, b = (midranks(v) - 0.5 * len(v) for v in (distances, values))
    size = math.sqrt(float(a @ a) * float(b @ b))
    return float(a @ b) / size * math.sqrt(len(a) - 1.0) if size > 0.0 else 0.0


def _lower(after: FloatArray, before: FloatArray) -> float:
    """By how many standard deviations of chance the values ``after`` are smaller (the statistic of
    Mann and Whitney)."""
    n, m = len(after), len(before)
    if min(n, m) == 0:
        return 0.0
    ranks = midranks(np.concatenate((after, before))) - 0.5 * (n + m)
    return -float(ranks[:n].sum()) / math.sqrt(n * m * (n + m + 1.0) / 12.0)
