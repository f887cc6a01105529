"""Does any estimate of expected weights beat hard ranks at equal evaluations and flatness?"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Final

from noisewise.methods.method import default_population
from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._duel import duel, percent
from noisewise_bench.experiments.study import Scope, Study
from noisewise_bench.problems import suite
from noisewise_bench.tables import Column, Table, decades
from noisewise_bench.task import Row

BUDGET: Final = "100d"
HARD: Final = "sep-cma-es"
#: What a row is in a comparison.
OURS, THEIRS = "method", "control"
_GP: Final = "noisewise_bench.posterior:gp"
_HALVING: Final = "noisewise_bench.halving:halving"
_BY_RANK: Final = "noisewise_bench.flattened:by_rank"


def pairs(d: int) -> dict[str, tuple[str, str]]:
    """What is compared: words -> method and its control, at the same evaluations."""
    large = 4 * default_population(d)
    many = f"population={large}"
    return {
        "Gaussian process, against its weights by rank": (_GP, f"{_GP}(by_rank=True)"),
        "Gaussian process, against log weights": (_GP, HARD),
        "Gaussian process, four times the population, by rank": (
            f"{_GP}({many})",
            f"{_GP}(by_rank=True,{many})",
        ),
        "Gaussian process, four times the population, log weights": (
            f"{_GP}({many})",
            f"{HARD}({many})",
        ),
        "log weights in the order of the process, against log weights": (
            f"{_GP}(ordered=True)",
            HARD,
        ),
        "the same with four times the population, against log weights": (
            f"{_GP}(ordered=True,{many})",
            f"{HARD}({many})",
        ),
        "sequential halving, against log weights": (_HALVING, HARD),
        "rb-pem, against its weights by rank": ("rb-pem", _BY_RANK),
        "rb-pem, against log weights": ("rb-pem", HARD),
        "exact PEM (uncharged draws), against log weights": ("pem", HARD),
        "hard ranks, four times the population": (f"{HARD}({many})", HARD),
    }


def grids(scope: Scope) -> list[Grid]:
    return [
        Grid.of(
            suite("bbob-noisy-high", (d,), (i,)),
            dict.fromkeys(name for pair in pairs(d).values() for name in pair),
            [BUDGET],
            scope.seeds,
        )
        for i in scope.instances
        for d in scope.dimensions
    ]


def tables(rows: list[Row]) -> list[Table]:
    dimensions = sorted({row.dimension for row in rows})
    return [
        _table(rows, {"all": dimensions}, "Estimators against their controls, all dimensions"),
        _table(rows, {str(d): [d] for d in dimensions}, "The same by dimension"),
    ]


def _table(rows: Sequence[Row], places: Mapping[str, Sequence[int]], title: str) -> Table:
    columns = (
        Column("method and control"),
        Column("d"),
        Column("pairs"),
        Column("win rate", percent, "of the method, ties count half"),
        Column("low", percent, "95 %, functions resampled"),
        Column("high", percent),
        Column("mean diff", decades, "mean difference of log10 regret; negative is better"),
        Column("from", decades, "95 %, functions resampled"),
        Column("to", decades),
    )
    body = []
    for words in pairs(10):
        for place, dimensions in places.items():
            found = duel(_parts(rows, words, dimensions), OURS, THEIRS, "recommended")
            share, gap = found.rate_interval, (found.mean, found.low, found.high)
            body.append((words, place, found.n, found.rate, *share, *gap))
    notes = (
        "Metric: recommended, the noise-free regret of the point returned, on the high-misranking "
        f"functions, B = {BUDGET}. The Gaussian process sees the newest points of all generations "
        "in the coordinates of the search distribution; its control hands the same weights out by "
        "the observed ranks, so it is as flat.",
    )
    return Table(title, columns, tuple(body), notes)


def _parts(rows: Sequence[Row], words: str, dimensions: Sequence[int]) -> list[Row]:
    """Rows of a method and its control, which have other names in other dimensions."""
    found = []
    for row in rows:
        if row.dimension in dimensions and row.method in pairs(row.dimension)[words]:
            ours, _ = pairs(row.dimension)[words]
            part = OURS if row.method == ours else THEIRS
            found.append(dataclasses.replace(row, method=part))
    return found


STUDY = Study(
    "relatives",
    "Estimates of expected weights, and a rule of selection, against hard ranks",
    Scope((16, 17, 18), (5, 10, 20, 40), (1,)),
    grids,
    tables,
)
