"""Candidates that gather one after the other while the search goes on, and the rounds they make.

| symbol | meaning |
|---|---|
| m, sigma | mean and step size of the search distribution now |
| m_i, sigma_i | those of the distribution that candidate i was sampled from |

A candidate is sampled when there is room for it and may be complete when the distribution has moved
on. The update then sees it moved a part a of the way, with its step cut to the present size:
x_i' = m_i + a (m - m_i) + min(1, sigma / sigma_i) (x_i - m_i). Left where it is (a = 0) it would
drag the mean back; moved all of the way it would say of m + step what was measured at m_i + step,
which overshoots near an optimum. So a is the part by which the weighted mean of candidates follows
when all of them are shifted: n / (n + r mu_eff), where r is the reliability of the ranks (see
`noisewise.cma.strategy.centring`). All of it where values are mostly noise, little where there are
many candidates in few dimensions.
A centred update compares what was selected with what was sampled. It needs the latter as the
present distribution would have sampled it: x_i as it was, from a covariance that has shrunk since,
would take away more variance than there is.
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
from noisewise.cma.strategy import centring
from noisewise.measured.population import ANY, Origins, Population
from noisewise.methods.method import Distribution, Method, Size
from noisewise.run import seeding
from noisewise.run.run import Run

#: Fewer candidates than this make no round.
LEAST = 4
#: A round has at least as many candidates as this part of the trials under way: without noise, with
#: nothing but noise, and where no re-evaluation tells.
_SHARES = (0.25, 0.75, 0.5)
#: The part of the way to the present mean that candidates of the batch before are moved, likewise.
#: They are few and one batch old, and batches are reproducible from version to version.
_IN_BATCHES = (0.75, 1.0, 0.75)
#: mu_eff of a round for each of its candidates, about that of log weights.
_PARENTS = 0.3
#: Reliability of the ranks where no re-evaluation tells.
_UNKNOWN = 0.25
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
    chunk.origins = _origins(method, run, U)
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
    if run.pool:
        last = run.pool[-1]
        room = last.room != 0 and len(last) % method.together == 0
        if room and not strange(method, run, last):
            return last
    group = Population.of(*(np.empty((0, run.setup.dimension)) for _ in range(2)))
    group.origins, group.room = _origins(method, run, group.X), ANY
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


def _origins(method: Method, run: Run, sampled: FloatArray) -> Origins:
    """The present distribution, once for each candidate that was sampled from it."""
    n, search = len(sampled), _search(method, run)
    versions = np.full(n, run.round)
    if search is None:
        unknown = np.full(sampled.shape, math.nan)
        return Origins(unknown, np.full(n, math.nan), versions, unknown.copy())
    normals = search.whiten((sampled - search.mean) / search.sigma)
    return Origins(np.tile(search.mean, (n, 1)), np.full(n, search.sigma), versions, normals)


def _search(method: Method, run: Run) -> Distribution | None:
    """The present distribution; None where a method has none of which candidates are samples."""
    return method.distribution(run.memory) if method.sampled else None


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


def strange(method: Method, run: Run, population: Population) -> bool:
    """Whether another method asked for these candidates, such as a model that has handed over:
    they are no samples of the distribution that learns now, and would pull it to where they are."""
    old = population.origins
    if old is None or len(old.sigmas) == 0 or old.known.any():
        return False
    return _search(method, run) is not None


def see(method: Method, run: Run, population: Population) -> None:
    """Say how the update of a round shall see candidates that were not sampled from the present
    distribution: older ones, and points that the user put there."""
    population.version = run.round
    search = _search(method, run)
    if search is None:
        return
    if run.setup.batch:
        _move(population, search, run.round, _by_noise(run, _IN_BATCHES), again=False)
    else:
        _move(population, search, run.round, _way(run, len(search.mean), len(population)))
    if population.near is not None:
        population.near = run.setup.box.repaired(population.near)
    if population.placed:
        _inject(search, population)


def _move(
    population: Population, search: Distribution, version: int, part: float, again: bool = True
) -> None:
    """Say how an update from the present distribution shall see candidates of earlier ones.
    ``again``: what was sampled is what the present one would have sampled."""
    old = population.origins
    stale = ~population.fresh(version)
    if old is None or not stale.any():
        return
    unknown = ~old.known[:, None]
    means = np.where(unknown, search.mean, old.means)
    cut = np.where(unknown, 1.0, np.minimum(1.0, search.sigma / old.sigmas[:, None]))
    way = search.mean - means
    moved = means + part * way + cut * (population.X - means)
    population.near = np.where(stale[:, None], injected(search, moved), population.X)
    steps = population.sampled + way
    if again:
        made = search.mean + search.sigma * _stretched(search.C, old.normals)
        steps = np.where(stale[:, None], made, population.sampled)
    population.steps = np.where(unknown, injected(search, population.sampled), steps)


def _stretched(C: FloatArray, Z: FloatArray) -> FloatArray:
    """The rows that `Distribution.whiten` makes ``Z`` of. Where C is not positive for a moment, the
    nearest one that is stands for it."""
    if C.ndim == 1:
        return np.asarray(Z * np.sqrt(C))
    try:
        root = np.linalg.cholesky(C)
    except np.linalg.LinAlgError:
        D2, B = np.linalg.eigh(C)
        root = B * np.sqrt(np.maximum(D2, 0.0))
    return np.asarray(Z @ root.T)


def _way(run: Run, n: int, k: int) -> float:
    """The part of the way that ``k`` candidates in ``n`` dimensions are moved."""
    seen = run.evidence.misranking
    reliability = _UNKNOWN if math.isnan(seen) else 1.0 - min(1.0, seen / _RANDOM)
    return centring(n, _PARENTS * k, reliability)


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
