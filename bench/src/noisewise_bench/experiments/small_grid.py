"""What the study of small budgets runs: three tiers of problems, and who takes part where.

work      half an hour on two cores, peers included: to look at while working
full      every dimension, budget and kind of noise: a few hours
held-out  other instances, dimensions and levels: to look at once
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from noisewise.errors import install
from noisewise_bench.campaign import Grid
from noisewise_bench.names import BenchError, Budget
from noisewise_bench.peers.environment import python_of
from noisewise_bench.problems import suite
from noisewise_bench.problems.small import LANDSCAPES, NOISES, landscapes_of

Noise = tuple[str, float]
FIVE: Final = ("sphere", "ellipsoid", "rosenbrock", "rastrigin", "steps")
SEVEN: Final[tuple[Noise, ...]] = tuple(noise for noise in NOISES if noise != ("gaussian", 1.0))
WEAK_AND_STRONG: Final[tuple[Noise, ...]] = (("gaussian", 0.02), ("gaussian", 0.2))
HELD_OUT_NOISES: Final[tuple[Noise, ...]] = (
    ("gaussian", 0.05),
    ("gaussian", 0.5),
    ("t3", 0.5),
    ("hetero", 0.5),
    ("lognormal", 0.5),
    ("relative", 0.5),
    ("winloss", 0.6),
)

#: Peers that every tier runs.
PEERS: Final = (
    "peer/plain-gp",
    "peer/pybads",
    "peer/optuna-tpe",
    "peer/lq-cma",
    "peer/py-bobyqa",
    "peer/pycma",
    "peer/xnes",
    "peer/random",
)
#: Seconds per evaluation and more beyond this many evaluations: left out there.
COSTLY, COSTLY_UP_TO = frozenset({"peer/plain-gp", "peer/pybads", "peer/optuna-tpe"}), 500
#: Tens of seconds per run, in environments of their own: on the blocks marked ``slow`` only.
SLOW_PEERS: Final = ("peer/botorch", "peer/optuna-gp", "peer/smac")
#: What a peer needs beyond the extra ``bench``: a package here, or an environment of its own.
PACKAGES: Final = {"peer/pybads": "pybads", "peer/py-bobyqa": "pybobyqa"}
ENVIRONMENTS: Final = {"peer/botorch": "botorch", "peer/optuna-gp": "botorch", "peer/smac": "smac"}
#: Tasks of the suite ``tasks`` that are small enough, at this many evaluations.
OTHER_TASKS, OTHER_BUDGET = ("task/hpo-digits", "task/hpo-breast-cancer"), "100"


@dataclass(frozen=True)
class Block:
    """Every combination of its parts is a problem at a budget; ``slow`` admits slow peers."""

    dimensions: tuple[int, ...]
    budgets: tuple[str, ...]
    instances: tuple[int, ...]
    noises: tuple[Noise, ...] = SEVEN
    landscapes: tuple[str, ...] = FIVE
    slow: bool = False

    def problems(self, dimension: int) -> list[str]:
        """Names of the block's problems in one dimension."""
        return [
            f"small/{landscape}/i{i}/d{dimension}/{law}/{level!r}"
            for landscape in landscapes_of(dimension)
            if landscape in self.landscapes
            for law, level in self.noises
            for i in self.instances
        ]


@dataclass(frozen=True)
class Tier:
    """Blocks of synthetic problems, and the seeds of the small real tasks."""

    blocks: tuple[Block, ...]
    task_seeds: tuple[int, ...]


TIERS: Final[dict[str, Tier]] = {
    "work": Tier(
        (
            Block((2, 5), ("20d",), (1, 2), WEAK_AND_STRONG, slow=True),
            Block((2, 5, 10), ("20d",), (1, 2)),
            Block((5,), ("5d",), (1, 2)),
            Block((2,), ("50d",), (1, 2)),
        ),
        (1, 2),
    ),
    "full": Tier(
        (
            Block((2, 5), ("20d",), (1, 2, 3, 4, 5), WEAK_AND_STRONG, slow=True),
            Block((1, 2, 3, 5, 10, 20), ("5d", "20d", "50d", "100d"), (3,), NOISES, LANDSCAPES),
        ),
        tuple(range(1, 11)),
    ),
    "held-out": Tier(
        (
            Block((4, 7), ("20d",), (16,), HELD_OUT_NOISES, LANDSCAPES),
            Block((4,), ("50d",), (16,), HELD_OUT_NOISES, LANDSCAPES),
            Block((4,), ("20d",), (16, 17), (("gaussian", 0.05), ("gaussian", 0.5)), slow=True),
        ),
        (101, 102),
    ),
}


def peers_for(block: Block, budget: str, dimension: int, peers: Sequence[str]) -> list[str]:
    """Those of ``peers`` that take part in a block at a budget."""
    evaluations = int(Budget.parse(budget).label.rstrip("d")) * dimension
    return [
        peer
        for peer in peers
        if (peer not in SLOW_PEERS or block.slow)
        and (peer not in COSTLY or evaluations <= COSTLY_UP_TO)
    ]


def synthetic_grids(tier: Tier, methods: Sequence[str], peers: Sequence[str]) -> list[Grid]:
    """One grid per block, dimension and budget."""
    return [
        Grid.of(block.problems(d), [*methods, *peers_for(block, budget, d, peers)], [budget], [1])
        for block in tier.blocks
        for d in block.dimensions
        for budget in block.budgets
        if methods or peers_for(block, budget, d, peers)
    ]


def task_grids(tier: Tier, methods: Sequence[str], peers: Sequence[str]) -> list[Grid]:
    """Small tasks at their own budgets, and two larger ones cut short; without slow peers."""
    everyone = [*methods, *(peer for peer in peers if peer not in SLOW_PEERS)]
    if not everyone:
        return []
    others = [f"{task}/s{seed}" for task in OTHER_TASKS for seed in tier.task_seeds]
    return [
        Grid.of(suite("small-tasks", instances=tier.task_seeds), everyone, ["own"], [1]),
        Grid.of(others, everyone, [OTHER_BUDGET], [1]),
    ]


def check_peers(peers: Sequence[str]) -> None:
    """Raise `BenchError` if a peer is not installed: its runs would all count as lost."""
    for peer in peers:
        package, environment = PACKAGES.get(peer), ENVIRONMENTS.get(peer)
        if package is not None and importlib.util.find_spec(package) is None:
            raise BenchError(
                f"{peer} needs the package {package!r}: {install('peers', bench=True)}; "
                "or choose others with --peers"
            )
        if environment is not None:
            try:
                python_of(environment)
            except ImportError as error:
                raise BenchError(f"{peer} cannot run: {error}") from None
