"""What the newest values say about the noise and the spread: worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from noisewise.answer.outlook import _noise_share, _spread
from noisewise.measured.evidence import Recent


def recent(values: list[float], each: int) -> Recent:
    """Rounds of ``each`` candidates with these values, one after the other."""
    seen = Recent(10_000)
    for y in np.array(values).reshape(-1, each):
        seen.add(np.zeros((each, 1)), y[:, None])
    return seen


@pytest.mark.parametrize(("each", "newest"), [(4, 20), (20, 20), (30, 30)])
def test_the_share_of_the_noise_is_that_in_the_newest_twenty_values(each: int, newest: int) -> None:
    """In more where a round has more."""
    y = np.random.default_rng(0).normal(size=120) * np.repeat([5.0, 1.0], [90, 30])
    expected = 0.1 / float(np.var(y[-newest:], ddof=1))
    assert _noise_share(recent(y.tolist(), each), 0.1) == pytest.approx(expected)


def test_failures_among_the_newest_values_are_replaced_by_older_ones() -> None:
    y = np.random.default_rng(1).normal(size=80)
    y[-20::2] = math.inf
    good = y[np.isfinite(y)][-20:]
    found = _noise_share(recent(y.tolist(), 4), 0.1)
    assert found == pytest.approx(0.1 / float(np.var(good, ddof=1)))


def test_the_spread_is_that_of_normal_values_less_the_noise() -> None:
    """The middle nine tenths of N(0, 5), of which a variance of 1 is noise."""
    y = stats.norm.ppf((np.arange(2000) + 0.5) / 2000, scale=math.sqrt(5.0))
    assert _spread(recent(y.tolist(), 20), 1.0) == pytest.approx(2.0, rel=0.01)
    assert math.isnan(_spread(recent(y[:4].tolist(), 4), 1.0))
    assert _spread(recent(y.tolist(), 20), 99.0) == 0.0
