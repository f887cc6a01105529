"""W1 and KS are those of scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from noisewise._types import FloatArray
from noisewise.measured import diagnostics
from noisewise.measured.diagnostics import ks_critical, near_ties

_SAMPLES = hnp.arrays(
    float,
    st.integers(1, 40),
    elements=st.floats(-1e6, 1e6, allow_subnormal=False) | st.sampled_from([-1.0, 0.0, 1.0]),
)


def _parted(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Both samples as one, sorted, and what sets them apart."""
    both = np.concatenate((a, b))
    order = both.argsort()
    return both[order], diagnostics.difference(order < len(a))


def wasserstein(a: FloatArray, b: FloatArray) -> float:
    return diagnostics.wasserstein(*_parted(a, b))


def ks(a: FloatArray, b: FloatArray) -> float:
    return diagnostics.ks(*_parted(a, b))


@settings(max_examples=150)
@given(a=_SAMPLES, b=_SAMPLES)
def test_wasserstein_is_scipys(a: FloatArray, b: FloatArray) -> None:
    expected = stats.wasserstein_distance(a, b)
    assert wasserstein(a, b) == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert wasserstein(b, a) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=150)
@given(a=_SAMPLES, b=_SAMPLES)
def test_ks_is_scipys(a: FloatArray, b: FloatArray) -> None:
    with np.errstate(all="ignore"):  # of the p-value, for samples of one
        expected = stats.ks_2samp(a, b, method="asymp").statistic
    assert ks(a, b) == pytest.approx(expected, abs=1e-12)


@settings(max_examples=40)
@given(a=_SAMPLES, by=st.floats(-100, 100))
def test_wasserstein_of_a_shift_is_the_shift(a: FloatArray, by: float) -> None:
    assert wasserstein(a, a + by) == pytest.approx(abs(by), rel=1e-6, abs=1e-6)


def test_critical_distance_is_exceeded_once_in_a_hundred() -> None:
    """For samples of one law."""
    rng, n, trials = np.random.default_rng(0), 150, 4000
    exceeded = sum(
        ks(rng.normal(size=n), rng.normal(size=n)) > ks_critical(n, n) for _ in range(trials)
    )
    assert 0.003 < exceeded / trials < 0.015


@given(a=_SAMPLES, noise=st.floats(0.01, 1e6))
def test_near_ties_are_counted_pair_by_pair(a: FloatArray, noise: float) -> None:
    """Over the pairs of a sample, one after the other."""
    y = np.sort(a)
    close = [y[j] < y[i] + noise for j in range(len(y)) for i in range(j)]
    expected = float(np.mean(close)) if close else np.nan
    assert near_ties(y, noise) == pytest.approx(expected, nan_ok=True)
