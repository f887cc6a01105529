"""Evaluations that fail where a point is infeasible: the recommendation is feasible."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
from noisewise.methods import _gp_feasible as feasible
from noisewise.models.measurements import Measurements


def in_the_ball(x: Any) -> bool:
    """A twentieth of the unit square or cube; the optimum lies on its surface."""
    return float(((x - 0.75) ** 2).sum()) <= {2: 0.14, 3: 0.25}[len(x)] ** 2


def in_the_corner(x: Any) -> bool:
    return float(x.sum()) <= 0.25 * len(x)


def in_two_parts(x: Any) -> bool:
    return bool(min(np.linalg.norm(x - 0.2), np.linalg.norm(x - 0.8)) <= 0.2)


@pytest.mark.parametrize(
    ("method", "budget"), [("gp", 60), ("auto", 60), ("auto", 800), ("cma-es", 800)]
)
@pytest.mark.parametrize("good", [in_the_ball, in_the_corner, in_two_parts])
def test_the_recommendation_is_feasible(method: str, budget: int, good: Any) -> None:
    d, bad = (3, math.nan) if budget > 100 else (2, math.inf)
    noise = np.random.default_rng(1)

    def fun(x: Any) -> float:
        best = 0.3 if good is in_the_corner else 0.5
        return float(((x - best) ** 2).sum() + 0.02 * noise.normal()) if good(x) else bad

    r = nw.minimize(fun, bounds=[(0.0, 1.0)] * d, budget=budget, method=method, rng=2)
    assert 0 < r.n_failures < r.nfev == budget
    assert good(r.x)


@given(
    n=st.integers(1, 12), d=st.integers(1, 3), seed=st.integers(0, 999), share=st.floats(0.0, 1.0)
)
def test_the_chance_of_a_success(n: int, d: int, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    y = np.where(rng.random(n) < share, rng.normal(size=n), np.nan)
    seen = Measurements.empty(d).add(X, y)
    p = feasible.chance(seen, X)
    assert ((p > 0.0) & (p <= 1.0)).all()
    if seen.ok.all():
        assert (p == 1.0).all()
    np.testing.assert_array_equal(feasible.likely(seen, X), np.isfinite(y))
    nearest = np.abs(X[:, None] - X[None]).sum(axis=2).argmin(axis=1)  # each is its own
    assert (nearest == np.arange(n)).all()
