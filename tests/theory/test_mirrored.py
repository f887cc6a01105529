"""Mirrored pairs on shared seeds: what section 9 of docs/theory.md says.

| symbol | meaning |
|---|---|
| F(x) | expected value; here linear, with gradient c |
| f(x, w) | value at x under seed w: F(x) + a(w) + b(w) . x |
"""

from __future__ import annotations

import numpy as np
import pytest

from noisewise._types import FloatArray
from noisewise.methods.pairs import signed_ranks

D = 6
C = np.arange(1.0, D + 1.0) / np.linalg.norm(np.arange(1.0, D + 1.0))


def direction(
    rng: np.random.Generator, pairs: int, shared: str, slope: float = 0.0, offset: float = 0.0
) -> FloatArray:
    """Sum of s_i z_i of one generation; seeds ``"pair"`` by pair, one for ``"all"``, or ``"none"``
    shared."""
    Z = rng.standard_normal((pairs, D))
    n = 1 if shared == "all" else pairs
    b = slope * np.broadcast_to(rng.standard_normal((n, D)), (pairs, D))
    values = np.stack((Z @ C + (b * Z).sum(axis=1), -(Z @ C) - (b * Z).sum(axis=1)), axis=1)
    if shared == "none":
        values += offset * rng.standard_normal((pairs, 2))
    else:
        values += offset * np.broadcast_to(rng.standard_normal((n, 1)), (pairs, 1))
    return np.asarray(signed_ranks(values) @ Z)


def cosine(steps: FloatArray) -> float:
    """Mean cosine of steps and the direction in which F falls."""
    return float(np.mean(-(steps @ C) / np.linalg.norm(steps, axis=1)))


def test_on_average_the_step_is_along_the_gradient() -> None:
    """For linear F and directions whose law does not depend on the coordinates."""
    rng = np.random.default_rng(0)
    mean = np.mean([direction(rng, 8, "pair", slope=0.5) for _ in range(20_000)], axis=0)
    assert -(mean @ C) / np.linalg.norm(mean) > 0.999


@pytest.mark.parametrize("offset", [0.0, 1.0, 1e6])
def test_what_a_seed_adds_to_all_values_has_no_effect(offset: float) -> None:
    """a(w) cancels in a pair, however large it is."""
    with_it = direction(np.random.default_rng(1), 8, "pair", 0.0, offset)
    rng = np.random.default_rng(1)
    Z = rng.standard_normal((8, D))
    without = signed_ranks(np.stack((Z @ C, -(Z @ C)), axis=1)) @ Z
    np.testing.assert_allclose(with_it, without, rtol=1e-6)


def test_without_shared_seeds_it_hides_the_gradient() -> None:
    rng = np.random.default_rng(2)
    shared, apart = (
        cosine(np.array([direction(rng, 8, how, 0.0, 10.0) for _ in range(2000)]))
        for how in ("pair", "none")
    )
    assert shared > 0.6
    assert apart < 0.15


def test_more_pairs_help_only_where_each_has_its_own_seed() -> None:
    """b(w) averages out over the seeds of a generation; with one seed it stays whole."""
    rng = np.random.default_rng(3)
    found = {
        (how, pairs): cosine(np.array([direction(rng, pairs, how, 2.0) for _ in range(1500)]))
        for how in ("pair", "all")
        for pairs in (8, 128)
    }
    assert found["pair", 128] > found["pair", 8] + 0.3
    assert found["pair", 128] > 0.6
    assert found["all", 128] < 0.35
    # The limit: the cosine of c and c + 2 N(0, I), averaged over seeds.
    b = C + 2.0 * np.random.default_rng(4).standard_normal((100_000, D))
    limit = float(np.mean((b @ C) / np.linalg.norm(b, axis=1)))
    assert found["all", 128] == pytest.approx(limit, abs=0.05)
