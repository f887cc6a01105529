"""Is `auto` still ahead with a thousand parameters?"""

from __future__ import annotations

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.scale import wider
from noisewise_bench.experiments.study import Scope, Study, labelled, versus
from noisewise_bench.problems import suite
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

#: A full covariance is out of the question here, for LRA-CMA-ES, too.
RIVALS = ("sep-cma-es", "lra-cma-es(covariance='diagonal')", "probe-switch", "rb-pem")
BUDGET = "20d"


def grids(scope: Scope) -> list[Grid]:
    return [
        Grid.of(
            suite("bbob-noisy", (d,), scope.instances),
            ["auto", *RIVALS, wider(d)],
            [BUDGET],
            scope.seeds,
        )
        for d in scope.dimensions
    ]


def tables(rows: list[Row]) -> list[Table]:
    title = "auto, 20 evaluations per parameter"
    return [versus(labelled(rows), "auto", "recommended", title)]


STUDY = Study("many", "auto with a thousand parameters", Scope((1,), (1000,), (1,)), grids, tables)
