"""How the probe statistic P relates to Kendall's discordance q and to elite disagreement M."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noisewise as nw
from noisewise._types import IntArray
from noisewise.measured.samples import footrule, kendall, ranks, top_mu

_SLACK = 1e-12


def _check(r: IntArray, mu: int) -> None:
    """All bounds of Eq. (59) for the identity against ``r``, with mu <= k/2."""
    k, identity = len(r), np.arange(len(r))
    P, q, M = footrule(identity, r), kendall(identity, r), top_mu(identity, r, mu)
    assert 0.0 <= P <= 0.5
    assert k / (k - 1) * P <= q + _SLACK
    assert q <= 2.0 * k / (k - 1) * P + _SLACK
    assert k * k / (2.0 * mu) * P + _SLACK >= M
    assert np.sqrt(2.0 * P) + _SLACK >= M


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_no_permutation_of_few_violates_the_bounds(k: int) -> None:
    """Exhaustively: every permutation, every mu up to k/2."""
    for permutation in permutations(range(k)):
        for mu in range(1, k // 2 + 1):
            _check(np.array(permutation), mu)


@settings(max_examples=300)
@given(r=st.integers(2, 60).flatmap(lambda k: st.permutations(range(k))), share=st.floats(0, 1))
def test_no_permutation_of_many_violates_the_bounds(r: list[int], share: float) -> None:
    """Any size, any mu up to k/2."""
    _check(np.array(r), max(1, int(share * (len(r) // 2))))


def test_no_noisy_population_violates_the_bounds() -> None:
    """The paper's setting, lambda = 15 and mu = 7, at all levels of noise."""
    rng = np.random.default_rng(0)
    for noise in np.logspace(-2, 2, 750):
        f = rng.normal(size=15)
        r_a, r_b = (ranks(f + noise * rng.normal(size=15)) for _ in range(2))
        _check(r_b[r_a.argsort()], 7)


def test_kendall_bounds_are_attained() -> None:
    """The lower bound by one long jump, the upper one, in the limit, by a reversal."""
    k = 200
    identity, jump, reversal = np.arange(k), np.roll(np.arange(k), 1), np.arange(k)[::-1]
    assert kendall(identity, jump) / footrule(identity, jump) == pytest.approx(k / (k - 1))
    assert kendall(identity, reversal) / footrule(identity, reversal) == pytest.approx(2.0)


def test_printed_elite_bound_needs_mu_of_at_most_half() -> None:
    """M <= lambda^2 P/(2 mu) fails beyond mu = lambda/2 if M counts all candidates: one swap
    across the boundary changes 2 of lambda memberships while lambda^2 P/(2 mu) is 1/mu."""
    k, mu = 6, 4
    swapped = np.array([0, 1, 2, 4, 3, 5])
    M = top_mu(np.arange(k), swapped, mu)
    bound = k * k / (2 * mu) * footrule(np.arange(k), swapped)
    assert pytest.approx(2 / 6) == M
    assert bound == pytest.approx(1 / 4)


@pytest.mark.parametrize("s", [1, 2, 3])
def test_square_root_bound_is_attained(s: int) -> None:
    """M <= sqrt(2 P), with equality when two blocks trade places across the boundary."""
    k, mu = 12, 5
    r = np.arange(k)
    r[mu - s : mu + s] = np.roll(r[mu - s : mu + s], s)
    assert top_mu(np.arange(k), r, mu) == pytest.approx(np.sqrt(2.0 * footrule(np.arange(k), r)))


@pytest.mark.parametrize("k", [4, 15, 40])
def test_pure_noise_gives_a_third(k: int) -> None:
    """E P = (1 - 1/k^2)/3 when two rankings have nothing in common."""
    rng = np.random.default_rng(0)
    P = [footrule(rng.permutation(k), rng.permutation(k)) for _ in range(4000)]
    assert np.mean(P) == pytest.approx((1.0 - k**-2.0) / 3.0, abs=4.0 * np.std(P) / 4000**0.5)


def test_probe_is_zero_without_noise_and_a_third_with_nothing_else() -> None:
    """P of `nw.probe` at both ends, and in between in between."""
    rng = np.random.default_rng(0)

    def P(noise: float) -> float:
        return nw.probe(
            lambda x: float(x @ x) + noise * rng.normal(), np.ones(10), sigma0=1.0, n=100, rng=1
        ).P

    assert P(0.0) == 0.0
    assert 0.02 < P(2.0) < 0.2
    assert P(1e9) == pytest.approx(1.0 / 3.0, abs=0.05)
