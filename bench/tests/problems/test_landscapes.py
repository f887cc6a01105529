"""Noise-free bbob functions against pycma, from which they take their parameters, and COCO."""

import cocoex
import numpy as np
import pytest
from cma import bbobbenchmarks

from noisewise_bench.problems._truth import LastBatch
from noisewise_bench.problems.landscapes import NOISELESS, NOISY, Landscape

STEP_ELLIPSOIDS = (7, 113, 114, 115)


def total(landscape, X):
    t, penalty = landscape(X)
    return t + penalty


def points(landscape, dimension, radius):
    """Rows inside and outside the box, and rows at a distance of ``radius`` of the optimum."""
    rng = np.random.default_rng(dimension)
    near = rng.standard_normal((5, dimension))
    near *= radius / np.linalg.norm(near, axis=1, keepdims=True)
    return np.vstack([rng.uniform(-6, 6, (20, dimension)), landscape.xopt + near])


@pytest.mark.parametrize("function", NOISELESS + NOISY)
@pytest.mark.parametrize(("dimension", "instance"), [(2, 1), (40, 7)])
def test_equals_pycma(function, dimension, instance):
    landscape = Landscape(function, instance, dimension)
    original = bbobbenchmarks.dictbbob[function](instance)
    original.noise = np.copy
    # Close to the optimum the originals lose digits when they add the optimal value.
    X = points(landscape, dimension, radius=2.0 if function in STEP_ELLIPSOIDS else 0.1)
    expected = original._evalfull(X)[1] - original.fopt
    np.testing.assert_allclose(total(landscape, X), expected, rtol=1e-10, atol=1e-11)
    assert landscape.fopt == original.fopt
    assert total(landscape, landscape.xopt[None])[0] < 1e-9


@pytest.mark.parametrize("dimension", [5, 20])
def test_noiseless_functions_equal_cocos(dimension):
    """COCO's step ellipsoid, unlike pycma's, is not flat around the optimum."""
    suite = cocoex.Suite("bbob", "", f"dimensions:{dimension} instance_indices:1-2")
    for function in NOISELESS:
        landscape = Landscape(function, 2, dimension)
        problem = suite.get_problem_by_function_dimension_instance(function, dimension, 2)
        X = points(landscape, dimension, radius=0.05)
        expected = np.array([problem(x) for x in X]) - landscape.fopt
        # COCO and pycma write the constants of Schwefel's function with different digits.
        atol = 1e-8 if function == 20 else 1e-10
        np.testing.assert_allclose(total(landscape, X), expected, rtol=1e-9, atol=atol)


def test_rows_do_not_depend_on_each_other():
    for function in (1, 5, 16, 21, 24, 128):
        landscape = Landscape(function, 3, 10)
        X = points(landscape, 10, radius=1.0)
        alone = np.concatenate([total(landscape, x[None]) for x in X])
        np.testing.assert_allclose(total(landscape, X), alone, rtol=1e-12)


def test_the_last_batch_is_remembered_by_its_content():
    calls = []
    truth = LastBatch(lambda X: calls.append(1) or X.sum(axis=1), dimension=2)
    X = np.ones((3, 2))
    assert truth(X)[0] == truth(X.copy())[0] == 2.0
    assert len(calls) == 1
    X[0] = 5.0  # the same array with other points
    assert truth(X)[0] == 10.0
    assert len(truth(X[:1])) == 1
    with pytest.raises(ValueError, match=r"shape \(2,\), it takes \(n, 2\)"):
        truth(X[0])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((25, 1, 10), "function is 25"), ((1, 0, 10), "instance is 0"), ((1, 1, 1), "dimension is 1")],
)
def test_says_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        Landscape(*arguments)
