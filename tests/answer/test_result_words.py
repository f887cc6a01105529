"""What a result says, word by word."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from noisewise.answer import sentences
from noisewise.measured.estimate import Estimate
from noisewise.run.run import ALL_FAILED, BUDGET_SPENT, RUNNING, STOPPED

NAN = math.nan


def found(kind: str = "mean", n: int = 5, failures: int = 0, **more: Any) -> Estimate:
    return Estimate(1.0, 0.1, 0.8, 1.2, kind, n, failures, **more)


def run(**changes: Any) -> Any:
    """What the sentences need of a run."""
    ledger = {"told": 40, "failures": 0, "crashes": 0} | changes.pop("ledger", {})
    usual: dict[str, Any] = {
        "ledger": SimpleNamespace(**ledger),
        "final": None,
        "setup": SimpleNamespace(target="mean"),
        "round": 3,
        "barren": 4,
        "failure": "",
        "seeds": None,
        "evidence": SimpleNamespace(reevaluations=0, misranking=NAN),
        "best_x": np.zeros(1),
        "best_value": 1.0,
        "time_up": False,
    }
    return SimpleNamespace(**(usual | changes))


@pytest.mark.parametrize(
    ("best", "given_up", "status", "target", "said"),
    [
        (found(), 0, BUDGET_SPENT, "mean", []),
        (
            found(n=0, failures=4), 0, BUDGET_SPENT, "mean",
            ["4 of 4 confirmations failed at the recommended point: there is no answer, x is only "
             "the point that was tried last"],
        ),
        (
            found(n=0, failures=4), 1, BUDGET_SPENT, "mean",
            ["4 of 4 confirmations failed at the recommended point, as did all at 1 other finalist:"
             " there is no answer, x is only the point that was tried last"],
        ),
        (
            found(n=3, failures=1), 0, BUDGET_SPENT, "mean",
            ["1 of 4 confirmations failed at the recommended point; the estimate and its interval "
             "are about the successes"],
        ),
        (
            found(), 1, BUDGET_SPENT, "mean",
            ["all confirmations of the point chosen first failed: another finalist was returned"],
        ),
        (
            found(), 2, BUDGET_SPENT, "mean",
            ["all confirmations of the first 2 choices failed: another finalist was returned"],
        ),
        (
            found("typical", set_aside=0.034, mean_of_all=7.0), 0, BUDGET_SPENT, "mean",
            ["about 0.034 of the values are outliers: fun is the value without them (the mean of "
             "all 5 evaluations of x is 7)"],
        ),
        (
            found("median"), 0, BUDGET_SPENT, "mean",
            ["the noise seems to have no mean: fun is the median"],
        ),
        (found("median"), 0, BUDGET_SPENT, "median", []),
        (
            found("unknown", n=0), 0, BUDGET_SPENT, "mean",
            ["fun was not measured at x (confirm=0, or a tiny budget), so its error is not known"],
        ),
        (found("unknown", n=0), 0, RUNNING, "mean", []),
    ],
)  # fmt: skip
def test_warnings(best: Estimate, given_up: int, status: int, target: str, said: list[str]) -> None:
    final = SimpleNamespace(given_up=given_up) if given_up else None
    told = run(final=final, setup=SimpleNamespace(target=target))
    assert sentences._about_answer(told, best, status) == said


@pytest.mark.parametrize(
    ("changes", "status", "more", "exact", "said"),
    [
        ({}, BUDGET_SPENT, "", False, "the budget is spent; 3 generations, 40 evaluations"),
        ({}, STOPPED, "m", False, "stopped on request; 3 generations, 40 evaluations; m"),
        ({"round": 1}, RUNNING, "", False, "still running; 1 generation, 40 evaluations"),
        (
            {"ledger": {"told": 9, "failures": 9, "crashes": 9}, "failure": "E: x"},
            ALL_FAILED, "", False,
            "gave up: all 9 evaluations failed, the last one with E: x; 3 generations, "
            "9 evaluations",
        ),
        (
            {"ledger": {"told": 9, "failures": 9, "crashes": 8}},
            ALL_FAILED, "", False,
            "gave up: 4 generations in a row had no successful evaluation: the objective returned "
            "nan or inf; 3 generations, 9 evaluations",
        ),
        (
            {"best_value": math.inf, "ledger": {"failures": 40}},
            BUDGET_SPENT, "", False,
            "the budget is spent and no evaluation succeeded: the objective returned nan or inf; "
            "3 generations, 40 evaluations",
        ),
        (
            {"best_value": math.inf, "ledger": {"failures": 39}},
            BUDGET_SPENT, "", False,
            "the budget is spent and no evaluation was feasible; 3 generations, 40 evaluations",
        ),
        (
            {"seeds": SimpleNamespace(said=lambda: "seeds: common")},
            BUDGET_SPENT, "", False,
            "the budget is spent; 3 generations, 40 evaluations; seeds: common",
        ),
        (
            {"evidence": SimpleNamespace(reevaluations=9, misranking=0.1)},
            BUDGET_SPENT, "", True,
            "the budget is spent; 3 generations, 40 evaluations",
        ),
    ],
)  # fmt: skip
def test_messages(changes: dict[str, Any], status: int, more: str, exact: bool, said: str) -> None:
    told = run(**changes)
    lucky = told.best_value < math.inf
    assert sentences.message(told, status, found(), [more], lucky, exact) == said


def test_a_recommended_point_that_failed_is_part_of_the_message() -> None:
    told = run(failure="ValueError: x")
    said = sentences.message(told, BUDGET_SPENT, found(n=0, failures=3), [""], True, False)
    assert said.startswith(
        "the budget is spent and no evaluation of the recommended point succeeded, the last "
        "failure was ValueError: x; "
    )


def test_disagreement_of_ranks_is_said_where_there_is_noise() -> None:
    told = run(evidence=SimpleNamespace(reevaluations=9, misranking=0.1))
    parts = sentences.message(told, BUDGET_SPENT, found(), [], True, False).split("; ")
    assert parts[2:] == ["ranks of 9 re-evaluations disagree by 10% (pure noise: 33%)"]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([2.0] * 12, ["all 12 values are equal: does the objective use its parameters?"]),
        ([2.0] * 11 + [3.0], []),
        ([2.0] * 2, []),
    ],
)
def test_equal_values_are_suspicious(values: list[float], said: list[str]) -> None:
    columns = {"best_value": np.array(values), "mean_value": np.array(values)}
    told = run(
        history=SimpleNamespace(as_dict=lambda: columns),
        best_value=min(values),
        ledger={"told": len(values), "failures": 0},
    )
    assert sentences._constant(told) == said


def test_data_that_a_method_had_no_use_for() -> None:
    assert sentences._unused(0, "racing") == []
    assert sentences._unused(7, "racing") == [
        "method racing had no use for 7 rows of earlier data when they were added"
    ]
