"""Mirrored pairs: candidates, seeds, steps, and what happens beside them."""

from __future__ import annotations

import math
import zlib
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.measured.population import Origins
from noisewise.methods import Pairs
from noisewise.methods.pairs import signed_ranks


def pairs_of(trials: list[nw.Trial]) -> list[tuple[nw.Trial, nw.Trial]]:
    """Candidates with ids 2 i and 2 i + 1."""
    by_id = {t.id: t for t in trials if t.kind == "candidate"}
    return [(by_id[i], by_id[i + 1]) for i in sorted(by_id) if i % 2 == 0 and i + 1 in by_id]


def told(opt: nw.Optimizer, rng: np.random.Generator, n: int | None = None) -> list[nw.Trial]:
    """Run to the end, telling in random order; all trials."""
    out: list[nw.Trial] = []
    held: list[nw.Trial] = []
    while not opt.done:
        more = opt.ask(n)
        out, held = out + more, held + more
        trial = held.pop(int(rng.integers(len(held))))
        opt.tell(trial.id, support.noisy(trial))
    return out


@pytest.mark.parametrize(
    "options",
    [{}, {"workers": 1}, {"workers": 3}, {"workers": 8}, {"batch": 5}, {"batch": 8}],
)
@pytest.mark.parametrize("budget", [101, 150])
def test_pairs_are_mirrored_and_share_their_seed(options: dict[str, Any], budget: int) -> None:
    opt = support.start(Pairs(), budget=budget, seeds="independent", **options)
    trials = told(opt, np.random.default_rng(1))
    assert sorted(t.id for t in trials) == list(range(budget))
    found = pairs_of(trials)
    assert len(found) >= budget // 2 - 13
    middles = np.array([0.5 * (a.x + b.x) for a, b in found])
    np.testing.assert_allclose(middles[0], 2.0)
    assert all(a.seed == b.seed for a, b in found)
    assert len({a.seed for a, _ in found}) == len(found)
    others = [t.seed for t in trials if t.kind != "candidate"]
    assert len({*others, *(a.seed for a, _ in found)}) == len(others) + len(found)
    if options.get("workers", 1) == 1 and not options.get("batch"):
        generations = [middles[i : i + 4] for i in range(0, 24, 4)]
        assert all(np.allclose(one, one[0]) for one in generations)


@pytest.mark.parametrize("seeds", [None, "common", "auto"])
def test_other_seeds(seeds: str | None) -> None:
    opt = support.start(Pairs(), budget=60, seeds=seeds)
    found = pairs_of(opt.ask())
    assert len(found) == 4
    different = len({a.seed for a, _ in found})
    assert all(a.seed == b.seed for a, b in found)
    assert different == (4 if seeds == "auto" else 1)


class Twin:
    """The method in plain loops, without its race, restarts and short searches."""

    def __init__(self, mean: list[float], sigma: float) -> None:
        self.m, self.sigma, self.v = list(mean), sigma, [0.0] * len(mean)

    def learn(self, X: list[Any], values: list[float]) -> None:
        d = len(self.m)
        deltas = [values[2 * i] - values[2 * i + 1] for i in range(len(values) // 2)]
        g = [0.0] * d
        for i, delta in enumerate(deltas):
            rank = 1 + sum(abs(other) < abs(delta) for other in deltas)
            for j in range(d):
                g[j] -= math.copysign(rank, delta) * (X[2 * i][j] - X[2 * i + 1][j])
        size = math.sqrt(sum(one * one for one in g))
        length = 0.5 * self.sigma * math.sqrt(d)
        self.v = [0.9 * v + length * one / size for v, one in zip(self.v, g, strict=True)]
        speed = math.sqrt(sum(v * v for v in self.v))
        self.v = [v * min(1.0, length / speed) for v in self.v]
        self.m = [m + v for m, v in zip(self.m, self.v, strict=True)]


def test_steps_are_those_of_plain_loops() -> None:
    opt, twin = support.start(Pairs(population=6), d=4, budget=90), Twin([2.0] * 4, 1.0)
    for _ in range(10):
        trials = opt.ask()
        values = [support.noisy(trial) for trial in trials]
        opt.tell([t.id for t in trials], values)
        twin.learn([t.x for t in trials], values)
        np.testing.assert_allclose(opt._run.memory.mean, twin.m, rtol=1e-9)


def test_one_pair_is_a_step_of_fixed_length_towards_its_better_member() -> None:
    opt = support.start(Pairs(population=2), d=3, budget=40)
    good, bad = opt.ask()
    before = opt._run.memory.mean
    opt.tell([good.id, bad.id], [1.0, 7.0])
    step = opt._run.memory.mean - before
    np.testing.assert_allclose(np.linalg.norm(step), 0.5 * math.sqrt(3.0))
    np.testing.assert_allclose(
        step / np.linalg.norm(step), (good.x - bad.x) / np.linalg.norm(good.x - bad.x)
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[1.0, 2.0], [5.0, 0.0]], [1 / 3, -2 / 3]),
        ([[0.0, 1.0], [2.0, 3.0]], [0.5, 0.5]),
        ([[4.0, 4.0], [0.0, 9.0]], [0.0, 1.0]),
        ([[4.0, 4.0], [0.0, 0.0]], [0.0, 0.0]),
        ([[math.inf, 1.0], [0.0, 9.0]], [-2 / 3, 1 / 3]),  # a failed evaluation is the worst
        ([[math.inf, math.inf], [0.0, 9.0]], [0.0, 1.0]),
        ([[math.nan, 1.0], [0.0, 9.0]], [0.0, 1.0]),
    ],
)
def test_signed_ranks(values: list[list[float]], expected: list[float]) -> None:
    np.testing.assert_allclose(signed_ranks(np.array(values)), expected)


