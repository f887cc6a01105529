"""The last phase by tables of inputs and outputs that were worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from noisewise.measured import intervals
from noisewise.run.reserve import Reserve, in_batches, pace, reserve, reserve_for, reserve_of_list
from noisewise.select.race import difference, request, settle, start

# -- the reserve


@pytest.mark.parametrize(
    ("budget", "dimension", "kept"),
    [
        (4, 2, (0, 0)),
        (9, 1, (0, 0)),  # fewer than ten per dimension: the search needs all of them
        (19, 2, (0, 0)),
        (99, 10, (0, 0)),
        (11, 1, (0, 2)),  # a quarter
        (15, 1, (0, 3)),
        (16, 1, (0, 4)),
        (20, 2, (0, 4)),
        (60, 11, (0, 6)),  # more than ten dimensions
        (39, 2, (0, 4)),  # a tenth, but at least four
        (60, 2, (0, 6)),
        (80, 2, (0, 8)),
        (95, 2, (0, 8)),  # 4 + 8 would be more than an eighth
        (96, 2, (4, 8)),
        (400, 2, (8, 12)),  # 0.4 and 0.6 of the root
        (400, 9, (8, 12)),
        (400, 10, (0, 12)),
        (10_000, 2, (40, 60)),
        (1_000_000, 20, (0, 600)),
    ],
)
def test_what_is_kept(budget: int, dimension: int, kept: tuple[int, int]) -> None:
    assert reserve(budget, dimension) == kept


@pytest.mark.parametrize(
    ("progress", "kept"),
    [
        (0.0, (40, 60)),
        (0.0002, (40, 60)),  # 100 evaluations cost 0.02 decades
        (0.0006, (20, 30)),  # 0.06 decades: half of them, to lose 0.03
        (0.003, (4, 8)),  # a tenth would be 4 and 6: at least eight measure the answer
        (1.0, (4, 8)),
    ],
)
def test_a_search_that_makes_progress_keeps_less(progress: float, kept: tuple[int, int]) -> None:
    assert reserve(10_000, 2, pace=progress) == kept


@pytest.mark.parametrize(
    ("budget", "kept"),
    [(1, 0), (2, 1), (29, 1), (30, 2), (59, 3), (60, 4), (74, 4), (75, 5), (1000, 5)],
)
def test_without_noise_a_few_evaluations_measure_the_answer(budget: int, kept: int) -> None:
    """One part in 15, at least one and at most five: equal values need no interval."""
    assert reserve(budget, 2, deterministic=True) == (0, kept)


@pytest.mark.parametrize(
    ("budget", "options", "kept"),
    [
        (100, 10, 20),  # a fifth
        (1000, 10, 200),
        (30, 10, 6),  # three for each option are enough
        (29, 10, 2),  # fewer: a tenth
        (60, 20, 12),
        (59, 20, 5),
        (100, 9, 10),  # nine options: a tenth
        (20, 2, 2),
        (19, 2, 0),  # one evaluation has no interval
    ],
)
def test_what_a_list_keeps(budget: int, options: int, kept: int) -> None:
    assert reserve_of_list(budget, options) == (0, kept)


def test_a_method_without_a_race_keeps_nothing_for_it() -> None:
    assert reserve(400, 2, races=False) == (0, 12)


@pytest.mark.parametrize(("confirm", "kept"), [(0, 0), (7, 7), (20.0, 20)])
def test_the_user_may_say_how_many(confirm: Any, kept: int) -> None:
    assert reserve_for(confirm, 100, 2) == (0, kept)
    assert reserve_for("auto", 400, 2) == reserve(400, 2)


@pytest.mark.parametrize(
    ("wanted", "budget", "used", "batch", "adaptive", "kept"),
    [
        (12, 400, 0, 8, True, 16),  # whole batches
        (16, 400, 0, 8, True, 16),
        (12, 404, 0, 8, True, 12),  # four are left over, one batch more is enough
        (3, 404, 0, 8, True, 4),
        (12, 404, 4, 8, True, 16),  # what is left after those used counts
        (7, 96, 0, 96, False, 0),  # nothing would be left to search with
        (7, 96, 48, 48, False, 48),
        (10, 96, 0, 48, True, 0),  # half of the budget is too much, and a batch less is none
        (10, 96, 0, 48, False, 48),  # unless the user wants it
        (40, 90, 0, 20, True, 30),  # 10 are left over; 50 of 90 are too many, 30 are a third
        (20, 110, 0, 20, True, 30),
        (11, 109, 0, 20, True, 29),
        (11, 85, 0, 20, True, 25),
        (11, 65, 0, 20, True, 5),  # 25 of 65 are more than a third
        (1, 400, 0, 8, True, 0),
        (1, 400, 0, 8, False, 8),
    ],
)
def test_what_is_kept_in_batches(
    wanted: int, budget: int, used: int, batch: int, adaptive: bool, kept: int
) -> None:
    assert in_batches(Reserve(0, wanted), budget, used, batch, adaptive) == kept


# -- the pace


@pytest.mark.parametrize(
    ("evaluations", "log10_sigma", "expected"),
    [
        # Over the last third (from 60 to 90) sigma falls by 0.3 decades: regret by 0.6.
        ([30, 60, 90], [0.0, 0.0, -0.3], 0.6 / 30),
        # From 70, the first round at or after two thirds of 100.
        ([10, 40, 70, 100], [9.0, 8.0, -1.0, -2.0], 2.0 / 30),
        # The last round alone spans more than a third.
        ([10, 20, 100], [0.0, -0.5, -1.0], 1.0 / 80),
        ([30, 60, 90], [0.0, 0.0, 0.0], 0.0),
        ([30, 60, 90], [0.0, 0.0, 0.3], 0.0),
        ([60, 90], [0.0, -0.3], 0.0),  # too few rounds
        ([30, 60, 60], [0.0, 0.0, -0.3], 0.0),  # nothing was spent
    ],
)
def test_decades_of_regret_per_evaluation(
    evaluations: list[float], log10_sigma: list[float], expected: float
) -> None:
    found = pace(np.array(evaluations, float), 10.0 ** np.array(log10_sigma, float))
    assert found == pytest.approx(expected)


# -- the race


@pytest.mark.parametrize(
    ("finalists", "evaluations", "alive", "each"),
    [
        (1, 40, 1, 0),
        (5, 3, 1, 0),
        (2, 4, 2, 2),
        (2, 7, 2, 3),
        (2, 8, 2, 2),  # two waves
        (5, 40, 5, 4),
        (5, 12, 3, 2),  # four for each of three
        (5, 19, 4, 2),
        (5, 20, 5, 2),
    ],
)
def test_how_a_race_begins(finalists: int, evaluations: int, alive: int, each: int) -> None:
    race = start(finalists, evaluations)
    assert (len(race.alive), race.left) == (alive, evaluations)
    assert request(race).tolist() == [i for i in range(alive) for _ in range(each)]


def test_the_difference_of_two_finalists_has_a_pooled_error() -> None:
    """Student's test with pooled variance; unequal numbers of values tell the terms apart."""
    values = np.array([[1.0, 3.0, 5.0, 7.0], [2.0, 2.5, np.nan, np.nan]])
    test = stats.ttest_ind(values[0], values[1, :2])
    se, lead = difference(values, None, 1)
    assert lead == pytest.approx(4.0 - 2.25)
    assert lead / se == pytest.approx(test.statistic)
    # By hand: squares 20 and 0.125 with 3 + 1 degrees, times 1/4 + 1/2.
    assert se == pytest.approx(math.sqrt(20.125 / 4.0 * 0.75))


