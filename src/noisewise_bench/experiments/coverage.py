"""Do the 95 % intervals cover the expected value at the returned point, how long are they, and
what do they cost the search? ``python -m noisewise_bench.experiments coverage``

symbol      meaning
covered     share of runs whose ``interval`` holds the expected value at ``x``; nan is a miss
2 se        the same for ``fun +- 2 fun_se``
length      length of the interval over that of someone who knew ``x`` and the noise's standard
            deviation and evaluated ``x`` as often (2 * 1.96 sd / sqrt(n)); median over runs
cost        mean log10 regret minus that of the same run with ``confirm=0``

Only the public interface is used: ``minimize``, ``fun``, ``fun_se`` and ``interval``.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import noisewise
from noisewise_bench.experiments._laws import BOX, LANDSCAPES, LAWS, Objective
from noisewise_bench.experiments.study import commas, span
from noisewise_bench.names import BenchError, numbers
from noisewise_bench.problem import FloatArray
from noisewise_bench.tables import Column, Table, decades, fixed

#: Pairs of dimension and budget that are run by default.
CELLS = (
    *((1, 50), (2, 50), (5, 50), (10, 100), (1, 200), (2, 200), (5, 200), (10, 200)),
    *((2, 500), (5, 500), (10, 500), (20, 500), (2, 2000), (10, 2000), (40, 2000), (100, 2000)),
    *((2, 20_000), (100, 20_000)),
)
#: Regrets below count as this one.
_FLOOR = 1e-10


@dataclass(frozen=True)
class Case:
    """One run: who searches, on what, with how many evaluations."""

    method: str
    law: str
    landscape: str
    dimension: int
    budget: int
    seed: int
    confirm: Any


@dataclass(frozen=True)
class Outcome:
    """What a run said and what was true."""

    case: Case
    covered: bool
    covered_2se: bool
    unknown: bool
    length: float
    cost: float
    kind: str


def measure(case: Case) -> Outcome:
    """The run, and the same run without a confirmation."""
    r, objective, at_x = _minimize(case, case.confirm)
    x, truth = np.asarray(r.x, dtype=float), objective.expected(np.asarray(r.x, dtype=float))
    plain, _, _ = _minimize(case, 0)
    low, high = getattr(r, "interval", (r.fun - 2.0 * r.fun_se, r.fun + 2.0 * r.fun_se))
    slack = 1e-12 * abs(truth)  # an exact value is the same number, up to rounding
    known = 2.0 * 1.96 * objective.deviation(x) / math.sqrt(at_x) if at_x else math.nan
    regrets = [max(_FLOOR, float(objective.regret(np.asarray(p)[None])[0])) for p in (x, plain.x)]
    return Outcome(
        case,
        bool(low - slack <= truth <= high + slack),
        bool(abs(truth - r.fun) <= 2.0 * r.fun_se + slack),
        bool(np.isnan([low, high]).any()),
        (high - low) / known if known > 0.0 else math.nan,
        math.log10(regrets[0] / regrets[1]),
        str(getattr(r, "fun_kind", "")),
    )


def _minimize(case: Case, confirm: Any) -> tuple[Any, Objective, int]:
    """Result, objective, and evaluations of ``x`` at the end of the run."""
    objective = Objective(case.landscape, case.law, case.dimension, case.seed)
    noise = np.random.default_rng([case.seed, case.dimension, case.budget, *map(ord, case.law)])
    seen: list[FloatArray] = []

    def fun(X: FloatArray) -> FloatArray:
        seen.append(X.copy())
        return objective.noisy(X, noise)

    r = noisewise.minimize(
        fun,
        bounds=(np.full(case.dimension, -BOX), np.full(case.dimension, BOX)),
        budget=case.budget,
        method=case.method,
        rng=case.seed,
        vectorized=True,
        confirm=confirm,
    )
    other = (np.concatenate(seen) != np.asarray(r.x)).any(axis=1)
    at_x = int(other[::-1].argmax()) if other.any() else len(other)
    return r, objective, at_x


def table(title: str, outcomes: Sequence[Outcome], by: Sequence[str]) -> Table:
    """Shares and means over the outcomes, one line per combination of ``by``."""
    groups: dict[tuple[Any, ...], list[Outcome]] = {}
    for one in outcomes:
        groups.setdefault(tuple(getattr(one.case, name) for name in by), []).append(one)
    heads = {"law": "noise", "dimension": "d"}
    columns = (
        *(Column(heads.get(name, name)) for name in by),
        Column("runs"),
        Column("covered", _percent, "95 % interval holds the expected value; nan is a miss"),
        Column("2 se", _percent, "the same for fun +- 2 fun_se"),
        Column("nan", _percent, "runs without an interval"),
        Column("length", fixed, "median, relative to one who knew x and the noise"),
        Column("cost", decades, "mean log10 regret minus that with confirm=0"),
        Column("+-", fixed, "its standard error"),
    )
    rows = tuple((*key, *_line(group)) for key, group in groups.items())
    return Table(title, columns, rows)


def _line(group: Sequence[Outcome]) -> tuple[Any, ...]:
    def mean(what: Callable[[Outcome], float]) -> float:
        return float(np.mean([what(one) for one in group]))

    costs = np.array([one.cost for one in group])
    lengths = [one.length for one in group if not math.isnan(one.length)]
    return (
        len(group),
        mean(lambda one: one.covered),
        mean(lambda one: one.covered_2se),
        mean(lambda one: one.unknown),
        float(np.median(lengths)) if lengths else math.nan,
        float(costs.mean()),
        float(costs.std(ddof=1)) / math.sqrt(len(costs)) if len(costs) > 1 else math.nan,
    )


def _percent(value: float) -> str:
    return f"{value:.0%}"


def cases(
    cells: Iterable[tuple[int, int]],
    methods: Sequence[str],
    laws: Sequence[str],
    seeds: Sequence[int],
    confirm: Any,
) -> list[Case]:
    """All runs; large budgets get one seed in four, at least one."""
    found = []
    for (d, budget), method, law, landscape in product(cells, methods, laws, LANDSCAPES):
        few = seeds[: max(1, len(seeds) // 4)] if budget >= 2000 else seeds
        found += [Case(method, law, landscape, d, budget, seed, confirm) for seed in few]
    return found


def page(outcomes: Sequence[Outcome], command: str) -> tuple[str, list[Table]]:
    """The page and its tables."""
    tables = [
        table("By method and noise", outcomes, ("method", "law")),
        table("By dimension and budget", outcomes, ("method", "dimension", "budget")),
        table("All cells", outcomes, ("method", "law", "dimension", "budget")),
    ]
    text = [
        "# Does the interval cover the expected value at the returned point?",
        f"Printed by `{command}` (noisewise {noisewise.__version__}, {len(outcomes)} pairs of "
        "runs with and without a confirmation).",
        "The covered quantity is the expected value at the returned point; under win-loss noise "
        "it is a probability, and under Cauchy's law the median. The cost is paid in regret: "
        "positive numbers mean that the evaluations kept for the answer were missed by the search.",
        *(one.markdown() for one in tables),
    ]
    return "\n\n".join(text) + "\n", tables


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="noisewise_bench.experiments coverage", description="Coverage of the intervals."
    )
    parser.add_argument("--methods", default="auto", help="such as auto,cma-es")
    parser.add_argument("--laws", default=",".join(LAWS), help="such as gaussian,win-loss")
    parser.add_argument("--cells", default=_shown(CELLS), help="dxbudget, such as 2x50,10x2000")
    parser.add_argument("--seeds", default="1-8", help="instances and noise, such as 1-8")
    parser.add_argument("--confirm", default="auto", help="auto or a number")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    args = parser.parse_args(argv)
    try:
        seeds, cells = numbers(args.seeds, "seeds"), _cells(args.cells)
        laws, methods = args.laws.split(","), args.methods.split(",")
        if unknown := sorted(set(laws) - set(LAWS)):
            raise BenchError(f"laws takes names from {', '.join(LAWS)}, got {unknown[0]!r}")
        confirm = args.confirm if args.confirm == "auto" else numbers(args.confirm, "confirm")[0]
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    wanted = cases(cells, methods, laws, seeds, confirm)
    with ProcessPoolExecutor(args.workers) as pool:
        outcomes = list(pool.map(measure, wanted, chunksize=4))
    command = (
        f"python -m noisewise_bench.experiments coverage --methods {commas(methods)} "
        f"--laws {commas(laws)} --cells {_shown(cells)} --seeds {span(seeds)} --confirm {confirm}"
    )
    text, tables = page(outcomes, command)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "coverage.md").write_text(text, encoding="utf-8")
    for i, one in enumerate(tables, start=1):
        csv = one.csv().rstrip("\n") + "\n"
        (args.out / f"coverage-{i}.csv").write_text(csv, encoding="utf-8")
    print(text)
    return 0


def _shown(cells: Iterable[tuple[int, int]]) -> str:
    return ",".join(f"{d}x{budget}" for d, budget in cells)


def _cells(text: str) -> list[tuple[int, int]]:
    try:
        pairs = [tuple(map(int, one.split("x"))) for one in text.split(",")]
        found = [(d, budget) for d, budget in pairs if d >= 1 and budget >= 1]
        if len(found) == len(pairs):
            return found
    except ValueError:
        pass
    raise BenchError(f"cells takes dimension x budget such as 2x50,10x2000, got {text!r}")


if __name__ == "__main__":
    sys.exit(main())
