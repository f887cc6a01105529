"""Three measures of misranking bound each other.

| symbol | meaning | range |
|---|---|---|
| P | normalised footrule distance of two rankings of k candidates | [0, 1/2] |
| q | share of discordant pairs (Kendall) | [0, 1] |
| M | share of candidates whose membership of the better mu differs | [0, 1] |

The paper: k/(k-1) P <= q <= 2k/(k-1) P, and M <= k^2/(2 mu) P. If j candidates leave the better mu
and j join them, both groups are displaced by at least j^2 in sum, so P >= 2 j^2/k^2 with M = 2 j/k:
M <= sqrt(2 P), which no P makes vacuous.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise.cma.covariance import Diagonal
from noisewise.cma.strategy import Strategy
from noisewise.cma.weights import Log
from noisewise.measured.samples import footrule, kendall, ranks, top_mu
from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Plot, Scale
from noisewise_bench.experiments.paper._published_appendix import SANDWICH
from noisewise_bench.figures import Panel
from noisewise_bench.problem import FloatArray
from noisewise_bench.problems import make as make_problem
from noisewise_bench.problems import suite
from noisewise_bench.tables import Column, Table
from noisewise_bench.task import Row, stream

POPULATION, MU = 15, 7


def evolved(problem: str, generations: int) -> FloatArray:
    """P, q and M of the population of each generation of separable CMA-ES, evaluated twice; the
    first evaluation drives the search."""
    task = make_problem(problem)
    rng = np.random.default_rng(stream("sandwich", problem, 0))
    assert task.bounds is not None
    low, high = task.bounds
    strategy = Strategy(len(task.x0), Diagonal())
    state = strategy.start(task.x0, 0.3 * float(np.min(high - low)))
    found = np.empty((generations, 3))
    for row in found:
        X = np.clip(strategy.sample(state, POPULATION, rng), low, high)
        a, b = (ranks(task.noisy(X, rng)) for _ in range(2))
        row[:] = footrule(a, b), kendall(a, b), top_mu(a, b, MU)
        state, _ = strategy.update(state, X, Log().weights(POPULATION)[a])
    return found


def violations(found: FloatArray) -> dict[str, int]:
    """Number of candidate sets that break each bound."""
    P, q, M = found.T
    k, slack = POPULATION, 1e-12
    return {
        "k/(k-1) P <= q": int(np.sum(q < k / (k - 1) * P - slack)),
        "q <= 2k/(k-1) P": int(np.sum(q > 2 * k / (k - 1) * P + slack)),
        "M <= k^2/(2 mu) P": int(np.sum(k * k / (2 * MU) * P + slack < M)),
        "M <= sqrt(2 P)": int(np.sum(np.sqrt(2 * P) + slack < M)),
    }


def grids(scale: Scale) -> list[Grid]:
    return []


def make(rows: list[Row], scale: Scale) -> Output:
    d, sets = scale.pick(quick=(10, 5), full=(40, 25))
    found = np.concatenate([evolved(name, sets) for name in suite("bbob-noisy", (d,), (1,))])
    return Output([_table(found, d)], [_plot(found)])


def _table(found: FloatArray, d: int) -> Table:
    P, _, M = found.T
    vacuous = {"M <= k^2/(2 mu) P": float(np.mean(POPULATION**2 / (2 * MU) * P >= 1.0))}
    slack = {
        "M <= k^2/(2 mu) P": np.minimum(POPULATION**2 / (2 * MU) * P, 1.0) - M,
        "M <= sqrt(2 P)": np.minimum(np.sqrt(2 * P), 1.0) - M,
    }
    body = tuple(
        (
            bound,
            len(found),
            broken,
            SANDWICH[1] if bound != "M <= sqrt(2 P)" else "-",
            vacuous.get(bound, 0.0),
            float(np.mean(slack[bound])) if bound in slack else float("nan"),
        )
        for bound, broken in violations(found).items()
    )
    columns = (
        Column("bound"),
        Column("sets"),
        Column("violations"),
        Column("published violations"),
        Column("vacuous", lambda v: f"{v:.0%}", "share of sets on which the bound is above one"),
        Column("mean slack", meaning="of the bound, cut at one, over M"),
    )
    notes = (
        f"30 bbob-noisy functions, instance 1, d = {d}, population {POPULATION}, mu = {MU}, "
        "successive generations of separable CMA-ES.",
        "All four are theorems, so a violation would be an error in the program; the last one is "
        "ours and needs no assumption on mu.",
    )
    return Table("Bounds between three measures of misranking", columns, body, notes)


def _plot(found: FloatArray) -> Plot:
    P, q, M = found.T
    grid, k = np.linspace(0.0, 0.5, 101), POPULATION

    def pairs(ax: Any) -> None:
        ax.plot(P, q, ".", alpha=0.5)
        ax.plot(grid, k / (k - 1) * grid, color="0.4", linewidth=1.0)
        ax.plot(grid, 2 * k / (k - 1) * grid, color="0.4", linewidth=1.0)
        ax.set(xlabel="P", ylabel="discordant pairs q", ylim=(0, 1), xlim=(0, 0.5))

    def elite(ax: Any) -> None:
        ax.plot(P, M, ".", alpha=0.5)
        ax.plot(
            grid, k * k / (2 * MU) * grid, color="0.4", linewidth=1.0, label="the paper's bound"
        )
        ax.plot(grid, np.sqrt(2 * grid), "--", color="#D55E00", label="sqrt(2 P)")
        ax.set(xlabel="P", ylabel="elite disagreement M", ylim=(0, 1), xlim=(0, 0.5))

    caption = (
        "Kendall's discordance and elite disagreement against P on candidate sets of bbob-noisy, "
        "with their bounds."
    )
    panels = [Panel("discordant pairs", caption, 3.0, pairs), Panel("elite", caption, 3.0, elite)]
    return Plot(panels, columns=2)


ARTIFACT = Artifact(
    "sandwich",
    "Bounds between measures of misranking",
    "Appendix F4",
    "Kendall's discordance and elite disagreement stay within constant factors of P: no "
    "violation in 750 candidate sets.",
    grids,
    make,
)
