"""The seeded noisy suite against COCO's: values to the last digits, noise in distribution."""

import pickle

import cocoex
import numpy as np
import pytest
from cma.bbobbenchmarks import gauss, unif
from scipy import stats

from noisewise_bench.problem import Problem
from noisewise_bench.problems import speed
from noisewise_bench.problems.bbob_noisy import COMPLEMENT, HIGH, OFFSET, BBOBNoisy
from noisewise_bench.problems.landscapes import NOISY

GAUSSIAN, UNIFORM, CAUCHY = (NOISY[kind::3] for kind in range(3))


class CocoDraws:
    """Stands for a generator that draws what COCO draws, from the first value of a new suite.

    COCO's k-th uniform (normal) number is the first one of its old generator, seeded with 30 + k.
    """

    def __init__(self, function):
        self.cauchy = function in CAUCHY

    def standard_normal(self, n):
        return np.array([gauss(1, 30.0 + k)[0] for k in range(1, n + 1)])

    def random(self, shape):
        if not self.cauchy:
            return np.array([unif(1, 30.0 + k) for k in range(1, np.prod(shape) + 1)]).reshape(
                shape
            )
        first = [unif(1, 30.0 + k)[0] for k in range(1, shape[0] + 1)]
        above, below = self.standard_normal(2 * shape[0]).reshape(shape).T
        # COCO divides two normal numbers, the problem takes the tangent of a uniform one.
        return np.column_stack([first, 0.5 + np.arctan(above / np.abs(below)) / np.pi])


