"""Proposing with a Gaussian process: pure functions on a memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise._data import decode, encode
from noisewise._types import FloatArray
from noisewise.gp import answer, search
from noisewise.gp.proposals import knowledge
from noisewise.gp.search import Memory

NONE = np.zeros((0, 2))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def box(d: int = 2) -> Memory:
    return search.start(np.full(d, -5.0), np.full(d, 5.0), np.zeros(d), 3.0)


def sphere(memory: Memory, U: FloatArray, noise: float = 0.0, seed: int = 5) -> FloatArray:
    """Sum of squares about 1 in the caller's coordinates."""
    X = memory.frame.outer(U)
    return np.asarray(np.sum((X - 1.0) ** 2, axis=1) + noise * rng(seed).standard_normal(len(U)))


def run(memory: Memory, n: int, noise: float = 0.0, seed: int = 1) -> Memory:
    generator = rng(seed)
    for i in range(n):
        U = search.propose(memory, 1, np.zeros((0, len(memory.x0))), generator)
        memory = search.learn(memory, U, sphere(memory, U, noise, seed=100 * seed + i))
    return memory


def test_the_first_point_is_the_start() -> None:
    np.testing.assert_array_equal(search.propose(box(), 1, NONE, rng())[0], [0.5, 0.5])


@pytest.mark.parametrize("done", [0, 3, 12])
def test_proposals_are_a_function_of_memory_and_generator(done: int) -> None:
    memory = run(box(), done)
    first = search.propose(memory, 3, NONE, rng(7))
    again = search.propose(decode(encode(memory)), 3, NONE, rng(7))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, search.propose(memory, 3, NONE, rng(8)))
    assert ((first >= 0.0) & (first <= 1.0)).all()


def test_the_minimum_that_is_kept_belongs_to_the_memory() -> None:
    """Whatever is asked in between, and whatever the caller does with the answer."""
    one, other = run(box(), 12), run(box(), 12, noise=1.0)
    expected = [answer._descended(m, search.modelled(m).posterior) for m in (one, other)]
    assert not np.array_equal(*expected)
    for i in (0, 0, 1, 0, 1, 1):
        memory = (one, other)[i]
        found = answer.minimum(memory, search.modelled(memory).posterior)
        np.testing.assert_array_equal(found, expected[i])
        found[:] = np.nan


def test_learning_is_the_same_after_a_round_trip() -> None:
    memory = run(box(), 12, noise=1.0)
    U = np.array([[0.2, 0.3], [0.6, 0.6]])
    one = search.learn(memory, U, np.array([1.0, 2.0]))
    other = search.learn(decode(encode(memory)), U, np.array([1.0, 2.0]))
    assert encode(one) == encode(other)


def test_a_smooth_function_is_found() -> None:
    memory = run(box(), 25)
    found = answer.recommend(memory)
    np.testing.assert_allclose(memory.frame.outer(found.x), [1.0, 1.0], atol=0.1)
    assert found.fun == pytest.approx(0.0, abs=0.2)


def test_pending_points_repel() -> None:
    """A proposal that is under way is not proposed again, where its measurement tells enough."""
    memory = run(box(), 15)
    first = search.propose(memory, 1, NONE, rng(3))
    again = search.propose(memory, 1, first, rng(3))
    batch = search.propose(memory, 4, NONE, rng(3))
    assert np.abs(again - first).max() > 1e-3
    gaps = np.abs(batch[:, None] - batch[None]).max(axis=2) + np.eye(4)
    assert gaps.min() > 1e-4


