"""Candidates that gather one after the other while the search goes on, and the rounds they make.

| symbol | meaning |
|---|---|
| m, sigma | mean and step size of the search distribution now |
| m_i, sigma_i | those of the distribution that candidate i was sampled from |

A candidate is sampled when there is room for it and may be complete when the distribution has moved
on. The update then sees it moved a part a of the way, with its step cut to the present size:
x_i' = m_i + a (m - m_i) + min(1, sigma / sigma_i) (x_i - m_i). Left where it is (a = 0) it would
drag the mean back; moved all of the way it would say of m + step what was measured at m_i + step,
which overshoots near an optimum (a = 3/4), but does no harm where values are mostly noise (a = 1).
No step is longer than samples are, so that a candidate of another distribution (another method was
in charge, or the search began anew) cannot widen this one (Hansen 2011, Injecting external
solutions into CMA-ES).

A round that has few of many candidates under way is learnt from sooner, one that has many is less
disturbed by noise.
"""

from __future__ import annotations

import math

import numpy as np

from noisewise._types import BoolArray, FloatArray
from noisewise.measured.population import ANY, Origins, Population
from noisewise.methods.method import Distribution, Method, Size
from noisewise.run import seeding
from noisewise.run.run import Run

#: Fewer candidates than this make no round.
LEAST = 4
#: A round has at least as many candidates as this part of the trials under way: without noise, with
#: nothing but noise, and where no re-evaluation tells.
_SHARES = (0.25, 0.75, 0.5)
#: The part of the way to the present mean that older candidates are moved, likewise.
_WAYS = (0.75, 1.0, 0.75)
#: The misranking where values are nothing but noise.
_RANDOM = 1.0 / 3.0


def affordable(method: Method, run: Run, evaluations: int) -> int:
    """New candidates for so many evaluations, as far as the search can pay for them. Those that
    gather already may be evaluated again when more is known about them; a batch is filled first."""
    free = run.ledger.free
    if free == 0 or (free < method.together and not run.setup.batch):
        return 0
    cost = method.size(run.memory, run.now).cost
    if run.setup.batch:
        return min(max(1, int(evaluations / cost)), free)
    kept = owed([*run.pool, *run.rounds], cost)
    return min(max(1, int(evaluations / cost)), int(max(0.0, free - kept) / cost))


def owed(parts: list[Population], cost: float) -> float:
    """Evaluations that candidates are still expected to take, at this many for each."""
    if cost <= 1.0:
        return 0.0
    return sum(max(0.0, cost * len(part) - part.evaluations) for part in parts)


def gather(method: Method, run: Run, n: int) -> tuple[Population, Population]:
    """``n`` new candidates, or as many as there is room for, and the group that they belong to; a
    few more where some belong together."""
    group = _group(method, run)
    n = min(_whole(method, n), run.ledger.free)
    if group.room != ANY:
        n = min(n, group.room)
        group.room -= n
    elif group.common:  # each has another seed
        n = 1
    U = method.propose(run.memory, n, run.under_way(), run.now, run.search)
    chunk = Population.of(run.setup.box.repaired(U), U)
    chunk.origins = _origins(method, run, n)
    chunk.common, chunk.twice = group.common, group.twice
    chunk.number = group.number if group.room != ANY else run.gathered
    run.gathered += n
    return group, chunk


def take(method: Method, run: Run) -> Population | None:
    """The next round; None: too few candidates are complete. In batches only when all of a batch
    is told, so that the order of values leaves no trace."""
    # The rest of those that belong together may wait for the next batch.
    under_way = run.untold if method.together == 1 else run.out + run.batch_left
    if run.setup.batch and under_way:
        return None
    over = run.final is not None or affordable(method, run, 1) == 0
    for group in run.pool:
        which = _ready(method, run, group, over)
        if which is not None:
            return _taken(method, run, group, which)
    return None


def rest(method: Method, run: Run) -> list[Population]:
    """Rounds of candidates that are complete when the search ends, too few as they may be."""
    found = []
    singly = method.size(run.memory, run.now).singly
    for group in list(run.pool):
        which = _complete(method, group)
        if which.sum() >= (1 if singly else LEAST):
            found.append(_taken(method, run, group, which))
    return found


def _group(method: Method, run: Run) -> Population:
    """Where new candidates gather. Any of them make a round, or, where candidates share their
    seeds, those of a block."""
    if run.pool and (last := run.pool[-1]).room != 0 and len(last) % method.together == 0:
        return last
    group = Population.of(*(np.empty((0, run.setup.dimension)) for _ in range(2)))
    group.origins, group.room = _origins(method, run, 0), ANY
    if run.seeds is not None:
        k = _round_size(method, run, method.size(run.memory, run.now), run.workers)
        group.number = run.blocks
        group.common = seeding.shares(method, run, k, group.number)
        group.twice = seeding.compares(method, run, k, group.number)
        singly = method.size(run.memory, run.now).singly
        if not singly and (group.common or group.twice):
            group.room, run.blocks = k, run.blocks + 1
    run.pool.append(group)
    return group


