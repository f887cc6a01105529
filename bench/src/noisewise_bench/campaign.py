"""A grid of problems, methods, budgets and seeds becomes rows in one file.

>>> from noisewise_bench.campaign import Grid, run
>>> grid = Grid.of(["bbob-noisy/f110/i1/d10"], ["auto", "cma-es"], ["200d"], range(1, 6))
>>> run(grid, "campaign.sqlite")  # doctest: +SKIP
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import noisewise
from noisewise_bench import behaviour
from noisewise_bench import methods as method_names
from noisewise_bench.names import BenchError, Budget
from noisewise_bench.pools import DaskCluster, Inline, Pool, Processes
from noisewise_bench.problem import Method, Problem, name_of
from noisewise_bench.progress import Progress
from noisewise_bench.runner import drive
from noisewise_bench.store import Store
from noisewise_bench.task import Key, Row, Task, find_problem

#: Problem names tried before a campaign starts; a bad one later becomes a failed row.
CHECKED = 50


@dataclass(frozen=True)
class Grid:
    """Every combination of its four parts is one run. Build it with `Grid.of`.

    >>> grid = Grid.of(["noisysphere/d14/n8.1"], ["auto", "cma-es"], ["100d"], range(1, 4))
    >>> len(list(grid.tasks()))
    6
    """

    problems: tuple[str, ...]
    methods: tuple[str, ...]
    budgets: tuple[str, ...]
    seeds: tuple[int, ...]
    problem_objects: Mapping[str, Problem] = field(default_factory=dict, repr=False)
    method_objects: Mapping[str, Method] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls,
        problems: Iterable[str | Problem],
        methods: Iterable[str | Method],
        budgets: Iterable[str | int],
        seeds: Iterable[int],
    ) -> Grid:
        """A checked grid; problems and methods are names or objects, budgets as in ``200d``."""
        problem_labels, problem_objects = _labels(problems, name_of)
        method_labels, method_objects = _labels(methods, _method_label)
        grid = cls(
            problem_labels,
            method_labels,
            tuple(dict.fromkeys(Budget.parse(budget).label for budget in budgets)),
            tuple(dict.fromkeys(int(seed) for seed in seeds)),
            problem_objects,
            method_objects,
        )
        for part in ("problems", "methods", "budgets", "seeds"):
            if not getattr(grid, part):
                raise BenchError(f"the grid has no {part}")
        return grid

    def check(self) -> None:
        """Raise `BenchError` if a name means nothing."""
        for method in self.methods:
            if method not in self.method_objects:
                method_names.get(method)
        for problem in [p for p in self.problems if p not in self.problem_objects][:CHECKED]:
            try:
                find_problem(problem)
            except (ValueError, TypeError, ImportError, AttributeError) as error:
                raise BenchError(f"problem {problem!r} cannot be made: {error}") from None

    def tasks(self) -> list[Task]:
        """One task per cell; problems in an order that mixes hard and easy ones.

        Any first part of the list then takes its share of the time, so the time left is known.
        """
        problems = sorted(self.problems, key=lambda p: hashlib.sha256(p.encode()).digest())
        return [
            Task(
                problem,
                method,
                budget,
                seed,
                self.problem_objects.get(problem),
                self.method_objects.get(method),
            )
            for problem in problems
            for budget in self.budgets
            for seed in self.seeds
            for method in self.methods
        ]

    @property
    def portable(self) -> bool:
        """Whether names alone say what to run, so that the file can remember the grid."""
        return not self.problem_objects and not self.method_objects

    def as_dict(self) -> dict[str, Any]:
        """The four parts as lists."""
        return {
            part: list(getattr(self, part)) for part in ("problems", "methods", "budgets", "seeds")
        }


def _labels(items: Iterable[Any], label: Any) -> tuple[tuple[str, ...], dict[str, Any]]:
    """Names in order without repeats, and the objects among them by name."""
    labels: list[str] = []
    objects: dict[str, Any] = {}
    for item in items:
        name = item if isinstance(item, str) else str(label(item))
        if not isinstance(item, str):
            if name in labels and objects.get(name) is not item:
                raise BenchError(f"two different things in the grid are called {name!r}")
            objects[name] = item
        elif name in objects:
            raise BenchError(f"two different things in the grid are called {name!r}")
        if name not in labels:
            labels.append(name)
    return tuple(labels), objects


def _method_label(method: Any) -> str:
    return str(getattr(method, "__name__", type(method).__name__))


@dataclass(frozen=True)
class Summary:
    """What a campaign did: runs asked for, found in the file, computed now, failed now."""

    planned: int
    found: int
    computed: int
    failed: int
    stale: int  # rows of the grid whose method or problem has changed since


def run(
    grid: Grid | None,
    db: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    retry_failed: bool = False,
    redo_stale: bool = False,
    redo: Collection[Key] = (),
    progress: bool = True,
) -> Summary:
    """Compute what is missing of ``grid`` (default: of every grid in the file) and store it.

    ``workers`` local processes (default: all cores), or the workers of a Dask cluster whose
    scheduler is at the address ``scheduler``. Stopping at any moment loses only runs in flight.
    Rows whose keys are in ``redo`` are computed again.

    >>> import tempfile
    >>> grid = Grid.of(["noisysphere/d14/n8.1"], ["cma-es"], [100], [1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     run(grid, f"{folder}/rows.sqlite", workers=1, progress=False)
    Summary(planned=1, found=0, computed=1, failed=0, stale=0)
    """
    if workers is not None and workers < 1:
        raise BenchError(f"workers is {workers}, it takes a number of at least 1")
    if grid is not None:
        grid.check()
    with Store(db) as store:
        if grid is not None and grid.portable:
            store.add_grid(grid.as_dict())
        tasks = planned_tasks(store) if grid is None else grid.tasks()
        if not tasks:
            raise BenchError(f"{store.path} holds no grid to go on with, so say what to run")
        planned = {task.key for task in tasks}
        stale = stale_keys(store) & planned
        again = (store.keys(failed=True) if retry_failed else set()) | (
            stale if redo_stale else set()
        )
        again |= set(redo) & planned
        skip = store.keys() - again
        todo = [task for task in tasks if task.key not in skip]
        n_failed = _compute(todo, store, workers, scheduler, bool(again), progress)
        return Summary(
            planned=len(tasks),
            found=len(tasks) - len(todo),
            computed=len(todo),
            failed=n_failed,
            stale=0 if redo_stale else len(stale),
        )


def stale_keys(store: Store) -> set[Key]:
    """Keys of rows that were computed by a method or on a problem that behaves otherwise now.

    Digests decide. Where there is none (a user's own method or problem), the version does.
    """
    return {
        key
        for key, version, *digests in store.made()
        if any(
            digest != now if now else version != noisewise.__version__
            for digest, now in zip(digests, _now(key), strict=True)
        )
    }


def _now(key: Key) -> tuple[str, str]:
    """Digests of method and problem in the code as it is; empty where there is none."""
    problem, method = key[:2]
    try:
        of_method = behaviour.of_method(method)
    except BenchError:  # an object that was given by hand
        of_method = ""
    return of_method, behaviour.of_problems(behaviour.family(problem))


def planned_tasks(store: Store) -> list[Task]:
    """Every task of every grid the file remembers, each once."""
    tasks: dict[Key, Task] = {}
    for parts in store.grids():
        tasks.update((task.key, task) for task in Grid.of(**parts).tasks())
    return list(tasks.values())


def _compute(
    todo: Sequence[Task],
    store: Store,
    workers: int | None,
    scheduler: str | None,
    replace: bool,
    progress: bool,
) -> int:
    """Run the tasks and store their rows as they come; the number that failed."""
    bar = Progress(len(todo), quiet=not progress)

    def sink(rows: list[Row]) -> None:
        store.put(rows, replace=replace)
        bar.add(len(rows), sum(row.error is not None for row in rows))

    if todo:
        pool = _pool(len(todo), workers, scheduler)
        try:
            drive(todo, pool, sink)
        finally:
            pool.close()
            bar.close()
    return bar.failed


def _pool(n_tasks: int, workers: int | None, scheduler: str | None) -> Pool:
    if scheduler is not None:
        return DaskCluster(scheduler)
    count = min(workers or os.cpu_count() or 1, n_tasks)
    return Inline() if count == 1 else Processes(count)


@dataclass(frozen=True)
class Status:
    """How complete a campaign's file is. Numbers are rows."""

    planned: int
    done: int  # of the planned ones, failed ones not counted
    failed: int
    missing: int
    unplanned: int  # computed by a script, or for objects no grid can name
    stale: int  # their method or problem has changed since
    sources: tuple[tuple[str, str, int], ...]  # version, source fingerprint, rows
    errors: tuple[tuple[str, str, int], ...]  # method, error, rows


def status(db: str | Path) -> Status:
    """Read the state of a campaign's file without changing it."""
    with Store(db, create=False) as store:
        planned = {task.key for task in planned_tasks(store)}
        there, failed = store.keys(), store.keys(failed=True)
        return Status(
            planned=len(planned),
            done=len((there - failed) & planned),
            failed=len(failed),
            missing=len(planned - there),
            unplanned=len(there - planned),
            stale=len(stale_keys(store)),
            sources=tuple(store.sources()),
            errors=tuple(store.errors()),
        )
