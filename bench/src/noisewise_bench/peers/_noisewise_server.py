"""The other side of `isolated` for an earlier version of noisewise: run as a script.

Lines of JSON, with no import from this project. In: a task, then ``{"y": [values]}`` for every
batch that was asked for, then perhaps the next task. Out: ``{"x": [points]}``; the last line of
a task is ``{"recommended": point}``. The task's ``optimizer`` is a method's name, perhaps followed
by a slash and the number of evaluations to confirm ("auto" for the default).
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any, TextIO

import numpy as np


def optimizer_of(task: dict[str, Any]) -> Any:
    """The optimizer of a task."""
    import noisewise

    method, _, confirm = task["optimizer"].partition("/")
    low, high = task["low"], task["high"]
    return noisewise.Optimizer(
        np.array(task["x0"]),
        budget=task["budget"],
        bounds=None if low is None else (np.array(low), np.array(high)),
        sigma0=task["sigma0"],
        method=method,
        rng=task["seed"],
        confirm=int(confirm) if confirm.isdigit() else confirm or 0,
    )


def serve(lines: Iterator[str], out: TextIO, make: Callable[[dict[str, Any]], Any]) -> None:
    """Answer task after task: batches until its budget is gone, then the recommendation."""
    for line in lines:
        task = json.loads(line)
        opt = make(task)
        while not opt.done:
            trials = opt.ask()
            message = {"x": [trial.x.tolist() for trial in trials]}
            print(json.dumps(message), file=out, flush=True)
            values = json.loads(next(lines))["y"]
            opt.tell([trial.id for trial in trials], values)
        print(json.dumps({"recommended": opt.recommend().x.tolist()}), file=out, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not end up between the answers
    serve(iter(sys.stdin.readline, ""), answers, optimizer_of)
