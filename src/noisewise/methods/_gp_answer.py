"""What a search with a Gaussian process answers: finalists, recommendation, search distribution.

    symbol  meaning                                                             shape
    x       minimiser of the posterior mean near the measured points; the answer is
            this point or, under strong noise, another one (`favourite`)        (d,)
    H       Hessian of the posterior mean at x, made positive definite          (d, d)
    G       posterior covariance of the gradient at x                           (d, d)

To first order the true minimiser is x - H^-1 g with g ~ N(0, G), so its covariance is
H^-1 G H^-1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.methods._gp_acquisition import descend
from noisewise.methods._gp_search import (
    Memory,
    candidates,
    modelled,
    noise_share,
    reach,
    safest,
    start_size,
)
from noisewise.methods.method import Sensitivity
from noisewise.models import kernel
from noisewise.models.focus import average_of_best
from noisewise.models.gp import Posterior
from noisewise.models.limits import LIKELY, Limits
from noisewise.models.model import local
from noisewise.models.success import OFTEN

#: Noise is strong if its share of the variance times the number of coordinates exceeds this (never
#: with one or two coordinates).
_STRONG = 2.0
#: A minimum on a face of the box stays there if the average of the best is closer to it than this.
_BESIDE = 0.25
#: Largest ratio of the axes' variances in the distribution handed over.
_CONDITION = 1e4
#: Points over which the effect of coordinates is averaged.
_POINTS = 200
#: Joint draws of the posterior from which the expected improvement is taken.
_DRAWS = 200

_LAST: list[tuple[Posterior, Limits | None, FloatArray]] = []


@dataclass(frozen=True)
class Answer:
    """A point in unit coordinates, the expected value there, and its standard deviation."""

    x: FloatArray
    value: float
    sd: float


def finalists(memory: Memory, most: int = 5) -> FloatArray:
    """Points among which the last evaluations should decide: the favourite, the best measured
    points by posterior mean, and the average of these."""
    if not memory.measured.ok.any():
        return memory.x0[None]
    process = modelled(memory).posterior
    ranked = _ranked(memory, process)
    average = ranked[:5].mean(axis=0)
    points = [favourite(memory, process), *ranked[: most - 2]]
    points += [average] if modelled(memory).success.likely(average[None])[0] else []
    if memory.limits is not None:
        sure = memory.limits.sure(memory.frame.outer(np.array(points)))
        points = [points[0], *(x for x, fine in zip(points[1:], sure[1:], strict=True) if fine)]
    lengths = process.lengths(points[0])
    chosen: list[FloatArray] = []
    for x in points:
        if all(np.max(np.abs(x - other) / lengths) > 1e-4 for other in chosen):
            chosen.append(x)
    return np.array(chosen[:most])


def recommend(memory: Memory, among: FloatArray | None = None) -> Answer:
    """The point of the smallest posterior mean of ``among`` (the finalists, after the last
    evaluations have been learnt), else the favourite."""
    if not memory.measured.ok.any():
        return Answer(memory.x0, np.nan, np.nan)
    model = modelled(memory)
    process = model.posterior
    x = favourite(memory, process) if among is None else _lowest(process, among)
    mean, var = process.predict(x[None])
    value, sd = model.expected(float(mean[0]), float(var[0]))
    return Answer(x, value, sd)


def favourite(memory: Memory, process: Posterior) -> FloatArray:
    """The minimum of the posterior mean. Under strong noise, the point halfway between it and the
    average of the tenth of the points with the smallest values: both are off, and hardly in the
    same direction. Beside a face of the box the average can only be off inwards."""
    x, seen = minimum(memory, process), memory.measured
    # The model knows more than raw values about known errors, shared seeds and constraints.
    more = seen.var.any() or seen.seed is not None or memory.limits is not None
    if more or not noise_share(memory) * len(x) > _STRONG:
        return x
    X, y = seen.X[seen.at[seen.ok]], seen.y[seen.ok]
    tenth = average_of_best(X, y, max(3, math.ceil(len(y) / 10)))
    on_face = (x == memory.frame.low) | (x == memory.frame.high)
    between = np.where(on_face & (np.abs(tenth - x) < _BESIDE), x, 0.5 * (x + tenth))
    return between if modelled(memory).success.likely(between[None])[0] else x


def minimum(memory: Memory, process: Posterior) -> FloatArray:
    """The minimiser of the posterior mean, by descent from the best measured points; under
    constraints, where they are almost certainly met."""
    # Pure, so the last one is kept: several questions at the end of a run ask for the same.
    given, limits, found = _LAST[0] if _LAST else (None, None, None)
    if found is None or given is not process or limits is not memory.limits:
        found = _descended(memory, process)
        _LAST[:] = [(process, memory.limits, found)]
    return np.array(found)


def _descended(memory: Memory, process: Posterior) -> FloatArray:
    low, high = memory.frame.low, memory.frame.high
    ranked = _ranked(memory, process)
    if memory.limits is not None:
        return safest(memory, memory.limits, process, ranked)
    found = np.array([descend(process, x, low, high, 30) for x in ranked[:3]])
    success = modelled(memory).success
    if success.likely(found).all():
        return _lowest(process, found)
    # What has succeeded is safer than a point beside it, but may have been lucky.
    often = ranked[success.chance(ranked) >= OFTEN]
    return np.asarray(often[0] if len(often) else ranked[0])


def improvement(memory: Memory) -> float:
    """By how much the smallest value among many points is expected to be smaller than that of the
    recommended one, in the user's units; nan before the first success. From joint draws of the
    posterior, always the same ones."""
    if not memory.measured.ok.any():
        return np.nan
    model, rng = modelled(memory), np.random.default_rng(0)
    process = model.posterior
    x = favourite(memory, process)
    X = np.vstack([x, candidates(memory, process, x, rng)])
    if memory.limits is not None:
        likely = memory.limits.chance(memory.frame.outer(X)) >= LIKELY
        X = np.vstack([x, X[1:][likely[1:]]])
    mean, covariance = process.joint(X)
    values, B = np.linalg.eigh(covariance)
    root = B * np.sqrt(np.maximum(values, 0.0))
    drawn = mean + rng.standard_normal((_DRAWS, len(X))) @ root.T
    gain = float(np.mean(drawn[:, 0] - drawn.min(axis=1)))
    now, then = (model.expected(float(mean[0]) - less, 0.0)[0] for less in (0.0, gain))
    return max(0.0, now - then)


def sensitivities(memory: Memory, blocks: list[IntArray]) -> list[Sensitivity]:
    """Total effects (Jansen's estimator): half the mean square by which the posterior mean changes
    where one block of coordinates is drawn afresh, over its variance. Points are uniform over the
    range that is searched, and always the same ones. Empty before there is a model."""
    if len(memory.measured.y) < start_size(len(memory.x0)) or not memory.measured.ok.any():
        return []
    process, rng = modelled(memory).posterior, np.random.default_rng(0)
    low, high = reach(memory)
    X, fresh = (low + rng.random((_POINTS, len(low))) * (high - low) for _ in range(2))
    mean, V = process.project(X)
    variance = max(float(np.var(mean)), np.finfo(float).tiny)
    found = []
    for block in blocks:
        Y = X.copy()
        Y[:, block] = fresh[:, block]
        other, W = process.project(Y)
        change = float(np.mean((other - mean) ** 2))
        # The posterior variance of the change, pair by pair.
        Z = [process.scaled(P) for P in (X, Y)]
        prior = sum(kernel.variance(P, process.hyper) for P in Z)
        prior -= 2.0 * np.diagonal(kernel.covariance(Z[0], Z[1], process.hyper))
        unknown = float(np.mean(prior - np.sum((V - W) ** 2, axis=0)))
        found.append(Sensitivity(min(1.0, 0.5 * change / variance), change > unknown))
    return found


def distribution(memory: Memory) -> tuple[FloatArray, float, FloatArray]:
    """The search as N(m, sigma^2 C) in the caller's coordinates, det C = 1: m minimises the
    posterior mean, C is the inverse of the regularised Hessian, sigma^2 the mean variance of
    the minimiser relative to C. Before the first value: the start design."""
    unit = memory.frame.unit
    if not memory.measured.ok.any():
        return _normalised(memory.frame.outer(memory.x0), np.diag((memory.spread * unit) ** 2))
    process = modelled(memory).posterior
    x = minimum(memory, process)
    H = _hessian(process, x)
    inverse = np.linalg.inv(H)
    spread = inverse @ process.gradient_covariance(x) @ inverse
    ratio = float(np.trace(spread) / np.trace(inverse))
    # Never wider than the start design was.
    ratio = min(ratio, float(np.sum(memory.spread**2) / np.trace(inverse)))
    return _normalised(memory.frame.outer(x), ratio * inverse * np.outer(unit, unit))


def _lowest(process: Posterior, X: FloatArray) -> FloatArray:
    return np.asarray(X[int(np.argmin(process.mean(X)))])


def _ranked(memory: Memory, process: Posterior) -> FloatArray:
    """Points with a successful evaluation, by posterior mean."""
    measured = local(memory.measured, memory.fit)
    X = measured.X[np.unique(measured.at[measured.ok])]
    return np.asarray(X[np.argsort(process.mean(X), kind="stable")])


def _hessian(process: Posterior, x: FloatArray) -> FloatArray:
    """Central differences of the gradient of the mean, eigenvalues limited from below."""
    scale = process.lengths(x)
    rows = [
        (process.slopes(x + step)[2] - process.slopes(x - step)[2]) / (2.0 * step.sum())
        for step in np.diag(1e-3 * scale)
    ]
    # In units of the length scales, where a limit on the condition makes sense.
    H = 0.5 * (np.array(rows) + np.array(rows).T) * np.outer(scale, scale)
    values, B = np.linalg.eigh(H)
    values = np.maximum(values, max(float(values.max()), 1e-8) / _CONDITION)
    return np.asarray((B * values) @ B.T / np.outer(scale, scale))


def _normalised(m: FloatArray, covariance: FloatArray) -> tuple[FloatArray, float, FloatArray]:
    log_det = float(np.linalg.slogdet(covariance)[1])
    variance = float(np.exp(log_det / len(m)))
    return m, float(np.sqrt(variance)), covariance / variance
