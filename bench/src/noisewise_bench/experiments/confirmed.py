"""Do evolution strategies with default settings keep up with the peers where noise rarely reorders
candidates? The default keeps evaluations to measure the answer, which other studies do not."""

from __future__ import annotations

from dataclasses import replace

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.study import Scope, Study, labelled, versus
from noisewise_bench.problems import suite
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

#: Each method with a confirmation, as users get it, and with whom it is compared.
PAIRS = (
    ("cma-es(confirm='auto')", ("cma-es", "peer/pycma", "peer/cmaes")),
    ("cma-es(profile='active',confirm='auto')", ("peer/pycma", "peer/cmaes")),
    ("sep-cma-es(confirm='auto')", ("sep-cma-es", "peer/pycma-sep")),
    ("lra-cma-es(confirm='auto')", ("lra-cma-es", "peer/cmaes-lra")),
)
#: The peer that takes half a minute a run above this dimension is left out there, and so are all
#: functions and instances but these.
SLOW, LARGE = "peer/cmaes-lra", 20
FEW, FIRST = ("f101", "f103", "f109", "f115", "f121"), 1


def grids(scope: Scope) -> list[Grid]:
    methods = list(dict.fromkeys(one for ours, others in PAIRS for one in (ours, *others)))
    found = []
    for d in scope.dimensions:
        instances = scope.instances if d <= LARGE else scope.instances[:FIRST]
        problems = suite("bbob-noisy-complement", (d,), instances)
        if d > LARGE:
            problems = [one for one in problems if one.split("/")[1] in FEW]
        chosen = [one for one in methods if d <= LARGE or one != SLOW]
        found.append(Grid.of(problems, chosen, ["200d"], scope.seeds))
    return found


def tables(rows: list[Row]) -> list[Table]:
    found = []
    for ours, others in PAIRS:
        chosen = [row for row in labelled(rows) if row.method in (ours, *others)]
        found.append(versus(chosen, ours, "recommended", f"{ours} against others, B = 200d"))
    few = f"Above d = {LARGE}: {', '.join(FEW)} with the first instance, without {SLOW}."
    found[0] = replace(found[0], notes=(*found[0].notes, few))
    return found


STUDY = Study(
    "confirmed",
    "Evolution strategies with default settings against the peers, on the complement of bbob-noisy",
    Scope((1, 2), (10, 40), (1,)),
    grids,
    tables,
)
