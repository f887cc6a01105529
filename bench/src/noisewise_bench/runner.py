"""From tasks to rows: keeps a pool busy with chunks, and tries again what a dead worker held."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence

from noisewise_bench.pools import Pool
from noisewise_bench.task import Key, Row, Task, lost

#: A chunk aims at this many seconds: what a kill can cost, and how often results arrive.
CHUNK_SECONDS = 1.0
MAX_CHUNK = 64
#: A task whose worker died this often is given up.
MAX_DEATHS = 2


def drive(tasks: Sequence[Task], pool: Pool, sink: Callable[[list[Row]], None]) -> None:
    """Run every task in ``pool`` and hand its rows to ``sink``, in any order, each once."""
    queue = deque(tasks)
    alone: deque[Task] = deque()  # from chunks whose worker died: run one by one
    deaths: Counter[Key] = Counter()
    seconds, flying = CHUNK_SECONDS, 0
    while queue or alone or flying:
        slots = pool.slots()
        while flying < slots and (queue or alone):
            size = 1 if alone else _size(seconds, len(queue), slots)
            source = alone or queue
            pool.submit([source.popleft() for _ in range(size)])
            flying += 1
        for chunk, rows in pool.collect():
            flying -= 1
            if rows is not None:
                seconds = 0.7 * seconds + 0.3 * sum(map(_seconds, rows)) / len(rows)
                sink(rows)
                continue
            if len(chunk) == 1:
                deaths[chunk[0].key] += 1
            if len(chunk) == 1 and deaths[chunk[0].key] >= MAX_DEATHS:
                sink([lost(chunk[0])])
            else:
                alone.extend(chunk)


def _size(seconds: float, waiting: int, slots: int) -> int:
    """Tasks per chunk: about a second's worth, and small enough that all workers end together."""
    fair = max(1, waiting // (4 * slots))
    return max(1, min(MAX_CHUNK, fair, waiting, int(CHUNK_SECONDS / max(seconds, 1e-3))))


def _seconds(row: Row) -> float:
    total = row.seconds_method + row.seconds_problem + row.seconds_truth
    return total if total == total else 0.0  # a failed run has no times
