"""The problems of the paper, and the probe statistic on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from noisewise_bench.as_run import misranking
from noisewise_bench.experiments.paper._artifact import Scale
from noisewise_bench.problem import FloatArray
from noisewise_bench.problems import make, suite
from noisewise_bench.sheets import function_of
from noisewise_bench.task import Row, stream

#: Of a quick run: one function of each kind of noise, two of the high-misranking 15.
QUICK_FUNCTIONS = ("f101", "f109", "f110", "f117")
QUICK_DIMENSIONS = (10,)
LAWS = ("Gaussian", "uniform", "Cauchy")
#: The six external tasks of the paper's tables.
TASKS = ("lqr", "hpo-breast-cancer", "hpo-digits", "cartpole-ht", "cartpole", "pendulum")


def noisy(
    scale: Scale, name: str, dimensions: Sequence[int], instances: Iterable[int]
) -> list[str]:
    """Problems of a bbob-noisy suite; a few of them, in ten dimensions, if quick."""
    if scale.name != "quick":
        return suite(name, dimensions, instances)
    found = suite(name, QUICK_DIMENSIONS, instances)
    return [problem for problem in found if function_of(problem) in QUICK_FUNCTIONS]


def tasks(scale: Scale) -> list[str]:
    """The external tasks with seeds 1 to 50."""
    chosen = scale.pick(quick=("lqr", "cartpole"), full=TASKS)
    return [f"task/{task}/s{seed}" for task in chosen for seed in scale.seeds()]


def number_of(row: Row) -> int:
    """110 for a run on f110."""
    return int(function_of(row.problem)[1:])


def law_of(function: int) -> str:
    """The law of a bbob-noisy function's noise: they take turns."""
    return LAWS[(function - 101) % 3]


def task_of(row: Row) -> str:
    """Name of a task's problem without its seed."""
    return row.problem.split("/")[1]


def probe(problem: str, population: int, repeats: int = 1) -> FloatArray:
    """P of ``repeats`` populations from the initial distribution, each evaluated twice.

    The noise is a stream of its own, so nothing of it is shared with a run.
    """
    task, found = make(problem), []
    rng = np.random.default_rng(stream("probe", problem, population))
    assert task.bounds is not None
    low, high = task.bounds
    sigma = 0.3 * float(np.min(high - low))
    for _ in range(repeats):
        Z = rng.standard_normal((population, len(task.x0)))
        X = np.clip(task.x0 + sigma * Z, low, high)
        found.append(misranking(task.noisy(X, rng), task.noisy(X, rng)))
    return np.array(found)
