"""Workers on a virtual clock: how long a run would take, without waiting for it."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import noisewise as nw
from noisewise.executors.base import enqueue


@dataclass(frozen=True)
class Shift:
    """A run on the virtual clock: what came out, its seconds, and the seconds of all evaluations
    over those of all workers."""

    result: nw.Result
    seconds: float
    utilisation: float


def run(
    opt: nw.Optimizer,
    fun: Callable[[Any], float],
    seconds: Callable[[Any], float],
    workers: int,
) -> Shift:
    """Drive ``opt`` with evaluations that take ``seconds(x)`` each, first come, first served."""
    now, busy = 0.0, 0.0
    queue: deque[nw.Trial] = deque()
    running: list[tuple[float, int, nw.Trial]] = []
    while not opt.done:
        enqueue(queue, opt.ask())
        while queue and len(running) < workers:
            trial = queue.popleft()
            takes = seconds(trial.x)
            busy += takes
            heapq.heappush(running, (now + takes, trial.id, trial))
        now, _, trial = heapq.heappop(running)
        opt.tell(trial.id, fun(trial.x))
    return Shift(opt.result(), now, busy / (workers * now))
