"""A point beside the start: against a fit by hand, and what it needs before it moves."""

from __future__ import annotations

import numpy as np
import pytest

from noisewise._types import FloatArray
from noisewise.methods import quadratic


def points(n: int, d: int, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (n, d))


def won(chance: FloatArray, seed: int = 1) -> FloatArray:
    """Outcomes to minimise: -1 for won."""
    return -(np.random.default_rng(seed).random(len(chance)) < chance).astype(float)


def test_the_posterior_is_that_of_a_ridge() -> None:
    Z = points(60, 2)
    y = won(0.5 + 0.3 * Z[:, 0])
    model = quadratic.fit(Z, y)
    assert model is not None
    F = quadratic.terms(Z, model.products)
    F -= F.mean(axis=0)
    target = (y - y.mean()) / y.std()
    found = []
    for tau in quadratic._TAUS:
        precision = F.T @ F + np.eye(5) / tau
        cov = np.eye(60) + tau * F @ F.T  # of the values, the noise having variance one
        log_evidence = -0.5 * (np.linalg.slogdet(cov)[1] + target @ np.linalg.solve(cov, target))
        found.append((log_evidence, np.linalg.inv(precision), precision))
    best = int(np.argmax([one[0] for one in found]))
    np.testing.assert_allclose(model.covariance, found[best][1], atol=1e-10)
    np.testing.assert_allclose(model.mean, found[best][1] @ F.T @ target, atol=1e-10)


def test_the_gain_at_the_start_is_zero_and_caution_lowers_it_elsewhere() -> None:
    model = quadratic.fit(points(200, 3), won(0.5 + 0.2 * points(200, 3)[:, 0]))
    assert model is not None
    assert model.gain(np.zeros(3)) == 0.0
    z = np.array([0.5, 0.0, 0.0])
    assert model.gain(z, 0.0) > model.gain(z, 1.0) > model.gain(z, 2.0)


@pytest.mark.parametrize("d", [1, 4])
def test_it_moves_to_where_more_is_won(d: int) -> None:
    Z = points(2000, d)
    model = quadratic.fit(Z, won(0.9 - 0.35 * (Z[:, 0] - 0.5) ** 2))
    assert model is not None
    z = quadratic.best(model, np.full(d, -9.0), np.full(d, 9.0))
    assert 0.3 < z[0] < 0.8
    low, high = np.full(d, -9.0), np.full(d, 0.2)
    assert quadratic.best(model, low, high).max() <= 0.2


def test_it_stays_where_outcomes_say_nothing() -> None:
    stayed = 0
    for seed in range(40):
        Z = points(300, 4, seed)
        model = quadratic.fit(Z, won(np.full(300, 0.6), seed + 100))
        assert model is not None
        stayed += not quadratic.best(model, np.full(4, -1.0), np.full(4, 1.0)).any()
    assert stayed >= 30


def test_it_stays_at_the_optimum_more_often_than_not() -> None:
    losses = []
    for seed in range(30):
        Z = points(800, 4, seed)
        model = quadratic.fit(Z, won(0.65 - 0.1 * (Z * Z).sum(axis=1), seed + 100))
        assert model is not None
        z = quadratic.best(model, np.full(4, -1.0), np.full(4, 1.0))
        losses.append(0.1 * float(z @ z))
    assert np.mean(losses) < 0.02


def test_points_far_away_and_failures_are_left_out() -> None:
    Z = points(100, 2)
    y = won(0.5 + 0.4 * Z[:, 0])
    plain = quadratic.fit(Z, y)
    more = quadratic.fit(np.vstack((Z, [[9.0, 0.0], [0.0, 0.0]])), np.append(y, [-1.0, np.inf]))
    assert plain is not None
    assert more is not None
    np.testing.assert_array_equal(plain.mean, more.mean)


@pytest.mark.parametrize(("n", "equal"), [(39, False), (100, True)])
def test_too_little_to_fit(n: int, equal: bool) -> None:
    assert quadratic.fit(points(n, 2), np.zeros(n) if equal else won(np.full(n, 0.5))) is None


def test_of_many_coordinates_only_squares_are_terms() -> None:
    few, many = (quadratic.fit(points(300, d), won(np.full(300, 0.5))) for d in (18, 19))
    assert few is not None
    assert many is not None
    assert (len(few.mean), len(many.mean)) == (18 + 171, 38)