def test_the_step_size_grows_while_all_values_are_equal() -> None:
    opt = support.start(Pairs(), budget=200)
    seen = []
    for generation in range(8):
        for trial in opt.ask():
            opt.tell(trial.id, 3.0 if generation < 6 else support.noisy(trial))
        seen.append(opt._run.memory.sigma)
    assert seen == [2.0, 4.0, 8.0, 8.0, 8.0, 8.0, 1.0, 1.0]


def flat(x: Any, level: float) -> float:
    """0, 1 or 2, whatever x; less by ``level`` where the first coordinate is negative."""
    noise = float(np.random.default_rng(zlib.crc32(np.asarray(x).tobytes())).integers(3))
    return noise - level * float(x[0] < 0.0)


def test_a_flat_start_begins_anew_with_wider_steps() -> None:
    method = Pairs(baseline=(0.0, 1.0, 2.0, 1.0, 1.0, 0.0, 2.0, 1.0))
    lost = nw.minimize(
        lambda x: flat(x, 0.0), [6.0] * 2, sigma0=1.0, budget=300, method=method, rng=2
    )
    assert "no better than random points and began anew 6 times, with wider steps" in lost.message
    assert any("never did better" in said for said in lost.warnings)
    found = nw.minimize(
        lambda x: flat(x, 5.0), [6.0] * 2, sigma0=1.0, budget=300, method=method, rng=2
    )
    assert "began anew" in found.message
    assert not found.warnings
    assert found.fun < -4.0
    alone = nw.minimize(
        lambda x: flat(x, 5.0), [6.0] * 2, sigma0=1.0, budget=300, method="pairs", rng=2
    )
    assert "began anew" not in alone.message


def test_a_good_start_is_not_given_up() -> None:
    """Random points are far worse than where the search is, so it goes on there."""
    method = Pairs(baseline=(100.0, 130.0, 90.0, 110.0))
    r = nw.minimize(support.bumpy, [0.5] * 3, sigma0=0.1, budget=300, method=method, rng=0)
    assert "anew" not in r.message
    assert np.abs(r.x).max() < 0.5


def test_the_best_of_several_short_searches_goes_on() -> None:
    opt = support.start(Pairs(searches=3), budget=700, confirm=0, d=2)
    changes, before = [], opt._run.memory.mean
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, support.noisy(trial))
        memory = opt._run.memory
        if len(memory.tried) > len(changes):
            changes.append((memory.learnt, before))
        before = memory.mean
    assert [round(at / 700, 1) for at, _ in changes] == [0.2, 0.3, 0.5]
    assert len(memory.tried) == len(memory.worth) == 3
    assert np.linalg.norm(opt.result().x) < 1.0


def test_pairs_of_an_earlier_search_do_not_move_the_next_one() -> None:
    method = Pairs(population=4)
    memory = method.start(support.setup())
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    population = support.population([0.0, 1.0, 0.0, 5.0], X)
    versions = np.array([0, 0, 3, 3])
    population.origins = Origins(np.zeros((4, 2)), np.ones(4), versions, X)
    memory.since = 3
    rng = np.random.default_rng(0)
    memory, _ = method.learn(memory, population, nw.methods.method.Now(100, 100), rng)
    assert memory.mean[0] == 0.0
    assert memory.mean[1] > 0.0
    assert memory.learnt == 4


@pytest.mark.parametrize("options", [{}, {"workers": 4}])
def test_finalists_race_in_any_dimension(options: dict[str, Any]) -> None:
    opt = support.start(Pairs(), d=40, budget=600, **options)
    kinds = [t.kind for t in told(opt, np.random.default_rng(2))]
    confirmed = kinds.count("confirmation")
    assert 10 <= confirmed <= 30
    assert 50 <= kinds.count("finalist") + confirmed <= 62
    found = opt._run.final.race
    assert len(found.values) == 3


def test_in_batches_there_is_no_race() -> None:
    opt = support.start(Pairs(), d=40, budget=600, batch=10)
    kinds = [t.kind for t in told(opt, np.random.default_rng(2))]
    assert kinds.count("finalist") == 0
    assert kinds.count("confirmation") == 20


def test_more_budget_averages_the_second_half_of_all() -> None:
    opt = support.start(Pairs(), budget=100, confirm=0)
    support.drive(opt)
    assert opt._run.memory.summed > 0
    opt.extend(400)
    opt.ask(1)
    assert (opt._run.memory.summed, opt._run.memory.budget) == (0, 500)


def test_what_a_seed_adds_to_both_does_not_matter() -> None:
    """Chance that is a hundred times as large as what a step changes cancels in a pair."""

    def fun(x: Any, seed: int) -> float:
        return float(x @ x) + 1e3 * np.random.default_rng(seed).normal()

    options: dict[str, Any] = {"sigma0": 0.5, "budget": 600, "method": "pairs", "rng": 3}
    shared = nw.minimize(fun, [4.0] * 5, **options, seeds="independent")
    blind = nw.minimize(lambda x: fun(x, zlib.crc32(x.tobytes())), [4.0] * 5, **options)
    assert np.linalg.norm(shared.x) < 2.5 < np.linalg.norm(blind.x)