@pytest.mark.parametrize("function", NOISY)
@pytest.mark.parametrize("dimension", [5, 40])
def test_cocos_draws_give_cocos_values(function, dimension):
    """Noise-free value, noise law, offset, penalty and optimal value in one comparison."""
    problem = BBOBNoisy(function, 3, dimension)
    rng = np.random.default_rng(function)
    X = rng.uniform(-5, 5, (120, dimension))
    X[::4] *= 1.4  # outside the box
    # Still nearer to the optimum COCO loses digits, because it adds the optimal value first.
    X[1::4] = problem.xopt + rng.standard_normal((30, dimension)) * np.logspace(0, -1, 30)[:, None]
    suite = cocoex.Suite("bbob-noisy", "", f"dimensions:{dimension} instance_indices:1-5")
    theirs = suite.get_problem_by_function_dimension_instance(function, dimension, 3)
    expected = np.array([theirs(x) for x in X]) - problem.fopt
    shown = problem.noisy(X, CocoDraws(function)) - problem.fopt
    np.testing.assert_allclose(shown, expected, rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("function", NOISY)
def test_noise_has_the_distribution_of_its_law(function):
    """The random variables behind our values: normal, uniform twice, or seldom Cauchy."""
    problem, n = BBOBNoisy(function, 3, 10), 3000
    strength, seldom = (1.0, 0.2) if function > 106 else (0.01, 0.05)
    X = np.array([np.linspace(-3, 3, 10), np.full(10, 4.0)])
    t = problem.regret(X)
    above = [
        problem.noisy(np.tile(x, (n, 1)), np.random.default_rng(function)) - problem.fopt - OFFSET
        for x in X
    ]
    if function in GAUSSIAN:
        assert stats.kstest(np.log(above[0] / t[0]) / strength, "norm").pvalue > 1e-3
    elif function in CAUCHY:
        c = (above[0] - t[0]) / strength - 1000.0
        c = c[np.abs(c) > 1e-3]
        assert stats.binomtest(len(c), n, seldom).pvalue > 1e-3
        assert stats.kstest(c, "cauchy").pvalue > 1e-3
    else:
        # log(y/t) = beta log U + alpha U' log(1e9/t), with the same U and U' at both points
        ratio, lift = [np.log(a / b) for a, b in zip(above, t, strict=True)], np.log(1e9 / t)
        second = (ratio[0] - ratio[1]) / (lift[0] - lift[1])
        first = np.exp((ratio[0] - second * lift[0]) / strength)
        second /= strength * (0.49 + 0.1)
        assert stats.kstest(first, "uniform").pvalue > 1e-3
        assert stats.kstest(second, "uniform").pvalue > 1e-3
        assert stats.spearmanr(first, second).pvalue > 1e-3


def test_cocos_own_uniform_draws_are_not_uniform():
    """Why the distribution is compared with the law: COCO's outliers come half too often."""
    suite = cocoex.Suite("bbob-noisy", "", "dimensions:2 instance_indices:1-5")
    problem = suite.get_problem_by_function_dimension_instance(103, 2, 1)
    values = np.array([problem(np.zeros(2)) for _ in range(10_000)])
    share = np.mean(np.abs(values - np.median(values)) > 1e-5)
    assert 0.07 < share < 0.08  # the law says 0.05


@pytest.mark.parametrize("function", [101, 108, 130])
def test_noise_comes_from_the_generator_alone(function):
    before = np.random.get_state()[1].tobytes()  # noqa: NPY002
    problem = BBOBNoisy(function, 1, 10)
    X = np.random.default_rng(0).uniform(-6, 6, (9, 10))
    whole = problem.noisy(X, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    parts = np.concatenate([problem.noisy(X[:4], rng), problem.noisy(X[4:], rng)])
    np.testing.assert_allclose(whole, parts, rtol=1e-13)
    assert not np.array_equal(whole, problem.noisy(X, rng))
    assert np.random.get_state()[1].tobytes() == before  # noqa: NPY002


def test_pickles_small_and_stays_the_same_problem():
    problem = BBOBNoisy(129, 4, 20)
    assert isinstance(problem, Problem)
    X = np.random.default_rng(0).uniform(-5, 5, (3, 20))
    problem.regret(X)
    stored = pickle.dumps(problem)
    again = pickle.loads(stored)
    assert len(stored) < 200
    assert again.name == problem.name == "bbob-noisy/f129/i4/d20"
    np.testing.assert_array_equal(again.regret(X), problem.regret(X))


def test_regret_counts_the_way_out_of_the_box():
    problem = BBOBNoisy(101, 1, 2)
    inside, outside = problem.regret(np.array([[5.0, 0.0], [6.0, 0.0]]))
    moved = (6.0 - problem.xopt[0]) ** 2 - (5.0 - problem.xopt[0]) ** 2
    assert outside - inside == pytest.approx(moved + 100.0)


def test_high_functions_reorder_an_initial_population_most():
    """By mean rank displacement between two draws; the list has no sphere with Gaussian noise."""

    def displacement(function):
        problem, rng = BBOBNoisy(function, 1, 40), np.random.default_rng(function)
        found = []
        for _ in range(100):
            X = np.clip(3.0 * rng.standard_normal((15, 40)), -5, 5)
            first, second = (problem.noisy(X, rng).argsort().argsort() for _ in range(2))
            found.append(np.abs(first - second).sum() / 15**2)
        return np.mean(found)

    assert sorted(HIGH + COMPLEMENT) == list(NOISY)
    rest = [displacement(f) for f in COMPLEMENT if f != 107]
    assert min(map(displacement, HIGH)) > max(rest)
    assert displacement(107) > max(rest)


def test_noise_and_truth_cost_less_than_twice_the_noise_free_function():
    """At d=40, batches of 15, over a cheap and the dearest function of every kind of noise."""
    costs = [speed.measure(f) for f in (107, 108, 109, 128, 129, 130)]
    for cost in costs:
        assert cost.noisy <= 2.0 * cost.pycma
    assert sum(c.noisy for c in costs) <= 2.0 * sum(c.noise_free for c in costs)


def test_speed_command_prints_all_functions(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["speed", "--dimension", "2", "--rows", "3"])
    monkeypatch.setattr(speed, "measure", lambda f, d, n: speed.Cost(f, 4.0, 2.0, 3.0))
    speed.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 30 + 1
    assert lines[-1].split() == ["sum", "120.0", "60.0", "90.0", "0.75", "1.50"]
