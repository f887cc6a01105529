"""Tables of the page on coverage."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from noisewise_bench.experiments._coverage_runs import Outcome
from noisewise_bench.tables import Column, Table, decades, fixed, p_value

#: Coverage that is promised.
PROMISED = 0.90


def table(title: str, outcomes: Sequence[Outcome], by: Sequence[str]) -> Table:
    """Shares and means over the outcomes, one line per combination of ``by``."""
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
    rows = tuple((*key, *_line(group)) for key, group in _grouped(outcomes, by).items())
    return Table(title, columns, rows)


def _grouped(
    outcomes: Sequence[Outcome], by: Sequence[str]
) -> dict[tuple[Any, ...], list[Outcome]]:
    groups: dict[tuple[Any, ...], list[Outcome]] = {}
    for one in outcomes:
        groups.setdefault(tuple(getattr(one.case, name) for name in by), []).append(one)
    return groups


def _line(group: Sequence[Outcome]) -> tuple[Any, ...]:
    costs = np.array([one.cost for one in group])
    return (
        len(group),
        mean(group, lambda one: one.covered),
        mean(group, lambda one: one.covered_2se),
        mean(group, lambda one: one.unknown),
        median([one.length for one in group]),
        float(costs.mean()),
        float(costs.std(ddof=1)) / math.sqrt(len(costs)) if len(costs) > 1 else math.nan,
    )


def mean(group: Sequence[Outcome], what: Callable[[Outcome], float]) -> float:
    return float(np.mean([what(one) for one in group])) if group else math.nan


def median(values: Sequence[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return float(np.median(known)) if known else math.nan


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.0%}"


def weak(outcomes: Sequence[Outcome], by: Sequence[str]) -> Table:
    """The groups whose coverage is below what is promised, with the probability of so few hits
    if the promise just held."""
    from scipy.special import bdtr

    groups = _grouped(outcomes, by)
    rows = []
    for key, group in groups.items():
        hits = sum(one.covered for one in group)
        if hits < PROMISED * len(group):
            chance = float(bdtr(hits, len(group), PROMISED))
            rows.append((*key, len(group), hits / len(group), chance))
    rows.sort(key=lambda row: row[-1])
    columns = (
        *(Column({"law": "noise", "dimension": "d"}.get(name, name)) for name in by),
        Column("runs"),
        Column("covered", _percent),
        Column("p", p_value, "probability of so few hits at a coverage of 90 %"),
    )
    note = f"{len(rows)} of {len(groups)}; Holm's threshold is {0.05 / max(1, len(groups)):.2g}."
    return Table(f"Below {PROMISED:.0%}", columns, tuple(rows), (note,))


def against(older: Sequence[Outcome], outcomes: Sequence[Outcome]) -> Table:
    """The version before beside this one, on the same problems."""
    same = {_problem(one) for one in older}
    newer = [one for one in outcomes if one.case.method == "auto" and _problem(one) in same]
    old, new = _grouped(older, ("law",)), _grouped(newer, ("law",))
    rows = tuple(
        (
            law,
            len(old[law,]),
            mean(old[law,], lambda one: one.covered_2se),
            mean(old[law,], lambda one: one.unknown),
            len(new[law,]),
            mean(new[law,], lambda one: one.covered_2se),
            mean(new[law,], lambda one: one.covered),
        )
        for (law,) in old
    )
    columns = (
        Column("noise"),
        Column("runs before"),
        Column("2 se before", _percent, "fun +- 2 fun_se with default settings"),
        Column("nan before", _percent),
        Column("runs"),
        Column("2 se", _percent),
        Column("interval", _percent),
    )
    return Table("Before and after: auto with default settings", columns, rows)


def _problem(one: Outcome) -> tuple[Any, ...]:
    case = one.case
    return case.law, case.landscape, case.dimension, case.budget, case.seed


def outlook(outcomes: Sequence[Outcome]) -> Table:
    """The length of the interval that was expected of twice the budget, over the one that came."""
    rows = []
    for key, group in _grouped(outcomes, ("law", "dimension", "budget")).items():
        ratio = [one.predicted for one in group if not math.isnan(one.predicted)]
        low, middle, high = np.quantile(ratio, [0.1, 0.5, 0.9]) if ratio else [math.nan] * 3
        rows.append((*key, len(group), len(ratio), float(low), float(middle), float(high)))
    columns = (
        *(Column(name) for name in ("noise", "d", "budget", "runs")),
        Column("said", meaning="runs that said a length: none if the noise differs by point"),
        Column("10 %", fixed, "expected length over actual length"),
        Column("median", fixed, "of the same"),
        Column("90 %", fixed, "of the same"),
    )
    return Table("Expected length of the interval after doubling", columns, tuple(rows))


def gains(outcomes: Sequence[Outcome]) -> Table:
    """By how much a model expected the best point to be better than the returned one, by how much
    it was, and what twice the budget brought; in standard deviations of the noise."""
    rows = []
    known = [one for one in outcomes if not math.isnan(one.expected_gain)]
    for key, group in _grouped(known, ("law", "dimension", "budget")).items():
        three = [
            [getattr(one, name) for one in group]
            for name in ("expected_gain", "possible_gain", "actual_gain")
        ]
        within = np.mean([0.5 * b <= a <= 2.0 * b for a, b in zip(*three[:2], strict=True)])
        rows.append((*key, len(group), *map(median, three), float(within)))
    columns = (
        *(Column(name) for name in ("noise", "d", "budget", "runs")),
        Column("expected", fixed, "improvement that the model expects, median"),
        Column("possible", fixed, "value at x minus that of the optimum, median"),
        Column("brought", fixed, "value at x minus that of the run with twice the budget, median"),
        Column("within 2", _percent, "runs whose expectation is within a factor of two of it"),
    )
    return Table("Expected improvement", columns, tuple(rows))


def by_number(outcomes: Sequence[Outcome]) -> Table:
    """Coverage and length of intervals from fresh evaluations, by noise and their number."""
    groups = _grouped(outcomes, ("law", "budget"))
    numbers = sorted({n for _, n in groups})
    rows = tuple(
        (
            law,
            *(mean(groups[law, n], lambda one: one.covered) for n in numbers),
            *(median([one.length for one in groups[law, n]]) for n in numbers),
        )
        for law in dict.fromkeys(law for law, _ in groups)
    )
    columns = (
        Column("noise"),
        *(Column(f"covered, n = {n}", _tenths) for n in numbers),
        *(Column(f"length, n = {n}", fixed) for n in numbers),
    )
    each = len(next(iter(groups.values())))
    note = f"{each} intervals per cell: a standard error of at most {50.0 / each**0.5:.1f} %."
    return Table("Fresh evaluations of one point", columns, rows, (note,))


def _tenths(value: float) -> str:
    return f"{value:.1%}"
