"""Figure 6 on the network: do thresholds found on the functions carry over to it?"""

from __future__ import annotations

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Scale
from noisewise_bench.experiments.paper.threshold_transfer import BASE, LEGEND, METHODS, output
from noisewise_bench.task import Row

#: Without noise (256) neither threshold is reached.
BATCHES = (4, 16)


def grids(scale: Scale) -> list[Grid]:
    batches = scale.pick(quick=(16,), full=BATCHES)
    problems = [f"task/mlp-digits-b{batch}/s{seed}" for batch in batches for seed in scale.seeds()]
    names = [name for kind, mine in METHODS.items() for name in (BASE[kind], *mine.values())]
    return [Grid.of(problems, names, [scale.pick(quick="4d", full="own")], [1])]


def make(rows: list[Row], scale: Scale) -> Output:
    places = {
        f"batch {batch}": [row for row in rows if f"/mlp-digits-b{batch}/" in row.problem]
        for batch in BATCHES
    }
    return output({place: here for place, here in places.items() if here}, LEGEND)


ARTIFACT = Artifact(
    "threshold-network",
    "Thresholds carried over to the network",
    "Figure 6, the network",
    "tau = 0.12 gains more where misranking is high, for example on the network, and tau = 0.22 "
    "loses less where it is low.",
    grids,
    make,
)
