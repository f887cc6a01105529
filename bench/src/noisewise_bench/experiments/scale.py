"""What becomes of `auto` with fewer or more evaluations, and with many parameters?"""

from __future__ import annotations

import math

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.study import Scope, Study, labelled, versus
from noisewise_bench.problems import suite
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

#: Whom the goal at few evaluations is about.
NOISE_HANDLING = ("lra-cma-es", "peer/nevergrad-tbpsa")
OURS = ("sep-cma-es", "lra-cma-es", "probe-switch", "rb-pem")
#: (dimension, evaluations per parameter) of the long runs and of the large ones.
LONG, LARGE = (10, 1000), ((100, 200), (300, 50))
SHORT = 50


def wider(d: int) -> str:
    """Separable CMA-ES with four times the default population."""
    return f"sep-cma-es(population={4 * (4 + math.floor(3.0 * math.log(d)))})"


def grids(scope: Scope) -> list[Grid]:
    first = scope.instances[:1]
    short = suite("bbob-noisy-high", scope.dimensions, scope.instances)
    methods = ["auto", "sep-cma-es", *NOISE_HANDLING]
    found = [Grid.of(short, methods, [f"{SHORT}d"], scope.seeds)]
    d, each = LONG
    long = suite("bbob-noisy", (d,), first)
    found.append(Grid.of(long, ["auto", *OURS, "cma-es", wider(d)], [f"{each}d"], scope.seeds))
    for d, each in LARGE:
        large = suite("bbob-noisy", (d,), first)
        found.append(Grid.of(large, ["auto", *OURS, wider(d)], [f"{each}d"], scope.seeds))
    return found


def tables(rows: list[Row]) -> list[Table]:
    rows = labelled(rows)
    found = [
        versus(
            [row for row in rows if row.budget == f"{SHORT}d" and row.dimension < LARGE[0][0]],
            "auto",
            "recommended",
            f"auto on the high-misranking 15, {SHORT} evaluations per parameter",
        )
    ]
    for d, each in (LONG, *LARGE):
        these = [row for row in rows if row.budget == f"{each}d" and row.dimension == d]
        title = f"auto with {d} parameters, {each} evaluations per parameter"
        found.append(versus(these, "auto", "recommended", title))
    return found


STUDY = Study(
    "scale",
    "auto with fewer and more evaluations, and with many parameters",
    Scope((1, 2), (10, 20, 40), (1,)),
    grids,
    tables,
)
