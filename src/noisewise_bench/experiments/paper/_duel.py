"""Two methods on the same problems: wins with intervals, beside what was published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import stats

from noisewise_bench.problem import FloatArray
from noisewise_bench.score import LEVEL, N_RESAMPLES, holm, interval, wilcoxon_p
from noisewise_bench.sheets import MEANING, value
from noisewise_bench.tables import Column, Table, decades, p_value
from noisewise_bench.task import Row

#: What some of the published tables compare: the smallest noisy value a run has seen.
NOISY_VALUE: Final = "smallest noisy value"
#: Where counts at different metrics are added up.
SUMMED: Final = "published metrics"
MEANINGS: Final = {
    **MEANING,
    NOISY_VALUE: "the value itself, luck included; not a regret",
    SUMMED: "counts at the first metric of each place, added up",
}
#: (wins, losses) that the paper reports.
Published = tuple[int, int]


@dataclass(frozen=True)
class Duel:
    """One method against another, paired by problem, budget and seed."""

    metric: str
    wins: int
    losses: int
    ties: int
    mean: float  # of log10 regret, ours minus theirs; negative is better
    low: float
    high: float
    p: float  # Wilcoxon signed-rank, two-sided

    @property
    def n(self) -> int:
        return self.wins + self.losses + self.ties

    @property
    def rate(self) -> float:
        """Share won, ties counting half."""
        return (self.wins + 0.5 * self.ties) / self.n if self.n else float("nan")

    @property
    def rate_interval(self) -> tuple[float, float]:
        return wilson(self.wins + 0.5 * self.ties, self.n)


def duel(rows: Iterable[Row], ours: str, theirs: str, metric: str) -> Duel:
    """Compare two methods on what both were run on."""
    a, b = pairs(rows, ours, theirs, metric)
    wins, losses = int(np.sum(a < b)), int(np.sum(a > b))
    ties = len(a) - wins - losses
    if metric == NOISY_VALUE:  # it may be negative: counted, but no logarithm is taken of it
        a = b = np.empty(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        delta = np.log10(a) - np.log10(b)
    mean, low, high = interval(delta[np.isfinite(delta)], np.mean)
    p = wilcoxon_p(delta) if len(delta) else float("nan")
    return Duel(metric, wins, losses, ties, mean, low, high, p)


def together(duels: Sequence[Duel]) -> Duel:
    """The counts of several duels added up; differences of unlike places are not averaged."""
    nan = float("nan")
    wins, losses = sum(d.wins for d in duels), sum(d.losses for d in duels)
    return Duel(SUMMED, wins, losses, sum(d.ties for d in duels), nan, nan, nan, nan)


def pairs(
    rows: Iterable[Row], ours: str, theirs: str, metric: str
) -> tuple[FloatArray, FloatArray]:
    """Regrets of two methods on what both were run on, in the order of the problems."""
    found: dict[tuple[str, str, int], dict[str, float]] = {}
    for row in rows:
        if row.method in (ours, theirs):
            block = found.setdefault((row.problem, row.budget, row.seed), {})
            block[row.method] = regret_of(row, metric)
    both = [found[k] for k in sorted(found) if len(found[k]) == 2]
    a = np.array([block[ours] for block in both], dtype=float)
    b = np.array([block[theirs] for block in both], dtype=float)
    known = ~(np.isnan(a) | np.isnan(b))
    return a[known], b[known]


def median_log10(rows: Iterable[Row], metric: str) -> float:
    """Median log10 regret of some runs; nan if there are none."""
    regrets = np.array([regret_of(row, metric) for row in rows])
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.log10(regrets[~np.isnan(regrets)])
    return float(np.median(logs)) if len(logs) else float("nan")


def regret_of(row: Row, metric: str) -> float:
    """The row's number at a metric of the score or of the published tables."""
    if metric == NOISY_VALUE:
        return row.noisy_best
    return value(row, metric)


def wilson(successes: float, n: int) -> tuple[float, float]:
    """95 % interval of a share."""
    if n == 0:
        return float("nan"), float("nan")
    z = float(stats.norm.ppf(0.5 + LEVEL / 2))
    p = successes / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * float(np.sqrt(p * (1 - p) / n + z * z / (4 * n * n)))
    return max(0.0, centre - half), min(1.0, centre + half)


def differs(found: Duel, published: Published | None) -> float:
    """P-value of Fisher's exact test that measured and published wins share one rate."""
    if published is None or not found.n:
        return float("nan")
    table = [[found.wins, found.losses], list(published)]
    return float(stats.fisher_exact(table)[1])


def percent(share: float) -> str:
    return "-" if share != share else f"{share:.0%}"


def duel_table(
    title: str,
    labels: Sequence[str],
    entries: Sequence[tuple[Sequence[Any], Duel, Published | None]],
    notes: Sequence[str] = (),
) -> Table:
    """One line per duel: its labels, wins as published and as measured, differences, tests."""
    columns = (
        *(Column(label) for label in labels),
        Column("metric"),
        Column("published W/L"),
        Column("W/L"),
        Column("ties"),
        Column("win rate", percent, "ties count half"),
        Column("low", percent, "95 % Wilson interval"),
        Column("high", percent),
        Column("mean diff", decades, "mean difference of log10 regret, negative is better"),
        Column("from", decades, "95 % bootstrap interval"),
        Column("to", decades),
        Column("Wilcoxon", p_value, "Holm-corrected over this table"),
        Column("vs published", p_value, "Fisher's exact test of the two win rates"),
    )
    p = np.array([found.p for _, found, _ in entries])
    tested = ~np.isnan(p)
    p[tested] = holm(p[tested].tolist())
    body = tuple(
        (
            *names,
            found.metric,
            "-" if published is None else f"{published[0]}/{published[1]}",
            f"{found.wins}/{found.losses}",
            found.ties,
            found.rate,
            *found.rate_interval,
            *(found.mean, found.low, found.high, corrected, differs(found, published)),
        )
        for (names, found, published), corrected in zip(entries, p.tolist(), strict=True)
    )
    metrics = dict.fromkeys(found.metric for _, found, _ in entries)
    return Table(title, columns, body, (*notes, *duel_notes(metrics)))


def duel_notes(metrics: Iterable[str]) -> list[str]:
    """What the columns of `duel_table` mean."""
    return [
        *(f"{metric}: {MEANINGS[metric]}." for metric in metrics),
        "Win rates count ties half, with 95 % Wilson intervals; mean diff is in log10 regret, "
        f"negative favours the method, with {LEVEL:.0%} bootstrap intervals ({N_RESAMPLES} "
        "resamples); Wilcoxon: two-sided, Holm-corrected over the table; vs published: Fisher's "
        "exact test that both counts share one win rate (small means they differ).",
    ]


def of(rows: Iterable[Row], **wanted: Any) -> list[Row]:
    """Rows whose columns have these values; a tuple or set stands for any of its members."""
    return [
        row
        for row in rows
        if all(
            getattr(row, key) in want
            if isinstance(want, tuple | set)
            else getattr(row, key) == want
            for key, want in wanted.items()
        )
    ]
