"""Which runs the study of policies has: environments, methods, budgets, seeds, switches."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Final

from noisewise_bench.policies.problem import Setting
from noisewise_bench.policies.runs import LQR_NAME, SEARCH, Case

#: The search as users get it, and others: methods of ours, the paper's, other people's.
METHODS: Final = (
    SEARCH,
    "cma-es",
    "rb-pem",
    "probe-switch",
    "resample",
    "peer/pycma",
    "peer/ars",
    "peer/ars-large",
    "peer/pgpe",
    "peer/random",
)
#: As published, with its own normalisation and from zero; both kinds have steps of their own.
ARS: Final = {
    "peer/ars": Setting(scaling="running", first=0, best=False, sigma=1.0),
    "peer/ars-large": Setting(sigma=1.0),
}
HIDDEN: Final[dict[str, tuple[int, ...]]] = {"Pendulum-v1": (8,)}
CLASSIC: Final = ("CartPole-v1", "Acrobot-v1", "MountainCarContinuous-v0", "Pendulum-v1", LQR_NAME)
#: Environments that gymnasium steps one at a time, and the packages that they need beside it;
#: without them they are left out.
SLOW: Final = {
    "LunarLander-v3": "Box2D",
    "InvertedPendulum-v5": "mujoco",
    "Hopper-v5": "mujoco",
    "Swimmer-v5": "mujoco",
}
#: Those whose episodes take the least time.
QUICKER: Final = ("LunarLander-v3", "InvertedPendulum-v5")
SLOW_METHODS: Final = (SEARCH, "cma-es", "rb-pem", "peer/pycma", "peer/ars", "peer/pgpe")
#: What is run with the most episodes, and where.
MOST_METHODS: Final = (SEARCH, "cma-es", "peer/pycma", "peer/ars-large", "peer/pgpe")
MOST_IN: Final = (LQR_NAME,)
#: What the tier of long searches runs.
LONG_METHODS: Final = (*MOST_METHODS[:2], "rb-pem", "resample", *MOST_METHODS[2:])
LONG_SLOW_METHODS: Final = tuple(m for m in SLOW_METHODS if m != "rb-pem")


@dataclass(frozen=True)
class Tier:
    """How much to run: budgets and seeds, budgets of a few environments and methods only, and
    budgets, seeds and environments of the slow ones.

    page
        Name of the page and of its tables.
    only_compare
        Whether the tier has no part but the comparison, and a table of its own for the slow
        environments.
    """

    budgets: tuple[int, ...]
    seeds: int
    most: tuple[int, ...] = ()
    slow: tuple[tuple[int, int, tuple[str, ...]], ...] = ()
    methods: tuple[str, ...] = METHODS
    slow_methods: tuple[str, ...] = SLOW_METHODS
    page: str = "policies"
    title: str = "Policy search"
    only_compare: bool = False


TIERS: Final = {
    "quick": Tier((50,), 3),
    "work": Tier((50, 200, 1000), 10, (5000,), ((50, 10, tuple(SLOW)), (200, 4, QUICKER))),
    "full": Tier(
        (50, 200, 1000), 20, (5000,), tuple((b, 10, tuple(SLOW)) for b in (50, 200, 1000))
    ),
    "long": Tier(
        (1000, 5000),
        10,
        slow=((200, 10, tuple(SLOW)),),
        methods=LONG_METHODS,
        slow_methods=LONG_SLOW_METHODS,
        page="policies-long",
        title="Policy search, long",
        only_compare=True,
    ),
}


def compare_cases(tier: Tier) -> list[Case]:
    """All runs of the comparison."""
    cells: list[tuple[str, int, int, tuple[str, ...]]]
    cells = [(env, b, tier.seeds, tier.methods) for env in CLASSIC for b in tier.budgets]
    cells += [(env, b, tier.seeds, MOST_METHODS) for env in MOST_IN for b in tier.most]
    there = [env for env, package in SLOW.items() if importlib.util.find_spec(package)]
    cells += [
        (env, b, seeds, tier.slow_methods)
        for b, seeds, envs in tier.slow
        for env in envs
        if env in there
    ]
    return [
        _case(env, b, m, s)
        for env, b, seeds, methods in cells
        for m in methods
        for s in _seeds(seeds)
    ]


def _case(env: str, budget: int, method: str, seed: int) -> Case:
    return Case(env, HIDDEN.get(env, ()), budget, method, seed, ARS.get(method, Setting()))


def _seeds(n: int) -> range:
    return range(1, n + 1)


#: What is switched, from the search as it is; a tuple: another method beside it.
SWITCHES: Final[dict[str, tuple[str, Setting]]] = {
    "as it is": ("watchful", Setting()),
    "steps of one": ("watchful", Setting(sigma=1.0)),
    "start at zero": ("watchful", Setting(best=False)),
    "no scaling": ("watchful", Setting(scaling="none")),
    "no scaling, no first episodes": ("watchful", Setting(scaling="none", first=0)),
    "declared ranges": ("watchful", Setting(scaling="ranges")),
    "declared ranges below one": ("watchful", Setting(scaling="guess")),
    "running scaling": ("watchful", Setting(scaling="running")),
    "running scaling, no first episodes": ("watchful", Setting("running", first=0)),
    "5 first episodes": ("watchful", Setting(first=5)),
    "20 first episodes": ("watchful", Setting(first=20)),
    "common random numbers": ("watchful", Setting(common="all")),
    "2 episodes each": ("watchful", Setting(episodes=2)),
    "5 episodes each": ("watchful", Setting(episodes=5)),
    "hopeless ones given up": ("watchful", Setting(hasty=True)),
    "cma-es": ("cma-es", Setting()),
    "cma-es, steps of one": ("cma-es", Setting(sigma=1.0)),
    "cma-es, mirrored": ("mirrored", Setting()),
    "cma-es, mirrored, common in pairs": ("mirrored", Setting(common="pairs")),
}


def switch_cases(tier: Tier) -> list[Case]:
    """All runs of the ablation."""
    return [
        Case(env, HIDDEN.get(env, ()), budget, method, seed, setting)
        for env in CLASSIC
        if env != LQR_NAME
        for budget in tier.budgets[:2]
        for method, setting in SWITCHES.values()
        for seed in _seeds(tier.seeds)
    ]
