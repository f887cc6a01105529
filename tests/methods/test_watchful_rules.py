"""watchful: its rules one by one, by tables that were worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import support
from noisewise.cma.covariance import FullState
from noisewise.measured.population import Population
from noisewise.measured.samples import Samples
from noisewise.methods import Watchful
from noisewise.methods.method import Now
from noisewise.methods.reevaluations import WatchfulMemory

RNG = np.random.default_rng(0)


def begun(d: int = 2, budget: int = 2000, options: Any = None, **changes: Any) -> WatchfulMemory:
    """The memory at the start, with some fields changed."""
    memory = Watchful(**(options or {})).start(support.setup(d, budget))
    for name, value in changes.items():
        setattr(memory, name, value)
    return memory


def round_of(values: Any, d: int = 2, **more: Any) -> Population:
    """Candidates with these first values, or pairs of values."""
    table = np.atleast_2d(np.asarray(values, dtype=float).T).T.copy()
    X = np.random.default_rng(len(table)).normal(size=(len(table), d))
    return Population(X, X, Samples(table), **({"wave": 1} | more))


def adapted(memory: WatchfulMemory, population: Population) -> WatchfulMemory:
    state: Any = memory.state
    found = Watchful().adapt(memory, population, state, state, None, RNG)  # type: ignore[arg-type]
    found.generation += 1
    return found


# -- how it begins


@pytest.mark.parametrize(
    ("budget", "again", "under_noise"),
    [(40, 1, 1), (149, 1, 2), (150, 1, 3), (399, 1, 6), (400, 2, 6), (10_000, 2, 6)],
)
def test_re_evaluations_of_the_first_generation(budget: int, again: int, under_noise: int) -> None:
    """One, or two from 400 evaluations on; with noise one per fifty, at most six."""
    memory = begun(budget=budget)
    assert (memory.reevaluations, memory.first) == (again, under_noise)


@pytest.mark.parametrize(
    ("d", "budget", "covariance", "full"),
    [
        (2, 200, "auto", True),  # a hundred evaluations per coordinate
        (2, 199, "auto", False),
        (200, 20_000, "auto", True),
        (201, 10**6, "auto", False),
        (2, 50, "full", True),
        (2, 5000, "diagonal", False),
    ],
)
def test_when_a_full_covariance_pays(d: int, budget: int, covariance: str, full: bool) -> None:
    memory = begun(d, budget, {"covariance": covariance})
    assert isinstance(memory.state.covariance, FullState) == full
    assert (
        isinstance(Watchful().strategy(memory).start(np.zeros(d), 1.0).covariance, FullState)
        == full
    )


@pytest.mark.parametrize(
    ("d", "budget", "largest"),
    [
        # 3 (d + 5) (B / 200 d)^(1/4)
        (4, 2000, 27.0 * 2.5**0.25),
        (10, 2000, 45.0),
        (10, 32_000, 90.0),
        # What leaves twelve generations, 4 sqrt(d), or 75
        (4, 200, 200.0 / 12.0),
        (9, 120, 10.01),  # 120 / 12 is the population that it begins with
        (100, 2000, 50.0),
        (400, 3000, 40.0),
    ],
)
def test_the_population_under_nothing_but_noise(d: int, budget: int, largest: float) -> None:
    assert begun(d, budget).largest == pytest.approx(largest)
    assert begun(d, budget, {"grow": False}).largest == pytest.approx(
        1.001 * begun(d, budget).smallest
    )


def test_more_budget_moves_the_largest_population_and_the_kept_points() -> None:
    method, memory = Watchful(), begun(4, 200, wanted=16.0)
    assert isinstance(memory.state.covariance, type(begun(4, 200).state.covariance))
    resumed = method.resume(memory, support.setup(4, 2000))
    assert (resumed.budget, resumed.smallest, resumed.wanted) == (2000, 8, 16.0)
    assert resumed.largest == pytest.approx(27.0 * 2.5**0.25)
    assert isinstance(resumed.state.covariance, FullState)  # 500 evaluations per coordinate
    assert method.resume(begun(10, 32_000, wanted=80.0), support.setup(10, 2000)).wanted == 45.0


@pytest.mark.parametrize("again", [0, 3, 9])
def test_re_evaluations_are_part_of_what_a_candidate_costs(again: int) -> None:
    memory = begun(population=10, reevaluations=again)
    found = Watchful().size(memory, Now(1000, 2000))
    assert (found.candidates, found.cost) == (10, pytest.approx(1.0 + again / 10))


# -- who is evaluated again


def test_everyone_once_and_a_few_once_more() -> None:
    found = Watchful().request(begun(reevaluations=3), round_of([np.nan] * 10, wave=0), RNG)
    assert found[:10].tolist() == list(range(10))
    assert len(set(found[10:].tolist())) == len(found[10:]) == 3
    one = begun(reevaluations=1)
    assert len(Watchful().request(one, round_of([np.nan] * 10, wave=0), RNG)) == 11
    # Under common seeds, three are compared with each other.
    common = round_of([np.nan] * 10, wave=0, common=True)
    assert len(Watchful().request(one, common, RNG)) == 13
    none = begun(reevaluations=0)
    assert Watchful().request(none, common, RNG).tolist() == list(range(10))


def pairs(second: dict[int, float], k: int = 10) -> list[list[float]]:
    """Values 0, 1, ..., k - 1, and second values of some."""
    return [[float(i), second.get(i, np.nan)] for i in range(k)]


#: q = 3 k moved / (k^2 - 1), so that one place of ten candidates is 0.30 and two are 0.61.
@pytest.mark.parametrize(
    ("generation", "wave", "noise", "second", "more"),
    [
        # In the first generation, six at once if there is noise.
        (0, 1, 0.0, {0: 0.0, 5: 5.0}, 0),
        (0, 1, 0.0, {0: 0.1, 5: 5.0}, 4),
        (0, 2, 0.0, {0: 0.1, 5: 5.0}, 0),
        # Later three for each that surprises, up to half of the population.
        (3, 1, 0.0, {0: 0.5}, 0),  # it stays where it was
        (3, 1, 0.0, {0: 1.5}, 0),  # one place
        (3, 1, 0.0, {0: 2.5}, 3),  # two places
        (3, 1, 0.0, {0: 2.5, 9: 2.5}, 3),
        (3, 2, 0.0, {0: 2.5, 1: 1.1, 2: 2.1, 3: 3.1}, 0),
        (3, 1, 0.49, {0: 2.5}, 3),
        (3, 1, 0.5, {0: 2.5}, 0),  # much noise is expected
        (3, 1, 0.0, {0: 0.0}, 0),
    ],
)
def test_surprises_ask_for_more(
    generation: int, wave: int, noise: float, second: dict[int, float], more: int
) -> None:
    memory = begun(generation=generation, noise=noise, reevaluations=1, first=6)
    population = round_of(pairs(second), wave=wave)
    found = Watchful().request(memory, population, RNG).tolist()
    assert len(found) == more
    assert len(set(found)) == len(found)
    assert not set(found) & set(second)  # nobody a third time


@pytest.mark.parametrize(("value", "more"), [(5.5, 0), (6.5, 3)])
def test_a_surprise_is_a_move_by_two_fifths(value: float, more: int) -> None:
    """Of forty candidates five places are q = 0.375, six are 0.450."""
    memory = begun(generation=3, reevaluations=1)
    population = round_of(pairs({0: value}, k=40))
    assert len(Watchful().request(memory, population, RNG)) == more


# -- what it measures


@pytest.mark.parametrize(
    ("values", "deterministic"),
    [
        (pairs({0: 0.0, 4: 4.0}), True),
        (pairs({0: 0.0, 4: 4.5}), False),
        (pairs({0: np.inf}), True),  # it failed: nothing is known
        ([1.0, 2.0, 3.0], True),
    ],
)
def test_one_difference_is_noise(values: Any, deterministic: bool) -> None:
    assert adapted(begun(population=10), round_of(values)).deterministic == deterministic


def test_the_newest_ten_moves_are_averaged() -> None:
    """Ten count alike; then each new one counts a tenth."""
    memory = begun(population=10)
    for n in range(1, 11):
        adapted(memory, round_of(pairs({0: 1.5 if n % 2 else 0.5})))
        q = 30.0 / 99.0 * math.ceil(n / 2) / n
        assert (memory.seen, memory.q) == (n, pytest.approx(q))
    for _ in range(3):
        q = 0.9 * memory.q + 0.1 * 30.0 / 99.0 * 2.0
        adapted(memory, round_of(pairs({0: 2.5})))
        assert (memory.seen, memory.q) == (pytest.approx(10.0), pytest.approx(q))


def test_the_chance_that_different_points_have_equal_values() -> None:
    """Of ten values, six are 0 and four are 1: 42 of 90 pairs are equal."""
    values = [[float(i >= 6), np.nan] for i in range(10)]
    values[0][1], values[7][1] = 0.0, 1.0
    memory = adapted(begun(population=10), round_of(values))
    assert memory.deterministic
    assert memory.luck == pytest.approx((42.0 / 90.0) ** 2)
    assert memory.reevaluations == 1  # that may still be luck: one in each generation
    assert "so do different points" in Watchful().explain(memory).message
    adapted(memory, round_of(values))
    assert memory.luck == pytest.approx((42.0 / 90.0) ** 4)
    assert memory.luck < 0.05
    assert memory.reevaluations == 0
    assert Watchful().explain(memory).deterministic


# -- the population


def after(q: float, **changes: Any) -> WatchfulMemory:
    """After a round in which the mean move is q; populations from 10 to 45."""
    memory = begun(10, 2000, **({"moved": 1e6 * q, "seen": 1e6, "deterministic": False} | changes))
    return adapted(memory, round_of(np.arange(10.0), 10))


@pytest.mark.parametrize(
    ("q", "nu", "population"),
    [
        (0.0, 0.0, 10),
        (0.4, 0.0, 10),
        (0.5, 0.25, 15),  # 10 * 4.5^(1/4) = 14.6
        (0.6, 0.5, 21),  # 21.2
        (0.7, 0.75, 31),  # 30.9
        (0.8, 1.0, 45),
        (0.9, 1.0, 45),
    ],
)
def test_the_population_follows_the_noise(q: float, nu: float, population: int) -> None:
    memory = after(q)
    assert memory.noise == pytest.approx(nu)
    assert memory.population == population
    assert memory.wanted == pytest.approx(10.0 * 4.5**nu)
    assert memory.peak == population


@pytest.mark.parametrize(
    ("q", "wanted", "then"),
    [
        (0.8, 20.0, 26.0),  # it grows by at most 1.3
        (0.8, 40.0, 45.0),
        (0.0, 22.0, 20.0),  # and shrinks by at most a tenth
        (0.0, 10.5, 10.0),
    ],
)
def test_after_the_first_generation_the_population_changes_step_by_step(
    q: float, wanted: float, then: float
) -> None:
    memory = after(q, generation=1, wanted=wanted)
    assert memory.wanted == pytest.approx(then)
    assert memory.noise == pytest.approx(math.log(then / 10.0) / math.log(4.5))


# -- how many are evaluated again next time


def test_without_noise_one_in_two_hundred_evaluations() -> None:
    memory = begun(population=10, luck=0.01)
    again = []
    for _ in range(50):
        adapted(memory, round_of(pairs({0: 0.0} if not again or again[-1] else {})))
        again.append(memory.reevaluations)
    assert [i for i, n in enumerate(again) if n] == [19, 39]


@pytest.mark.parametrize(
    ("q", "share"),
    [(0.0, 0.02), (0.6, 0.025 * 21 / 10), (0.8, 0.03 * 45 / 10)],
)
def test_with_noise_two_to_three_in_a_hundred(q: float, share: float) -> None:
    """They are saved up until there is a whole one."""
    memory = after(q)
    assert memory.reevaluations + memory.credit == pytest.approx(10.0 * share)
    assert 0.0 <= memory.credit < 1.0


def test_under_common_seeds_they_are_saved_up_until_there_are_three() -> None:
    memory = begun(10, 2000, moved=0.0, seen=1e6, deterministic=False, credit=2.5)
    adapted(memory, round_of(np.arange(10.0), 10, common=True))
    assert (memory.reevaluations, memory.credit) == (0, pytest.approx(2.7))
    memory.credit = 2.9
    adapted(memory, round_of(np.arange(10.0), 10, common=True))
    assert (memory.reevaluations, memory.credit) == (3, pytest.approx(0.1))


def test_as_long_as_nothing_is_known_the_number_stays() -> None:
    memory = begun(reevaluations=2)
    assert adapted(memory, round_of([1.0, 2.0, 3.0, 4.0])).reevaluations == 2


# -- weights


def weighed(covariance: str, **changes: Any) -> Any:
    method = Watchful(covariance=covariance)
    memory = begun(2, 2000, {"covariance": covariance}, **changes)
    return method.weigh(memory, round_of([3.0, 1.0, 2.0, 4.0]), RNG)[0]


#: Order 1, 2, 0, 3; log weights of four, as in the doctest of `Log`.
RANK = np.array([2, 0, 1, 3])
LOG = np.array([math.log(2.5), math.log(1.25), 0.0, 0.0]) / math.log(2.5 * 1.25)
_SCORES = -stats.norm.ppf((np.arange(4) + 0.625) / 4.25)
T = _SCORES * (LOG @ _SCORES) / (_SCORES @ _SCORES)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_without_noise_the_weights_are_those_of_cma_es(covariance: str) -> None:
    found = weighed(covariance)
    np.testing.assert_allclose(found.covariance, LOG[RANK], atol=1e-12)
    assert (found.mean, found.centred, found.shape, found.still) == (None, None, None, False)


@pytest.mark.parametrize("nu", [0.2, 1.0])
def test_with_noise_the_worse_half_counts_too(nu: float) -> None:
    """(1 - b)(w - 1/k) + b t for the mean, b = nu / 2; (1 - nu) w + nu t for variances, which a
    full covariance does not need."""
    noise = {"deterministic": False, "noise": nu, "moved": 0.5, "seen": 1.0}
    for covariance in ("full", "diagonal"):
        found = weighed(covariance, **noise)
        expected = (1.0 - 0.5 * nu) * (LOG - 0.25) + 0.5 * nu * T
        np.testing.assert_allclose(found.mean, expected[RANK], atol=1e-12)
        np.testing.assert_allclose(found.covariance, LOG[RANK], atol=1e-12)
        assert found.centred == pytest.approx(2.0 * math.cos(math.pi / 6.0) - 1.0)
        if covariance == "full":
            assert found.shape is None
        else:
            expected = (1.0 - nu) * LOG + nu * T
            np.testing.assert_allclose(found.shape, expected[RANK], atol=1e-12)


def test_where_a_candidate_failed_its_rank_says_nothing_about_noise() -> None:
    memory = begun(2, 2000, deterministic=False, noise=0.7, moved=0.5, seen=1.0)
    found, _ = Watchful().weigh(memory, round_of([3.0, np.inf, 2.0, 4.0]), RNG)
    assert found.mean is None
    assert found.covariance[1] <= 0.0
    assert found.covariance[2] == found.covariance.max()


def test_a_search_that_went_back_follows_values() -> None:
    """As long as t, and zero on average."""
    memory = begun(2, 2000, deterministic=False, noise=1.0, moved=0.5, seen=1.0)
    memory.averages.times = 1
    found, _ = Watchful().weigh(memory, round_of([3.0, 1.0, 2.0, 10.0]), RNG)
    assert found.still
    expected = 4.0 - np.array([3.0, 1.0, 2.0, 10.0])
    expected *= np.linalg.norm(T) / np.linalg.norm(expected)
    np.testing.assert_allclose(found.mean, expected)


# -- going back


@pytest.mark.parametrize(("times", "factor"), [(1, 1.0), (2, 0.5), (3, 0.5), (4, 0.5), (5, 1.0)])
def test_the_step_is_halved_from_the_second_to_the_fourth_time(
    times: int, factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = begun(2, 2000, deterministic=False, seen=1.0, late_weight=9.0)
    best = memory.state
    memory.best = memory.best.insert(np.ones((1, 2)), np.zeros(1))
    memory.averages.times, memory.averages.state = times, best
    monkeypatch.setattr(type(memory.averages), "astray", lambda self, values, state, budget: True)
    adapted(memory, round_of([1.0, 2.0, 3.0, 4.0]))
    assert memory.state.sigma == factor * best.sigma
    assert memory.averages.state is memory.state
    assert memory.state.unfilled == 1.0
    assert not memory.state.p_sigma.any()
    # Lucky values from where it went astray are forgotten, this round's too or not.
    assert not (memory.best.values == 0.0).any()


@pytest.mark.parametrize(("deterministic", "common"), [(True, False), (False, True)])
def test_without_noise_or_with_common_seeds_it_never_goes_back(
    deterministic: bool, common: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = begun(2, 2000, deterministic=deterministic)
    monkeypatch.setattr(type(memory.averages), "astray", lambda *given: 1 / 0)
    adapted(memory, round_of([1.0, 2.0, 3.0, 4.0], common=common))
    assert (len(memory.best.values) > 0) != common  # offsets of other seeds


# -- the answer


def test_means_of_the_last_twentieth_are_averaged() -> None:
    """Weighted by the evaluations behind them; until then the newest counts."""
    memory = begun(1, 2000, deterministic=False, noise=0.5, moved=0.6, seen=1e6)
    for began, k, mean in ((0.5, 4, 7.0), (0.949, 4, 5.0), (0.951, 4, 1.0), (0.98, 12, 2.0)):
        memory.state.mean[:] = mean
        adapted(memory, round_of(np.arange(float(k)), 1, began=began))
        expected = {1.0: 1.0, 2.0: (4.0 * 1.0 + 12.0 * 2.0) / 16.0}.get(mean, mean)
        np.testing.assert_allclose(memory.late_sum / memory.late_weight, expected)
    assert Watchful().finalists(memory).shape[1] == 1


def test_without_noise_the_mean_is_the_answer() -> None:
    memory = begun(2, 2000, late_sum=np.full(2, 9.0), late_weight=1.0, late_noise=True)
    memory.deterministic = True
    memory.late_noise = False
    np.testing.assert_array_equal(Watchful().finalists(memory), [memory.state.mean])


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, ""),
        ({"generation": 3}, "no candidate could be evaluated twice: plain CMA-ES"),
        ({"seen": 1.0, "luck": 0.04}, "re-evaluations agreed exactly: plain CMA-ES"),
        ({"seen": 1.0, "luck": 0.06}, "re-evaluations agreed, but so do different points"),
        ({"seen": 1.0, "deterministic": False}, "population 6 throughout"),
        (
            {"seen": 1.0, "deterministic": False, "peak": 20, "wanted": 11.6},
            "population 6 -> 12, at most 20",
        ),
    ],
)
def test_what_it_says(changes: dict[str, Any], said: str) -> None:
    memory = begun(**changes)
    found = Watchful().explain(memory)
    assert found.message.startswith(said)
    assert bool(found.message) == bool(said)
    assert bool(found.deterministic) == ("exactly" in said)


@pytest.mark.parametrize(("times", "said"), [(1, "went back once and"), (3, "back 3 times and")])
def test_it_says_that_it_went_back(times: int, said: str) -> None:
    memory = begun(seen=1.0, deterministic=False)
    memory.averages.times = times
    assert said in Watchful().explain(memory).message
