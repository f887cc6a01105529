"""How far expected weights move when the noise law is replaced by another one."""

from __future__ import annotations

import numpy as np
import pytest
from theory_tools import Uniform as UniformLaw
from theory_tools import pem_weights

from noisewise._types import FloatArray
from noisewise.cma.weights import Log, Profile, Uniform

_ETA = np.logspace(-4, 0, 60)


def _bound(w: FloatArray, s: FloatArray, a: float, i: int) -> float:
    """Right side of Eq. (42), at the best smoothing scale, for uniform noise on
    [-1, 1] against uniform noise on [-a, a] with a <= 1."""
    w1 = (1.0 - a) / 2.0
    # A sum of independent variables has no larger a density than either of them.
    densities = 1.0 / (2.0 * a * np.maximum(s, s[i]))
    L = densities.sum() - densities[i]
    largest, drop = np.abs(w).max(), np.abs(np.diff(w)).max()
    return float((largest / _ETA * s.sum() * w1 + 4.0 * drop * _ETA * L).min())


@pytest.mark.parametrize("profile", [Log(), Uniform()])
@pytest.mark.parametrize("a", [0.2, 0.8, 0.99, 0.9999])
def test_weights_differ_by_no_more_than_the_bound(profile: Profile, a: float) -> None:
    """Prop. dist_to_rank: |w~ - w*| <= |w| S W1/eta + 4 Delta_w eta sum L, for every eta."""
    rng = np.random.default_rng(0)
    for k in (2, 3, 6):
        w = profile.weights(k)
        f, s = rng.normal(size=k), rng.uniform(0.5, 1.5, size=k)
        moved = np.abs(pem_weights(f, s, w, UniformLaw(a)) - pem_weights(f, s, w, UniformLaw()))
        for i in range(k):
            assert moved[i] <= _bound(w, s, a, i) + 1e-6


def test_bound_says_something_only_for_very_close_laws() -> None:
    """The bound shrinks like sqrt(W1): it forbids something only when W1 is tiny."""
    w, s = Log().weights(6), np.ones(6)
    bounds = np.array([_bound(w, s, a, 0) for a in (0.9, 0.999, 0.99999)])
    assert bounds[0] > w[0]  # vacuous: no expected weight is larger than w[0]
    assert bounds[2] < 0.1 * w[0]
    np.testing.assert_allclose(bounds[:-1] / bounds[1:], 10.0, rtol=0.1)


def test_weights_really_move_in_proportion_to_the_distance() -> None:
    """What the bound is too weak to show: a law ten times closer moves weights a tenth."""
    w, s, f = Log().weights(6), np.ones(6), np.linspace(0.0, 1.0, 6)
    exact = pem_weights(f, s, w, UniformLaw())
    moved = [
        np.abs(pem_weights(f, s, w, UniformLaw(1.0 - gap), n=40000) - exact).max()
        for gap in (0.1, 0.01)
    ]
    assert moved[0] / moved[1] == pytest.approx(10.0, rel=0.15)
