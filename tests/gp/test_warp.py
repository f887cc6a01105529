"""Transformations of the values and their choice."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewise._types import FloatArray
from noisewise.gp.model import Fit, Model, local, refit, score
from noisewise.gp.values import FAMILY, Measurements, Warp

SMOOTH = ("none", *FAMILY)


def values(seed: int) -> FloatArray:
    return np.random.default_rng(seed).lognormal(1.0, 1.5, 30) - 7.0


@pytest.mark.parametrize("name", SMOOTH)
@given(seed=st.integers(0, 1000))
@settings(max_examples=10, deadline=None)
def test_smooth_warps_are_increasing_and_invertible(name: str, seed: int) -> None:
    y = np.sort(values(seed))
    warp = Warp.of(name, y)
    z = warp.forward(y)
    assert (np.diff(z) > 0).all()
    assert z.mean() == pytest.approx(0.0, abs=1e-9)
    assert z.std() == pytest.approx(1.0)
    np.testing.assert_allclose(warp.backward(z), y, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", SMOOTH)
def test_the_jacobian_is_the_derivative(name: str) -> None:
    y = values(1)
    warp = Warp.of(name, y)
    numeric = (warp.forward(y + 1e-5) - warp.forward(y - 1e-5)) / 2e-5
    np.testing.assert_allclose(np.exp(warp.log_slope(y)), numeric, rtol=1e-5)


@pytest.mark.parametrize("name", ["none", *FAMILY, "ranks"])
@pytest.mark.parametrize(
    "y",
    [
        np.zeros(1),
        np.full(5, 3.0),
        np.array([0.0, 1.0]),
        np.array([1e100, -1e100, 1e-100, 0.0]),
        np.array([1e308, -1e308, 1.0]),
        1e-300 * np.arange(6.0),
        1e9 + 1e-6 * np.arange(8.0),
        np.array([0.0] * 9 + [1e200]),
    ],
)
def test_degenerate_values_stay_finite(name: str, y: FloatArray) -> None:
    warp = Warp.of(name, y)
    z = warp.forward(y)
    assert np.isfinite(z).all()
    assert (np.diff(z[np.argsort(y, kind="stable")]) >= 0).all()
    if name != "ranks":
        assert np.isfinite(warp.log_slope(y)).all()


def test_the_score_is_a_density_of_the_raw_values() -> None:
    """Values in other units change the log density by the log of the unit, and no choice."""
    rng = np.random.default_rng(2)
    X = rng.random((20, 2))
    y = (X**2).sum(axis=1) * rng.lognormal(0.0, 0.5, 20)
    hyper = Fit.start(2).hyper
    for name in SMOOTH:
        one = score(Measurements.empty(2).add(X, y), Fit(name, hyper))
        other = score(Measurements.empty(2).add(X, 7.0 + 100.0 * y), Fit(name, hyper))
        assert other == pytest.approx(one - np.log(100.0), abs=1e-6)


@pytest.mark.parametrize(("noise", "expected"), [("level", "none"), ("proportional", "log")])
def test_the_warp_fits_the_noise(noise: str, expected: str) -> None:
    rng = np.random.default_rng(4)
    X = rng.random((80, 2))
    f = ((X - 0.4) ** 2).sum(axis=1)
    z = rng.standard_normal(80)
    y = f + 0.05 * z if noise == "level" else f * np.exp(z)
    found = refit(Measurements.empty(2).add(X, 10.0 + y), Fit.start(2))
    assert found.name.startswith(expected)


@pytest.mark.parametrize("y", [[2.0], [2.0, 2.0], [1e100, -1e100, 0.0], [np.nan, 1.0, np.inf]])
def test_models_of_degenerate_values_predict_finite_numbers(y: list[float]) -> None:
    measured = Measurements.empty(2).add(np.full((len(y), 2), 0.3), np.array(y))
    model = Model.of(measured, refit(measured, Fit.start(2)))
    mean, var = model.posterior.predict(np.array([[0.3, 0.3], [0.9, 0.9]]))
    assert np.isfinite([*mean, *var, *model.raw(mean[0], var[0])]).all()


@given(
    levels=st.lists(st.integers(0, 12), min_size=6, max_size=30).filter(lambda v: len(set(v)) > 1)
)
@settings(max_examples=25, deadline=None)
@pytest.mark.parametrize("name", SMOOTH)
def test_values_with_ties_are_expected_near_where_they_were_seen(
    name: str, levels: list[int]
) -> None:
    """Accuracies and other shares tie; the width must not be that between equal values."""
    y = 1.0 - np.array(levels) / 50.0
    warp = Warp.of(name, y)
    beyond = warp.backward(np.array([warp.forward(y).min() - 0.5, warp.forward(y).max() + 0.5]))
    assert np.abs(beyond - y.mean()).max() < 30.0 * (y.max() - y.min())


def test_known_variances_are_divided_by_the_scale() -> None:
    rng = np.random.default_rng(5)
    X, y = rng.random((10, 1)), rng.standard_normal(10)
    small = Measurements.empty(1).add(X, y, np.full(10, 0.04))
    large = Measurements.empty(1).add(X, 1000.0 * y, np.full(10, 0.04e6))
    a, b = (Model.of(m, Fit.start(1)).posterior for m in (small, large))
    np.testing.assert_allclose(a.groups.known, b.groups.known)
    np.testing.assert_allclose(a.groups.known * y.var(), 0.04)


def test_refit_waits_until_the_values_have_grown_by_a_fraction() -> None:
    rng = np.random.default_rng(6)
    X = rng.random((41, 1))
    measured = Measurements.empty(1).add(X[:40], X[:40, 0])
    first = refit(measured, Fit.start(1))
    assert first.fitted == first.chosen == 40
    assert refit(measured.add(X[40:], X[40:, 0]), first) is first


def test_local_data_are_bounded_and_near_the_best() -> None:
    rng = np.random.default_rng(7)
    X = rng.random((300, 2))
    measured = Measurements.empty(2).add(X, ((X - 0.2) ** 2).sum(axis=1))
    kept = local(measured, Fit.start(2), most=50)
    assert len(kept.X) == len(np.unique(kept.at)) == 50
    far = np.sort(np.abs(kept.X - 0.2).max(axis=1))
    assert far[24] < 0.3
    assert far[-1] > 0.7


def test_local_data_leave_no_valley_out() -> None:
    """Between two valleys there are no good points, and what is known elsewhere stays known."""
    rng = np.random.default_rng(8)
    X = rng.random((900, 2))
    values = np.minimum(((X - [0.1, 0.5]) ** 2).sum(axis=1), ((X - [0.9, 0.5]) ** 2).sum(axis=1))
    kept = local(Measurements.empty(2).add(X, values), Fit.start(2), most=80).X
    left, right = (int((np.abs(kept[:, 0] - x) < 0.1).sum()) for x in (0.1, 0.9))
    middle = int((np.abs(kept[:, 0] - 0.5) < 0.1).sum())
    assert max(left, right) > 3 * middle
    assert all((np.abs(kept - corner).max(axis=1) < 0.4).any() for corner in np.eye(2))
