"""One method against everybody else, pooled and by cell, from the rows of small budgets.

symbol   meaning                                                             shape
w        1 where ours is better, 1/2 in a tie, 0 where it is worse           (pairs,)
delta    log10 regret of ours minus the other's, where both are finite       (pairs,)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise_bench.problem import FloatArray
from noisewise_bench.score import interval
from noisewise_bench.sheets import value
from noisewise_bench.tables import MISSING, Column, Table, decades, fixed
from noisewise_bench.task import Row

#: A cell is a loss beyond doubt where the upper end of its interval is below this.
WEAK = 0.40
Z95 = 1.959964


@dataclass(frozen=True)
class Duel:
    """One method against another on the same problems, budgets and seeds."""

    n: int
    win: float
    win_low: float
    win_high: float
    diff: float
    diff_low: float
    diff_high: float


def duel(rows: Sequence[Row], ours: str, other: str) -> Duel | None:
    """The duel of two methods over ``rows``; None where they share no problem."""
    mine, theirs = (
        {row.key[:1] + row.key[2:]: value(row, "recommended") for row in rows if row.method == name}
        for name in (ours, other)
    )
    shared = [block for block in mine if block in theirs]
    if not shared:
        return None
    a, b = (np.array([r[block] for block in shared]) for r in (mine, theirs))
    w = np.where(a < b, 1.0, np.where(a == b, 0.5, 0.0))
    with np.errstate(invalid="ignore", divide="ignore"):
        delta: FloatArray = np.log10(a) - np.log10(b)
    mean = interval(delta[np.isfinite(delta)], np.mean)
    return Duel(len(w), float(w.mean()), *wilson(float(w.mean()), len(w)), *mean)


def wilson(share: float, n: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; sensible for few pairs, where a bootstrap is not."""
    z2 = Z95 * Z95 / n
    centre = (share + 0.5 * z2) / (1.0 + z2)
    half = Z95 * math.sqrt(share * (1.0 - share) / n + 0.25 * z2 / n) / (1.0 + z2)
    return max(0.0, centre - half), min(1.0, centre + half)


def is_task(row: Row) -> bool:
    """Whether the row is of a real task."""
    return not row.problem.startswith("small/")


def noise_of(row: Row) -> str:
    """Law and level of a synthetic problem: ``gaussian 0.2``."""
    return " ".join(row.problem.split("/")[4:])


#: What a cell may be made of.
PARTS: dict[str, Callable[[Row], Any]] = {
    "d": lambda row: row.dimension,
    "per d": lambda row: int(row.budget.rstrip("d")),
    "noise": noise_of,
    "task": lambda row: row.problem.split("/")[1],
}


def _central(row: Row) -> bool:
    return not is_task(row) and row.dimension <= 10 and row.budget in ("20d", "50d")


def _law(*laws: str) -> Callable[[Row], bool]:
    return lambda row: not is_task(row) and row.problem.split("/")[4] in laws


GROUPS: dict[str, Callable[[Row], bool]] = {
    "20 and 50 per parameter, d <= 10": _central,
    "additive": _law("gaussian", "t3", "hetero"),
    "multiplicative": _law("lognormal", "relative"),
    "win/loss": _law("winloss"),
    "small tasks": is_task,
}


def percent(share: float) -> str:
    """A share without decimals."""
    return MISSING if math.isnan(share) else f"{share:.0%}"


def _columns(ours: str) -> tuple[Column, ...]:
    return (
        Column("n", meaning="pairs: same problem, budget and noise seed"),
        Column("win rate", percent, "ties count half"),
        Column("low", percent, "95 % interval after Wilson"),
        Column("high", percent),
        Column("mean diff", decades, f"mean log10 regret of {ours} minus the other's"),
        Column("low", decades, "95 % bootstrap interval"),
        Column("high", decades),
    )


def tables(rows: Sequence[Row], ours: str) -> list[Table]:
    """Every table of the study; those without rows are left out."""
    others = sorted({row.method for row in rows} - {ours})
    synthetic = [row for row in rows if not is_task(row)]
    tasks = [row for row in rows if is_task(row)]
    found = [pooled(rows, ours, others)]
    if synthetic:
        title = f"Win rate of {ours}"
        heads = ("d", "per d", "noise")
        found += [
            matrix(synthetic, ours, others, heads[:2], f"{title} by dimension and budget"),
            matrix(synthetic, ours, others, heads[2:], f"{title} by noise"),
            matrix(synthetic, ours, others, heads, f"{title} by cell"),
            levels(synthetic, ours, others, heads),
            weak(synthetic, ours, others),
        ]
    if tasks:
        found.append(matrix(tasks, ours, others, ("task",), f"Win rate of {ours} by task"))
    return [*found, speed(rows, [ours, *others])]


