"""Appendix F2: does the gain depend on the knobs of the estimator?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Plot, Scale
from noisewise_bench.experiments.paper._duel import duel, duel_table, pairs
from noisewise_bench.experiments.paper._methods import AS_RUN, CMA, ONE_ENGINE, RB
from noisewise_bench.experiments.paper._problems import noisy
from noisewise_bench.experiments.paper._published import ABLATIONS
from noisewise_bench.figures import Panel
from noisewise_bench.task import Row

#: Variant -> method as run, method on one engine.
VARIANTS = {
    "K_max = 0": ("as-run/rb-pem(k_max=0)", "rb-pem(k_max=0)"),
    "K_max = 1": (AS_RUN[RB], ONE_ENGINE[RB]),
    "K_max = 3": ("as-run/rb-pem(k_max=3)", "rb-pem(k_max=3)"),
    "B_boot = 16": ("as-run/rb-pem(b_boot=16)", "rb-pem(n_bootstrap=16)"),
    "B_boot = 32": (AS_RUN[RB], ONE_ENGINE[RB]),
    "B_boot = 64": ("as-run/rb-pem(b_boot=64)", "rb-pem(n_bootstrap=64)"),
    "variance model": ("as-run/rb-pem(noise_model='variance')", "rb-pem(scale='variance')"),
}
BASE = {"as run": AS_RUN[CMA], "one engine": ONE_ENGINE[CMA]}
METRICS = ("best-evaluated", "recommended")


def grids(scale: Scale) -> list[Grid]:
    problems = noisy(scale, "bbob-noisy-high", (40,), scale.instances())
    return [
        Grid.of(problems, dict.fromkeys([base, *variants]), ["100d"], [1])
        for base, variants in zip(BASE.values(), zip(*VARIANTS.values(), strict=True), strict=True)
    ]


def make(rows: list[Row], scale: Scale) -> Output:
    entries = []
    for kind, base in enumerate(BASE.values()):
        for variant, names in VARIANTS.items():
            for metric in METRICS:
                known = kind == 0 and metric == "best-evaluated"
                published = ABLATIONS[variant] if known else None
                found = duel(rows, names[kind], base, metric)
                entries.append(((list(BASE)[kind], variant), found, published))
    notes = (
        "With K_max = 0 the variant as run has no residuals to draw from: its weights are "
        "deterministic, and what differs from CMA-ES is the engine and the weight map. On one "
        "engine it is CMA-ES itself, seed for seed.",
    )
    table = duel_table("RB-PEM variants against CMA-ES, B = 100d", ("kind", "variant"), entries)
    panels = [_panel(rows, kind, metric) for kind in range(2) for metric in METRICS]
    return Output([table], [Plot(panels)], notes)


def _panel(rows: Sequence[Row], kind: int, metric: str) -> Panel:
    name, base = list(BASE.items())[kind]

    def draw(ax: Any) -> None:
        gains = []
        for names in VARIANTS.values():
            a, b = pairs(rows, names[kind], base, metric)
            gains.append(np.log10(a) - np.log10(b))
        ax.boxplot(gains, showfliers=False, medianprops={"color": "#D55E00"})
        for x, gain in enumerate(gains, start=1):
            if len(gain):
                said = f"{np.mean(gain < 0):.0%}"
                where = ax.get_xaxis_transform()
                ax.text(x, 0.98, said, transform=where, ha="center", va="top", fontsize=8)
        ax.margins(y=0.15)
        ax.axhline(0.0, color="black", linewidth=0.8, linestyle="--")
        ax.set_xticks(range(1, len(VARIANTS) + 1), list(VARIANTS), rotation=35, ha="right")
        ax.set_ylabel("decades from CMA-ES")

    caption = (
        "Difference of log10 regret from CMA-ES of the same kind: quartiles and whiskers at 1.5 "
        "times their distance (points beyond are not drawn); above, the share of runs won; "
        "below the line is better."
    )
    return Panel(f"{name}, {metric}", caption, 3.0, draw)


ARTIFACT = Artifact(
    "ablations",
    "RB-PEM with other knobs",
    "Appendix F2",
    "all variants win 62 to 72 % of the runs, even without any re-evaluation (K_max = 0), so the "
    "gain comes from the expected weights.",
    grids,
    make,
)
