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
from dataclasses import replace
from functools import lru_cache

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.gp import kernel, proposals
from noisewise.gp.focus import average_of_best
from noisewise.gp.limits import LIKELY, Limits
from noisewise.gp.model import OFTEN, local, refit, two_valued
from noisewise.gp.process import Posterior
from noisewise.gp.proposals import descend, descend_mixed
from noisewise.gp.search import Memory, candidates, modelled, noise_share, reach
from noisewise.methods.method import Recommended, Sensitivity

#: Noise is strong if its share of the variance times the number of coordinates exceeds this (never
#: with one or two coordinates).
_STRONG = 2.0
#: A minimum on a face of the box stays there if the average of the best is closer to it than this.
_BESIDE = 0.25
#: Largest ratio of the axes' variances in the distribution handed over.
_CONDITION = 1e4
#: Points over which the effect of coordinates is averaged.
_POINTS = 200
#: Rounds of candidates in which the lowest feasible point is looked for.
_ROUNDS = 6
#: Joint draws of the posterior from which the expected improvement is taken.
_DRAWS = 200


def finalists(memory: Memory, most: int = 5) -> FloatArray:
    """Points among which the last evaluations should decide: the favourite, the best measured
    points by posterior mean, and the average of these."""
    if not memory.measured.ok.any():
        return memory.x0[None]
    process = modelled(memory).posterior
    ranked = _ranked(memory, process)
    average = _between(memory, ranked[0], ranked[:5].mean(axis=0))
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


def recommend(memory: Memory) -> Recommended:
    """The favourite, in unit coordinates, and the value that is expected there: of values that are
    all equal, this one."""
    if not memory.measured.ok.any():
        return Recommended(memory.x0)
    model = modelled(memory)
    x = favourite(memory, model.posterior)
    mean, var = model.posterior.predict(x[None])
    fun, se = model.expected(float(mean[0]), float(var[0]))
    good = memory.measured.y[memory.measured.ok]
    return Recommended(x, float(good[0]) if np.ptp(good) == 0.0 else fun, se)


def noise(memory: Memory) -> float:
    """Standard deviation of the noise at the favourite, in the user's units."""
    model = modelled(memory)
    x = favourite(memory, model.posterior)
    mean, _ = model.posterior.predict(x[None])
    return model.raw(float(mean[0]), model.posterior.noise())[1]


def favourite(memory: Memory, process: Posterior) -> FloatArray:
    """The minimum of the posterior mean. Under strong noise, and at the end of a search whose
    values need a logarithm, a point between it and the average of the tenth of the points with
    the smallest values: both are off, and hardly in the same direction. Beside a face of the box
    the average can only be off inwards."""
    x, seen = minimum(memory, process), memory.measured
    # The model knows more than raw values about known errors, shared seeds and constraints.
    more = seen.var.any() or seen.seed is not None or memory.limits is not None
    if more or not (memory.misfit or noise_share(memory) * len(x) > _STRONG):
        return x
    X, y = seen.X[seen.at[seen.ok]], seen.y[seen.ok]
    tenth = average_of_best(X, y, max(3, math.ceil(len(y) / 10)))
    on_face = (x == memory.frame.low) | (x == memory.frame.high)
    part = memory.tuning.towards_best * (tenth - x)
    between = np.where(on_face & (np.abs(tenth - x) < _BESIDE), x, x + part)
    between = _between(memory, x, between)
    return between if modelled(memory).success.likely(between[None])[0] else x


def settled(memory: Memory) -> Memory:
    """The memory at the end of the search: the transformation is chosen afresh from all values.
    Whether they need a logarithm says little with few parameters, or where the model looks more
    closely at the best."""
    seen, fit = memory.measured, memory.fit
    unclear = memory.past is not None or not fit.fitted or two_valued(seen.y[seen.ok])
    if unclear or len(memory.x0) < memory.tuning.misfit_from:
        return memory
    fresh = refit(seen, replace(fit, fitted=0, chosen=0))
    return replace(memory, fit=fresh, misfit=fresh.name.startswith("log") and not fresh.focused)


def _between(memory: Memory, x: FloatArray, average: FloatArray) -> FloatArray:
    """An average of points as a point of the space, with the options of ``x``."""
    if memory.frame.layout is None:
        return average
    choice = np.arange(len(x)) >= memory.frame.layout.numbers
    return memory.frame.settled(np.where(choice, x, average))


def minimum(memory: Memory, process: Posterior) -> FloatArray:
    """The minimiser of the posterior mean, by descent from the best measured points; under
    constraints, where they are almost certainly met."""
    return np.array(_descended(memory, process))  # the caller's own


@lru_cache(maxsize=1)  # several questions at the end of a run ask for the same
def _descended(memory: Memory, process: Posterior) -> FloatArray:
    low, high = memory.frame.low, memory.frame.high
    ranked = _ranked(memory, process)
    if memory.limits is not None:
        return _safest(memory, memory.limits, process, ranked)
    if memory.frame.layout is None:
        found = np.array([descend(process, x, low, high, 30) for x in ranked[:3]])
    else:
        layout = memory.frame.layout
        found = np.array([descend_mixed(process, layout, x, low, high) for x in ranked[:3]])
    success = modelled(memory).success
    if success.likely(found).all():
        return _lowest(process, found)
    # What has succeeded is safer than a point beside it, but may have been lucky.
    often = ranked[success.chance(ranked) >= OFTEN]
    return np.asarray(often[0] if len(often) else ranked[0])


