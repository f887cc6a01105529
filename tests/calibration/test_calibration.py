"""Whole runs with all their parts: intervals cover the truth, and answers are as good as they were.

This takes one to two minutes of one core; what it compares with was measured on other seeds.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from noisewise_bench import calibration
from noisewise_bench.calibration import CELLS, Cell, Summary
from noisewise_bench.experiments._coverage_runs import Case, Outcome

_FILE = Path(__file__).with_name("bands.json")
BANDS: dict[str, dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))


@pytest.mark.slow
@pytest.mark.untraced
@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_intervals_cover_and_answers_are_as_good_as_they_were(cell: Cell) -> None:
    """After an intended change:
    ``python -m noisewise_bench.calibration > tests/calibration/bands.json``."""
    assert list(Summary.of(cell.run()).faults(Summary(**BANDS[cell.name]))) == []


def test_every_cell_has_a_band() -> None:
    assert list(BANDS) == [cell.name for cell in CELLS]


@pytest.mark.parametrize("cell", CELLS, ids=lambda cell: cell.name)
def test_what_a_cell_would_notice(cell: Cell) -> None:
    """Five times as many misses as there may be; intervals half or twice as long; and four times
    the regret."""
    runs, usual = 4 * len(cell.laws) * cell.seeds, Summary(**BANDS[cell.name])
    same = replace(usual, runs=runs, missed=round(0.04 * runs))
    assert list(same.faults(usual)) == []
    for change, fault in (
        ({"missed": round(0.25 * runs)}, "intervals miss"),
        ({"length": usual.length + 0.31}, "length"),
        ({"length": usual.length - 0.31}, "length"),
        ({"regret": usual.regret + 0.6}, "regret"),
    ):
        (said,) = replace(same, **change).faults(usual)  # type: ignore[arg-type]
        assert fault in said


# -- how runs are summarised


def outcome(landscape: str, law: str, length: float, regret: float, covered: bool) -> Outcome:
    case = Case("auto", law, landscape, 2, 60, 1)
    return Outcome(case, covered, covered, False, length, 0.0, "mean", regret=regret)


def test_a_summary_is_about_the_spread_within_landscape_and_noise() -> None:
    """What differs between two kinds of noise is the same in every sample."""
    nan = float("nan")
    runs = [
        outcome("sphere", "none", nan, -8.0, True),  # no noise, no length
        outcome("sphere", "none", nan, -6.0, True),
        outcome("sphere", "gaussian", 0.1, -2.0, False),
        outcome("sphere", "gaussian", 10.0, -1.0, True),
    ]
    found = Summary.of(runs)
    assert (found.runs, found.missed) == (4, 1)
    assert (found.length, found.regret) == pytest.approx((0.0, -4.25))
    # Two values, 2 apart: a variance of 2 with one degree of freedom, over two values.
    assert found.length_se == pytest.approx(1.0)
    # Variances of 2 and 0.5 with a degree of freedom each, over four values.
    assert found.regret_se == pytest.approx((1.25 / 4.0) ** 0.5)


def test_the_size_of_an_outlier_in_an_interval_counts_no_more() -> None:
    huge = [outcome("sphere", law, 1e5, -2.0, True) for law in ("rare high", "gaussian")]
    assert [Summary.of([one]).length for one in huge] == pytest.approx([1.0, 5.0])
    usual = outcome("sphere", "rare high", 0.5, -2.0, True)
    assert Summary.of([usual]).length == pytest.approx(math.log10(0.5))


def test_every_noise_and_landscape_is_run_with_every_seed() -> None:
    found = Cell("cma-es", 2, 30, 2).run(first=5, times=2)
    assert len(found) == 6 * 4 * 4
    assert {one.case.seed for one in found} == {5, 6, 7, 8}
    assert {one.case.law for one in found} == set(calibration.LAWS)
    assert all(one.case.kind == "alone" and one.case.confirm == "auto" for one in found)
