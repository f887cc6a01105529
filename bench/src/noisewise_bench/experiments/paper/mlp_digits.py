"""A small network trained without gradients, with three sizes of minibatch."""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Plot, Scale
from noisewise_bench.experiments.paper._duel import duel, duel_table, of
from noisewise_bench.experiments.paper._published_appendix import MLP_WINS
from noisewise_bench.figures import Panel
from noisewise_bench.score import interval
from noisewise_bench.sheets import value
from noisewise_bench.tables import Column, Table
from noisewise_bench.task import Row

BATCHES = (4, 16, 256)
AS_RUN = ("as-run/cma-es", "as-run/probe-switch", "as-run/probe-switch-warm")
COLD, FLAT = "probe-switch(warm_start=False)", "sep-cma-es(profile='uniform')"
#: Probe-and-switch as run is cold and warm; so it is on one engine.
ONE_ENGINE = ("sep-cma-es", COLD, "probe-switch", FLAT, "auto")
METRICS = ("recommended", "best-evaluated")


def grids(scale: Scale) -> list[Grid]:
    batches = scale.pick(quick=(16,), full=BATCHES)
    problems = [f"task/mlp-digits-b{batch}/s{seed}" for batch in batches for seed in scale.seeds()]
    budget = scale.pick(quick="4d", full="own")
    return [Grid.of(problems, (*AS_RUN, *ONE_ENGINE), [budget], [1])]


def make(rows: list[Row], scale: Scale) -> Output:
    found = {batch: _of(rows, batch) for batch in BATCHES if _of(rows, batch)}
    panels = [_panel(f"batch {batch}", some) for batch, some in found.items()]
    return Output([_wins(found), _losses(found)], [Plot(panels, 1, 5.4)])


def _of(rows: list[Row], batch: int) -> list[Row]:
    return [row for row in rows if f"/mlp-digits-b{batch}/" in row.problem]


def _wins(found: dict[int, list[Row]]) -> Table:
    entries = []
    for batch, some in found.items():
        for kind, (base, *others) in (("as run", AS_RUN), ("one engine", ONE_ENGINE)):
            for i, method in enumerate(others):
                for metric in METRICS:
                    published = None
                    if kind == "as run" and metric == "best-evaluated":
                        wins, ties = MLP_WINS[batch][i]
                        published = (wins, 50 - wins - ties)
                    result = duel(some, method, base, metric)
                    entries.append(((batch, kind, method, base), result, published))
        for method in (COLD, "probe-switch"):
            result = duel(some, method, FLAT, "recommended")
            entries.append(((batch, "one engine", method, FLAT), result, None))
    notes = (
        "The probe is thrown away by as-run/probe-switch and with warm_start=False (cold), and is "
        "the first generation of as-run/probe-switch-warm and probe-switch (warm). Uniform weights "
        "have no model of the noise and no re-evaluations, and are about as flat as those of "
        "RB-PEM: what is won against them is the estimator's.",
        "Published: post-hoc loss of the best of the few smallest noisy values, 50 seeds, which is "
        "closest to the best evaluated point and equal to it without noise (batch 256); wins and "
        "losses there leave out ties (40 and 48 of 50 at batch 256).",
    )
    labels = ("batch", "kind", "method", "against")
    return duel_table("Wins over CMA-ES on the network", labels, entries, notes)


def _losses(found: dict[int, list[Row]]) -> Table:
    columns = (
        Column("batch"),
        Column("method"),
        Column("seeds"),
        *(Column(f"median {metric}", _median) for metric in METRICS),
    )
    body: list[tuple[Any, ...]] = []
    for batch, some in found.items():
        for method in (*AS_RUN, *ONE_ENGINE):
            mine = of(some, method=method)
            cells = [interval(np.array([value(r, m) for r in mine]), np.median) for m in METRICS]
            body.append((batch, method, len(mine), *cells))
    notes = ("Loss over all 256 rows, in nats; medians with 95 % bootstrap intervals.",)
    return Table("Loss of the network", columns, tuple(body), notes)


def _median(cell: tuple[float, float, float]) -> str:
    return f"{cell[0]:.3g} [{cell[1]:.3g}, {cell[2]:.3g}]"


def _panel(title: str, rows: list[Row]) -> Panel:
    def draw(ax: Any) -> None:
        names = (*AS_RUN, *ONE_ENGINE)
        for y, method in enumerate(reversed(names)):
            losses = np.log10([value(row, "recommended") for row in of(rows, method=method)])
            ax.plot(losses, np.full(len(losses), y), "o", alpha=0.5, color="#0072B2")
            if len(losses):
                ax.plot(np.median(losses), y, "|", color="black", markersize=14)
        ax.set_yticks(range(len(names)), list(reversed(names)))
        ax.set_xlabel("log10 loss, returned")

    caption = "Loss of the returned network on all rows, each seed and the median; left is better."
    return Panel(title, caption, 2.0, draw)


ARTIFACT = Artifact(
    "mlp-digits",
    "A network trained without gradients",
    "Appendix F10",
    "probe-and-switch beats CMA-ES at batch 16 (66 % of seeds, 76 % with a warm start), is near "
    "parity at batch 4 and ties with a warm start where there is no noise.",
    grids,
    make,
)
