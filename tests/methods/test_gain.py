"""A point better than the start: against a Gaussian process by hand, and when it moves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import check_grad

from noisewise._types import FloatArray
from noisewise.methods import gain


def points(n: int, d: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (n, d))


def won(chance: FloatArray, seed: int = 1) -> FloatArray:
    """Outcomes to minimise: -1 for won."""
    return -(np.random.default_rng(seed).random(len(chance)) < chance).astype(float)


def fitted(Z: FloatArray, y: FloatArray) -> gain.Gain:
    model = gain.fit(Z, y)
    assert model is not None
    return model


def best(model: gain.Gain, low: float, high: float, d: int) -> FloatArray:
    return gain.best(model, np.full(d, low), np.full(d, high), np.empty((0, d)))


def test_the_gain_is_that_of_a_gaussian_process() -> None:
    """With a flat prior of the mean value; tau and l those of the largest likelihood."""
    Z = points(60, 2)
    y = won(0.5 + 0.4 * Z[:, 0])
    model = fitted(Z, y)
    target = (y - y.mean()) / y.std()
    z = np.array([[0.4, -0.2]])
    centre = np.eye(60) - 1.0 / 60  # takes out the mean, which is not known
    found = []
    for length in np.array(gain._LENGTHS) * np.sqrt(2.0):
        K = gain.likeness(Z, Z, length)
        k = (gain.likeness(z, Z, length) - gain.likeness(np.zeros((1, 2)), Z, length)) @ centre
        apart = 2.0 - 2.0 * gain.likeness(z, np.zeros((1, 2)), length)[0, 0]
        for tau in gain._TAUS:
            cov = np.eye(60) + tau * centre @ K @ centre
            evidence = -0.5 * (np.linalg.slogdet(cov)[1] + target @ np.linalg.solve(cov, target))
            mean = -tau * k @ np.linalg.solve(cov, target)
            var = tau * apart - tau**2 * k @ np.linalg.solve(cov, k.T)
            found.append((evidence, mean.item(), np.sqrt(var.item())))
    _, mean, sd = max(found)
    assert model(z[0], 0.0)[0] == pytest.approx(mean, rel=1e-4)
    assert model(z[0], 0.0)[0] - model(z[0], 1.0)[0] == pytest.approx(sd, rel=1e-3)


def test_the_slope_is_that_of_the_gain() -> None:
    model = fitted(points(200, 3), won(0.5 + 0.2 * points(200, 3)[:, 0]))
    for z in points(5, 3, seed=2):
        error = check_grad(lambda z: model(z)[0], lambda z: model(z)[1], z)
        assert error < 1e-4 * max(1.0, float(np.linalg.norm(model(z)[1])))


def test_of_many_points_some_make_the_model() -> None:
    Z = points(3000, 2)
    y = won(0.5 + 0.3 * Z[:, 0] * Z[:, 1])
    model = fitted(Z, y)
    assert len(model.points) == gain._MOST
    there = np.array([0.8, 0.8])
    truth = 0.3 * 0.64 / y.std()
    assert model(there, 0.0)[0] == pytest.approx(truth, abs=0.15)


def test_the_gain_at_the_start_is_zero_and_caution_lowers_it_elsewhere() -> None:
    model = fitted(points(200, 3), won(0.5 + 0.2 * points(200, 3)[:, 0]))
    assert model(np.zeros(3))[0] == pytest.approx(0.0, abs=1e-9)
    z = np.array([0.5, 0.0, 0.0])
    assert model(z, 0.0)[0] > model(z, 1.0)[0] > model(z, 2.0)[0]


@pytest.mark.parametrize("d", [1, 4])
def test_it_moves_to_where_more_is_won(d: int) -> None:
    Z = points(2000, d)
    model = fitted(Z, won(0.9 - 0.35 * (Z[:, 0] - 0.5) ** 2))
    assert 0.3 < best(model, -9.0, 9.0, d)[0] < 0.8
    assert best(model, -9.0, 0.2, d).max() <= 0.2


def test_it_climbs_from_where_it_is_told_to() -> None:
    """Two hills: the lower one is seen where the search ended there."""
    Z = points(2000, 1, seed=4) * 3.0
    chance = 0.2 + 0.6 * np.exp(-8.0 * (Z[:, 0] - 2.0) ** 2)
    model = fitted(Z, won(chance))
    low, high = np.full(1, -3.0), np.full(1, 3.0)
    found = gain.best(model, low, high, np.array([[1.8]]))
    assert found[0] == pytest.approx(2.0, abs=0.2)


def test_it_stays_where_outcomes_say_nothing() -> None:
    stayed = 0
    for seed in range(20):
        model = fitted(points(100, 4, seed), won(np.full(100, 0.6), seed + 100))
        stayed += not best(model, -1.0, 1.0, 4).any()
    assert stayed >= 14


def test_it_hardly_leaves_the_optimum() -> None:
    losses = []
    for seed in range(8):
        Z = points(800, 4, seed)
        model = fitted(Z, won(0.65 - 0.1 * (Z * Z).sum(axis=1), seed + 100))
        z = best(model, -1.0, 1.0, 4)
        losses.append(0.1 * float(z @ z))
    assert np.mean(losses) < 0.02


def test_outcomes_that_say_too_little_say_nothing() -> None:
    """Few outcomes in many coordinates: without the check, some answers are worse than a start."""
    Z = points(160, 20)
    model = fitted(Z, won(np.full(160, 0.5)))
    assert model.told < gain._TOLD
    assert not best(model, -1.0, 1.0, 20).any()
    assert best(replace(model, told=9.0), -1.0, 1.0, 20).shape == (20,)


def test_failures_are_left_out() -> None:
    Z = points(100, 2)
    y = won(0.5 + 0.4 * Z[:, 0])
    more = fitted(np.vstack((Z, [[0.0, 0.0]])), np.append(y, np.inf))
    np.testing.assert_array_equal(fitted(Z, y).mean, more.mean)


@pytest.mark.parametrize(("n", "equal"), [(39, False), (100, True)])
def test_too_little_to_fit(n: int, equal: bool) -> None:
    assert gain.fit(points(n, 2), np.zeros(n) if equal else won(np.full(n, 0.5))) is None
