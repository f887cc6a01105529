"""Order of pairs under noise: the bound for one pair, the share of all pairs, and what it costs."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from theory_tools import bound, evaluations_for_pair, misranked

import noisewise as nw
from noisewise.measured import pairs
from noisewise.measured.samples import kendall, ranks

_SIZES = st.floats(0.05, 5.0)


@given(gap=_SIZES, s_i=_SIZES, s_j=_SIZES, k=st.integers(1, 50))
def test_bound_holds_for_gaussian_noise(gap: float, s_i: float, s_j: float, k: int) -> None:
    """Eq. (14): Phi(-gap sqrt(k / (s_i^2 + s_j^2))) is below it, always by a
    factor of at least two."""
    exact = float(stats.norm.cdf(-gap * math.sqrt(k / (s_i**2 + s_j**2))))
    assert 2.0 * exact <= bound(gap, s_i, s_j, k) * (1.0 + 1e-9)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_bound_holds_for_bounded_noise(k: int) -> None:
    """Coins of +-s are sub-Gaussian with their own variance."""
    rng = np.random.default_rng(0)
    s_i, s_j, gap = 1.0, 0.5, 0.8
    means = [s * rng.choice([-1.0, 1.0], size=(40_000, k)).mean(axis=1) for s in (s_i, s_j)]
    assert np.mean(means[0] - means[1] > gap) <= bound(gap, s_i, s_j, k)


def test_bound_does_not_hold_for_heavy_tails() -> None:
    """Cauchy noise of any scale: averaging changes nothing, so no k reaches the target."""
    rng = np.random.default_rng(0)
    k = evaluations_for_pair(0.01, 1.0, 1.0, 1.0)
    means = rng.standard_cauchy((20_000, 2, k)).mean(axis=2)
    assert np.mean(means[:, 0] - means[:, 1] > 1.0) > 0.3


@given(target=st.floats(1e-6, 0.9), gap=_SIZES, s_i=_SIZES, s_j=_SIZES)
def test_evaluations_for_a_pair_are_just_enough(
    target: float, gap: float, s_i: float, s_j: float
) -> None:
    k = evaluations_for_pair(target, gap, s_i, s_j)
    assert bound(gap, s_i, s_j, k) <= target * (1.0 + 1e-9)
    assert k == 1 or bound(gap, s_i, s_j, k - 1) > target * (1.0 - 1e-9)


def test_halving_the_gap_takes_four_times_as_many() -> None:
    few, many = (evaluations_for_pair(0.01, gap, 1.0, 1.0) for gap in (0.02, 0.01))
    assert many / few == pytest.approx(4.0, rel=1e-3)


@pytest.mark.parametrize(("noise", "k"), [(0.5, 1), (1.0, 1), (1.0, 6), (3.0, 10)])
def test_shares_of_gaussian_populations(noise: float, k: int) -> None:
    """Means of k: discordance of two rankings, and of a ranking with the truth, as predicted."""
    rng = np.random.default_rng(1)
    f = rng.normal(size=1500)
    single = [ranks(f + noise * rng.normal(size=len(f))) for _ in range(2)]
    q = kendall(*single)
    assert pairs.noise_ratio(q) == pytest.approx(noise**2, rel=0.12)
    means = ranks(f + noise / math.sqrt(k) * rng.normal(size=len(f)))
    assert kendall(means, ranks(f)) == pytest.approx(misranked(q, k), abs=0.015)


@given(target=st.floats(0.001, 0.49), q=st.floats(0.0, 0.499))
def test_evaluations_for_a_share_are_just_enough(target: float, q: float) -> None:
    k = int(pairs.evaluations_for(target, q))
    if k < 10**9:
        assert misranked(q, k) <= target * (1.0 + 1e-9)
        assert k == 1 or misranked(q, k - 1) > target * (1.0 - 1e-6)


def test_ranks_are_all_it_needs() -> None:
    """A monotone transformation of the values changes nothing."""
    rng = np.random.default_rng(0)
    f = rng.normal(size=40)
    a, b = (f + rng.normal(size=40) for _ in range(2))
    q = kendall(ranks(a), ranks(b))
    assert q == kendall(ranks(np.exp(a)), ranks(np.exp(b)))
    assert pairs.evaluations_for(0.1, q) == pairs.evaluations_for(0.1, kendall(ranks(b), ranks(a)))


@pytest.mark.parametrize("target", [0.0, 0.5, -1.0, math.nan, "x"])
def test_targets_that_make_no_sense(target: float) -> None:
    with pytest.raises(ValueError, match="target must be"):
        pairs.evaluations_for(target, 0.2)


def test_what_the_probe_says_of_it() -> None:
    rng = np.random.default_rng(0)
    noise = 8.0
    report = nw.probe(
        lambda x: float(x @ x) + noise * rng.normal(), np.ones(5), sigma0=1.0, n=60, rng=1
    )
    k = report.evaluations_for(0.05)
    assert k > 5
    assert report.advice.endswith(
        f"ordering 95% of all pairs rightly would take about {k:.0f} each."
    )
    hopeless = nw.ProbeReport(P=0.34, kendall=0.51, top_mu=0.5, nfev=40)
    assert hopeless.advice.endswith(": no number of repeats would order them.")
    unknown = nw.ProbeReport(P=math.nan, kendall=math.nan, top_mu=math.nan, nfev=4)
    assert math.isnan(unknown.evaluations_for(0.05))
