"""Median regret per function on the high-misranking 15."""

from __future__ import annotations

import numpy as np

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Scale
from noisewise_bench.experiments.paper._duel import of
from noisewise_bench.experiments.paper._published import HIGH_MEDIANS
from noisewise_bench.problems import suite
from noisewise_bench.score import interval
from noisewise_bench.sheets import MEANING, function_of, value
from noisewise_bench.tables import Column, Table, fixed
from noisewise_bench.task import Row

AS_RUN = tuple(f"as-run/{name}" for name in ("cma-es", "uh-cma-es(30)", "rb-pem", "probe-switch"))
#: The same roles on one engine, where only the selection differs.
DESCRIBED = (
    "sep-cma-es",
    "uh-cma-es(covariance='diagonal')",
    "rb-pem(centre='ridge')",
    "rb-pem",
    "probe-switch",
    "pem",
)
BUDGET = "100d"


def grids(scale: Scale) -> list[Grid]:
    d = scale.pick(quick=10, short=40, full=40)
    return [
        Grid.of(suite("bbob-noisy-high", (d,), scale.instances()), AS_RUN, [BUDGET], [1]),
        Grid.of(suite("bbob-noisy-high", (d,), scale.instances(5)), DESCRIBED, [BUDGET], [1]),
    ]


def make(rows: list[Row], scale: Scale) -> Output:
    return Output(
        [
            _table(of(rows, method=methods), methods, metric, kind)
            for kind, methods in (("as run", AS_RUN), ("one engine", DESCRIBED))
            for metric in ("best-evaluated", "recommended")
        ]
    )


def _table(rows: list[Row], methods: tuple[str, ...], metric: str, kind: str) -> Table:
    """Medians with intervals, the published ones behind them where there are some."""
    functions = dict.fromkeys(sorted(function_of(row.problem) for row in rows))
    body = []
    for function in functions:
        cells: list[object] = [function]
        for method in methods:
            found = [r for r in of(rows, method=method) if function_of(r.problem) == function]
            logs = np.log10([value(row, metric) for row in found])
            cells.append(interval(logs, np.median))
            if kind == "as run":
                cells.append(HIGH_MEDIANS[int(function[1:])][method.removeprefix("as-run/")])
        body.append(tuple(cells))
    columns = [Column("function")]
    for method in methods:
        columns.append(Column(method, _median))
        if kind == "as run":
            columns.append(Column("published", fixed))
    notes = (
        f"Metric: {metric}, the {MEANING[metric]}.",
        "Medians over instances with 95 % bootstrap intervals"
        + ("; published medians are of the best evaluated point." if kind == "as run" else "."),
    )
    title = f"Median log10 {metric} regret, {kind}, B = {BUDGET}"
    return Table(title, tuple(columns), tuple(body), notes)


def _median(cell: tuple[float, float, float]) -> str:
    return f"{fixed(cell[0])} [{fixed(cell[1])}, {fixed(cell[2])}]"


ARTIFACT = Artifact(
    "high-misranking",
    "Median regret on each of the 15 high-misranking functions",
    "Appendix F11, table of complete results",
    "RB-PEM and probe-and-switch have the lowest median on most of the 15 functions and beat "
    "UH-CMA-ES on all of them.",
    grids,
    make,
)
