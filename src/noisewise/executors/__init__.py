"""Where evaluations run: here, in worker processes, or on any futures-style executor.

A *spec* says where (`processes`, or any ``concurrent.futures.Executor``); `start` turns it into
an `Evaluator` bound to one objective. All evaluations of the library go through an evaluator.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

from noisewise._check import integer, shown
from noisewise.executors.base import Evaluator, Outcome, Serial, Spec, Vectorized
from noisewise.executors.futures import Futures
from noisewise.executors.processes import Processes, processes

__all__ = ["Evaluator", "Outcome", "Spec", "processes", "start"]


def start(
    fun: Callable[..., Any], args: tuple[Any, ...], vectorized: bool, workers: Any, executor: Any
) -> Evaluator:
    """The evaluator for this objective."""
    workers = integer("workers", workers, least=1)
    if vectorized:
        if workers > 1 or executor is not None:
            raise ValueError(
                "vectorized=True evaluates a whole batch in one call: it takes neither workers "
                f"nor executor, got workers={workers}, executor={shown(executor)}"
            )
        return Vectorized(fun, args)
    if executor is None:
        return Processes(fun, args, workers) if workers > 1 else Serial(fun, args)
    if isinstance(executor, Spec):
        return executor.start(fun, args)
    if isinstance(executor, Executor):
        return Futures(fun, args, executor, workers)
    raise ValueError(
        "executor must be a concurrent.futures.Executor or come from noisewise.executors, "
        f"got {shown(executor)}"
    )
