"""Appendix F2, second half: power-lift against log weights in the bootstrap."""

from __future__ import annotations

import numpy as np

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Scale
from noisewise_bench.experiments.paper._duel import NOISY_VALUE, duel, duel_table, of
from noisewise_bench.experiments.paper._methods import (
    AS_RUN,
    CMA,
    RB,
    RB_LOG,
    SWITCH,
    SWITCH_LOG,
    named,
)
from noisewise_bench.experiments.paper._problems import noisy
from noisewise_bench.experiments.paper._published import LOG_WEIGHT_BUDGETS, LOG_WEIGHTS, OVERHEAD
from noisewise_bench.tables import Column, Table, fixed
from noisewise_bench.task import Row

ROLES = (RB, RB_LOG, SWITCH, SWITCH_LOG)
N_PUBLISHED = 675
METRICS = (NOISY_VALUE, "best-evaluated", "recommended")
#: On one engine: selection -> weights -> method.
ENGINE = {
    "hard ranks": {"log": "sep-cma-es", "power-lift": "sep-cma-es(profile='power-lift')"},
    "RB-PEM": {"log": "rb-pem", "power-lift": "rb-pem(profile='power-lift')"},
}


def grids(scale: Scale) -> list[Grid]:
    problems = noisy(scale, "bbob-noisy-high", (10, 20, 40), scale.instances(5))
    budgets = scale.pick(quick=LOG_WEIGHT_BUDGETS[:1], full=LOG_WEIGHT_BUDGETS)
    # Table 1 has these in full.
    table1 = noisy(scale, "bbob-noisy-high", (10, 20, 40), scale.instances())
    return [
        Grid.of(problems, named("as run", CMA, *ROLES), budgets, [1]),
        Grid.of(table1, named("as run", CMA, RB, SWITCH), [LOG_WEIGHT_BUDGETS[-1]], [1]),
        Grid.of(problems, [m for some in ENGINE.values() for m in some.values()], budgets, [1]),
    ]


def make(rows: list[Row], scale: Scale) -> Output:
    against, between = [], []
    for budget in dict.fromkeys(b for b in LOG_WEIGHT_BUDGETS if of(rows, budget=b)):
        here = of(rows, budget=budget)
        for metric in METRICS:
            for role in ROLES:
                share = LOG_WEIGHTS[role][LOG_WEIGHT_BUDGETS.index(budget)]
                wins = round(share * N_PUBLISHED)
                known = (wins, N_PUBLISHED - wins) if metric == NOISY_VALUE else None
                found = duel(here, AS_RUN[role], AS_RUN[CMA], metric)
                against.append(((f"B = {budget}", role), found, known))
            found = duel(here, AS_RUN[RB_LOG], AS_RUN[RB], metric)
            between.append(((f"B = {budget}", "log against power-lift"), found, None))
    return Output(
        [
            duel_table("Against CMA-ES as run, high-misranking 15", ("budget", "method"), against),
            duel_table("RB-PEM: log weights against power-lift", ("budget", "duel"), between),
            _one_engine(rows),
            _overhead(rows),
        ]
    )


def _one_engine(rows: list[Row]) -> Table:
    """RB-PEM against hard ranks of the same weights, and the weights against each other."""
    hard, smooth = ENGINE["hard ranks"], ENGINE["RB-PEM"]
    duels = {
        f"RB-PEM against hard ranks, {weights}": (smooth[weights], hard[weights])
        for weights in hard
    }
    duels |= {
        f"log against power-lift, {selection}": (some["log"], some["power-lift"])
        for selection, some in ENGINE.items()
    }
    entries = []
    for budget in dict.fromkeys(b for b in LOG_WEIGHT_BUDGETS if of(rows, budget=b)):
        for words, (ours, theirs) in duels.items():
            for metric in METRICS[1:]:
                found = duel(of(rows, budget=budget), ours, theirs, metric)
                entries.append(((f"B = {budget}", words), found, None))
    return duel_table("One engine, high-misranking 15", ("budget", "duel"), entries)


def _overhead(rows: list[Row]) -> Table:
    """Time in the method as a multiple of CMA-ES', where the paper measured it."""
    here = of(rows, dimension=max(row.dimension for row in rows))
    budget = "100d" if of(here, budget="100d") else LOG_WEIGHT_BUDGETS[0]
    times: dict[str, dict[str, float]] = {}
    for row in of(here, budget=budget):
        times.setdefault(row.problem, {})[row.method] = row.seconds_method
    body = []
    for role in ROLES:
        both = [b for b in times.values() if AS_RUN[role] in b and AS_RUN[CMA] in b]
        ratios = [block[AS_RUN[role]] / block[AS_RUN[CMA]] for block in both]
        body.append((role, OVERHEAD[role], float(np.median(ratios))))
    columns = (Column("method"), Column("published", fixed), Column("measured", fixed))
    notes = (
        "Median over problems of seconds in the method, as a multiple of CMA-ES' (pycma), "
        f"largest dimension, B = {budget}; times of a machine with other work to do.",
    )
    return Table("Time in the method, as run", columns, tuple(body), notes)


ARTIFACT = Artifact(
    "log-weights",
    "Power-lift or log weights inside the bootstrap",
    "Appendix F2, log-weight table",
    "the gain does not depend on the weight map: at most 3.1 percentage points between the two.",
    grids,
    make,
)
