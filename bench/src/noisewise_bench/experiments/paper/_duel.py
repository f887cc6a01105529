"""Two methods on the same problems: wins with intervals, beside what was published."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from scipy import stats

from noisewise_bench.experiments.paper._clusters import MARGIN, clustered, replication
from noisewise_bench.problem import FloatArray
from noisewise_bench.score import LEVEL, N_RESAMPLES, holm, wilcoxon_p
from noisewise_bench.sheets import MEANING, function_of, value
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
ObjectArray = npt.NDArray[np.object_]


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
    share_low: float = float("nan")  # of the share won
    share_high: float = float("nan")

    @property
    def n(self) -> int:
        return self.wins + self.losses + self.ties

    @property
    def rate(self) -> float:
        """Share won, ties counting half."""
        return (self.wins + 0.5 * self.ties) / self.n if self.n else float("nan")

    @property
    def rate_interval(self) -> tuple[float, float]:
        """95 %: by functions where there are several and they differ, else Wilson's."""
        if self.share_low < self.share_high:
            return self.share_low, self.share_high
        return wilson(self.wins + 0.5 * self.ties, self.n)


def duel(rows: Iterable[Row], ours: str, theirs: str, metric: str) -> Duel:
    """Compare two methods on what both were run on."""
    a, b, groups = blocks(rows, ours, theirs, metric)
    wins, losses = int(np.sum(a < b)), int(np.sum(a > b))
    ties = len(a) - wins - losses
    _, share_low, share_high = clustered(0.5 + 0.5 * np.sign(b - a), groups, plain=False)
    if metric == NOISY_VALUE:  # it may be negative: counted, but no logarithm is taken of it
        a = b = np.empty(0)
    with np.errstate(invalid="ignore", divide="ignore"):
        delta = np.log10(a) - np.log10(b)
    known = np.isfinite(delta)
    mean, low, high = clustered(delta[known], groups[: len(delta)][known])
    p = wilcoxon_p(delta) if len(delta) else float("nan")
    return Duel(metric, wins, losses, ties, mean, low, high, p, share_low, share_high)


def together(duels: Sequence[Duel]) -> Duel:
    """The counts of several duels added up; differences of unlike places are not averaged."""
    nan = float("nan")
    wins, losses = sum(d.wins for d in duels), sum(d.losses for d in duels)
    return Duel(SUMMED, wins, losses, sum(d.ties for d in duels), nan, nan, nan, nan)


def pairs(
    rows: Iterable[Row], ours: str, theirs: str, metric: str
) -> tuple[FloatArray, FloatArray]:
    """Regrets of two methods on what both were run on, in the order of the problems."""
    return blocks(rows, ours, theirs, metric)[:2]


def blocks(
    rows: Iterable[Row], ours: str, theirs: str, metric: str
) -> tuple[FloatArray, FloatArray, ObjectArray]:
    """The same, and the function or task of every pair: instances of one are not independent."""
    found: dict[tuple[str, str, int], dict[str, float]] = {}
    for row in rows:
        if row.method in (ours, theirs):
            block = found.setdefault((row.problem, row.budget, row.seed), {})
            block[row.method] = regret_of(row, metric)
    keys = [key for key in sorted(found) if len(found[key]) == 2]
    a = np.array([found[key][ours] for key in keys], dtype=float)
    b = np.array([found[key][theirs] for key in keys], dtype=float)
    groups = np.array([function_of(problem) for problem, _, _ in keys], dtype=object)
    known = ~(np.isnan(a) | np.isnan(b))
    return a[known], b[known], groups[known]


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


def verdict(found: Duel, published: Published | None) -> str:
    """Whether the published share of decided pairs replicates, as `replication` says."""
    return "-" if published is None else replication(found.wins, found.losses, published)


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
        Column("low", percent, "95 % interval"),
        Column("high", percent),
        Column("mean diff", decades, "mean difference of log10 regret, negative is better"),
        Column("from", decades, "95 % bootstrap interval"),
        Column("to", decades),
        Column("raw p", p_value, "Wilcoxon's signed-rank test"),
        Column("Wilcoxon", p_value, "Holm-corrected over this table"),
        Column("vs published", p_value, "Fisher's exact test of the two win rates"),
        Column("replicates", meaning="equivalent, differs or open"),
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
            *(found.mean, found.low, found.high, found.p, corrected),
            *(differs(found, published), verdict(found, published)),
        )
        for (names, found, published), corrected in zip(entries, p.tolist(), strict=True)
    )
    metrics = dict.fromkeys(found.metric for _, found, _ in entries)
    return Table(title, columns, body, (*notes, *duel_notes(metrics)))


def duel_notes(metrics: Iterable[str]) -> list[str]:
    """What the columns of `duel_table` mean."""
    return [
        *(f"{metric}: {MEANINGS[metric]}." for metric in metrics),
        "Win rates count ties half; mean diff is in log10 regret, negative favours the method. "
        f"Intervals ({LEVEL:.0%}) draw whole functions where there are five or more "
        f"({N_RESAMPLES} bootstrap resamples), since instances of one are not independent; "
        "elsewhere Wilson's, and a bootstrap of runs. Wilcoxon: two-sided, raw and Holm-corrected "
        "over the table. vs published: Fisher's exact test that both counts share one win rate; "
        f"replicates: equivalent if the 90 % interval of the difference of the two rates lies "
        f"within {MARGIN:.0%} either way, differs if the 95 % interval leaves out zero, else open; "
        "both counts are on the same functions, so pairs count as independent there.",
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
