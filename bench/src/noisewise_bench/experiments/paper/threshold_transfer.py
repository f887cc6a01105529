"""Figure 6: do thresholds found on the functions carry over to tasks?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Plot, Scale
from noisewise_bench.experiments.paper._duel import Duel, duel, duel_table, of
from noisewise_bench.experiments.paper._methods import AS_RUN, CMA, ONE_ENGINE, SWITCH
from noisewise_bench.experiments.paper._problems import TASKS, noisy, task_of, tasks
from noisewise_bench.figures import Panel
from noisewise_bench.task import Row

#: kind -> threshold -> method; and what they are compared with.
METHODS = {
    "as run": {0.12: AS_RUN[SWITCH], 0.22: "as-run/probe-switch(tau=0.22)"},
    "one engine": {0.12: ONE_ENGINE[SWITCH], 0.22: "probe-switch(threshold=0.22)"},
    "one engine, cold": {
        0.12: "probe-switch(warm_start=False)",
        0.22: "probe-switch(threshold=0.22,warm_start=False)",
    },
}
BASE = {
    "as run": AS_RUN[CMA],
    "one engine": ONE_ENGINE[CMA],
    "one engine, cold": ONE_ENGINE[CMA],
}
METRICS = ("best-evaluated", "recommended")
REACH = 1.2  # decades shown
LEGEND = (
    "Mean difference of log10 regret of probe-and-switch from CMA-ES of its kind, with 95 % "
    "intervals; left of the line is better."
)
CAPTION = (
    f"{LEGEND} What is beyond {REACH} decades stands at the edge with its value: the cost of "
    "CartPole can be zero, whose logarithm is arbitrary."
)
Entry = tuple[tuple[str, ...], Duel, None]


def grids(scale: Scale) -> list[Grid]:
    found = []
    dimensions = scale.pick(quick=(10,), full=(10, 20, 40))
    for kind, methods in METHODS.items():
        problems = noisy(scale, "bbob-noisy", dimensions, scale.instances(5))
        names = [BASE[kind], *methods.values()]
        found.append(Grid.of(problems, names, ["200d"], [1]))
        found.append(Grid.of(tasks(scale), names, ["own"], [1]))
    return found


def make(rows: list[Row], scale: Scale) -> Output:
    places = {
        f"functions, d = {d}": of(rows, suite="bbob-noisy", dimension=d) for d in (10, 20, 40)
    }
    at = of(rows, suite="task")
    places |= {task: [r for r in at if task_of(r) == task] for task in TASKS}
    return output(places, CAPTION)


def output(places: Mapping[str, list[Row]], caption: str) -> Output:
    """Both thresholds against CMA-ES at every place, as a table and a figure."""
    entries: list[Entry] = []
    for kind, methods in METHODS.items():
        for place, here in places.items():
            for tau, method in methods.items():
                for metric in METRICS:
                    found = duel(here, method, BASE[kind], metric)
                    if found.n:
                        entries.append(((kind, place, f"{tau}"), found, None))
    table = duel_table("Probe-and-switch against CMA-ES", ("kind", "where", "tau"), entries)
    height = 1.2 + 0.2 * len(places)
    ends = [abs(end) for _, e, _ in entries for end in (e.low, e.high) if np.isfinite(end)]
    reach = min(REACH, max(ends, default=REACH))
    panels = []
    for kind in METHODS:
        for metric in METRICS:
            chosen = [
                (names, e) for names, e, _ in entries if names[0] == kind and e.metric == metric
            ]
            draw = partial(_draw, chosen, reach)
            panels.append(Panel(f"{kind}, {metric}", caption, height, draw))
    return Output([table], [Plot(panels)])


def _draw(chosen: Sequence[tuple[tuple[str, ...], Duel]], reach: float, ax: Any) -> None:
    places = list(dict.fromkeys(names[1] for names, _ in chosen))
    for names, e in chosen:
        first = names[2] == "0.12"
        y = -places.index(names[1]) + (0.15 if first else -0.15)
        colour, marker = ("#0072B2", "o") if first else ("#D55E00", "s")
        label = f"tau = {names[2]}" if names[1] == places[0] else None
        ax.plot(np.clip([e.low, e.high], -reach, reach), [y, y], color=colour)
        at = float(np.clip(e.mean, -reach, reach))
        ax.plot(at, y, marker=marker, color=colour, linestyle="", label=label)
        if at != e.mean and np.isfinite(e.mean):  # not cut in silence
            side, shift = ("left", 6) if at < 0 else ("right", -6)
            ax.annotate(f"{e.mean:+.1f}", (at, y), (shift, 0), textcoords="offset points",
                        ha=side, va="center", fontsize=8, color=colour)  # fmt: skip
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.set_yticks([-i for i in range(len(places))], places)
    ax.set_ylim(0.5 - len(places), 0.5)
    ax.set(xlabel="decades from CMA-ES", xlim=(-1.05 * reach, 1.05 * reach))


ARTIFACT = Artifact(
    "threshold-transfer",
    "Thresholds carried over to tasks",
    "Figure 6, all but the network",
    "tau = 0.12 gains more where misranking is high, tau = 0.22 loses less where it is low.",
    grids,
    make,
)
