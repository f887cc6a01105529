"""Policy search at equal numbers of episodes: ``python -m noisewise_bench.experiments policies``.

Parts: ``compare`` (methods), ``switches`` (what helps, each on and off), ``size`` (many parameters).
Runs are kept in a file and are not computed again. Classic control runs in simulators of the bench
that fly the episodes of all runs together; other environments take gymnasium and more time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

import noisewise
from noisewise_bench import behaviour, stamps
from noisewise_bench.experiments.policies_size import size_table
from noisewise_bench.policies.problem import Setting
from noisewise_bench.policies.runs import LQR_NAME, Case, Outcome, run
from noisewise_bench.score import interval
from noisewise_bench.tables import Column, Table

NAME: Final = "policies"
#: The search as users get it, and others: methods of ours, the paper's, other people's.
SEARCH: Final = "auto(confirm='auto')"
METHODS: Final = (
    SEARCH,
    "auto",
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
SLOW: Final = ("LunarLander-v3", "InvertedPendulum-v5", "Swimmer-v5")
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
    "work": Tier((50, 200, 1000), 10, (50, 200), 5, (5000,)),
    "full": Tier((50, 200, 1000), 20, (50, 200, 1000), 10, (5000,)),
}
MOST_IN: Final = ("CartPole-v1", "Pendulum-v1", LQR_NAME)


def compare_cases(tier: Tier) -> list[Case]:
    """All runs of the comparison."""
    cells = [(env, b) for env in CLASSIC for b in tier.budgets]
    cells += [(env, b) for env in MOST_IN for b in tier.most]
    found = [_case(env, b, m, s) for env, b in cells for m in METHODS for s in _seeds(tier.seeds)]
    cells = [(env, b) for env in SLOW for b in tier.slow_budgets]
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
    "no scaling, start at zero": ("watchful", Setting(scaling="none", first=0)),
    "declared ranges": ("watchful", Setting(scaling="ranges")),
    "declared ranges below one": ("watchful", Setting(scaling="guess")),
    "running scaling": ("watchful", Setting(scaling="running")),
    "running scaling, start at zero": ("watchful", Setting("running", first=0)),
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
        for budget in tier.budgets
        for method, setting in SWITCHES.values()
        for seed in _seeds(tier.seeds)
    ]


def compare_table(found: dict[Case, Outcome]) -> Table:
    """Median returns with their intervals, a line per environment and budget."""
    present = [m for m in METHODS if any(case.method == m for case in found)]
    body: list[tuple[Any, ...]] = []
    for env, budget in dict.fromkeys((case.env, case.budget) for case in found):
        line = []
        for method in present:
            mine = [case for case in found if (case.env, case.budget, case.method) == (env, budget, method)]
            line.append(_median([found[case].mean_return for case in mine]))
        seeds = len({case.seed for case in found if (case.env, case.budget) == (env, budget)})
        body.append((env, budget, seeds, *line))
    columns = (
        *(Column("environment"), Column("episodes"), Column("seeds")),
        *(Column(_short(m)) for m in present),
    )
    notes = (
        "Median over seeds of the returned policy's mean return over fresh episodes, with the 95 % "
        "bootstrap interval of the median.",
    )
    return Table("Return of the returned policy", columns, tuple(body), notes)


def win_table(found: dict[Case, Outcome]) -> Table:
    """How often the search returns a better policy than each other method, paired by seed."""
    body = []
    for method in METHODS[1:]:
        for budget in sorted({case.budget for case in found}):
            wins = [
                _win(found[ours].mean_return, found[case].mean_return)
                for case in found
                if case.method == method
                and case.budget == budget
                and (ours := replace(case, method=SEARCH, setting=Setting())) in found
            ]
            if wins:
                body.append((_short(method), budget, len(wins), f"{np.mean(wins):.0%}"))
    columns = (Column("against"), Column("episodes"), Column("pairs"), Column("search wins"))
    notes = ("Same environment, budget and seed; ties, such as 500 on CartPole, count half.",)
    return Table("The search against each other method", columns, tuple(body), notes)


def _win(ours: float, other: float) -> float:
    return 0.5 if np.isclose(ours, other, rtol=1e-9) else float(ours > other)


def switch_tables(found: dict[Case, Outcome]) -> list[Table]:
    """One table per budget: median returns with each switch, and the steps flown."""
    tables = []
    envs = list(dict.fromkeys(case.env for case in found))
    for budget in dict.fromkeys(case.budget for case in found):
        body = []
        for name, (method, setting) in SWITCHES.items():
            line: list[str] = []
            for env in envs:
                mine = [
                    found[case]
                    for case in found
                    if (case.env, case.budget, case.method, case.setting)
                    == (env, budget, method, setting)
                ]
                line.append(_median([one.mean_return for one in mine]))
                line.append(f"{np.median([one.steps for one in mine]) / 1000:.0f}")
            body.append((name, *line))
        heads = [column for env in envs for column in (Column(env), Column("steps/1000"))]
        tables.append(Table(f"{budget} episodes", (Column("switch"), *heads), tuple(body)))
    return tables


def _median(values: Sequence[float]) -> str:
    if not values:
        return "-"
    middle, low, high = interval(np.array(values), np.median)
    return f"{_plain(middle)} ({_plain(low)}..{_plain(high)})"


def _plain(value: float) -> str:
    if abs(value) >= 1e6:
        return f"{value:.0e}"
    return f"{value:.0f}" if abs(value) >= 10.0 else f"{value:.1f}"


def _short(method: str) -> str:
    return "search" if method == SEARCH else method.removeprefix("peer/")


def page(tier_name: str, parts: Sequence[str], db: Path) -> tuple[str, list[Table]]:
    """The page and its tables; runs what is missing."""
    tier, tables, used = TIERS[tier_name], [], set()
    if "compare" in parts:
        found = run(compare_cases(tier), db, _say)
        tables += [compare_table(found), win_table(found)]
        used |= {case.method for case in found}
    if "switches" in parts:
        found = run(switch_cases(tier), db, _say)
        tables += switch_tables(found)
        used |= {case.method for case in found} - {"mirrored"}
    if "size" in parts:
        tables.append(size_table(quick=tier_name == "quick"))
    command = f"python -m noisewise_bench.experiments {NAME} --tier {tier_name} --parts {' '.join(parts)}"
    digests = {name: behaviour.of_method(name) for name in sorted(used)}
    text = [
        "# Policy search",
        f"Printed by `{command}` (noisewise {noisewise.__version__}).",
        *(table.markdown() for table in tables),
        stamps.Stamp(methods=digests).comment(),
    ]
    return "\n\n".join(text) + "\n", tables


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=f"noisewise_bench.experiments {NAME}", description="Policy search."
    )
    parser.add_argument("--tier", choices=list(TIERS), default="quick", help="how much (quick)")
    every = ["compare", "switches", "size"]
    parser.add_argument("--parts", nargs="+", choices=every, default=every, help="which tables")
    parser.add_argument("--db", type=Path, help="runs, kept to resume (out/policies.sqlite)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    args = parser.parse_args(argv)
    text, tables = page(args.tier, args.parts, args.db or Path("out") / f"{NAME}.sqlite")
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / f"{NAME}.md").write_text(text, encoding="utf-8")
    for i, one in enumerate(tables, start=1):
        csv = one.csv().rstrip("\n") + "\n"
        (args.out / f"{NAME}-{i}.csv").write_text(csv, encoding="utf-8")
    print(text)
    return 0
