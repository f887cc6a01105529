"""The other side of `nevergrad`: run as a script, with no import from this project.

Lines of JSON. In: a task, then ``{"y": value}`` for every point that was asked for, then
perhaps the next task. Out: ``{"x": point}``, now and then with ``"recommended"``; the last
line of a task has only that.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, TextIO


def optimizer_of(task: dict[str, Any]) -> Any:
    """The optimizer of a task, starting at ``x0`` with standard deviation ``sigma0``."""
    import nevergrad
    import numpy as np

    array = nevergrad.p.Array(init=np.array(task["x0"]))
    if task["low"] is not None:
        array.set_bounds(np.array(task["low"]), np.array(task["high"]))
    array.set_mutation(sigma=task["sigma0"])
    array.random_state = np.random.RandomState(task["seed"])
    array.function.deterministic = False  # lets NGOpt choose, and all recommend, for noise
    np.random.seed(task["seed"])  # noqa: NPY002 - some of its optimizers draw from there
    return nevergrad.optimizers.registry[task["optimizer"]](
        parametrization=array, budget=task["budget"]
    )


def serve(lines: Iterator[str], out: TextIO, make: Callable[[dict[str, Any]], Any]) -> None:
    """Answer task after task: points until its budget is gone, then the recommendation."""
    for line in lines:
        task = json.loads(line)
        optimizer = make(task)
        for n in range(task["budget"]):
            candidate = optimizer.ask()
            message = {"x": candidate.value.tolist()}
            if n and n % task["report_every"] == 0:
                message["recommended"] = optimizer.provide_recommendation().value.tolist()
            print(json.dumps(message), file=out, flush=True)
            optimizer.tell(candidate, json.loads(next(lines))["y"])
        final = optimizer.provide_recommendation().value.tolist()
        print(json.dumps({"recommended": final}), file=out, flush=True)


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not end up between the answers
    serve(iter(sys.stdin.readline, ""), answers, optimizer_of)
