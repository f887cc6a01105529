"""Profiles and the weights made of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from noisewise._types import FloatArray
from noisewise.cma.weights import Log, PowerLift, Profile, Uniform, rank_weights

PROFILES = (Log(), Log(active=True), Uniform(), PowerLift(), PowerLift(start=3.0, end=0.5))
_VALUES = hnp.arrays(
    float,
    st.integers(1, 25),
    elements=st.floats(-1e9, 1e9) | st.just(np.inf) | st.sampled_from([0.0, 1.0]),
)


@given(profile=st.sampled_from(PROFILES), n=st.integers(1, 300), progress=st.floats(-1.0, 2.0))
def test_profiles(profile: Profile, n: int, progress: float) -> None:
    w = profile.weights(n, progress)
    assert w.shape == (n,)
    assert (np.diff(w) <= 0.0).all()
    assert w[0] > 0.0
    assert w[w > 0.0].sum() == pytest.approx(1.0, abs=1e-12)
    if getattr(profile, "active", False) and n > 2:
        assert w[w < 0.0].sum() == pytest.approx(-1.0, abs=1e-12)
    else:
        assert (w >= 0.0).all()
        assert (w[max(1, n // 2) :] == 0.0).all() or isinstance(profile, Log)


@given(n=st.integers(2, 300))
def test_active_profile_agrees_with_the_plain_one_where_both_are_positive(n: int) -> None:
    plain, active = Log().weights(n), Log(active=True).weights(n)
    if n % 2 == 0:
        half = n // 2
        np.testing.assert_allclose(active[:half], plain[:half], rtol=1e-12)
    assert (active[n // 2 + n % 2 :] < 0.0).all()


@pytest.mark.parametrize("profile", PROFILES[:2])
def test_shared_profiles_cannot_be_changed(profile: Profile) -> None:
    with pytest.raises(ValueError, match="read-only"):
        profile.weights(8)[0] = 2.0


@given(values=_VALUES, profile=st.sampled_from(PROFILES))
def test_rank_weights(values: FloatArray, profile: Profile) -> None:
    w = rank_weights(values, profile.weights(len(values)))
    failed = values == np.inf
    if failed.all():
        return  # such a generation never gets here: there is nothing to learn from it
    assert w[w > 0.0].sum() == pytest.approx(1.0, abs=1e-12)
    assert (w[failed] <= 0.0).all()
    order = np.argsort(values, kind="stable")
    assert (np.diff(w[order]) <= 1e-15).all()


@given(values=_VALUES, seed=st.integers(0, 1000))
def test_rank_weights_move_with_their_candidates(values: FloatArray, seed: int) -> None:
    values = np.unique(values)  # ties go by index, so they do not move along
    shuffle = np.random.default_rng(seed).permutation(len(values))
    profile = Log(active=True).weights(len(values))
    expected = rank_weights(values, profile)[shuffle]
    np.testing.assert_allclose(rank_weights(values[shuffle], profile), expected, rtol=1e-14)
