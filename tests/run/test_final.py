"""The reserve, the race and the finalists."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import support
from noisewise._data import decode, encode
from noisewise.measured.evidence import Evidence
from noisewise.methods import CMAES
from noisewise.methods.kept import Best, finalists
from noisewise.run.reserve import pace, reserve
from noisewise.select.race import Race, request, settle, start


def play(race: Race, truth: list[float], noise: float, rng: np.random.Generator) -> Race:
    t = np.array(truth)
    while len(ids := request(race)):
        race = settle(race, t[ids] + noise * rng.normal(size=len(ids)))
    return race


@given(st.integers(1, 10**6), st.integers(1, 1000))
def test_the_reserve_leaves_three_quarters_for_the_search(budget: int, d: int) -> None:
    kept = reserve(budget, d)
    assert 0 <= sum(kept) <= budget // 4
    assert kept.confirm != 1
    few = reserve(budget, d, deterministic=True)
    assert few.race == 0
    assert min(1, budget - 1) <= few.confirm <= min(5, max(1, budget // 15))


@given(st.integers(1, 10**5), st.integers(1, 1000))
def test_a_larger_budget_never_means_fewer_confirmations(budget: int, d: int) -> None:
    assert reserve(budget + 1, d).confirm >= reserve(budget, d).confirm


@given(st.integers(1, 10**6), st.integers(1, 1000), st.floats(0.0, 10.0))
def test_a_search_that_still_makes_progress_keeps_less(budget: int, d: int, speed: float) -> None:
    slow, fast = reserve(budget, d), reserve(budget, d, pace=speed)
    assert fast.race <= slow.race
    assert min(8, slow.confirm) <= fast.confirm <= slow.confirm


def test_the_pace_is_that_of_the_squared_step_size() -> None:
    evaluations = np.arange(10.0, 1000.0, 10.0)
    assert pace(evaluations, 10.0 ** (-0.01 * evaluations)) == pytest.approx(0.02)
    assert pace(evaluations, np.ones(len(evaluations))) == 0.0
    assert pace(evaluations, np.exp(0.1 * evaluations)) == 0.0
    assert pace(evaluations[:2], np.array([1.0, 0.1])) == 0.0
    stopped = np.where(evaluations < 300.0, 10.0 ** (-0.01 * evaluations), 1e-3)
    assert pace(evaluations, stopped) == 0.0


def test_from_ten_parameters_on_there_is_no_race() -> None:
    assert reserve(2000, 9).race > 0
    assert reserve(2000, 10).race == 0


@given(st.integers(1, 6), st.integers(0, 200), st.integers(0, 2**32 - 1))
def test_a_race_ends_within_its_evaluations(k: int, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    race = play(start(k, n), rng.normal(size=k).tolist(), 1.0, rng)
    assert 0 <= race.winner < k
    assert race.left == n - int((~np.isnan(race.values)).sum()) >= 0
    assert decode(encode(race)).winner == race.winner


def test_a_clearly_better_challenger_wins_and_a_tie_does_not() -> None:
    rng = np.random.default_rng(0)
    better = [play(start(3, 12), [1.0, 0.0, 1.0], 0.1, rng).winner for _ in range(50)]
    assert better == [1] * 50
    ties = [play(start(3, 12), [0.0, 0.0, 0.0], 1.0, rng).winner for _ in range(300)]
    assert np.mean(np.array(ties) == 0) > 0.7


def test_the_race_stops_where_the_preferred_one_is_ahead() -> None:
    race = play(start(2, 20), [0.0, 5.0], 0.1, np.random.default_rng(1))
    assert (race.winner, race.left) == (0, 10)


def test_exact_values_decide_at_once() -> None:
    race = play(start(2, 4), [1.0, 0.5], 0.0, np.random.default_rng(0))
    assert race.winner == 1
    assert race.margin == (0.0, 0.5)
    assert play(start(2, 4), [0.5, 0.5], 0.0, np.random.default_rng(0)).winner == 0


def test_a_finalist_that_fails_loses() -> None:
    assert settle(start(2, 4), np.array([1.0, math.inf, 5.0, 6.0])).winner == 1
    assert settle(start(2, 4), np.array([5.0, 6.0, 1.0, math.nan])).winner == 0
    assert settle(start(2, 4), np.full(4, math.inf)).winner == 0


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=6, max_size=6),
    st.floats(-1e3, 1e3),
    st.floats(0.1, 10.0),
)
def test_the_winner_does_not_depend_on_units(y: list[float], by: float, to: float) -> None:
    values = np.round(np.array(y), 2)
    se, lead = settle(start(2, 6), values).margin
    if abs(lead - 1.5 * se) > 1e-6 and lead > 1e-6:
        plain = settle(start(2, 6), values)
        assert settle(start(2, 6), to * values + by).winner == plain.winner


def test_a_race_needs_two_finalists_and_four_evaluations() -> None:
    for race in (start(1, 20), start(3, 3), start(3, 0)):
        assert len(request(race)) == 0
        assert race.winner == 0


@given(st.integers(10, 400), st.integers(1, 4), st.integers(0, 2**32 - 1))
def test_the_best_points_are_those_of_a_sorted_list(n: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    y[rng.random(n) < 0.1] = rng.choice([np.inf, np.nan])
    kept, i = Best.empty(n, d), 0
    while i < n:
        k = int(rng.integers(1, 20))
        kept, i = kept.insert(X[i : i + k], y[i : i + k]), i + k
    order = np.argsort(np.where(np.isnan(y), np.inf, y), kind="stable")
    order = order[np.isfinite(y[order])][: kept.capacity]
    assert kept.seen == n
    np.testing.assert_array_equal(kept.X, X[order])
    tenth = kept.tenth()
    if tenth is not None:
        np.testing.assert_allclose(tenth, X[order][: max(5, n // 10)].mean(axis=0))


@pytest.mark.parametrize(
    ("budget", "kept"), [(10, 5), (59, 5), (60, 6), (1990, 199), (2010, 200), (100_000, 200)]
)
def test_a_tenth_of_the_budget_is_kept_up_to_two_hundred_points(budget: int, kept: int) -> None:
    assert Best.empty(budget, 3).capacity == kept
    best = Best.empty(budget, 1).insert(np.ones((300, 1)), np.arange(300.0))
    assert len(best.values) == len(best.resized(budget).values) == kept


@pytest.mark.parametrize(
    ("d", "budget", "weight"),
    [
        (2, 100, 1.0),  # short: up to fifty evaluations per parameter
        (2, 101, 0.5),
        (5, 250, 1.0),
        (6, 200, 0.5),  # and up to five parameters
        (10, 200, 0.5),
    ],
)
def test_the_preferred_point(d: int, budget: int, weight: float) -> None:
    X = np.random.default_rng(d).normal(size=(50, d))
    best, mean = Best.empty(budget, d).insert(X, X[:, 0]), np.full(d, 9.0)
    found, tenth = finalists(mean, np.full(d, 10.0), best, budget), best.tenth()
    assert tenth is not None
    np.testing.assert_allclose(found[0], weight * tenth + (1.0 - weight) * mean)
    np.testing.assert_array_equal(found[1], X[X[:, 0].argmin()])
    np.testing.assert_array_equal(found[2], mean)


def test_without_a_success_the_mean_is_the_only_finalist() -> None:
    best = Best.empty(100, 2).insert(np.ones((3, 2)), np.full(3, np.inf))
    assert finalists(np.zeros(2), np.ones(2), best, 100).tolist() == [[0.0, 0.0]]


def test_a_tenth_outside_the_search_distribution_is_not_used() -> None:
    best = Best.empty(100, 2).insert(np.ones((9, 2)), np.arange(9.0))
    for deviation in (0.1, 0.0):
        found = finalists(np.zeros(2), np.full(2, deviation), best, 100)
        assert found.tolist() == [[0.0, 0.0], [1.0, 1.0]]
    # A deviation of 0.66 puts it 1.52 away, one of 0.67 1.49: up to 1.5 it is inside.
    assert len(finalists(np.zeros(2), np.full(2, 0.66), best, 100)) == 2
    assert len(finalists(np.zeros(2), np.full(2, 0.67), best, 100)) == 3


def test_of_many_rounds_every_64th_is_looked_at_for_the_shape_of_the_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After the first 64: later ones say little new, and looking takes as long as a round."""
    looked: list[int] = []
    monkeypatch.setattr(Evidence, "saw", lambda self, values: (looked.append(len(values)), self)[1])
    opt = support.start(CMAES(population=4), budget=1100)
    rounds = 0
    while rounds < 200:
        for trial in opt.ask():
            opt.tell(trial.id, support.noisy(trial))
        rounds = opt.generation
        assert len(looked) == min(rounds, 64) + max(0, (rounds - 1) // 64)
