"""Do the diagnostics tell runs that go well from runs that do not, and does depth collapse?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Plot, Scale
from noisewise_bench.experiments.paper._duel import of
from noisewise_bench.experiments.paper._methods import AS_RUN, ONE_ENGINE, RB, UH
from noisewise_bench.experiments.paper._problems import noisy
from noisewise_bench.experiments.paper._published_appendix import (
    CENTRE_P,
    GOOD_BAD,
    SHAPE_P,
    TRACE_ENDS,
)
from noisewise_bench.experiments.paper._routing import BoolArray
from noisewise_bench.figures import Panel
from noisewise_bench.methods import LibraryMethod
from noisewise_bench.problem import FloatArray, Oracle
from noisewise_bench.problems import make as make_problem
from noisewise_bench.sheets import value
from noisewise_bench.tables import Column, Table, p_value
from noisewise_bench.task import Row, method_seed, stream

#: Diagnostic -> the name it has in the paper's figure; the latter's p-value, if it is printed.
SHOWN = {
    "drift_w1": ("drift W1", math.nan),
    "shape_w1": ("shape W1", SHAPE_P),
    "scale": ("scale", math.nan),
    "centre": ("centre", CENTRE_P),
}
BUDGET = "100d"


def grids(scale: Scale) -> list[Grid]:
    problems = noisy(scale, "bbob-noisy-high", (40,), scale.instances())
    return [Grid.of(problems, [AS_RUN[RB], ONE_ENGINE[UH]], [BUDGET], [1])]


@dataclass(frozen=True)
class Trace:
    """One run of RB-PEM on one engine; diagnostics by generation."""

    regret: float
    generations: int
    diagnostics: dict[str, FloatArray]


def make(rows: list[Row], scale: Scale) -> Output:
    rivals = {row.problem: value(row, "recommended") for row in of(rows, method=ONE_ENGINE[UH])}
    traces = {name: trace(name) for name in sorted(rivals)}
    summary = {
        key: np.array([np.nanmedian(t.diagnostics[key]) for t in traces.values()]) for key in SHOWN
    }
    good = np.array([t.regret < rivals[name] for name, t in traces.items()], dtype=bool)
    depth = {
        "as run": [row.generations or 0 for row in of(rows, method=AS_RUN[RB])],
        "one engine": [t.generations for t in traces.values()],
    }
    return Output([_separation(summary, good), _depth(depth)], [_plot(summary, good)])


def trace(problem: str) -> Trace:
    """RB-PEM on the noise and seed that the campaign gives its rivals; no row could hold what
    is looked at here."""
    found = make_problem(problem)
    budget = 100 * len(found.x0)
    noise = np.random.Generator(np.random.PCG64(stream("noise", problem, 1)))
    oracle = Oracle(found, budget, noise)
    result = LibraryMethod("rb-pem", {})(oracle, budget, method_seed(problem, 1))
    columns = {key: np.asarray(v, dtype=float) for key, v in result.diagnostics.items()}
    return Trace(float(found.regret(result.x[None])[0]), int(result.nit), columns)


def _separation(summary: dict[str, FloatArray], good: BoolArray) -> Table:
    columns = (
        Column("diagnostic"),
        Column("good", meaning="runs in which RB-PEM beats UH-CMA-ES"),
        Column("bad"),
        Column("median, good"),
        Column("median, bad"),
        Column("p", p_value, "one-sided Mann-Whitney test that bad runs have larger values"),
        Column("published p", p_value),
    )
    body = []
    for key, (name, published) in SHOWN.items():
        a, b = (summary[key][side & ~np.isnan(summary[key])] for side in (good, ~good))
        test = (
            stats.mannwhitneyu(b, a, alternative="greater").pvalue if len(a) and len(b) else np.nan
        )
        middle = [float(np.median(v)) if len(v) else np.nan for v in (a, b)]
        body.append((name, len(a), len(b), *middle, float(test), published))
    notes = (
        f"One engine, high-misranking 15, B = {BUDGET}, median of each diagnostic over a run; "
        "good: the returned point is better than UH-CMA-ES's. Published: as run, best evaluated "
        f"point, {GOOD_BAD[0]} good and {GOOD_BAD[1]} bad.",
    )
    return Table("Diagnostics of good and of bad runs", columns, tuple(body), notes)


def _depth(depths: dict[str, list[int]]) -> Table:
    columns = (
        Column("RB-PEM"),
        Column("runs"),
        Column("fewest generations"),
        Column("median"),
        Column("most"),
        Column("published", meaning="good and bad trace"),
    )
    body = []
    for kind, depth in depths.items():
        if depth:
            ends = (min(depth), float(np.median(depth)), max(depth))
            published = "{} and {}".format(*TRACE_ENDS) if kind == "as run" else "-"
            body.append((kind, len(depth), *ends, published))
    notes = (
        "As run, a generation costs at most 15 + 4 evaluations at d = 40, so 4000 evaluations pay "
        "for 210 generations at least; a trace that ends earlier ends at a restart, which sets "
        "the published program's counter of generations to zero.",
    )
    return Table("Generations completed", columns, tuple(body), notes)


def _plot(summary: dict[str, FloatArray], good: BoolArray) -> Plot:
    def panel(key: str) -> Panel:
        def draw(ax: Any) -> None:
            rng = np.random.default_rng(0)
            for x, side in enumerate((good, ~good)):
                v = summary[key][side]
                ax.plot(x + rng.uniform(-0.15, 0.15, len(v)), v, "o", alpha=0.5)
                if len(v):
                    ax.plot(x, np.nanmedian(v), "_", color="black", markersize=30)
            ax.set_xticks((0, 1), ("good", "bad"))
            ax.set_xlim(-0.5, 1.5)

        caption = (
            "Medians over a run of four diagnostics, in runs that beat UH-CMA-ES (good) and in "
            "those that do not; bars: medians."
        )
        return Panel(SHOWN[key][0], caption, 2.4, draw)

    return Plot([panel(key) for key in SHOWN], columns=4, width=2.2)


ARTIFACT = Artifact(
    "diagnostics",
    "Residual-pool diagnostics",
    "Appendix F3",
    "shape mismatch (p = 0.003) and unstable centres (p = 0.001) tell bad runs from good ones, "
    "and failures show as a collapse of depth (129 instead of 211 generations).",
    grids,
    make,
)
