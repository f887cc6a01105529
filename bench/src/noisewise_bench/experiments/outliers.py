"""What do rare huge values cost? ``python -m noisewise_bench.experiments outliers``.

A bowl, measured with additive normal noise or none, where a small share of the values is too high
or too low by the same huge amount. Every method runs with and without these outliers, on the same
bowls. With ``--exact``: where all other values are exact, with ``confirm=0`` beside the default.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Final

import numpy as np

import noisewise as nw
from noisewise_bench import behaviour, methods
from noisewise_bench.experiments.study import span
from noisewise_bench.names import BenchError, numbers, split
from noisewise_bench.problem import FloatArray
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Column, Table, decades, fixed

NAME: Final = "outliers"
COMMAND: Final = f"python -m noisewise_bench.experiments {NAME}"
#: Distance of the start from the optimum along every coordinate, and the initial step size.
APART, SIGMA0 = 0.3, 0.3
#: An exact value may differ from the true one by so many parts of it, and by so much near zero.
_ROUNDING, _NEAR_ZERO = 1e-9, 1e-12
#: The runs of the second page, in place of the defaults.
EXACT: Final = {
    "methods": "auto,cma-es,cma-es(confirm=0),sep-cma-es,sep-cma-es(confirm=0)",
    "cells": "3:60,5:400,10:1000",
    "noise": "0",
    "shares": "0.01,0.05",
    "sizes": "-100,-1e6,100,1e6",
}
#: With whom a method is compared on the second page, and for which: by its name.
_WITHOUT, _COMPARED = "(confirm=0)", {"auto": "sep-cma-es"}


@dataclass(frozen=True)
class Cell:
    """One row of the table. ``size`` is added to a value with probability ``share``."""

    method: str
    dimension: int
    budget: int
    noise: float
    size: float
    share: float

    @property
    def clean(self) -> bool:
        return self.share == 0.0


@dataclass(frozen=True)
class Run:
    """What came of one run."""

    regret: float
    #: Whether the returned point was found by an outlier: its first value, in the search, was too
    #: low.
    lucky: bool
    #: Whether it called a value exact that is not the true one.
    falsely_exact: bool
    #: Whether the result says that values were set aside.
    said: bool


class Bowl:
    """The squared distance from an optimum that depends on the seed, measured with outliers."""

    def __init__(self, cell: Cell, seed: int) -> None:
        self.cell = cell
        place = np.random.default_rng([seed, 1])
        self.optimum = place.uniform(-1.0, 1.0, cell.dimension)
        self.start = self.optimum + APART * place.choice([-1.0, 1.0], cell.dimension)
        # Noise is the same with outliers and without them, as long as the points are.
        self._noise, self._outliers = (np.random.default_rng([seed, k]) for k in (2, 3))
        self._evaluations = 0
        #: When each point was first evaluated, and whether its value was an outlier.
        self._first: dict[bytes, tuple[int, bool]] = {}

    def true(self, x: FloatArray) -> float:
        return float(np.sum((x - self.optimum) ** 2))

    def __call__(self, x: FloatArray) -> float:
        outlier = bool(self._outliers.random() < self.cell.share)
        self._first.setdefault(x.tobytes(), (self._evaluations, outlier))
        self._evaluations += 1
        noise = self.cell.noise * self._noise.standard_normal()
        return self.true(x) + noise + (self.cell.size if outlier else 0.0)

    def lucky(self, x: FloatArray, last: int = 0) -> bool:
        """Whether the first value at this point was too low, and not one of the ``last`` ones,
        which measure a point that is chosen already."""
        at, outlier = self._first.get(x.tobytes(), (0, False))
        return self.cell.size < 0.0 and outlier and at < self._evaluations - last


def run(cell: Cell, seed: int) -> Run:
    """One run of the cell's method."""
    bowl, method = Bowl(cell, seed), methods.resolve(cell.method).run
    if not isinstance(method, methods.LibraryMethod):
        raise BenchError(f"methods takes methods of the library, got {cell.method!r}")
    confirm = {name: n for name, n in method.options.items() if name == "confirm"}
    found = nw.minimize(
        bowl,
        bowl.start,
        sigma0=SIGMA0,
        budget=cell.budget,
        method=method.build(),
        rng=seed,
        **confirm,
    )
    true = bowl.true(found.x)
    return Run(
        max(true, np.finfo(float).tiny),
        bowl.lucky(found.x, cell.budget - int(found.history["evaluations"][-1])),
        found.estimate == "exact" and abs(found.fun - true) > _ROUNDING * abs(true) + _NEAR_ZERO,
        found.estimate == "typical" or any("set aside" in text for text in found.warnings),
    )


