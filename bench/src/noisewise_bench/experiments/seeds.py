"""Do common random numbers help? ``python -m noisewise_bench.experiments seeds``

Every task is searched with ``seeds="independent"``, ``"common"`` and ``"auto"``, paired: the same
task, start and random numbers of the search. Scores are true costs of the returned point, the mean
of many simulations that the search never saw.

symbol      meaning
cost        median over the runs of the true cost of the returned point
wins        share of the runs in which it is below that of the run with independent seeds
log10       mean difference of log10 cost to that run; negative is better
chose       share of the runs that ended with common seeds ("auto" only)
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import numpy as np

import noisewise
from noisewise_bench import behaviour
from noisewise_bench.experiments._seeded import TASKS, costs
from noisewise_bench.experiments.study import span
from noisewise_bench.names import BenchError, numbers
from noisewise_bench.problem import FloatArray
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Column, Table, decades, fixed, plain

MODES: Final = ("independent", "common", "auto")
METHODS: Final = ("watchful",)
#: How the rule and the tasks came about, so that nobody takes the lines for a fresh test.
HISTORY: Final = (
    "The lines of `auto` are no fresh test: how often it compares, and from which budget on, "
    "was changed after runs of an earlier rule on drone, inventory-4, queue and pendulum with "
    "the same seeds, in which it won on drone and lost on inventory-4 and queue. At the same "
    "time drone-long was added, the budgets of inventory-4, queue, pendulum and cartpole-ht "
    "were doubled, and two tasks (cartpole, pendulum-ht) were left out to save time, before "
    "they had been run."
)

#: The same for the model of `auto`.
MODEL_HISTORY: Final = (
    "With `auto` a model searches where evaluations are few; with common seeds eight of them take "
    "turns in its rounds and it learns what each adds to all values. How many take turns was "
    "chosen after runs with one, four and eight seeds on the three short tasks, seeds 1 to 6."
)


@dataclass(frozen=True)
class Run:
    """What came of one run: the true cost, and whether it ended with common seeds."""

    cost: float
    common: bool


@cache
def measure(task: str, method: str, mode: str, seed: int) -> Run:
    """One run and the truth about its answer."""
    make, budget = TASKS[task]
    problem = make(seed)
    r = noisewise.minimize(
        lambda X, seed: costs(problem, X, seed),
        problem.x0,
        bounds=problem.bounds,
        budget=budget,
        method=method,
        rng=seed,
        seeds=mode,
        vectorized=True,
    )
    return Run(float(problem.regret(r.x[None])[0]), "seeds: common" in r.message)


def table(
    tasks: Sequence[str], method: str, seeds: Sequence[int], modes: Sequence[str] = MODES
) -> Table:
    """One line per task and mode, means over the seeds."""
    columns = (
        Column("task"),
        Column("evaluations"),
        Column("seeds"),
        Column("cost", plain, "median true cost of the returned point"),
        Column("wins", _percent, "over the run with independent seeds"),
        Column("low", _percent, "95 % interval of the wins"),
        Column("high", _percent),
        Column("log10", decades, "mean difference of log10 cost; negative is better"),
        Column("+-", fixed, "its standard error"),
        Column("chose", _percent, "runs that ended with common seeds"),
    )
    rows = []
    for task in tasks:
        runs = {mode: [measure(task, method, mode, seed) for seed in seeds] for mode in modes}
        base = np.log10([run.cost for run in runs["independent"]])
        for mode in modes:
            cost = np.array([run.cost for run in runs[mode]])
            line = (task, TASKS[task][1], mode, float(np.median(cost)))
            rows.append((*line, *_against(np.log10(cost) - base, mode, runs[mode])))
    return Table(f"With {method}", columns, tuple(rows))


def between(tasks: Sequence[str], methods: Sequence[str], seeds: Sequence[int]) -> Table:
    """The first method with common seeds against the others with common seeds."""
    first, *others = methods
    rows = []
    for task in tasks:
        own = np.log10([measure(task, first, "common", seed).cost for seed in seeds])
        for other in others:
            base = np.log10([measure(task, other, "common", seed).cost for seed in seeds])
            line = _against(own - base, "common", ())[:5]
            rows.append((task, TASKS[task][1], other, *line))
    columns = (
        Column("task"),
        Column("evaluations"),
        Column("against"),
        Column("wins", _percent),
        Column("low", _percent, "95 % interval of the wins"),
        Column("high", _percent),
        Column("log10", decades, "mean difference of log10 cost; negative is better"),
        Column("+-", fixed, "its standard error"),
    )
    return Table(f"Common seeds: {first} against others", columns, tuple(rows))


def _against(change: FloatArray, mode: str, runs: Sequence[Run]) -> tuple[float, ...]:
    """Wins with their interval, mean change with its error, share that chose common seeds."""
    n = len(change)
    if mode == "independent":
        return (math.nan,) * 6
    wins = float(np.sum(change < 0.0) + 0.5 * np.sum(change == 0.0))
    low, high = _wilson(wins, n)
    se = float(change.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    chose = float(np.mean([run.common for run in runs])) if mode == "auto" else math.nan
    return wins / n, low, high, float(change.mean()), se, chose


def _wilson(wins: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share."""
    z2, p = 1.96**2, wins / n
    half = 1.96 * math.sqrt(p * (1.0 - p) / n + z2 / (4.0 * n * n))
    return (p + z2 / (2.0 * n) - half) / (1.0 + z2 / n), (p + z2 / (2.0 * n) + half) / (
        1.0 + z2 / n
    )


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.0%}"


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="noisewise_bench.experiments seeds", description="Independent or common seeds."
    )
    parser.add_argument("--tasks", default=",".join(TASKS), help="such as drone,pendulum")
    parser.add_argument("--methods", default=",".join(METHODS), help="such as watchful,cma-es")
    parser.add_argument("--seeds", default="1-10", help="runs, such as 1-10")
    parser.add_argument("--modes", default=",".join(MODES), help="such as independent,common")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    args = parser.parse_args(argv)
    tasks, methods = args.tasks.split(","), args.methods.split(",")
    modes = args.modes.split(",")
    try:
        seeds = numbers(args.seeds, "seeds")
        if unknown := sorted(set(tasks) - set(TASKS)):
            raise BenchError(f"tasks takes names from {', '.join(TASKS)}, got {unknown[0]!r}")
        if modes[0] != MODES[0] or (unknown := sorted(set(modes) - set(MODES))):
            raise BenchError(f"modes takes independent and others of {MODES}, got {args.modes!r}")
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    tables = [table(tasks, method, seeds, modes) for method in methods]
    if len(methods) > 1 and "common" in modes:
        tables.append(between(tasks, methods, seeds))
    command = (
        f"python -m noisewise_bench.experiments seeds --tasks {args.tasks} "
        f"--methods {args.methods} --seeds {span(seeds)}"
        + (f" --modes {args.modes}" if tuple(modes) != MODES else "")
    )
    stamp = Stamp(methods={name: behaviour.of_method(name) for name in methods})
    text = [
        "# Independent or common seeds?",
        f"Printed by `{command}` (noisewise {noisewise.__version__}; {len(seeds)} runs per line, "
        "paired: the same tasks and random numbers of the search).",
        "Costs are those of the returned point over many simulations that no search saw, and have "
        "a floor above zero: no gains or rules avoid all cost.",
        *([HISTORY] if "auto" in modes else []),
        *([MODEL_HISTORY] if "auto" in methods else []),
        *(one.markdown() for one in tables),
        stamp.comment(),
    ]
    args.out.mkdir(parents=True, exist_ok=True)
    page = "\n\n".join(text) + "\n"
    (args.out / "seeds.md").write_text(page, encoding="utf-8")
    for i, one in enumerate(tables, start=1):
        csv = one.csv().rstrip("\n") + "\n"
        (args.out / f"seeds-{i}.csv").write_text(csv, encoding="utf-8")
    print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
