"""How many evaluations the probe needs."""

from __future__ import annotations

from functools import partial
from typing import Any

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper import _routing
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Plot, Scale
from noisewise_bench.experiments.paper._duel import percent
from noisewise_bench.experiments.paper._published_appendix import PROBE_AUC
from noisewise_bench.experiments.paper._routing import (
    METRICS,
    BoolArray,
    Cases,
    IntArray,
    accuracy,
    auc,
    cases,
    rank_probe,
    resampled,
    roc,
)
from noisewise_bench.figures import Panel
from noisewise_bench.problem import FloatArray
from noisewise_bench.tables import Column, Table, fixed
from noisewise_bench.task import Row

TAU = 0.12


def grids(scale: Scale) -> list[Grid]:
    return _routing.grids(scale, ("200d",))


def make(rows: list[Row], scale: Scale) -> Output:
    found = {
        (side, metric): cases(rows, side, "200d", metric)
        for side in ("as run", "one engine")
        for metric in METRICS
    }
    panels = [_panel(f"{side}, {metric}", each) for (side, metric), each in found.items()]
    return Output([_table(found)], [Plot(panels, 2, 3.6)])


def _table(found: dict[tuple[str, str], Cases]) -> Table:
    columns = (
        *(Column(name) for name in ("kind", "metric", "population", "evaluations", "problems")),
        Column("AUC", fixed, "area under the ROC curve"),
        Column("low", fixed, "95 % bootstrap interval"),
        Column("high", fixed),
        Column("published", fixed),
        Column(f"accuracy at {TAU}", percent),
    )
    body: list[tuple[Any, ...]] = []
    for (side, metric), each in found.items():
        for population, published in PROBE_AUC.items():
            s, won = each.measured(partial(rank_probe, population=population)), each.won

            def area(i: IntArray, s: FloatArray = s, won: BoolArray = won) -> float:
                return auc(s[i], won[i])

            known = published if (side, metric) == ("as run", "best-evaluated") else float("nan")
            line = (population, 2 * population, len(s), auc(s, won), *resampled(area, len(s)))
            body.append((side, metric, *line, known, accuracy(s, won, TAU)))
    notes = (
        "d = 40, B = 200d, all 30 functions, ties left out. AUC: chance that the probe is larger "
        "on a problem that RB-PEM wins than on one it loses.",
    )
    return Table("What a probe of each size tells", columns, tuple(body), notes)


def _panel(title: str, each: Cases) -> Panel:
    def draw(ax: Any) -> None:
        for population in PROBE_AUC:
            s = each.measured(partial(rank_probe, population=population))
            ax.plot(*roc(s, each.won), label=f"population {population}")
        ax.axline((0.0, 0.0), slope=1.0, color="black", linewidth=0.8)
        ax.set(xlabel="CMA-ES wins, RB-PEM chosen", ylabel="RB-PEM wins and is chosen")

    caption = "ROC curves of the probe for populations of 4 to 32, each evaluated twice."
    return Panel(title, caption, 3.2, draw)


ARTIFACT = Artifact(
    "probe-budget",
    "Size of the probe",
    "Appendix F7",
    "even 8 evaluations tell who will win (AUC 0.71), more help up to a population of 16 (0.76).",
    grids,
    make,
)