@pytest.mark.parametrize(("n", "sets"), [(3, 3), (25, 25), (60, 20), (110, 22)])
def test_many_points_at_once_come_from_few_sets_of_candidates(
    n: int, sets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer to hundreds of workers must not take long; no point is proposed twice."""
    memory, made, candidates = run(box(), 15), [], search.candidates

    def counted(*args: Any) -> Any:
        made.append(args)
        return candidates(*args)

    monkeypatch.setattr(search, "candidates", counted)
    found = search.propose(memory, n, NONE, rng(3))
    assert len(made) == sets
    assert len(np.unique(found, axis=0)) == len(found) == n


def test_the_start_design_fills_the_box_without_gathering_at_its_faces() -> None:
    memory = box(5)
    U = search.propose(memory, memory.design, np.zeros((0, 5)), rng(2))
    assert len(U) == 10
    assert 0.15 < np.abs(U[1:] - 0.5).mean() < 0.35


def test_open_bounds_start_around_x0_and_move_beyond() -> None:
    memory = search.start(np.full(2, -np.inf), np.full(2, np.inf), np.array([20.0, -20.0]), 2.0)
    U = search.propose(memory, 4, NONE, rng(1))
    X = memory.frame.outer(U)
    np.testing.assert_allclose(X[0], [20.0, -20.0])
    assert np.abs(X - [20.0, -20.0]).max() < 10.0
    found = answer.recommend(run(memory, 45))
    np.testing.assert_allclose(memory.frame.outer(found.x), [1.0, 1.0], atol=0.5)


def test_a_narrow_start_stays_narrow() -> None:
    memory = search.start(np.full(2, -5.0), np.full(2, 5.0), np.zeros(2), 0.1)
    X = memory.frame.outer(search.propose(memory, 4, NONE, rng(1)))
    assert np.abs(X).max() < 0.5


def test_failures_repel_and_are_never_recommended() -> None:
    """The half that holds the unconstrained minimum fails."""
    memory, generator = box(), rng(4)
    for i in range(30):
        U = search.propose(memory, 1, NONE, generator)
        y = sphere(memory, U, 0.1, seed=i)
        memory = search.learn(memory, U, np.where(U[:, 0] > 0.5, np.nan, y))
    assert memory.measured.ok[10:].mean() > 0.4
    assert 0.4 < answer.recommend(memory).x[0] <= 0.5


def test_a_small_plateau_is_found_under_noise() -> None:
    """A twelfth of the box is better, by three standard deviations of the noise. A model that has
    seen nothing yet must look everywhere."""
    missed = 0
    for seed in range(10):
        noise = rng(seed)
        centre = noise.uniform(0.15, 0.85, 2)

        def value(x: FloatArray, centre: FloatArray = centre) -> float:
            return float((np.abs(x - centre) >= 0.15).any())

        def fun(x: FloatArray, value: Any = value, noise: Any = noise) -> float:
            return value(x) + 0.3 * float(noise.normal())

        r = nw.minimize(fun, bounds=[(0.0, 1.0)] * 2, budget=120, method="gp", rng=seed)
        missed += value(r.x) > 0.0
    assert missed <= 3


def test_only_failures_so_far() -> None:
    memory = box()
    for i in range(8):
        U = search.propose(memory, 1, NONE, rng(i))
        memory = search.learn(memory, U, np.array([np.inf]))
    assert len(np.unique(memory.measured.X, axis=0)) == 8
    np.testing.assert_array_equal(answer.finalists(memory), memory.x0[None])
    assert np.isnan(answer.recommend(memory).fun)


@pytest.mark.parametrize("values", ["constant", "huge", "two"])
def test_degenerate_values_do_not_stop_the_search(values: str) -> None:
    memory, generator = box(), rng(5)
    for i in range(14):
        U = search.propose(memory, 1, NONE, generator)
        y = {"constant": 3.0, "huge": (-10.0) ** (i * 7), "two": float(i % 2)}[values]
        memory = search.learn(memory, U, np.array([y]))
    found = answer.recommend(memory)
    assert np.isfinite([*found.x, found.fun]).all()


def test_finalists_are_distinct_and_hold_measured_points() -> None:
    memory = run(box(), 20, noise=2.0)
    F = answer.finalists(memory, 5)
    assert 2 <= len(F) <= 5
    assert len(np.unique(np.round(F, 6), axis=0)) == len(F)
    assert sum(any(np.array_equal(x, m) for m in memory.measured.X) for x in F) >= 2


def test_bad_values_of_the_recommendation_change_the_recommendation() -> None:
    memory = run(box(), 20, noise=2.0)
    best = answer.recommend(memory).x
    bad = np.repeat(best[None], 10, axis=0)
    worse = search.learn(memory, bad, np.full(10, 60.0))
    assert not np.array_equal(answer.recommend(worse).x, best)


def test_distribution_of_the_minimiser() -> None:
    """Narrow where the model is sure, and shaped like the inverse curvature."""
    memory = box()
    generator = rng(6)
    U = generator.random((40, 2))
    X = memory.frame.outer(U)
    y = X[:, 0] ** 2 + 25.0 * X[:, 1] ** 2
    m, sigma, C = answer.distribution(search.learn(memory, U, y))
    np.testing.assert_allclose(m, [0.0, 0.0], atol=0.3)
    assert np.linalg.det(C) == pytest.approx(1.0)
    assert 4.0 < C[0, 0] / C[1, 1] < 100.0
    assert sigma < 0.5
    m0, sigma0, C0 = answer.distribution(memory)
    np.testing.assert_allclose(m0, 0.0)
    assert sigma0 == pytest.approx(3.0)
    np.testing.assert_allclose(C0, np.eye(2))


def test_agreement_tells_a_function_from_noise() -> None:
    function, noise = run(box(), 40), box()
    generator = rng(9)
    for _ in range(40):
        U = search.propose(noise, 1, NONE, generator)
        noise = search.learn(noise, U, generator.standard_normal(1))
    rate, weight = search.agreement(function)
    assert rate > 0.6
    assert weight > 10.0
    assert search.agreement(noise)[0] < rate
    assert search.agreement(box()) == (1.0, 0.0)


def test_knowledge_gradient_against_simulation() -> None:
    memory = run(box(), 12, noise=3.0)
    process = search.modelled(memory).posterior
    C = rng(1).random((6, 2))
    best = memory.measured.X[:4]
    found = knowledge(process, C, best)
    # All six candidates are alternatives here, because there are no more.
    A = np.vstack([best, C])
    mean, cov = process.joint(A)
    z = rng(2).standard_normal(40000)
    for j in range(6):
        i = 4 + j
        low = np.argsort(process.mean(C))[:4]
        allowed = np.unique([0, 1, 2, 3, *(4 + low), i])
        move = cov[allowed, i] / np.sqrt(cov[i, i] + process.noise())
        after = np.min(mean[allowed, None] + np.outer(move, z), axis=0).mean()
        before = mean[np.unique([0, 1, 2, 3, *(4 + low)])].min()
        assert found[j] == pytest.approx(before - after, abs=0.02)


def test_equal_values_are_no_evidence_of_noise() -> None:
    """There is no variance of which noise could make a share."""
    r = nw.minimize(lambda x: 7.0, bounds=[(0.0, 1.0)] * 2, budget=30, method="gp", rng=0)
    assert "all values are equal" in r.message
    assert "%" not in r.message


@pytest.mark.parametrize("seed", range(5))
def test_wins_and_losses_do_not_look_like_disorder(seed: int) -> None:
    """Half of the pairs are two wins or two losses, which say nothing about the order."""
    generator = rng(seed)
    chance = np.linspace(0.05, 0.95, search.WINDOW)
    lost = (generator.random(search.WINDOW) < chance).astype(float)
    told = np.column_stack([chance, np.sqrt(chance * (1.0 - chance)), lost])
    rate, pairs = search.agreement(replace(box(), told=told))
    assert pairs > 40.0
    assert rate > 0.7
