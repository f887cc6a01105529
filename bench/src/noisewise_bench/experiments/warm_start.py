"""What earlier data are worth, and what misleading ones cost:
``python -m noisewise_bench.experiments warm-start``

Every run has a twin without data: the same method, objective, budget and seeds. The gain is the
mean of log10 regret with data minus that without; negative numbers are in favour of the data.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import noisewise
from noisewise_bench import behaviour
from noisewise_bench.experiments._laws import BOX, LANDSCAPES, Objective
from noisewise_bench.experiments.study import commas, span
from noisewise_bench.names import BenchError, numbers
from noisewise_bench.problem import FloatArray
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Column, Table, decades, fixed

#: Method, dimension and budget of the runs.
CELLS = (
    *(("auto", 5, 60), ("auto", 5, 600), ("auto", 20, 1000)),
    *(("cma-es", 10, 300), ("rb-pem", 10, 300)),
)
NOISE = ("gaussian", "heteroscedastic")
#: No data but twice the budget: what the values of an earlier run could be worth at most.
TWICE = "twice-the-budget"
#: Data that should help, and data that should do no harm: what they are.
GOOD = {
    TWICE: "no data, but twice the budget, to compare with",
    "earlier-run": "all values of an earlier run with the same budget",
    "random": "values of 10 d uniform points",
    "scaled": "the earlier run, values times seven plus a hundred",
    "noisier": "the earlier run, with Gaussian noise of one more half in its values",
}
BAD = {
    "another-optimum": "an earlier run on a function of the same kind with another optimum",
    "opposite": "the earlier run with the signs of its values changed",
    "constant": "the earlier run, all values zero",
    "garbage": "uniform points with normal values, 10 d of them",
}
#: Regrets below count as this one.
_FLOOR = 1e-10


@dataclass(frozen=True)
class Case:
    """One run, and the data that it is given."""

    method: str
    dimension: int
    budget: int
    landscape: str
    law: str
    seed: int
    data: str


@dataclass(frozen=True)
class Outcome:
    """log10 regret with data minus that without, and whether the method says it used them."""

    case: Case
    gain: float
    same: bool


def measure(case: Case) -> Outcome:
    """The run with data and its twin without."""
    objective = _objective(case, case.seed)
    rng = np.random.default_rng([case.seed, 7, *map(ord, case.data)])
    plain = _twin(Case(**vars(case) | {"data": ""}))
    if case.data == TWICE:
        found, _ = _run(case, objective, case.seed, 2 * case.budget, None)
    else:
        found, _ = _run(case, objective, case.seed, case.budget, _data(case, rng))
    return Outcome(
        case, _log(objective, found) - _log(objective, plain), bool((found == plain).all())
    )


def _objective(case: Case, instance: int) -> Objective:
    return Objective(case.landscape, case.law, case.dimension, instance)


def _log(objective: Objective, x: FloatArray) -> float:
    return math.log10(max(_FLOOR, float(objective.regret(x[None])[0])))


@lru_cache(maxsize=4)
def _twin(case: Case) -> FloatArray:
    return _run(case, _objective(case, case.seed), case.seed, case.budget, None)[0]


@lru_cache(maxsize=8)
def _earlier(case: Case, instance: int) -> tuple[FloatArray, FloatArray]:
    """Points and values of a run with other random numbers."""
    return _run(case, _objective(case, instance), case.seed + 1000, case.budget, None)[1]


def _run(
    case: Case, objective: Objective, seed: int, budget: int, data: Any
) -> tuple[FloatArray, tuple[FloatArray, FloatArray]]:
    """The point that a run returns, and all that it measured."""
    noise = np.random.default_rng([seed, case.dimension, budget, *map(ord, case.law)])
    seen: list[tuple[FloatArray, FloatArray]] = []

    def fun(X: FloatArray) -> FloatArray:
        y = objective.noisy(X, noise)
        seen.append((X.copy(), y))
        return y

    r = noisewise.minimize(
        fun,
        bounds=(np.full(case.dimension, -BOX), np.full(case.dimension, BOX)),
        budget=budget,
        method=case.method,
        rng=seed,
        vectorized=True,
        data=data,
    )
    X, y = (np.concatenate(part) for part in zip(*seen, strict=True))
    return r.x, (X, y)


def _data(case: Case, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """The data of a kind named in `GOOD` or `BAD`."""
    d = case.dimension
    if case.data in ("random", "garbage"):
        X = rng.uniform(-BOX, BOX, (10 * d, d))
        if case.data == "garbage":
            return X, rng.standard_normal(len(X))
        return X, _objective(case, case.seed).noisy(X, rng)
    twin = Case(**vars(case) | {"data": ""})
    X, y = _earlier(twin, case.seed + (100 if case.data == "another-optimum" else 0))
    changed = {
        "scaled": 100.0 + 7.0 * y,
        "noisier": y + 0.5 * rng.standard_normal(len(y)),
        "opposite": -y,
        "constant": 0.0 * y,
    }
    return X, changed.get(case.data, y)


def table(title: str, outcomes: Sequence[Outcome], by: Sequence[str]) -> Table:
    """Means over the outcomes, one line per combination of ``by``."""
    groups: dict[tuple[Any, ...], list[Outcome]] = {}
    for one in outcomes:
        groups.setdefault(tuple(getattr(one.case, name) for name in by), []).append(one)
    heads = {"law": "noise", "dimension": "d"}
    columns = (
        *(Column(heads.get(name, name)) for name in by),
        Column("pairs"),
        Column("gain", decades, "mean log10 regret with data minus without; negative: better"),
        Column("+-", fixed, "its standard error"),
        Column("better", _percent, "pairs in which the run with data returned the better point"),
        Column("same", _percent, "pairs in which the data changed nothing"),
    )
    rows = []
    for key, group in groups.items():
        gains = np.array([one.gain for one in group])
        error = float(gains.std(ddof=1)) / math.sqrt(len(gains)) if len(gains) > 1 else math.nan
        shares = (float((gains < 0.0).mean()), float(np.mean([one.same for one in group])))
        rows.append((*key, len(group), float(gains.mean()), error, *shares))
    return Table(title, columns, tuple(rows))


def _percent(value: float) -> str:
    return f"{value:.0%}"


def page(outcomes: Sequence[Outcome], command: str) -> tuple[str, list[Table]]:
    """The page and its tables."""
    good = [one for one in outcomes if one.case.data in GOOD]
    bad = [one for one in outcomes if one.case.data in BAD]
    tables = []
    for name, part in (("Data that should help", good), ("Data that mislead", bad)):
        if part:
            tables.append(table(f"{name}, by kind", part, ("data",)))
            tables.append(table(f"{name}, by run", part, ("method", "dimension", "budget")))
    tables.append(table("All", outcomes, ("method", "dimension", "budget", "data")))
    kinds = "\n".join(f"- {name}: {what}" for name, what in (GOOD | BAD).items())
    methods = sorted({one.case.method for one in outcomes})
    stamp = Stamp(methods={name: behaviour.of_method(name) for name in methods})
    text = [
        "# What earlier data are worth, and what misleading ones cost",
        f"Printed by `{command}` (noisewise {noisewise.__version__}, {len(outcomes)} pairs of "
        "runs with and without data).",
        "Every run has a twin without data: the same method, objective, budget and random numbers. "
        "Objectives are sphere, rotated ellipsoid, sum of absolute values and Rosenbrock's "
        f"function in the box [-5, 5]^d, with noise that is {' or '.join(NOISE)}; see "
        "`noisewise_bench.experiments._laws`. Data:",
        kinds,
        *(one.markdown() for one in tables),
        stamp.comment(),
    ]
    return "\n\n".join(text) + "\n", tables


def cases(
    cells: Iterable[tuple[str, int, int]], kinds: Sequence[str], seeds: Sequence[int]
) -> list[Case]:
    """All runs; those with the same twin stand together."""
    return [
        Case(*cell, landscape, law, seed, data)
        for cell, landscape, law, seed, data in product(cells, LANDSCAPES, NOISE, seeds, kinds)
    ]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="noisewise_bench.experiments warm-start", description="What earlier data are worth."
    )
    parser.add_argument("--cells", default=_shown(CELLS), help="such as auto:5x100,cma-es:10x500")
    parser.add_argument("--kinds", default=",".join(GOOD | BAD), help="such as random,garbage")
    parser.add_argument("--seeds", default="1-2", help="instances and noise, such as 1-2")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    args = parser.parse_args(argv)
    try:
        seeds, cells, kinds = (
            numbers(args.seeds, "seeds"),
            _cells(args.cells),
            args.kinds.split(","),
        )
        if unknown := sorted(set(kinds) - set(GOOD | BAD)):
            raise BenchError(f"kinds takes names from {', '.join(GOOD | BAD)}, got {unknown[0]!r}")
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    with ProcessPoolExecutor(args.workers) as pool:
        found = list(pool.map(measure, cases(cells, kinds, seeds), chunksize=len(kinds)))
    command = f"python -m noisewise_bench.experiments warm-start --seeds {span(seeds)}"
    if tuple(cells) != CELLS:
        command += f" --cells {_shown(cells)}"
    if kinds != list(GOOD | BAD):
        command += f" --kinds {commas(kinds)}"
    text, tables = page(found, command)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "warm-start.md").write_text(text, encoding="utf-8")
    for i, one in enumerate(tables, start=1):
        csv = one.csv().rstrip("\n") + "\n"
        (args.out / f"warm-start-{i}.csv").write_text(csv, encoding="utf-8")
    print(text)
    return 0


def _shown(cells: Iterable[tuple[str, int, int]]) -> str:
    return ",".join(f"{method}:{d}x{budget}" for method, d, budget in cells)


def _cells(text: str) -> list[tuple[str, int, int]]:
    try:
        found = []
        for one in text.split(","):
            method, _, size = one.rpartition(":")
            d, budget = map(int, size.split("x"))
            noisewise.methods.get(method)
            found.append((method, d, budget))
        if all(d >= 1 and budget >= 4 for _, d, budget in found):
            return found
    except ValueError:
        pass
    raise BenchError(f"cells takes method:dimension x budget such as auto:5x100, got {text!r}")
