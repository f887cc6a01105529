"""Which runs the study of policies has: environments, methods, budgets, seeds, switches."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Final

from noisewise_bench.policies.problem import Setting
from noisewise_bench.policies.runs import LQR_NAME, SEARCH, Case

#: `noisewise.policy.search` as users get it, our separable CMA-ES, and other people's methods.
METHODS: Final = (
    SEARCH,
    "sep-cma-es",
    "peer/pycma-sep",
    "peer/pycma-sep, common seeds",
    "peer/ars",
    "peer/ars-large",
    "peer/pgpe-clipup",
    "peer/openai-es",
)
#: How methods are run that do not take the defaults of `Setting`. ARS as published has its own
#: normalisation and begins at zero; steps of the others were chosen on other seeds.
SETTINGS: Final = {
    "peer/ars": Setting(scaling="running", first=0, best=False, sigma=1.0),
    "peer/ars-large": Setting(sigma=1.0),
    "peer/pycma-sep, common seeds": Setting(common="all"),
}
HIDDEN: Final[dict[str, tuple[int, ...]]] = {"Pendulum-v1": (8,)}
CLASSIC: Final = ("CartPole-v1", "Acrobot-v1", "MountainCarContinuous-v0", "Pendulum-v1", LQR_NAME)
#: A large network, its environment and budgets.
LARGE: Final = ("CartPole-v1", (64, 64), (200, 500))
#: Environments that gymnasium steps one at a time, and the packages that they need beside it;
#: without them they are left out.
SLOW: Final = {"LunarLander-v3": "Box2D"}
SLOW_METHODS: Final = (SEARCH, "peer/pycma-sep", "peer/ars-large", "peer/pgpe-clipup")


@dataclass(frozen=True)
class Tier:
    """How much to run: budgets and seeds of the simulated environments, those of the large network,
    and budgets, seeds and environments of the slow ones."""

    budgets: tuple[int, ...]
    seeds: int
    large: int = 0
    slow: tuple[tuple[int, int, tuple[str, ...]], ...] = ()
    page: str = "policies"
    title: str = "Policy search"


TIERS: Final = {
    "quick": Tier((50,), 3),
    "work": Tier((200, 1000, 5000), 10, 12),
    "lander": Tier((), 0, 0, ((200, 5, tuple(SLOW)), (1000, 5, tuple(SLOW))), "policies-lander"),
    "full": Tier((200, 1000, 5000), 20, 20, tuple((b, 10, tuple(SLOW)) for b in (200, 1000, 5000))),
}


def compare_cases(tier: Tier) -> list[Case]:
    """All runs of the comparison."""
    cells = [(env, HIDDEN.get(env, ()), b, tier.seeds) for env in CLASSIC for b in tier.budgets]
    cells += [(*LARGE[:2], b, tier.large) for b in LARGE[2]]
    there = [env for env, package in SLOW.items() if importlib.util.find_spec(package)]
    lone = [(env, (), b, seeds) for b, seeds, envs in tier.slow for env in envs if env in there]
    return [
        _case(env, hidden, b, m, s)
        for part, methods in ((cells, METHODS), (lone, SLOW_METHODS))
        for env, hidden, b, seeds in part
        for m in methods
        for s in _seeds(seeds)
    ]


def _case(env: str, hidden: tuple[int, ...], budget: int, method: str, seed: int) -> Case:
    return Case(env, hidden, budget, method, seed, SETTINGS.get(method, Setting()))


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
