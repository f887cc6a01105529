"""How small LRA-CMA-ES makes the learning rate of the mean."""

from __future__ import annotations

from typing import Final

import numpy as np

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Scale
from noisewise_bench.problems.bbob_noisy import HIGH
from noisewise_bench.tables import Column, Table
from noisewise_bench.task import Row, Task, outcome

METHOD, BUDGET = "lra-cma-es", "100d"
PUBLISHED: Final = 0.04


def grids(scale: Scale) -> list[Grid]:
    return []


def make(rows: list[Row], scale: Scale) -> Output:
    functions = scale.pick(quick=HIGH[:2], full=HIGH)
    body = []
    for d in scale.pick(quick=(5,), full=(10, 40)):
        told = []
        for function in functions:
            run = outcome(Task(f"bbob-noisy/f{function}/i1/d{d}", METHOD, BUDGET, 1))
            rates = np.asarray(run.history["c_mean"])
            told.append((rates.mean(), np.median(rates[len(rates) // 2 :]), rates.min()))
        body.append((d, len(told), *map(float, np.median(told, axis=0)), PUBLISHED))
    columns = (
        Column("d"),
        Column("functions"),
        Column("mean", _rate, "over the generations of a run"),
        Column("later half", _rate, "median over the later half of its generations"),
        Column("smallest", _rate),
        Column("published", _rate, '"about"; the paper does not say how it was taken'),
    )
    notes = (
        f"`{METHOD}` (full covariance, active weights) on the high-misranking functions, instance "
        f"1, noise seed 1, B = {BUDGET}: the rate at which the mean moved, `c_mean` of a run's "
        "history; medians over functions.",
    )
    return Output([Table("Learning rate of the mean", columns, tuple(body), notes)])


def _rate(value: float) -> str:
    return f"{value:.3f}"


ARTIFACT = Artifact(
    "lra-rate",
    "Learning rate of LRA-CMA-ES",
    "Section 2",
    "LRA-CMA-ES can reduce the effective mean learning rate to about 0.04.",
    grids,
    make,
)
