"""Problems for small budgets: landscapes, noise laws, names."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from noisewise_bench.problem import Problem
from noisewise_bench.problems import make, suite
from noisewise_bench.problems.small import (
    BASE_COST,
    LANDSCAPES,
    LAWS,
    NOISES,
    Small,
    landscapes_of,
    names,
)

N = 4000


def drawn(problem, x, seed=0):
    """Many noisy values of one point."""
    return problem.noisy(np.tile(x, (N, 1)), np.random.default_rng(seed))


@settings(max_examples=60, deadline=None)
@given(
    landscape=st.sampled_from(LANDSCAPES),
    instance=st.integers(1, 40),
    dimension=st.integers(2, 20),
    seed=st.integers(0, 2**32 - 1),
)
def test_optimum_is_known_off_centre_and_inside(landscape, instance, dimension, seed):
    problem = Small(landscape, instance, dimension)
    X = np.random.default_rng(seed).uniform(-5.0, 5.0, (200, dimension))
    near = problem.xopt + 1e-3 * X
    assert problem.regret(problem.xopt[None])[0] == pytest.approx(0.0, abs=1e-12)
    assert problem.regret(np.vstack([X, near])).min() > 0.0
    assert np.abs(problem.xopt).max() <= 4.0
    assert np.sqrt(np.mean(problem.xopt**2)) >= 1.0


@pytest.mark.parametrize("landscape", LANDSCAPES)
def test_median_over_the_box_is_one_and_instances_differ(landscape):
    first, second = Small(landscape, 1, 3), Small(landscape, 2, 3)
    X = np.random.default_rng(7).uniform(-5.0, 5.0, (20_000, 3))
    assert np.median(first.regret(X)) == pytest.approx(1.0, rel=0.1)
    assert not np.allclose(first.xopt, second.xopt)
    assert first.fopt != second.fopt


@pytest.mark.parametrize("landscape", LANDSCAPES)
def test_values_match_a_loop(landscape):
    """Rows are independent: one at a time gives the same regret as all at once."""
    problem = Small(landscape, 3, 4)
    X = np.random.default_rng(1).uniform(-5.0, 5.0, (20, 4))
    one_by_one = [problem.regret(x[None])[0] for x in X]
    np.testing.assert_allclose(problem.regret(X), one_by_one, rtol=1e-12)


def test_landscape_is_the_same_under_every_law():
    X = np.random.default_rng(1).uniform(-5.0, 5.0, (50, 3))
    additive = [law for law in LAWS if law != "winloss"]
    values = [Small("ellipsoid", 2, 3, law, 0.5).regret(X) for law in additive]
    for other in values[1:]:
        np.testing.assert_array_equal(values[0], other)


@pytest.mark.parametrize("law", LAWS)
def test_law_has_its_distribution(law):
    problem = Small("rosenbrock", 2, 3, law, 0.5)
    x = np.array([1.0, -2.0, 3.0])
    t, y = problem.regret(x[None])[0], drawn(problem, x) - problem.fopt
    if law == "none":
        np.testing.assert_allclose(y, t, rtol=1e-12)
    elif law in ("lognormal", "relative"):
        cost = t + (BASE_COST if law == "relative" else 0.0)
        assert stats.kstest((np.log(y / cost) + 0.125) / 0.5, "norm").pvalue > 1e-3
    elif law == "winloss":
        optimal = 0.5 - 0.5 / 2
        assert set(np.unique(y)) == {0.0, 1.0}
        assert np.mean(y) == pytest.approx(optimal + t, abs=4 * 0.5 / np.sqrt(N))
    else:
        scale = np.std(y) if law == "hetero" else 0.5
        shape = stats.t(3, scale=3**-0.5) if law == "t3" else stats.norm
        assert stats.kstest((y - t) / scale, shape.cdf).pvalue > 1e-3


def test_heteroscedastic_noise_differs_over_the_box():
    problem = Small("sphere", 1, 2, "hetero", 0.2)
    corners = [np.array([a, b]) for a in (-5.0, 5.0) for b in (-5.0, 5.0)]
    spread = [np.std(drawn(problem, x)) for x in corners]
    assert min(spread) >= 0.1 * 0.2 * 0.9
    assert max(spread) <= 1.9 * 0.2 * 1.1
    assert max(spread) > 3.0 * min(spread)


def test_lognormal_noise_vanishes_at_the_optimum_and_relative_does_not():
    exact, relative = (Small("sphere", 1, 2, law, 1.0) for law in ("lognormal", "relative"))
    assert np.std(drawn(exact, exact.xopt)) < 1e-12
    assert np.std(drawn(relative, relative.xopt)) > 0.05


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_names_make_the_same_problem_again(dimension):
    for name in [*suite("small", [dimension], [3]), f"small/steps/i1/d{dimension}/none"]:
        problem = make(name)
        assert isinstance(problem, Problem)
        assert problem.name == name
        twin = pickle.loads(pickle.dumps(problem))
        X = np.random.default_rng(1).uniform(-5.0, 5.0, (5, dimension))
        for one, other in ((problem, twin), (problem, make(name))):
            np.testing.assert_array_equal(
                one.noisy(X, np.random.default_rng(2)), other.noisy(X, np.random.default_rng(2))
            )


def test_suite_leaves_out_landscapes_that_need_two_parameters():
    assert landscapes_of(1) == ("sphere", "rastrigin", "ackley", "steps")
    assert len(names([1, 2], [1, 2])) == 2 * len(NOISES) * (4 + 6)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("plane", 1, 2), "landscape"),
        (("rosenbrock", 1, 1), "dimension"),
        (("sphere", 0, 1), "instance"),
        (("sphere", 1, 1, "uniform"), "law"),
        (("sphere", 1, 1, "gaussian", -1.0), "level"),
        (("sphere", 1, 1, "winloss", 1.5), "level"),
    ],
)
def test_bad_arguments_are_named(arguments, said):
    with pytest.raises(ValueError, match=f"^{said} is "):
        Small(*arguments)
