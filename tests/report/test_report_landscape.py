"""The model behind the pictures of a report: where it looks, and what its bands are."""

from __future__ import annotations

import numpy as np
import pytest

from noisewise._types import FloatArray
from noisewise.report import landscape
from noisewise.report.landscape import CELLS, Landscape


def seen(n: int, d: int, noise: float = 0.0) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(n + d)
    X = rng.random((n, d))
    return X, (X[:, 0] - 0.3) ** 2 + noise * rng.normal(size=n)


def unit(d: int) -> FloatArray:
    return np.array([np.zeros(d), np.ones(d)])


def land(n: int = 40, d: int = 2, noise: float = 0.0, sign: float = 1.0) -> Landscape:
    X, y = seen(n, d, noise)
    found = landscape.of(X, sign * y, np.full(d, 0.5), unit(d), sign)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("n", "d", "failed", "made"),
    [
        (8, 1, 0, True),  # eight successes at least
        (7, 1, 0, False),
        (9, 1, 2, False),
        (10, 5, 0, True),  # and two per parameter
        (9, 5, 0, False),
        (30, 15, 0, True),  # of fifteen parameters at most
        (40, 16, 0, False),
    ],
)
def test_how_many_values_a_model_needs(n: int, d: int, failed: int, made: bool) -> None:
    X, y = seen(n, d)
    y[:failed] = np.nan
    found = landscape.of(X, y, X[0], unit(d), 1.0)
    assert (found is not None) == made
    if found is not None:
        assert found.count == n


def test_parameters_that_do_not_vary_do_not_count() -> None:
    X, y = seen(10, 7)
    bounds = unit(7)
    X[:, 3:] = bounds[:, 3:] = 0.5
    found = landscape.of(X, y, X[0], bounds, 1.0)
    assert found is not None
    assert found.free.tolist() == [0, 1, 2]
    assert landscape.of(X, y, X[0], np.full((2, 7), 0.5), 1.0) is None


def test_the_newest_three_hundred_values_count() -> None:
    X, y = seen(310, 1)
    y[:10] = 1e6
    found = landscape.of(X, y, np.array([0.5]), unit(1), 1.0)
    assert found is not None
    assert found.count == 300
    assert np.abs(found.cut(0).middle - (found.cut(0).x - 0.3) ** 2).max() < 0.02


def test_the_box_around_the_points_has_a_margin_of_a_twentieth() -> None:
    X, y = seen(20, 2)
    X = 0.4 + 0.2 * (X - X.min(axis=0)) / np.ptp(X, axis=0)
    X[:, 1] -= 0.4  # it touches the bound
    found = landscape.of(X, y, X[0], unit(2), 1.0)
    assert found is not None
    np.testing.assert_allclose(found.low, [0.39, 0.0], atol=1e-8)
    np.testing.assert_allclose(found.high, [0.61, 0.21], atol=1e-8)
    # The recommendation is always inside.
    found = landscape.of(X, y, np.array([0.9, 0.1]), unit(2), 1.0)
    assert found is not None
    assert found.high[0] == pytest.approx(0.9 + 0.05 * 0.5)


def test_a_cut_goes_through_the_recommendation() -> None:
    found = land()
    band = found.cut(0)
    assert len(band.x) == 41
    assert (band.x[0], band.x[-1]) == (found.low[0], found.high[0])
    np.testing.assert_allclose(band.middle, (band.x - 0.3) ** 2, atol=0.01)


def test_a_map_has_the_first_parameter_along_its_rows() -> None:
    """Cells are measured in their middle: the first twenty-fourth has it at a forty-eighth."""
    middle, width = land().map(0, 1)
    found = land()
    part = (np.arange(CELLS) + 0.5) / CELLS
    across = found.low[0] + part * (found.high[0] - found.low[0])
    np.testing.assert_allclose(middle, np.tile((across - 0.3) ** 2, (CELLS, 1)), atol=0.02)
    turned, _ = found.map(1, 0)
    np.testing.assert_allclose(turned, middle.T, atol=1e-9)
    assert (width >= 0.0).all()


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_bands_are_intervals_of_95_percent(sign: float) -> None:
    """1.96 standard deviations of the noise-free value to either side, in the user's sign."""
    found = land(60, 1, noise=0.1, sign=sign)
    band = found.cut(0)
    U = (band.x[:, None] - found.low) / (found.high - found.low)
    mean, var = found.model.posterior.predict(U)
    for value, level in ((band.low, -sign), (band.high, sign)):
        expected = [
            found.model.expected(m + level * 1.96 * s, 0.0)[0]
            for m, s in zip(mean, var**0.5, strict=True)
        ]
        np.testing.assert_allclose(value, sign * np.array(expected), rtol=1e-9)
    expected = [found.model.expected(float(m), 0.0)[0] for m in mean]
    np.testing.assert_allclose(band.middle, sign * np.array(expected), rtol=1e-9)


def test_what_was_known_at_moments_of_the_run() -> None:
    X, y = seen(60, 2, noise=0.01)
    found = landscape.of(X, y, np.full(2, 0.5), unit(2), 1.0)
    assert found is not None
    number = 100 + np.arange(60)  # the first hundred are no longer remembered
    band = landscape.progress(found, X, y, number, unit(2))
    assert len(band.x) == 16
    assert (band.x[0], band.x[-1]) == (107.0, 159.0)
    assert (band.low <= band.middle).all()
    assert (band.middle <= band.high).all()
    assert band.middle[-1] == pytest.approx(0.0, abs=0.02)
    failed = y.copy()
    failed[:6] = np.nan  # two successes among the first eight say nothing
    band = landscape.progress(found, X, failed, number, unit(2))
    assert np.isnan(band.middle[0])
    assert np.isfinite(band.middle[1:]).all()
