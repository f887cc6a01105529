"""Win or loss: the answer must beat a start that the user gave."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.run import beside_start


def chance(x: Any) -> float:
    """The best wins 65 %; the start of the tests about 58 %."""
    return 0.05 + 0.6 * float(np.exp(-2.0 * np.sum((np.asarray(x) - 0.5) ** 2)))


GOOD = [0.6, 0.4, 0.6, 0.4, 0.4, 0.6]


def play(budget: int, seed: int, **options: Any) -> nw.Optimizer:
    given: dict[str, Any] = {"x0": GOOD, "bounds": [(0.0, 1.0)] * 6, "method": "auto"} | options
    opt = nw.Optimizer(budget=budget, rng=seed, maximize=True, **given)
    rng = np.random.default_rng(seed)
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, float(rng.random() < chance(trial.x)))
    return opt


def test_a_good_start_is_not_left_for_something_worse() -> None:
    answers = [chance(play(1000, seed).result().x) for seed in range(12)]
    worse = sum(found < chance(GOOD) - 0.01 for found in answers)
    assert worse <= 3
    assert np.mean(answers) > chance(GOOD) - 0.01


@pytest.mark.parametrize("seed", range(8))
def test_a_point_that_won_twice_is_not_returned_for_that(seed: int) -> None:
    """Of outcomes such as won and lost a value comes again by chance."""
    opt = play(120, seed, x0=None, method="gp")
    final = opt._run.final
    assert final is not None
    assert any(np.array_equal(final.chosen, x) for x in final.finalists)


def test_a_bad_start_is_left() -> None:
    bad = [0.9, 0.1, 0.8, 0.2, 0.5, 0.5]
    answers = [chance(play(2000, seed, x0=bad).result().x) for seed in range(6)]
    assert min(answers) > chance(bad)
    assert np.mean(answers) > chance(bad) + 0.1


def test_the_race_has_a_tenth_of_the_budget() -> None:
    opt = play(1000, 0)
    assert opt._run.ledger.race in (0, 50, 100)
    assert opt._run.setup.race == 100
    final = opt._run.final
    assert final is not None
    assert len(final.finalists) <= 2


@pytest.mark.parametrize(
    "options",
    [
        {"method": "watchful"},  # only the default decides for its users
        {"x0": None},  # the middle of the box is no information
        {"space": {"a": "0..1", "b": ["x", "y"]}, "bounds": None, "x0": {"a": 0.5, "b": "x"}},
    ],
)
def test_elsewhere_nothing_changes(options: dict[str, Any]) -> None:
    given: dict[str, Any] = {"bounds": [(0.0, 1.0)] * 6, "x0": GOOD} | options
    opt = nw.Optimizer(budget=400, rng=0, maximize=True, **given)
    rng = np.random.default_rng(0)
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, float(rng.random() < 0.5))
    assert not beside_start.applies(opt._run)
    assert beside_start.finalists(opt.method, opt._run) is None


def test_values_that_are_no_outcomes_change_nothing() -> None:
    rng = np.random.default_rng(0)
    opt = nw.Optimizer(GOOD, bounds=[(0.0, 1.0)] * 6, budget=400, rng=0)
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, float(rng.normal()))
    assert not beside_start.applies(opt._run)
    assert beside_start.finalists(opt.method, opt._run) is None


def test_with_open_coordinates_the_first_steps_are_the_unit() -> None:
    def run(low: float, high: float, sigma: float | None) -> Any:
        bounds = [(low, high)] * 6
        return play(600, 3, bounds=bounds, sigma0=sigma).result().x

    closed, open_ = run(0.0, 1.0, None), run(-np.inf, np.inf, 0.3)
    assert np.abs(closed - np.array(GOOD)).max() <= 1.0
    assert np.abs(open_ - np.array(GOOD)).max() <= 1.0
