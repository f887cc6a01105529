"""Workers on a virtual clock: how long a run would take, without waiting for it."""

from __future__ import annotations

import heapq
import math
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import noisewise as nw
from noisewise.executors.base import enqueue


@dataclass(frozen=True)
class Shift:
    """A run on the virtual clock.

    result
        What came out.
    seconds
        When the last value came.
    utilisation
        Seconds of all evaluations over those of all workers.
    greedy
        ``seconds`` of workers that take the same evaluations in the same order, one after the other
        and without an optimizer.
    then
        The point that was recommended at the moment that was asked for; None: the run was over.
    """

    result: nw.Result
    seconds: float
    utilisation: float
    greedy: float
    then: Any = None


def run(
    opt: nw.Optimizer,
    fun: Callable[[Any], float],
    seconds: Callable[[Any, float], float],
    workers: int,
    moment: float = math.inf,
) -> Shift:
    """Drive ``opt`` with evaluations that take ``seconds(x, value)`` each, first come, first
    served. ``moment``: when to note what it recommends."""
    now, then = 0.0, None
    queue: deque[nw.Trial] = deque()
    running: list[tuple[float, int, float]] = []
    taken: list[float] = []
    while not opt.done:
        enqueue(queue, opt.ask())
        while queue and len(running) < workers:
            trial = queue.popleft()
            value = fun(trial.x)
            taken.append(seconds(trial.x, value))
            heapq.heappush(running, (now + taken[-1], trial.id, value))
        now, id, value = heapq.heappop(running)
        if then is None and now >= moment:
            then = opt.recommend().x
        opt.tell(id, value)
    busy = sum(taken) / (workers * now)
    return Shift(opt.result(), now, busy, greedy(taken, workers), then)


def greedy(seconds: Sequence[float], workers: int) -> float:
    """When the last evaluation ends if each begins, in this order, as soon as a worker is free.

    >>> greedy([3.0, 1.0, 1.0, 1.0], 2)
    3.0
    """
    free = [0.0] * workers
    for one in seconds:
        heapq.heapreplace(free, free[0] + one)
    return max(free)
