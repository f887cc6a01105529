"""Tables and the picture of the study of policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from noisewise_bench import figures
from noisewise_bench.experiments.policies_grid import METHODS, SWITCHES
from noisewise_bench.policies.problem import Setting
from noisewise_bench.policies.runs import SEARCH, Case, Outcome
from noisewise_bench.score import interval
from noisewise_bench.tables import Column, Table, fixed


def compare_table(found: dict[Case, Outcome]) -> Table:
    """Median returns with their intervals, a line per environment and budget."""
    returns = {case: one.mean_return for case, one in found.items()}
    notes = (
        "Median over seeds of the returned policy's mean return over fresh episodes, with the 95 % "
        "bootstrap interval of the median.",
    )
    return _by_cell("Return of the returned policy", returns, _median, notes)


def steps_table(found: dict[Case, Outcome]) -> Table:
    """Steps that the episodes of a run took."""
    steps = {case: one.steps / 1000 for case, one in found.items()}
    return _by_cell(
        "Steps flown, in thousands", steps, lambda each: f"{np.median(each):.0f}" if each else "-"
    )


def _by_cell(
    title: str,
    values: dict[Case, float],
    shown: Callable[[list[float]], str],
    notes: tuple[str, ...] = (),
) -> Table:
    """A line per environment and budget, a column per method."""
    present = [m for m in METHODS if any(case.method == m for case in values)]
    cells: dict[tuple[str, int], list[Case]] = {}
    for case in values:
        cells.setdefault((_task(case), case.budget), []).append(case)
    body = []
    for (task, budget), cases in cells.items():
        line = [shown([values[c] for c in cases if c.method == m]) for m in present]
        body.append((task, budget, len({case.seed for case in cases}), *line))
    columns = (
        *(Column("environment"), Column("episodes"), Column("seeds")),
        *(Column(_short(m)) for m in present),
    )
    return Table(title, columns, tuple(body), notes)


def _task(case: Case) -> str:
    """The environment, with the network where it is large."""
    large = len(case.hidden) > 1
    return case.env + f", {' x '.join(map(str, case.hidden))}" * large


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
                error = float(np.std(wins)) / len(wins) ** 0.5
                body.append((_short(method), budget, len(wins), f"{np.mean(wins):.2f}", error))
    columns = (
        *(Column("against"), Column("episodes"), Column("pairs"), Column("search wins")),
        Column("standard error", fixed),
    )
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
    return method.removeprefix("peer/")


def picture(found: dict[Case, Outcome], path: Path) -> None:
    """Median returns over episodes, one panel per environment."""
    look = figures.looks([_short(method) for method in METHODS])
    panels = []
    for env in dict.fromkeys(_task(case) for case in found):
        mine = {case: found[case].mean_return for case in found if _task(case) == env}
        if len({case.budget for case in mine}) > 1:
            panels.append(figures.Panel(env, "", 2.4, partial(_draw, returns=mine, look=look)))
    if panels:
        figures.save(panels, path, columns=2)


def _draw(ax: Any, returns: dict[Case, float], look: figures.Look) -> None:
    shown: list[float] = []
    for method in METHODS:
        budgets = sorted({case.budget for case in returns if case.method == method})
        middle = [
            float(np.median([r for c, r in returns.items() if (c.method, c.budget) == (method, b)]))
            for b in budgets
        ]
        ax.plot(budgets, middle, label=_short(method), **look[_short(method)])
        shown += middle
    ax.set(xscale="log", xlabel="episodes", ylabel="return")
    ticks = sorted({case.budget for case in returns})
    ax.set_xticks(ticks, [str(tick) for tick in ticks])
    ax.minorticks_off()
    if max(shown) < -2000.0:
        ax.set_yscale("symlog", linthresh=1000.0)
        ax.set_ylim(1.5 * min(shown), 0.7 * max(shown))
