"""Which runs the study of policies has: environments, methods, budgets, seeds, switches."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Final

from noisewise_bench.policies.problem import Setting
from noisewise_bench.policies.runs import LQR_NAME, Case

#: The search as users get it, and others: methods of ours, the paper's, other people's.
SEARCH: Final = "auto(confirm='auto')"
METHODS: Final = (
    SEARCH,
    "cma-es",
    "rb-pem",
    "probe-switch",
    "peer/pycma",
    "peer/ars",
    "peer/ars-large",
    "peer/pgpe",
    "peer/random",
)
#: As published, with its own normalisation and from zero.
ARS_SETTING: Final = Setting(scaling="running", first=0, best=False)
HIDDEN: Final[dict[str, tuple[int, ...]]] = {"Pendulum-v1": (8,)}
CLASSIC: Final = ("CartPole-v1", "Acrobot-v1", "MountainCarContinuous-v0", "Pendulum-v1", LQR_NAME)
SLOW: Final = ("LunarLander-v3", "InvertedPendulum-v5", "Hopper-v5", "Swimmer-v5")
#: Episodes of this one are never short: only the tier "full" has it.
SLOWEST: Final = "Swimmer-v5"
#: Packages that environments need beside gymnasium; without them they are left out.
NEEDS: Final = {
    "LunarLander-v3": "Box2D",
    "InvertedPendulum-v5": "mujoco",
    "Hopper-v5": "mujoco",
    "Swimmer-v5": "mujoco",
}
SLOW_METHODS: Final = (SEARCH, "cma-es", "rb-pem", "peer/pycma", "peer/ars", "peer/pgpe")


@dataclass(frozen=True)
class Tier:
    """How much to run: budgets and seeds of cheap and of slow environments."""

    budgets: tuple[int, ...]
    seeds: int
    slow_budgets: tuple[int, ...] = ()
    slow_seeds: int = 0
    #: Budget of the cheapest environments only.
    most: tuple[int, ...] = ()


TIERS: Final = {
    "quick": Tier((50,), 3),
    "work": Tier((50, 200), 10, (50,), 5, (1000,)),
    "full": Tier((50, 200, 1000), 20, (50, 200, 1000), 10, (5000,)),
}
MOST_IN: Final = ("CartPole-v1", "Pendulum-v1", LQR_NAME)


def compare_cases(tier: Tier) -> list[Case]:
    """All runs of the comparison."""
    cells = [(env, b) for env in CLASSIC for b in tier.budgets]
    cells += [(env, b) for env in MOST_IN for b in tier.most]
    found = [_case(env, b, m, s) for env, b in cells for m in METHODS for s in _seeds(tier.seeds)]
    there = [
        env
        for env in SLOW
        if importlib.util.find_spec(NEEDS[env]) and (env != SLOWEST or tier is TIERS["full"])
    ]
    cells = [(env, b) for env in there for b in tier.slow_budgets]
    return found + [
        _case(env, b, m, s)
        for env, b in cells
        for m in SLOW_METHODS
        for s in _seeds(tier.slow_seeds)
    ]


def _case(env: str, budget: int, method: str, seed: int) -> Case:
    setting = ARS_SETTING if method == "peer/ars" else Setting()
    return Case(env, HIDDEN.get(env, ()), budget, method, seed, setting)


def _seeds(n: int) -> range:
    return range(1, n + 1)


#: What is switched, from the search as it is; a tuple: another method beside it.
SWITCHES: Final[dict[str, tuple[str, Setting]]] = {
    "as it is": ("watchful", Setting()),
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
