"""Rules of selection, each for many lists at the same time: how they spend a budget on the options
of a list, and which they choose."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.methods.select import looks
from noisewise.run.reserve import reserve_of_list
from noisewise.select import allocation
from noisewise_bench.experiments._select_cells import Lists

Rule = Callable[[Lists], IntArray]
#: Trials at random before Optuna's TPE learns, draws of which it takes the best, and the most
#: values that count as good.
_STARTUP, _DRAWS, _GOOD = 10, 24, 25


def ours(lists: Lists) -> IntArray:
    """`select` as the library has it, with the part of the budget that the library spends on the
    search: `auto` on a list. The rest measures the answer."""
    return _widened(lists, reserve_of_list(lists.budget, lists.options).confirm)


def ours_whole(lists: Lists) -> IntArray:
    """The same with the whole budget, as the peers have it (``confirm=0``)."""
    return _widened(lists, 0)


def _widened(lists: Lists, kept: int) -> IntArray:
    k, budget = lists.options, lists.budget - kept
    opened = k if budget >= k else max(1, math.ceil(2.0 / 3.0 * budget))
    order = _orders(lists)
    for _ in range(looks(k, budget)):
        for j in range(opened):
            if lists.spent < budget:
                lists.measure(order[:, j])
    first, everywhere = lists.spent, np.ones(lists.means.shape, dtype=bool)
    none = np.zeros(lists.means.shape, dtype=int)
    while lists.spent < budget:
        v = _variances(lists)
        left = (budget - lists.spent) / (budget - first)
        stay = allocation.first_of_ties(lists.n, lists.m, allocation.still_in(k, left))
        among = (lists.n > 0) & stay
        among = np.where(among.any(axis=1, keepdims=True), among, everywhere)
        w = allocation.weights(lists.n, lists.m, v)
        lists.measure(allocation.urgency(lists.n, none, w, among).argmax(axis=1))
    e, _ = allocation.shrunk(lists.n, lists.m, _variances(lists))
    return allocation.choice(lists.n, e, lists.n > 0)


def _variances(lists: Lists) -> FloatArray:
    two_valued = lists.family.values.__name__ == "_lost"
    return allocation.variances(lists.n, lists.m, lists.squares, same=two_valued)


def _orders(lists: Lists) -> IntArray:
    """A random order of the options in each run."""
    return np.asarray(np.argsort(lists.rng.random(lists.means.shape), axis=1))


def equal(lists: Lists) -> IntArray:
    """Every option as often as any other; the best mean."""
    order = _orders(lists)
    for t in range(lists.budget):
        lists.measure(order[:, t % lists.options])
    return lists.best_mean()


def halving(lists: Lists) -> IntArray:
    """Sequential halving (Karnin, Koren and Somekh 2013), which keeps the values of earlier
    rounds."""
    alive, left = _orders(lists), lists.budget
    rounds = math.ceil(math.log2(lists.options))
    for i in range(rounds):
        k, spend = alive.shape[1], left // (rounds - i)
        for t in range(spend):
            lists.measure(alive[:, t % k])
        left -= spend
        m = np.where(lists.n > 0, lists.m, np.inf)[lists.row[:, None], alive]
        better = np.argsort(m, axis=1, kind="stable")[:, : (k + 1) // 2]
        alive = np.take_along_axis(alive, better, axis=1)
    return np.asarray(alive[:, 0])


def ocba(lists: Lists) -> IntArray:
    """OCBA (Chen, Lin, Yucesan and Chick 2000), one evaluation at a time, after two to five of
    each option; the best mean."""
    first = min(5, max(2, lists.budget // (2 * lists.options)))
    order = _orders(lists)
    while lists.spent < min(lists.budget, first * lists.options):
        lists.measure(order[:, lists.spent % lists.options])
    while lists.spent < lists.budget:
        v = np.maximum(lists.squares / np.maximum(lists.n - 1, 1), 1e-12)
        b = lists.m.argmin(axis=1)
        gap = lists.m - lists.m[lists.row, b][:, None]
        w = v / np.maximum(gap * gap, 1e-12)
        w[lists.row, b] = 0.0
        w[lists.row, b] = np.sqrt(v[lists.row, b] * (w * w / v).sum(axis=1))
        lists.measure((w / lists.n).argmax(axis=1))
    return lists.best_mean()


def knowledge_gradient(lists: Lists) -> IntArray:
    """Knowledge gradient (Frazier, Powell and Dayanik 2008) with independent normal beliefs, whose
    prior and noise are estimated from the values so far; the best expected value."""
    from scipy.special import ndtr

    looks = 2 if lists.budget >= 3 * lists.options else 1
    order = _orders(lists)
    while lists.spent < min(lists.budget, looks * lists.options):
        lists.measure(order[:, lists.spent % lists.options])
    while lists.spent < lists.budget:
        v = np.maximum(allocation.variances(lists.n, lists.m, lists.squares), 1e-12)
        e, q = allocation.shrunk(lists.n, lists.m, v)
        moved = q * q / np.sqrt(q * q + v)  # how much one more value moves the expectation
        low = np.sort(e, axis=1)[:, :2]
        rival = np.where(e == low[:, :1], low[:, 1:], low[:, :1])
        z = -np.abs(e - rival) / np.maximum(moved, 1e-300)
        gain = moved * (z * ndtr(z) + np.exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi))
        lists.measure(gain.argmax(axis=1))
    v = allocation.variances(lists.n, lists.m, lists.squares)
    e, _ = allocation.shrunk(lists.n, lists.m, v)
    return allocation.choice(lists.n, e, lists.n > 0)


def tpe(lists: Lists) -> IntArray:
    """Optuna's TPE for one categorical parameter, written out for many runs: after ten trials at
    random the best of 24 draws by the ratio of the densities of the good tenth (at most 25) and of
    the others. Here its answer is the best mean, not its best trial."""
    k, rng = lists.options, lists.rng
    chosen = np.empty((lists.runs, lists.budget), dtype=int)
    values = np.empty((lists.runs, lists.budget))
    for t in range(lists.budget):
        if t < _STARTUP:
            option = rng.integers(k, size=lists.runs)
        else:
            good = min(math.ceil(0.1 * t), _GOOD)
            order = np.argsort(values[:, :t], axis=1, kind="stable")
            below = _density(np.take_along_axis(chosen[:, :t], order[:, :good], axis=1), k)
            above = _density(np.take_along_axis(chosen[:, :t], order[:, good:], axis=1), k)
            u = rng.random((lists.runs, _DRAWS, 1))
            draws = (u > np.cumsum(below, axis=1)[:, None, :-1]).sum(axis=2)
            ratio = np.take_along_axis(below / above, draws, axis=1)
            option = draws[lists.row, ratio.argmax(axis=1)]
        chosen[:, t], values[:, t] = option, lists.measure(option)
    return lists.best_mean()


def _density(chosen: IntArray, k: int) -> FloatArray:
    """Probability of each option: a kernel per trial and the prior, each smoothed by the prior."""
    runs, n = chosen.shape
    counts = np.zeros((runs, k))
    np.add.at(counts, (np.arange(runs)[:, None], chosen), 1.0)
    smooth = 1.0 / (n + 1.0)
    kernels = (n * smooth + counts) / (1.0 + k * smooth)
    return np.asarray((kernels + 1.0 / k) / (n + 1.0))


RULES: dict[str, Rule] = {
    "auto": ours,
    "select, all": ours_whole,
    "equal": equal,
    "halving": halving,
    "OCBA": ocba,
    "KG": knowledge_gradient,
    "TPE": tpe,
}
#: Sorting all values at every step is slow: TPE is left out above this number of evaluations.
TPE_UP_TO = 250