def test_the_spread_of_all_finalists_counts() -> None:
    values = np.array([[1.0, 3.0], [2.0, 2.0], [0.0, 8.0]])
    se, _ = difference(values, None, 1)
    assert se == pytest.approx(math.sqrt((2.0 + 0.0 + 32.0) / 3.0 * (0.5 + 0.5)))


def test_the_error_of_a_median_is_that_of_a_mean_times_the_root_of_half_pi() -> None:
    """The asymptotic variance 1 / (4 n f(0)^2), with the density f of the normal law."""
    values = np.array([[1.0, 3.0, 8.0], [2.0, 6.0, 7.0]])
    se, lead = difference(values, None, 1, median=True)
    assert lead == 3.0 - 6.0
    times = 1.0 / (2.0 * float(stats.norm.pdf(0.0)))
    assert se == pytest.approx(times * difference(values, None, 1)[0], rel=1e-4)


@pytest.mark.parametrize(
    "values",
    [
        [[1.0, np.inf], [2.0, np.inf]],  # one value each says nothing about the spread
        [[np.inf, np.inf], [2.0, 3.0]],
        [[2.0, 3.0], [np.inf, np.inf]],
    ],
)
def test_a_difference_that_nothing_is_known_of(values: list[list[float]]) -> None:
    assert all(map(math.isnan, difference(np.array(values), None, 1)))


def test_known_errors_of_both_finalists_add_up() -> None:
    values = np.array([[1.0, 2.0], [4.0, np.inf]])
    errors = np.array([[0.3, 0.3], [0.4, np.nan]])
    se, lead = difference(values, errors, 1)
    first = intervals.known(values[0], errors[0])
    assert se == pytest.approx(math.hypot(first.se, 0.4))
    assert lead == pytest.approx(1.5 - 4.0)
    errors[0, 1] = np.nan  # not known of one: the spread counts
    assert difference(values, errors, 1)[0] != pytest.approx(se)


@pytest.mark.parametrize(("better", "winner"), [(1.4, 0), (1.6, 1)])
def test_a_challenger_must_be_better_by_one_and_a_half_errors(better: float, winner: int) -> None:
    """Two values each with squares of 2 in both: pooled variance 2, error sqrt(2)."""
    rival = -better * math.sqrt(2.0)
    race = settle(start(2, 4), np.array([-1.0, 1.0, rival - 1.0, rival + 1.0]))
    assert race.winner == winner
    assert race.margin == pytest.approx((math.sqrt(2.0), better * math.sqrt(2.0)))


def test_fewer_failures_win_whatever_the_values() -> None:
    race = settle(start(2, 4), np.array([-9.0, np.inf, 5.0, 6.0]))
    assert race.winner == 1
    assert settle(start(2, 4), np.array([5.0, 6.0, -9.0, np.nan])).winner == 0


@pytest.mark.parametrize(
    ("first_wave", "alive", "each"),
    [
        ([0.0, 0.0, 5.0, 5.0, 7.0, 7.0], [0, 1], 0),  # the preferred one leads: over
        ([5.0, 5.0, 7.0, 7.0, 1.0, 1.0], [0, 2], 3),  # what is left for the two, each half
    ],
)
def test_the_second_wave(first_wave: list[float], alive: list[int], each: int) -> None:
    race = settle(start(3, 12), np.array(first_wave))
    assert (race.alive, race.left) == (alive, 6)
    assert request(race).tolist() == [i for i in alive for _ in range(each)]
