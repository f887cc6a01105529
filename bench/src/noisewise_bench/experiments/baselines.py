"""Is each of our baselines at least as good as the peer's implementation of the same name?"""

from __future__ import annotations

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.study import Scope, Study, labelled, versus
from noisewise_bench.problems import suite
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

ACTIVE = "cma-es(profile='active')"
#: Ours, and the peer of the same name with the same kind of weights.
PAIRS = (
    (ACTIVE, "peer/pycma"),
    (ACTIVE, "peer/cmaes"),
    ("sep-cma-es", "peer/pycma-sep"),
    ("uh-cma-es", "peer/pycma-uh"),
    ("lra-cma-es", "peer/cmaes-lra"),
)
#: Half a minute a run above d = 20: one instance has to do there.
SLOW = "peer/cmaes-lra"


def grids(scope: Scope) -> list[Grid]:
    found = []
    for d in scope.dimensions:
        problems = suite("bbob-noisy", (d,), scope.instances)
        few = problems if d <= 20 else suite("bbob-noisy", (d,), scope.instances[:1])
        methods = list(dict.fromkeys(m for pair in PAIRS for m in pair if m != SLOW))
        found.append(Grid.of(problems, methods, ["200d"], scope.seeds))
        found.append(Grid.of(few, [SLOW], ["200d"], scope.seeds))
    return found


def tables(rows: list[Row]) -> list[Table]:
    found = []
    for ours, theirs in PAIRS:
        pair = [row for row in labelled(rows) if row.method in (ours, theirs)]
        found.append(versus(pair, ours, "recommended", f"{ours} against {theirs}, B = 200d"))
    return found


STUDY = Study(
    "baselines",
    "Our baselines against the peers of the same name",
    Scope(tuple(range(1, 6)), (10, 40), (1,)),
    grids,
    tables,
)
