"""Where evaluations run: here, in worker processes, on any futures-style executor, Dask or Ray.

A *spec* says where (`processes`, `dask`, `ray`, or any ``concurrent.futures.Executor``); `start`
turns it into an `Evaluator` bound to one objective. All evaluations of the library go through an
evaluator.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from noisewise._check import integer, shown
from noisewise.executors.base import (
    Evaluator,
    Limits,
    Outcome,
    Serial,
    Spec,
    Vectorized,
)
from noisewise.executors.futures import ExecutorSource, Futures
from noisewise.executors.on_dask import dask
from noisewise.executors.on_ray import ray
from noisewise.executors.processes import Processes, processes

__all__ = [
    "Evaluator",
    "Outcome",
    "Spec",
    "dask",
    "processes",
    "ray",
    "start",
]


def start(
    fun: Callable[..., Any],
    args: tuple[Any, ...],
    vectorized: bool,
    workers: Any,
    executor: Any,
    limits: Limits,
) -> Evaluator:
    """The evaluator for this objective."""
    workers = integer("workers", workers, least=1)
    if vectorized:
        if workers > 1 or executor is not None or limits.timeout is not None:
            raise ValueError(
                "vectorized=True evaluates a whole batch in one call: it takes neither workers "
                f"nor executor nor timeout, got workers={workers}, executor={shown(executor)}, "
                f"timeout={limits.timeout}"
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
                f"workers must be said to the executor, {shown(executor)}, got workers={workers} "
                "beside it"
            )
        return executor.start(fun, args, limits)
    if isinstance(executor, Executor):
        return Futures(fun, args, ExecutorSource(executor, workers), limits)
    raise ValueError(
        "executor must be a concurrent.futures.Executor or come from noisewise.executors, "
        f"got {shown(executor)}"
    )
