"""Scale models: planted coefficients are found again."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from noisewise._types import FloatArray
from noisewise.measured.noise import SCALES, fit_scale, scale_at, spread_of

N = 40_000
#: Standard deviation over E|eps|, for Gaussian noise.
TO_SCALE = np.sqrt(np.pi / 2.0)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_constant(rng: np.random.Generator) -> None:
    a, b = fit_scale("constant", rng.normal(size=N), 3.0 * rng.normal(size=N))
    assert a * TO_SCALE == pytest.approx(3.0, rel=0.02)
    assert b == 0.0


@pytest.mark.parametrize(("s0", "s1"), [(2.0, 0.5), (0.0, 0.5), (2.0, 0.0)])
def test_linear(s0: float, s1: float, rng: np.random.Generator) -> None:
    """Coefficients are those of E|eps|, which for Gaussian noise is sqrt(2/pi) of its scale."""
    c = rng.uniform(-10.0, 10.0, size=N)
    a, b = fit_scale("linear", c, (s0 + s1 * np.abs(c)) * rng.normal(size=N))
    assert a * TO_SCALE == pytest.approx(s0, abs=0.1)
    assert b * TO_SCALE == pytest.approx(s1, abs=0.02)


@pytest.mark.parametrize(("v0", "v1"), [(4.0, 0.25), (0.0, 0.25), (4.0, 0.0)])
def test_variance(v0: float, v1: float, rng: np.random.Generator) -> None:
    c = rng.uniform(-10.0, 10.0, size=N)
    a, b = fit_scale("variance", c, np.sqrt(v0 + v1 * c * c) * rng.normal(size=N))
    assert a == pytest.approx(v0, abs=0.4)
    assert b == pytest.approx(v1, abs=0.02)


def test_spread(rng: np.random.Generator) -> None:
    """The multiple of the spread, whatever the spread was when each residual was seen."""
    x = np.exp(rng.normal(0.0, 5.0, size=N))
    eps = 0.3 * x * rng.normal(size=N)
    assert fit_scale("spread", x, eps)[1] * TO_SCALE == pytest.approx(0.3, rel=0.02)
    x[: N // 2] = 0.0  # generations of equal values say nothing
    assert fit_scale("spread", x, eps)[1] * TO_SCALE == pytest.approx(0.3, rel=0.02)
    assert fit_scale("spread", np.zeros(4), np.ones(4)) == (0.0, 0.0)


def test_spread_of_values() -> None:
    assert spread_of(np.array([1.0, 2.0, 6.0, np.inf, np.nan])) == pytest.approx(5.0 / 3.0)
    assert spread_of(np.array([np.inf])) == 0.0


@given(
    model=st.sampled_from(SCALES),
    table=hnp.arrays(
        float, st.tuples(st.integers(1, 20), st.just(2)), elements=st.floats(-1e8, 1e8)
    ),
)
def test_scales_are_never_negative_and_never_zero(model: str, table: FloatArray) -> None:
    """Whatever was seen, s can be divided by."""
    x = np.abs(table[:, 0]) if model == "spread" else table[:, 0]
    coefficients = fit_scale(model, x, table[:, 1])
    assert min(coefficients) >= 0.0
    s = scale_at(model, coefficients, x)
    assert (s > 0.0).all()
    assert np.isfinite(s).all()


@given(shift=st.floats(-1e6, 1e6), seed=st.integers(0, 99))
def test_only_some_models_ignore_a_constant_added_to_f(shift: float, seed: int) -> None:
    """ "constant" and "spread" see differences of values only."""
    rng = np.random.default_rng(seed)
    values, eps = rng.normal(size=30), rng.normal(size=30)
    moved = values + shift
    assert spread_of(moved) == pytest.approx(spread_of(values), rel=1e-6)
    assert fit_scale("constant", moved, eps) == fit_scale("constant", values, eps)