def cells(args: argparse.Namespace) -> Iterator[Cell]:
    """Every combination, the one without outliers first."""
    for method, (d, budget), noise in product(args.methods, args.cells, args.noise):
        yield Cell(method, d, budget, noise, 0.0, 0.0)
        for share, size in product(args.shares, args.sizes):
            yield Cell(method, d, budget, noise, size, share)


def table(found: dict[Cell, list[Run]]) -> Table:
    """A row per cell; ratios are to the cell without outliers."""
    percent = "{:.0%}".format
    columns = (
        Column("method"),
        Column("d", meaning="coordinates"),
        Column("budget", meaning="evaluations"),
        Column("noise", meaning="its standard deviation"),
        Column("outliers", str, "how much they are too high (+) or too low (-)"),
        Column("share", percent, "chance of a value to be an outlier"),
        Column("median", "{:.1e}".format, "median regret"),
        Column("ratio", "{:.2g}".format, "median regret over that without outliers"),
        Column("mean log10", fixed, "mean log10 regret"),
        Column(
            "luckiest", percent, "runs that returned a point that an outlier had made look good"
        ),
        Column("falsely exact", percent, "runs that called a wrong value exact"),
        Column("warned", percent, "runs that say that values were set aside"),
    )
    rows, reference = [], 1.0
    for cell, runs in found.items():
        regrets = np.array([one.regret for one in runs])
        median = float(np.median(regrets))
        reference = median if cell.clean else reference
        shares = [
            float(np.mean([getattr(one, name) for one in runs]))
            for name in ("lucky", "falsely_exact", "said")
        ]
        size = "none" if cell.clean else f"{cell.size:+g}"
        about = (cell.method, cell.dimension, cell.budget, cell.noise, size, cell.share)
        numbers_ = (median, median / reference, float(np.mean(np.log10(regrets))))
        rows.append((*about, *numbers_, *shares))
    return Table("With outliers and without", columns, tuple(rows))


def differences(found: dict[Cell, list[Run]]) -> Table:
    """Mean differences in log10 regret to another method on the same bowls: of every method to
    itself with ``confirm=0``, and of those that `_COMPARED` names."""
    rows = []
    for cell, runs in found.items():
        for other in (cell.method + _WITHOUT, _COMPARED.get(cell.method, "")):
            there = found.get(replace(cell, method=other))
            if there is not None:
                pairs = [(a.regret, b.regret) for a, b in zip(runs, there, strict=True)]
                by = np.diff(np.log10(pairs), axis=1)[:, 0] * -1.0
                se = float(by.std(ddof=1)) / math.sqrt(len(by)) if len(by) > 1 else math.nan
                size = "none" if cell.clean else f"{cell.size:+g}"
                about = (cell.method, other, cell.dimension, cell.budget, size, cell.share)
                rows.append((*about, float(by.mean()), se))
    columns = (
        Column("method"),
        Column("against"),
        Column("d", meaning="coordinates"),
        Column("budget", meaning="evaluations"),
        Column("outliers", str, "how much they are too high (+) or too low (-)"),
        Column("share", "{:.0%}".format, "chance of a value to be an outlier"),
        Column("difference", decades, "mean difference in log10 regret; positive: the other wins"),
        Column("+-", fixed, "its standard error"),
    )
    return Table("Against the same method without a confirmation, and others", columns, tuple(rows))