def cells(rows: Sequence[Row], ours: str) -> Table:
    """Every duel in every cell with its intervals: too long for a page."""
    others = sorted({row.method for row in rows} - {ours})
    heads = ("d", "per d", "noise")
    body = [
        (*cell, other, *_numbers(found))
        for cell, members in _cells([row for row in rows if not is_task(row)], heads)
        for other in others
        if (found := duel(members, ours, other))
    ]
    columns = (*map(Column, (*heads, "against")), *_columns(ours))
    return Table(f"{ours} by cell", columns, tuple(body))


def pooled(rows: Sequence[Row], ours: str, others: Iterable[str]) -> Table:
    """Groups of problems, and everybody in them."""
    body = []
    for group, belongs in GROUPS.items():
        members = [row for row in rows if belongs(row)]
        for other in others:
            if found := duel(members, ours, other):
                body.append((group, other, *_numbers(found)))
    columns = (Column("problems"), Column("against"), *_columns(ours))
    notes = (f"Negative differences favour {ours}.",)
    return Table(f"{ours} against each, pooled", columns, tuple(body), notes)


def matrix(
    rows: Sequence[Row], ours: str, others: Sequence[str], heads: Sequence[str], title: str
) -> Table:
    """One line per cell, one column of win rates per method."""
    present = [other for other in others if any(row.method == other for row in rows)]
    body = []
    for cell, members in _cells(rows, heads):
        duels = [duel(members, ours, other) for other in present]
        pairs = max((d.n for d in duels if d), default=0)
        body.append((*cell, pairs, *(d.win if d else math.nan for d in duels)))
    columns = (*map(Column, heads), Column("n"), *(Column(_short(o), percent) for o in present))
    return Table(title, columns, tuple(body))


def levels(rows: Sequence[Row], ours: str, others: Sequence[str], heads: Sequence[str]) -> Table:
    """Mean log10 regret of every method that ran on all problems of a cell."""
    methods = [ours, *others]
    body = []
    for cell, members in _cells(rows, heads):
        logs: dict[str, list[float]] = {method: [] for method in methods}
        for row in members:
            logs[row.method].append(math.log10(value(row, "recommended")))
        full = max(map(len, logs.values()))
        means = (
            float(np.mean(found)) if len(found) == full else math.nan for found in logs.values()
        )
        body.append((*cell, full, *means))
    columns = (*map(Column, heads), Column("n"), *(Column(_short(m), fixed) for m in methods))
    notes = ("Methods that did not run on all problems of a cell are left out there.",)
    return Table("Mean log10 regret by cell", columns, tuple(body), notes)


def weak(rows: Sequence[Row], ours: str, others: Sequence[str]) -> Table:
    """Cells in which the win rate is below `WEAK` beyond doubt."""
    body, heads = [], ("d", "per d", "noise")
    for cell, members in _cells(rows, heads):
        for other in others:
            found = duel(members, ours, other)
            if found and found.win_high < WEAK:
                body.append((*cell, other, *_numbers(found)))
    columns = (*map(Column, (*heads, "against")), *_columns(ours))
    title = f"Cells whose 95 % upper bound is below {WEAK:.0%}"
    return Table(title, columns, tuple(body), () if body else ("None.",))


def speed(rows: Sequence[Row], methods: Sequence[str]) -> Table:
    """Seconds in each method, per evaluation and per run, and relative to the first one."""
    first = {_run(row): row.seconds_method for row in rows if row.method == methods[0]}
    body = []
    for method in methods:
        mine = [row for row in rows if row.method == method and row.error is None]
        failed = sum(row.method == method and row.error is not None for row in rows)
        each = [row.seconds_method / max(row.spent, 1) for row in mine]
        run = [row.seconds_method for row in mine]
        ratio = [row.seconds_method / first[_run(row)] for row in mine if _run(row) in first]
        middle = (float(np.median(part)) if part else math.nan for part in (each, run, ratio))
        body.append((method, len(mine), failed, *middle))
    columns = (
        Column("method"),
        Column("runs"),
        Column("failed"),
        Column("s per evaluation", meaning="median, the problem's own time left out"),
        Column("s per run", meaning="median"),
        Column("relative time", meaning="median ratio to the first method's on the same run"),
    )
    notes = (
        "Medians. Relative time: compared with the first method on the same run. Times depend on "
        "the machine and on what else it was doing.",
    )
    return Table("Time in the method", columns, tuple(body), notes)


def _cells(rows: Sequence[Row], heads: Sequence[str]) -> list[tuple[tuple[Any, ...], list[Row]]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(PARTS[head](row) for head in heads), []).append(row)
    return sorted(found.items())


def _run(row: Row) -> tuple[str, str, int]:
    return row.problem, row.budget, row.seed


def _numbers(d: Duel) -> tuple[float, ...]:
    return (d.n, d.win, d.win_low, d.win_high, d.diff, d.diff_low, d.diff_high)


def _short(method: str) -> str:
    return method.removeprefix("peer/")
