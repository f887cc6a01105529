"""Who is better, by how much, and how sure one can be. Every number names its metric.

symbol     meaning                                                        shape
r          regret at the metric; failed runs are +inf, absent ones nan    (blocks, methods)
delta      log10 r(method) - log10 r(reference), paired by block          (pairs,)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy import stats

from noisewise_bench.problem import FloatArray
from noisewise_bench.record import NAN
from noisewise_bench.sheets import Sheet

N_RESAMPLES: Final = 2000
LEVEL: Final = 0.95


@dataclass(frozen=True)
class Comparison:
    """One method against the reference in one group. Negative differences favour the method."""

    group: tuple[tuple[str, str], ...]
    metric: str
    method: str
    reference: str
    n: int  # pairs
    wins: int
    losses: int
    ties: int
    failed: int  # runs of the method that failed; each is a loss, or a tie of two failures
    median_log10: float
    median_diff: float  # of log10 regret, decades
    median_low: float
    median_high: float
    mean_diff: float
    mean_low: float
    mean_high: float
    p_wilcoxon: float
    p_sign: float
    p_wilcoxon_holm: float
    p_sign_holm: float
    overhead: float  # median ratio of seconds in the method per evaluation


def compare(groups: Iterable[Sheet], reference: str) -> list[Comparison]:
    """Every other method against ``reference`` in every group, Holm-corrected over them all.

    >>> import tempfile
    >>> from noisewise_bench import campaign
    >>> from noisewise_bench.sheets import sheets
    >>> from noisewise_bench.store import Store
    >>> grid = campaign.Grid.of(["noisysphere/d14/n8.1"], ["auto", "cma-es"], [100], [1, 2])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = campaign.run(grid, f"{folder}/rows.sqlite", workers=1, progress=False)
    ...     with Store(f"{folder}/rows.sqlite", create=False) as store:
    ...         rows = store.rows()
    >>> [found] = compare(sheets(rows, "recommended", by=("dimension",)), "cma-es")
    >>> found.method, found.n
    ('auto', 2)
    """
    found = []
    for sheet in groups:
        if reference in sheet.methods:
            others = [method for method in sheet.methods if method != reference]
            found += [_compare(sheet, method, reference) for method in others]
    wilcoxon = holm([c.p_wilcoxon for c in found])
    sign = holm([c.p_sign for c in found])
    return [
        dataclasses.replace(c, p_wilcoxon_holm=w, p_sign_holm=s)
        for c, w, s in zip(found, wilcoxon, sign, strict=True)
    ]


def _compare(sheet: Sheet, method: str, reference: str) -> Comparison:
    ours, theirs = sheet.column(method), sheet.column(reference)
    paired = ~np.isnan(ours) & ~np.isnan(theirs)
    ours, theirs = ours[paired], theirs[paired]
    wins, losses = int(np.sum(ours < theirs)), int(np.sum(ours > theirs))
    with np.errstate(invalid="ignore"):
        delta = _log10(ours) - _log10(theirs)  # nan where both failed
    measured = delta[np.isfinite(delta)]
    speed = sheet.seconds[:, [sheet.methods.index(method), sheet.methods.index(reference)]]
    with np.errstate(all="ignore"):
        ratios = speed[:, 0] / speed[:, 1]
    ratios = ratios[np.isfinite(ratios)]
    median, mean = interval(measured, np.median), interval(measured, np.mean)
    logs = _log10(ours)
    return Comparison(
        sheet.group,
        sheet.metric,
        method,
        reference,
        n=len(ours),
        wins=wins,
        losses=losses,
        ties=len(ours) - wins - losses,
        failed=int(np.sum(np.isposinf(ours))),
        median_log10=float(np.median(logs)) if len(logs) else NAN,
        median_diff=median[0],
        median_low=median[1],
        median_high=median[2],
        mean_diff=mean[0],
        mean_low=mean[1],
        mean_high=mean[2],
        p_wilcoxon=wilcoxon_p(delta),
        p_sign=sign_p(wins, losses),
        p_wilcoxon_holm=NAN,
        p_sign_holm=NAN,
        overhead=float(np.median(ratios)) if len(ratios) else NAN,
    )


def _log10(r: FloatArray) -> FloatArray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.log10(r)  # nan where negative


def wilcoxon_p(delta: FloatArray) -> float:
    """Two-sided Wilcoxon signed-rank test with Pratt's zeros; a failure outranks everything."""
    finite = np.abs(delta[np.isfinite(delta)])
    worst = 1.0 + (float(finite.max()) if len(finite) else 0.0)
    usable = np.clip(delta[~np.isnan(delta)], -worst, worst)
    if not np.any(usable):
        return 1.0
    return float(stats.wilcoxon(usable, zero_method="pratt").pvalue)


def sign_p(wins: int, losses: int) -> float:
    """Two-sided sign test; ties do not count."""
    return float(stats.binomtest(wins, wins + losses).pvalue) if wins + losses else 1.0


def holm(p: Sequence[float]) -> list[float]:
    """Holm's step-down correction of the p-values of one table."""
    values = np.asarray(p, dtype=float)
    order = np.argsort(values)
    steps = values[order] * np.arange(len(values), 0, -1)
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(steps))
    return [float(value) for value in corrected]


def interval(
    sample: FloatArray, statistic: Callable[..., Any], seed: int = 0
) -> tuple[float, float, float]:
    """Statistic of ``sample`` and its percentile bootstrap interval (nan from too few values)."""
    if len(sample) == 0:
        return NAN, NAN, NAN
    centre = float(statistic(sample))
    if len(sample) < 2:
        return centre, NAN, NAN
    found = stats.bootstrap(
        (sample,),
        statistic,
        n_resamples=N_RESAMPLES,
        confidence_level=LEVEL,
        vectorized=True,
        method="percentile",
        random_state=np.random.default_rng(seed),
    ).confidence_interval
    return centre, float(found.low), float(found.high)


@dataclass(frozen=True)
class Rank:
    """Where a method stands among all methods of a group: 1 is best."""

    group: tuple[tuple[str, str], ...]
    metric: str
    method: str
    n: int  # blocks on which every method of the group was run
    mean: float
    median: float
    first: int  # blocks on which it is best, shared places included


def ranks(sheet: Sheet) -> list[Rank]:
    """Ranks over the blocks on which every method was run, best mean first."""
    complete = sheet.r[~np.isnan(sheet.r).any(axis=1)]
    if not len(complete) or len(sheet.methods) < 2:
        return []
    table = stats.rankdata(complete, axis=1)
    lowest = complete.min(axis=1, keepdims=True)
    found = [
        Rank(
            sheet.group,
            sheet.metric,
            method,
            len(complete),
            float(table[:, j].mean()),
            float(np.median(table[:, j])),
            int(np.sum(complete[:, j] == lowest[:, 0])),
        )
        for j, method in enumerate(sheet.methods)
    ]
    return sorted(found, key=lambda rank: rank.mean)