def _origins(method: Method, run: Run, n: int) -> Origins:
    """The present distribution, ``n`` times."""
    mean, sigma = np.full(run.setup.dimension, math.nan), math.nan
    if method.sampled and (search := method.distribution(run.memory)) is not None:
        mean, sigma = search.mean, search.sigma
    return Origins(np.tile(mean, (n, 1)), np.full(n, sigma), np.full(n, run.round))


def _round_size(method: Method, run: Run, size: Size, under_way: int) -> int:
    """Candidates of a round: where many trials are under way, many are sampled before anything can
    be learnt from the first of them."""
    if size.singly:
        return 1
    if run.setup.batch:
        return size.candidates
    return _whole(method, max(size.candidates, math.ceil(_by_noise(run, _SHARES) * under_way)))


def _whole(method: Method, n: int) -> int:
    """``n``, or a few more, so that no candidate is without those that it belongs to."""
    return n + -n % method.together


def _complete(method: Method, group: Population) -> BoolArray:
    """Which candidates no trial is pending of, nor of those that they belong to."""
    complete, b = group.complete, method.together
    if b > 1:
        blocks = np.append(complete, np.ones(-len(complete) % b, dtype=bool)).reshape(-1, b)
        complete = np.repeat(blocks.all(axis=1), b)[: len(complete)]
    return complete


def _ready(method: Method, run: Run, group: Population, over: bool) -> BoolArray | None:
    """Which candidates of a group make the next round; None: it is too early. ``over``: no more
    will come."""
    if group.pending and len(group) * group.samples.values.shape[1] == len(group.pending):
        return None
    complete = _complete(method, group)
    n, whole = int(complete.sum()), len(group)
    if n == 0:
        return None
    if run.final is not None:  # too late to learn from them
        return complete
    size = method.size(run.memory, run.now)
    if over and whole < LEAST and not size.singly:
        return None
    if group.room != ANY:
        return complete if n == whole and (group.room == 0 or over) else None
    k = _round_size(method, run, size, len(group.pending))
    if run.setup.batch or size.singly:
        return complete if n >= k or over else None
    if over and whole - k < max(LEAST, k // 2):  # the last rounds share what is left
        k = whole
    first: BoolArray = complete & (np.cumsum(complete) <= k)
    return first if n >= k else None


def _taken(method: Method, run: Run, group: Population, which: BoolArray) -> Population:
    """Some candidates of a group, which leave it."""
    taken, left = group.rows(which), group.rows(~which)
    i = next(i for i, one in enumerate(run.pool) if one is group)
    run.pool[i : i + 1] = [left] if len(left) else []
    taken.began = min(1.0, run.learnt / run.setup.budget)
    return taken


def see(method: Method, run: Run, population: Population) -> None:
    """Say how the update of a round shall see candidates that were not sampled from the present
    distribution: older ones, and points that the user put there."""
    population.version = run.round
    search = method.distribution(run.memory) if method.sampled else None
    if search is None:
        return
    _move(population, search, run.round, _by_noise(run, _WAYS))
    if population.near is not None:
        population.near = run.setup.box.repaired(population.near)
    if population.placed:
        _inject(search, population)


def _move(population: Population, search: Distribution, version: int, part: float) -> None:
    """Say how an update from the present distribution shall see candidates of earlier ones."""
    old = population.origins
    stale = ~population.fresh(version)
    if old is None or not stale.any():
        return
    unknown = np.isnan(old.sigmas)
    means = np.where(unknown[:, None], search.mean, old.means)
    cut = np.where(unknown, 1.0, np.minimum(1.0, search.sigma / np.where(unknown, 1.0, old.sigmas)))
    way = search.mean - means
    moved = means + part * way + cut[:, None] * (population.X - means)
    population.near = np.where(stale[:, None], injected(search, moved), population.X)
    steps = population.sampled + way
    population.steps = np.where(unknown[:, None], injected(search, steps), steps)


def _by_noise(run: Run, figures: tuple[float, float, float]) -> float:
    """Between the first and the second figure, as the misranking is between 0 and that of values
    that are nothing but noise; the third where it is not known."""
    calm, wild, unknown = figures
    seen = run.evidence.misranking
    return unknown if math.isnan(seen) else calm + (wild - calm) * min(1.0, seen / _RANDOM)


def _inject(search: Distribution, population: Population) -> None:
    """Let the update see points that the user put there no farther away than samples are."""
    which = population.placed
    near = population.X if population.near is None else population.near
    steps = population.sampled if population.steps is None else population.steps
    population.near, population.steps = near.copy(), steps.copy()
    population.near[which] = injected(search, population.X[which])
    population.steps[which] = population.near[which]


def injected(search: Distribution, X: FloatArray) -> FloatArray:
    """``X`` with steps from the mean that are at most as long as those of samples."""
    n, steps = X.shape[1], X - search.mean
    Z = search.whiten(steps)
    length = np.sqrt((Z * Z).sum(axis=1)) / search.sigma
    most = math.sqrt(n) + 2.0 * n / (n + 2.0)
    shorter = np.minimum(1.0, most / np.maximum(length, most))
    return np.asarray(np.where(length[:, None] <= most, X, search.mean + shorter[:, None] * steps))