def _safest(memory: Memory, limits: Limits, process: Posterior, X: FloatArray) -> FloatArray:
    """The lowest point of the posterior mean that is likely to succeed and almost certainly
    feasible, by random steps from the rows of ``X``, always the same ones; without such a point,
    the most feasible one."""
    rng, frame, success = np.random.default_rng(0), memory.frame, modelled(memory).success
    for _ in range(_ROUNDS):
        likely = success.likely(X)
        X = X[likely] if likely.any() else X
        sure = X[limits.sure(frame.outer(X))]
        if len(sure):
            x = sure[int(np.argmin(process.mean(sure)))]
        else:
            x = frame.inner(limits.most_feasible(frame.outer(X)))
        X = np.vstack([x, candidates(memory, process, x, rng)[proposals.GLOBAL :]])
    return np.asarray(x)


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
    if len(memory.measured.y) < memory.design or not memory.measured.ok.any():
        return []
    process, rng = modelled(memory).posterior, np.random.default_rng(0)
    low, high = reach(memory)
    X, fresh = (_uniform(memory, low, high, rng) for _ in range(2))
    raw, X = X, memory.frame.settled(X)
    mean, V = process.project(X)
    variance = max(float(np.var(mean)), np.finfo(float).tiny)
    found = []
    for block in blocks:
        Y = raw.copy()
        Y[:, block] = fresh[:, block]
        Y = memory.frame.settled(Y)
        other, W = process.project(Y)
        change = float(np.mean((other - mean) ** 2))
        # The posterior variance of the change, pair by pair.
        Z = [process.scaled(P) for P in (X, Y)]
        prior = sum(kernel.variance(P, process.hyper) for P in Z)
        prior -= 2.0 * np.diagonal(kernel.covariance(Z[0], Z[1], process.hyper))
        unknown = float(np.mean(prior - np.sum((V - W) ** 2, axis=0)))
        found.append(Sensitivity(min(1.0, 0.5 * change / variance), change > unknown))
    return found


def _uniform(
    memory: Memory, low: FloatArray, high: FloatArray, rng: np.random.Generator
) -> FloatArray:
    if memory.frame.layout is None:
        return low + rng.random((_POINTS, len(low))) * (high - low)
    return proposals.uniform(memory.frame.layout, _POINTS, rng)


def distribution(memory: Memory) -> tuple[FloatArray, float, FloatArray]:
    """The search as N(m, sigma^2 C) in the caller's coordinates, det C = 1: m minimises the
    posterior mean, C is the inverse of the regularised Hessian, sigma^2 the mean variance of
    the minimiser relative to C. Before the first value: the start design."""
    frame = memory.frame
    if not memory.measured.ok.any():
        start = np.diag((memory.spread * frame.unit) ** 2)
        return _normalised(frame.outer(memory.x0), _whole(memory, start))
    process = modelled(memory).posterior
    x = minimum(memory, process)
    d = len(process.hyper.lengths)
    if d == 0:
        return _normalised(frame.outer(x), _whole(memory, np.empty((0, 0))))
    inverse = np.linalg.inv(_hessian(process, x, d))
    spread = inverse @ process.gradient_covariance(x) @ inverse
    ratio = float(np.trace(spread) / np.trace(inverse))
    # Never wider than the start design was.
    ratio = min(ratio, float(np.sum(memory.spread[:d] ** 2) / np.trace(inverse)))
    unit = frame.unit[:d]
    return _normalised(frame.outer(x), _whole(memory, ratio * inverse * np.outer(unit, unit)))


def _whole(memory: Memory, C: FloatArray) -> FloatArray:
    """The covariance of all of the caller's coordinates, given that of the numbers: each
    coordinate of a choice varies by itself, as in the beginning."""
    layout = memory.frame.layout
    if layout is None:
        return C
    found = np.diag(np.full(layout.dimension, memory.spread.max() ** 2))
    at, d = layout.first[: layout.numbers], layout.numbers
    found[np.ix_(at, at)] = C[:d, :d]
    return found


def _lowest(process: Posterior, X: FloatArray) -> FloatArray:
    return np.asarray(X[int(np.argmin(process.mean(X)))])


def _ranked(memory: Memory, process: Posterior) -> FloatArray:
    """Points with a successful evaluation, by posterior mean."""
    measured = local(memory.measured, memory.fit)
    X = measured.X[np.unique(measured.at[measured.ok])]
    return np.asarray(X[np.argsort(process.mean(X), kind="stable")])


def _hessian(process: Posterior, x: FloatArray, numbers: int | None = None) -> FloatArray:
    """Central differences of the gradient of the mean by the first coordinates, which are
    ``numbers``; eigenvalues limited from below."""
    d = len(x) if numbers is None else numbers
    scale = process.lengths(x)[:d]
    steps = np.zeros((d, len(x)))
    steps[:, :d] = np.diag(1e-3 * scale)
    rows = [
        (process.mean_slope(x + step)[1] - process.mean_slope(x - step)[1])[:d] / (2.0 * step.sum())
        for step in steps
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