def page(found: dict[Cell, list[Run]], seeds: Sequence[int], command: str) -> str:
    """The page, with its stamp."""
    names = dict.fromkeys(cell.method for cell in found)
    stamp = Stamp(methods={name: behaviour.of_method(name) for name in names})
    compared = differences(found)
    exact = all(cell.noise == 0.0 for cell in found)
    noise = "no other noise" if exact else "additive normal noise"
    text = [
        "# Rare wrong values among exact ones" if exact else "# Rare huge values",
        f"Printed by `{command}` (noisewise {nw.__version__}).",
        "Regret is the true value at the returned point; the best has 0. Problems: bowls x'x with "
        f"{noise}, one optimum per seed ({span(seeds)}). Runs start {APART:g} from "
        f"the optimum along every coordinate, with an initial step size of {SIGMA0:g}.",
        table(found).markdown(),
        *([compared.markdown()] if compared.rows else []),
        stamp.comment(),
    ]
    return "\n\n".join(text) + "\n"


def main(argv: list[str]) -> int:
    parser = _parser()
    given = parser.parse_args(argv)
    name = f"{NAME}-exact" if given.exact else NAME
    try:
        args = _checked(given)
        seeds = numbers(args.seeds, "seeds")
        wanted = list(cells(args))
        with ProcessPoolExecutor(max_workers=args.workers) as pool:
            jobs = [(cell, [pool.submit(run, cell, seed) for seed in seeds]) for cell in wanted]
            found = {cell: [job.result() for job in ours] for cell, ours in jobs}
        text = page(found, seeds, _command(parser, argv))
    except (BenchError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / f"{name}.md").write_text(text, encoding="utf-8")
    for i, one in enumerate((table(found), differences(found)), start=1):
        if one.rows:
            csv = one.csv().rstrip("\n") + "\n"
            (args.out / f"{name}-{i}.csv").write_text(csv, encoding="utf-8")
    print(text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"noisewise_bench.experiments {NAME}", description=__doc__
    )
    parser.add_argument(
        "--exact",
        action="store_true",
        help="the page about exact values, in place of the next five",
    )
    parser.add_argument("--methods", default="auto", help="such as auto,gp,'cma-es(confirm=0)'")
    parser.add_argument("--cells", default="2:60,3:120,5:100", help="dimension:budget, ...")
    parser.add_argument("--noise", default="0.05", help="standard deviations, such as 0,0.05")
    parser.add_argument("--shares", default="0.03", help="shares of outliers, such as 0.01,0.05")
    parser.add_argument("--sizes", default="30,1e3,1e6,1e12,1e69,-100", help="what is added")
    parser.add_argument("--seeds", default="1-20", help="such as 1-20")
    parser.add_argument("--workers", type=int, default=1, help="processes (1)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    return parser


def _checked(args: argparse.Namespace) -> argparse.Namespace:
    """The arguments as lists; `BenchError` for one that cannot be read."""
    for name, value in EXACT.items() if args.exact else ():
        setattr(args, name, value)
    args.methods = split([args.methods])
    for name in args.methods:
        methods.resolve(name)
    for name in ("noise", "shares", "sizes"):
        setattr(args, name, _floats(name, getattr(args, name)))
    if not all(0.0 < share < 1.0 for share in args.shares):
        raise BenchError("shares takes numbers between 0 and 1")
    try:
        pairs = [one.split(":") for one in args.cells.split(",")]
        args.cells = [(int(d), int(budget)) for d, budget in pairs]
    except ValueError:
        raise BenchError(f"cells takes dimension:budget, ..., got {args.cells!r}") from None
    return args


def _floats(name: str, text: str) -> list[float]:
    try:
        return [float(one) for one in text.split(",")]
    except ValueError:
        raise BenchError(f"{name} takes numbers such as 1,2.5, got {text!r}") from None


def _command(parser: argparse.ArgumentParser, argv: Sequence[str]) -> str:
    """The command that prints the page again."""
    args, said = parser.parse_args(argv), COMMAND
    said += " --exact" if args.exact else ""
    for name in ("seeds",) if args.exact else (*EXACT, "seeds"):
        if (value := getattr(args, name)) != parser.get_default(name):
            said += f" --{name} '{value}'" if set(value) & set("()") else f" --{name}={value}"
    return said
