"""What a late restart does to the point returned, and what is left without that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Scale
from noisewise_bench.experiments.paper._duel import Duel, duel, duel_table, of
from noisewise_bench.experiments.paper._methods import (
    AS_RUN,
    CMA,
    RB,
    RB_LOG,
    RB_LOG_SAFE,
    RB_SAFE,
    named,
)
from noisewise_bench.experiments.paper._problems import LAWS, law_of, noisy, number_of
from noisewise_bench.problems.bbob_noisy import HIGH
from noisewise_bench.sheets import function_of
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

#: As returned -> with the best mean before any restart.
SAFE: Final = {RB: RB_SAFE, RB_LOG: RB_LOG_SAFE}
METRIC: Final = "recommended"
#: Of all tables but the last, and of the last, where runs have more time to restart.
BUDGET, LONGER = "100d", ("200d", "500d")
#: Without re-evaluations there is no estimate of the noise: as returned, restart-safe.
BARE, BARE_SAFE = "as-run/rb-pem(k_max=0)", "as-run/rb-pem(k_max=0,returns='safe')"
Entry = tuple[tuple[str, ...], Duel, None]


def grids(scale: Scale) -> list[Grid]:
    problems = noisy(scale, "bbob-noisy", (40,), scale.instances())
    high = [p for p in problems if int(function_of(p)[1:]) in HIGH]
    few = noisy(scale, "bbob-noisy", (40,), scale.instances(2))
    longer = scale.pick(quick=LONGER[:1], full=LONGER)
    return [
        Grid.of(problems, named("as run", CMA, *SAFE, *SAFE.values()), [BUDGET], [1]),
        Grid.of(high, [BARE, BARE_SAFE], [BUDGET], [1]),
        Grid.of(few, named("as run", CMA, RB, RB_SAFE), longer, [1]),
    ]


def make(rows: list[Row], scale: Scale) -> Output:
    notes = (
        "As run, RB-PEM starts again at a random point after 80 generations without a better "
        "value, and its mean after a late restart is nearly random. The published score, the "
        "best point ever evaluated, does not see that. Restart-safe: the best of the means at "
        "the ends of the legs between restarts, by the median of the values of their last ten "
        "generations, which costs no evaluation and needs no truth.",
    )
    short = of(rows, budget=BUDGET)
    return Output(
        [_cost(short), _against(short), _laws(short), _bare(short), _longer(rows)], notes=notes
    )


def _places(rows: Sequence[Row]) -> dict[str, list[Row]]:
    """Rows on the high-misranking functions, and on the others."""
    return {
        "high misranking": [row for row in rows if number_of(row) in HIGH],
        "complement": [row for row in rows if number_of(row) not in HIGH],
    }


def _cost(rows: Sequence[Row]) -> Table:
    entries: list[Entry] = []
    for place, here in _places(rows).items():
        for role, safe in SAFE.items():
            found = duel(here, AS_RUN[role], AS_RUN[safe], METRIC)
            if found.n:
                entries.append(((place, role), found, None))
    title = "What restarts cost the point returned: as run against restart-safe, B = 100d"
    return duel_table(title, ("where", "method"), entries)


def _against(rows: Sequence[Row]) -> Table:
    entries: list[Entry] = []
    for place, here in _places(rows).items():
        for role in (*SAFE, *SAFE.values()):
            found = duel(here, AS_RUN[role], AS_RUN[CMA], METRIC)
            if found.n:
                entries.append(((place, role), found, None))
    return duel_table("Against CMA-ES as run, B = 100d", ("where", "method"), entries)


def _laws(rows: Sequence[Row]) -> Table:
    """By law and strength of the noise, d = 40."""
    entries: list[Entry] = []
    for severe in (False, True):
        for law in LAWS:
            here = [
                r for r in rows if law_of(number_of(r)) == law and (number_of(r) > 106) == severe
            ]
            for role in (RB_LOG, RB_LOG_SAFE, RB, RB_SAFE):
                found = duel(here, AS_RUN[role], AS_RUN[CMA], METRIC)
                if found.n:
                    label = f"{'severe' if severe else 'moderate'} {law}"
                    entries.append(((label, role), found, None))
    title = "Against CMA-ES as run by law of the noise, B = 100d"
    return duel_table(title, ("noise", "method"), entries)


def _bare(rows: Sequence[Row]) -> Table:
    """What the estimate of the noise adds to the same program without one."""
    here = _places(rows)["high misranking"]
    pairs = {
        "as returned": ((AS_RUN[RB], AS_RUN[CMA]), (BARE, AS_RUN[CMA]), (AS_RUN[RB], BARE)),
        "restart-safe": (
            (AS_RUN[RB_SAFE], AS_RUN[CMA]), (BARE_SAFE, AS_RUN[CMA]), (AS_RUN[RB_SAFE], BARE_SAFE),
        ),
    }  # fmt: skip
    names = ("RB-PEM against CMA-ES", "K_max = 0 against CMA-ES", "RB-PEM against K_max = 0")
    entries: list[Entry] = []
    for kind, some in pairs.items():
        for name, (ours, theirs) in zip(names, some, strict=True):
            found = duel(here, ours, theirs, METRIC)
            if found.n:
                entries.append(((kind, name), found, None))
    title = "How much of the gain needs an estimate of the noise, high misranking, B = 100d"
    return duel_table(title, ("point", "comparison"), entries)


def _longer(rows: Sequence[Row]) -> Table:
    """As run, restart-safe and CMA-ES against each other at budgets that leave time to restart."""
    entries: list[Entry] = []
    for budget in LONGER:
        for place, here in _places(of(rows, budget=budget)).items():
            for ours, theirs in ((RB, RB_SAFE), (RB, CMA), (RB_SAFE, CMA)):
                found = duel(here, AS_RUN[ours], AS_RUN[theirs], METRIC)
                if found.n:
                    entries.append(((budget, place, ours, theirs), found, None))
    labels = ("budget", "where", "method", "against")
    return duel_table("At longer budgets, as run", labels, entries)


ARTIFACT = Artifact(
    "restarts",
    "Restarts and the point returned",
    "Behind every table with RB-PEM as run",
    "there is none; its text has no restarts, its programs have.",
    grids,
    make,
)
