"""The calibration gate: do intervals still cover, are they no longer than before, and is what a run
returns still as good?

A cell is a method, a dimension and a budget. Its runs are on four landscapes with six kinds of
noise, or with two kinds of outliers (`experiments._laws`). Three things are looked at: how many
intervals miss the expected value at the returned point; the mean log10 of their length over that of
someone who knows the noise; and the mean log10 of the noise-free regret of the returned point. The
latter two must lie within a band around those of other seeds, which
``tests/calibration/bands.json`` keeps.

``python -m noisewise_bench.calibration > tests/calibration/bands.json`` renews the bands after an
intended change (some minutes).
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from scipy import stats

from noisewise_bench.experiments._coverage_runs import Outcome, cases, measure

LAWS = ("gaussian", "lognormal", "skewed", "heteroscedastic", "win-loss", "none")
OUTLIERS = ("rare low", "rare high")
#: Misses of a 95 % interval, and how improbable a number of them must be to count as too many.
_MISSED, _IMPROBABLE = 0.05, 1e-3
#: Half the width of a band in standard errors of the difference.
_WIDTH = 3.5
#: The runs that bands are made of begin with this seed, and are so many times as many.
_REFERENCE, _TIMES = 101, 2


@dataclass(frozen=True)
class Cell:
    """Runs with ``confirm="auto"`` on every landscape with every noise, ``seeds`` of each."""

    method: str
    dimension: int
    budget: int
    seeds: int
    laws: tuple[str, ...] = LAWS

    @property
    def name(self) -> str:
        outliers = ", outliers" if self.laws == OUTLIERS else ""
        return f"{self.method}, d = {self.dimension}, budget {self.budget}{outliers}"

    def run(self, first: int = 1, times: int = 1) -> list[Outcome]:
        """Its runs with the seeds from ``first`` on, ``times`` as many as usual."""
        seeds = range(first, first + times * self.seeds)
        at = (self.dimension, self.budget)
        return [measure(c) for c in cases([at], [self.method], self.laws, seeds, kind="alone")]


#: Where a model searches, opens, keeps the run, could hand over, or is not asked at all.
CELLS = (
    Cell("auto", 1, 40, 3),
    Cell("auto", 2, 60, 4),
    Cell("auto", 5, 100, 3),
    Cell("auto", 6, 150, 3),
    Cell("auto", 2, 400, 1),
    Cell("auto", 10, 600, 1),
    Cell("auto", 20, 2000, 8),
    Cell("watchful", 2, 300, 8),
    Cell("cma-es", 3, 300, 8),
    Cell("rb-pem", 3, 300, 8),
    Cell("auto", 2, 60, 10, OUTLIERS),
    Cell("cma-es", 3, 300, 16, OUTLIERS),
)


@dataclass(frozen=True)
class Summary:
    """What is known of a cell: means, and their standard errors from the spread within landscape
    and noise."""

    runs: int
    missed: int
    length: float
    length_se: float
    regret: float
    regret_se: float

    @staticmethod
    def of(outcomes: Sequence[Outcome]) -> Summary:
        return Summary(
            len(outcomes),
            sum(not one.covered for one in outcomes),
            *_spread(outcomes, [_length(one) for one in outcomes]),
            *_spread(outcomes, [one.regret for one in outcomes]),
        )

    def faults(self, band: Summary) -> Iterable[str]:
        """What differs from earlier runs by more than chance explains."""
        most = int(stats.binom.isf(_IMPROBABLE, self.runs, _MISSED))
        if self.missed > most:
            yield f"{self.missed} of {self.runs} intervals miss, at most {most} may"
        for what, mean, usual, se in (
            ("length of the intervals", self.length, band.length, band.length_se),
            ("regret", self.regret, band.regret, band.regret_se),
        ):
            width = _WIDTH * se * math.sqrt(1.0 + band.runs / self.runs)
            if not abs(mean - usual) <= width:
                yield f"log10 {what} is {mean:.3f}, not {usual:.3f} +- {width:.3f}"


def _length(one: Outcome) -> float:
    """log10 of the length of an interval; one that holds an outlier counts as ten times as long as
    it should be, however large the outlier is."""
    length = math.log10(one.length)
    return min(length, 1.0) if one.case.law in OUTLIERS else length


def _spread(outcomes: Sequence[Outcome], values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error, from the spread within landscape and noise; without nan."""
    groups: dict[tuple[str, str], list[float]] = {}
    for one, value in zip(outcomes, values, strict=True):
        if not math.isnan(value):
            groups.setdefault((one.case.landscape, one.case.law), []).append(value)
    rows = list(groups.values())
    square = sum(float(np.var(row)) * len(row) for row in rows)
    degrees = sum(len(row) - 1 for row in rows)
    every = [value for row in rows for value in row]
    se = math.sqrt(square / degrees / len(every)) if degrees else math.nan
    return float(np.mean(every)), se


def main() -> None:
    found = {}
    for cell in CELLS:
        found[cell.name] = asdict(Summary.of(cell.run(_REFERENCE, _TIMES)))
        print(cell.name, file=sys.stderr)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
