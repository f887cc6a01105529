"""Coordinates that enlarge the region of the best points, and averages of these."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.gp.focus import Focus, average_of_best
from noisewise.gp.kernel import Hyper
from noisewise.gp.model import Fit, Model, refit
from noisewise.gp.process import Posterior
from noisewise.gp.proposals import descend
from noisewise.gp.values import Measurements, merge


def some(rng: np.random.Generator, n: int = 12, d: int = 3) -> tuple[np.ndarray, np.ndarray]:
    X = rng.random((n, d))
    return X, np.sum((X - 0.3) ** 2, axis=1)


@given(st.integers(0, 1000), st.integers(1, 5), st.integers(1, 30))
def test_forward_and_backward_are_inverse_and_keep_the_box(seed: int, d: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    focus = Focus.of(*some(rng, n, d))
    X = rng.uniform(-1.0, 2.0, (20, d))
    np.testing.assert_allclose(focus.backward(focus.forward(X)), X, atol=1e-9)
    ends = focus.forward(np.array([np.zeros(d), np.ones(d)]))
    np.testing.assert_allclose(ends[1] - ends[0], 1.0)
    np.testing.assert_allclose(focus.forward(focus.centre), 0.5)


def test_the_slope_is_the_derivative_and_largest_at_the_centre() -> None:
    rng = np.random.default_rng(1)
    focus = Focus.of(*some(rng))
    for x in rng.random((5, 3)):
        step = 1e-6
        slope = (focus.forward(x + step) - focus.forward(x - step)) / (2 * step)
        np.testing.assert_allclose(focus.slope(x), slope, rtol=1e-6)
        assert (focus.slope(x) <= focus.slope(focus.centre)).all()


def test_in_open_coordinates_the_scale_follows_the_centre() -> None:
    """Far from the unit interval steps are as long, relative to the region, as within it."""
    X, y = some(np.random.default_rng(6))
    here, there = Focus.of(X, y), Focus.of(100.0 + X, y)
    ratio = there.slope(there.centre) / here.slope(here.centre)
    assert (ratio > 0.5).all()
    assert (ratio < 2.0).all()


def test_faces_of_the_box_stay_exact() -> None:
    focus = Focus.of(*some(np.random.default_rng(7)))
    low, high = np.full(3, 1.0 / 3.0), np.full(3, 7.0 / 9.0)
    W = focus.forward(np.array([low, high, low - 1.0, high + 1.0]))
    np.testing.assert_array_equal(focus.within(W, low, high), [low, high, low, high])


def test_replicates_of_one_point_have_a_width() -> None:
    focus = Focus.of(np.full((4, 2), 0.5), np.arange(4.0))
    assert (focus.width > 0.0).all()
    assert np.isfinite(focus.forward(np.array([0.0, 1.0]))).all()


def test_the_average_of_the_best_prefers_small_values_and_ignores_the_rest() -> None:
    X = np.arange(10.0)[:, None]
    assert average_of_best(X, np.arange(10.0), 1)[0] == 0.0
    assert 0.0 < average_of_best(X, np.arange(10.0), 4)[0] < 1.5  # 1.5: without weights
    far = X.copy()
    far[4:] = 1e6
    assert average_of_best(far, np.arange(10.0), 4) == average_of_best(X, np.arange(10.0), 4)


@given(st.integers(0, 1000))
def test_equal_values_count_equally_in_any_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X, y = rng.random((12, 2)), rng.integers(0, 2, 12).astype(float)
    order = rng.permutation(12)
    np.testing.assert_allclose(average_of_best(X[order], y[order], 3), average_of_best(X, y, 3))
    if (y == 0).sum() >= 4:  # more wins than weights: all wins alike
        np.testing.assert_allclose(average_of_best(X, y, 3), X[y == 0].mean(axis=0))


def process_with_focus(rng: np.random.Generator) -> Posterior:
    X, y = some(rng)
    hyper = Hyper(np.log([0.5, 0.7, 0.9]), -0.5, -2.0, -2.0)
    return Posterior.of(merge(X, y, np.arange(12), np.zeros(12)), hyper, Focus.of(X, y))


def test_gradients_are_by_the_coordinates_of_the_point() -> None:
    rng = np.random.default_rng(2)
    process = process_with_focus(rng)
    for x in rng.random((4, 3)):
        mean, slope = process.mean_slope(x)
        assert mean == pytest.approx(process.mean(x[None])[0])
        for i, step in enumerate(1e-5 * np.eye(3)):
            m1, m0 = process.mean(np.array([x + step, x - step]))
            assert slope[i] == pytest.approx((m1 - m0) / 2e-5, rel=1e-4, abs=1e-6)


def test_the_covariance_of_gradients_is_that_of_differences() -> None:
    process, x, h = process_with_focus(np.random.default_rng(3)), np.full(3, 0.4), 1e-4
    steps = h * np.eye(3)
    _, joint = process.joint(np.vstack([x + steps, x - steps]))
    ahead = np.hstack([np.eye(3), -np.eye(3)]) / (2 * h)
    np.testing.assert_allclose(process.gradient_covariance(x), ahead @ joint @ ahead.T, rtol=1e-3)


def test_descent_lowers_the_mean_and_stays_in_the_box() -> None:
    rng = np.random.default_rng(4)
    process = process_with_focus(rng)
    low, high = np.full(3, 0.2), np.ones(3)
    for x in rng.uniform(0.2, 1.0, (5, 3)):
        found = descend(process, x, low, high, 30)
        assert process.mean(found[None])[0] <= process.mean(x[None])[0] + 1e-12
        np.testing.assert_array_equal(found, np.clip(found, low, high))


def test_flat_is_the_same_process() -> None:
    process, X = process_with_focus(np.random.default_rng(5)), np.full((1, 3), 0.45)
    assert process.focus is not None
    W = process.focus.forward(X)
    np.testing.assert_allclose(process.flat().mean(W), process.mean(X))


@pytest.mark.parametrize(
    ("law", "focused"), [("multiplied", True), ("added", False), ("steep, no noise", False)]
)
def test_the_model_has_a_focus_where_noise_falls_with_the_values(law: str, focused: bool) -> None:
    """In five of six sets of fifty values, and else in none."""
    found = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X = rng.random((50, 2))
        t, noise = np.sum((X - 0.3) ** 2, axis=1), rng.standard_normal(50)
        y = {
            "multiplied": t * np.exp(noise),
            "added": t + 0.1 * noise,
            "steep, no noise": np.exp(8.0 * t),
        }[law]
        measured = Measurements.empty(2).add(X, 3.0 + y)
        fit = refit(measured, Fit.start(2))
        found += fit.focused
        assert (Model.of(measured, fit).posterior.focus is not None) == fit.focused
    assert found >= 5 if focused else found == 0
    assert not refit(measured, replace(Fit.start(2), closer=False)).focused
