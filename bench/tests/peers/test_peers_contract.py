"""Every peer: the budget, the seed, the box, and some progress."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from noisewise_bench import peers
from noisewise_bench.peers.environment import python_of
from noisewise_bench.problem import FloatArray, Oracle

BUDGET = 80
#: They take a good part of a second for each point.
BUDGETS = {"optuna-gp": 20, "botorch": 16, "smac": 40, "plain-gp": 30, "ars": 1200}
#: Peers in environments of their own, and the environment.
ISOLATED = {"optuna-gp": "botorch", "botorch": "botorch", "smac": "smac"}
PACKAGES = {"pybads": "pybads", "py-bobyqa": "pybobyqa"}


class NoisySphere:
    """Minimum zero at the origin, additive Gaussian noise, no box."""

    x0 = np.array([2.0, -1.0, 1.5])
    bounds: tuple[FloatArray, FloatArray] | None = None
    sigma0 = 1.0

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        return self.regret(X) + 0.5 * rng.standard_normal(len(X))

    def regret(self, X: FloatArray) -> FloatArray:
        return np.sum(np.asarray(X) ** 2, axis=1)


class BoxedSphere(NoisySphere):
    """The same with the minimum on the edge of a box and an initial step that leaves it."""

    x0 = np.array([3.0, 0.0, 1.0])
    bounds = (np.array([0.5, -4.0, -4.0]), np.full(3, 4.0))
    sigma0 = 2.0

    def regret(self, X: FloatArray) -> FloatArray:
        return super().regret(X) - 0.25


def is_here(name: str) -> bool:
    if name in PACKAGES:
        return importlib.util.find_spec(PACKAGES[name]) is not None
    environment = ISOLATED.get(name)
    if name.startswith(("nevergrad", "noisewise-0.2")):
        environment = "nevergrad" if name.startswith("nevergrad") else "noisewise-0.2"
    if environment is not None:
        try:
            python_of(environment)
        except ImportError:
            return False
    return True


every_peer = pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.skipif(not is_here(name), reason="not installed"))
        for name in peers.PEERS
    ],
)


def run(name: str, problem: NoisySphere, seed: int = 1, budget: int = 0) -> FloatArray:
    """The recommendation, after checking that the budget was spent to the last evaluation."""
    budget = budget or BUDGETS.get(name, BUDGET)
    oracle = Oracle(problem, budget, np.random.default_rng([seed, 77]))
    x = np.asarray(peers.get(name)(oracle, budget, seed).x)
    assert oracle.remaining == 0
    assert x.shape == problem.x0.shape
    return x


@every_peer
def test_improves_on_x0_on_average_without_a_box(name: str) -> None:
    problem = NoisySphere()
    regrets = problem.regret(np.array([run(name, problem, seed) for seed in (1, 2, 3)]))
    assert np.mean(regrets) < 0.7 * problem.regret(problem.x0[None])[0]


@every_peer
def test_same_seed_same_point_inside_the_box(name: str) -> None:
    problem = BoxedSphere()
    x = run(name, problem)
    assert np.array_equal(x, run(name, problem))
    low, high = problem.bounds
    assert np.all((x >= low) & (x <= high))
    assert problem.regret(x[None])[0] < problem.regret(problem.x0[None])[0]


@every_peer
@pytest.mark.parametrize("budget", [1, 4])
def test_a_budget_below_one_population_still_gives_a_point(name: str, budget: int) -> None:
    assert np.all(np.isfinite(run(name, BoxedSphere(), budget=budget)))


@pytest.mark.parametrize(
    "name",
    [
        "pycma",
        "pycma-sep",
        "pycma-uh",
        "cmaes",
        "scipy-de",
        "random",
        "xnes",
        "ars",
        "pgpe",
        "plain-gp",
        "lq-cma",
    ],
)
def test_the_global_generator_of_numpy_has_no_say(name: str) -> None:
    problem = NoisySphere()
    np.random.seed(1)  # noqa: NPY002
    first = run(name, problem)
    np.random.seed(2)  # noqa: NPY002
    assert np.array_equal(first, run(name, problem))


def test_recommendation_kinds_are_named() -> None:
    kinds = {name: peer.recommends for name, peer in peers.PEERS.items()}
    assert kinds["pycma"] == "mean of the distribution"
    assert kinds["nevergrad-tbpsa"] == "the library's own estimate"
    assert kinds["scipy-de"] == "luckiest draw"


def test_unknown_peer_names_the_known() -> None:
    with pytest.raises(ValueError, match=r"'pycmaa' is unknown; known are pycma, pycma-sep"):
        peers.get("pycmaa")


def test_xnes_finds_the_minimum_of_a_noise_free_sphere() -> None:
    class Sphere(NoisySphere):
        def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
            return self.regret(X)

    x = run("xnes", Sphere(), budget=2000)
    assert np.max(np.abs(x)) < 1e-3


def test_random_search_returns_its_best_observed_point() -> None:
    class Plain(BoxedSphere):
        def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
            return self.regret(X)

    oracle = Oracle(Plain(), 50, np.random.default_rng(1))
    seen: list[FloatArray] = []
    peers.get("random")(keeping_rows(oracle, seen), 50, 1)
    x = peers.get("random")(Oracle(Plain(), 50, np.random.default_rng(1)), 50, 1).x
    X = np.vstack(seen)
    np.testing.assert_array_equal(x, X[np.argmin(Plain().regret(X))])


def keeping_rows(oracle: Oracle, seen: list[FloatArray]) -> Oracle:
    """The oracle, keeping every row it is asked for."""
    draw = oracle._draw

    def keeping(rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        seen.append(rows.copy())
        return draw(rows, rng)

    oracle._draw = keeping  # type: ignore[method-assign]
    return oracle
