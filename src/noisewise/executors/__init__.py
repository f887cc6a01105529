"""Where evaluations run: here, in worker processes or threads, on any futures-style executor,
Dask, Ray or SLURM.

A *spec* says where, and which limits hold there (`processes`, `threads`, `pool`, `dask`, `ray`,
`submitit`);
a ``concurrent.futures.Executor`` will do as well. `start` turns it into an `Evaluator` bound to
one objective. All evaluations of the library go through an evaluator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noisewise._check import flag, integer, shown
from noisewise.executors.base import (
    Evaluator,
    Limits,
    Outcome,
    Serial,
    Spec,
    Vectorized,
)
from noisewise.executors.futures import pool, threads
from noisewise.executors.on_dask import dask
from noisewise.executors.on_ray import ray
from noisewise.executors.on_submitit import submitit
from noisewise.executors.processes import Processes, processes

__all__ = [
    "Evaluator",
    "Limits",
    "Outcome",
    "Spec",
    "dask",
    "pool",
    "processes",
    "ray",
    "start",
    "submitit",
    "threads",
]


def start(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    vectorized: bool,
    workers: Any,
    executor: Any,
    copied: bool = True,
    limits: Limits | None = None,
) -> Evaluator:
    """The evaluator for this objective. With ``copied``, warns where workers would copy a random
    generator."""
    evaluator = _started(fun, args, vectorized, workers, executor, limits or Limits())
    if copied and evaluator.copies:
        from noisewise.executors import _copied  # takes long to import

        _copied.warn(fun, args, stacklevel=5)
    return evaluator


def _started(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    vectorized: bool,
    workers: Any,
    executor: Any,
    limits: Limits,
) -> Evaluator:
    workers = integer("workers", workers, least=1)
    if flag("vectorized", vectorized):
        if workers > 1 or executor is not None:
            raise ValueError(
                "vectorized=True evaluates a whole generation in one call: it takes neither "
                f"workers nor executor, got workers={workers}, executor={shown(executor)}"
            )
        return Vectorized(fun, args)
    if executor is None:
        if workers == 1 and limits.timeout is None:
            return Serial(fun, args)
        # What takes too long must be ended: that needs a process of its own.
        return Processes(fun, args, workers, limits)
    if isinstance(executor, Spec):
        if workers > 1:
            raise ValueError(
                "set workers on the executor itself, not also in minimize: got "
                f"executor={shown(executor)} and workers={workers}"
            )
        return executor.start(fun, args, limits)
    from concurrent.futures import Executor  # takes long to import

    if isinstance(executor, Executor):
        return pool(executor, workers=workers if workers > 1 else None).start(fun, args, limits)
    where = type(executor).__module__
    names = {"distributed": "dask", "ray": "ray", "submitit": "submitit"}
    cluster = names.get(where.partition(".")[0], "")
    said = f": use noisewise.executors.{cluster}(...)" if cluster else ""
    raise ValueError(
        "executor must be a concurrent.futures.Executor or come from noisewise.executors, "
        f"got {shown(executor)}{said}"
    )
