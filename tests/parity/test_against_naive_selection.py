"""The vectorised rule of selection equals the one in plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from naive_selection import Twin

from noisewise._types import FloatArray
from noisewise.select import allocation
from noisewise.select.tally import OptionValues, Tally


def drawn(seed: int) -> list[list[float]]:
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 9))
    scale, spread = 10.0 ** rng.uniform(-3, 3), rng.uniform(0.0, 3.0)
    means, sds = spread * rng.normal(size=k), rng.uniform(0.3, 3.0, k)
    most = int(rng.integers(1, 7))
    return [
        (scale * (m + s * rng.normal(size=int(rng.integers(1, most + 1))))).tolist()
        for m, s in zip(means, sds, strict=True)
    ]


def arrays(values: list[list[float]]) -> tuple[np.ndarray, FloatArray, FloatArray]:
    n = np.array([len(y) for y in values])
    m = np.array([np.mean(y) for y in values])
    return n, m, np.array([((np.array(y) - np.mean(y)) ** 2).sum() for y in values])


@pytest.mark.parametrize("seed", range(60))
def test_variances_weights_and_expectations(seed: int) -> None:
    values = drawn(seed)
    twin, (n, m, squares) = Twin(values), arrays(values)
    v = allocation.variances(n, m, squares)
    np.testing.assert_allclose(v, twin.v(), rtol=1e-10)
    np.testing.assert_allclose(allocation.weights(n, m, v), twin.w(), rtol=1e-8)
    scale = max(map(abs, m))
    np.testing.assert_allclose(allocation.shrunk(n, m, v)[0], twin.e(), atol=1e-9 * scale)


@pytest.mark.parametrize("seed", range(30))
def test_the_next_options(seed: int) -> None:
    """Ten in a row, each of which is under way when the next is chosen."""
    values = drawn(seed)
    twin, (n, m, squares) = Twin(values), arrays(values)
    w = allocation.weights(n, m, allocation.variances(n, m, squares))
    p, known = np.zeros(len(n), dtype=int), [0] * len(n)
    for _ in range(10):
        i = int(allocation.urgency(n, p, w, np.ones(len(n), dtype=bool)).argmax())
        assert i == twin.next(known)
        p[i] += 1
        known[i] += 1


@pytest.mark.parametrize("seed", range(30))
def test_a_tally_of_a_log(seed: int) -> None:
    """The same from values in any order, brought to another scale and back."""
    values = drawn(seed)
    twin = Twin(values)
    option = np.repeat(np.arange(len(values)), [len(y) for y in values])
    order = np.random.default_rng(seed).permutation(len(option))
    log = OptionValues().add(option[order], np.concatenate(values)[order])
    tally = Tally.of(log, len(values))
    scale = max(map(abs, twin.m))
    np.testing.assert_allclose(tally.m, twin.m, atol=1e-12 * scale)
    np.testing.assert_allclose(tally.v, twin.v(), rtol=1e-8)
    np.testing.assert_allclose(tally.e, twin.e(), atol=1e-9 * scale)
    every = np.ones(len(values), dtype=bool)
    np.testing.assert_allclose(tally.weights(every), twin.w(), rtol=1e-7)
