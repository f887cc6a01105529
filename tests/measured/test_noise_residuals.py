"""Residuals of repeated evaluations, the pool that keeps them and the archive of points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from noisewise import _data
from noisewise._types import FloatArray
from noisewise.measured.noise import Archive, Pool, residuals
from noisewise.measured.samples import Samples


@given(
    pairs=hnp.arrays(
        float, st.tuples(st.integers(1, 30), st.just(2)), elements=st.floats(-1e6, 1e6)
    )
)
def test_pairs_have_exactly_the_variance_of_their_noise(pairs: FloatArray) -> None:
    """sum eps^2 of a pair is (y1 - y2)^2, whose expectation is twice the variance, sample by
    sample: nothing is lost to the estimated centre."""
    who, eps, medians = residuals(Samples(pairs))
    np.testing.assert_array_equal(who, np.repeat(np.arange(len(pairs)), 2))
    np.testing.assert_allclose(medians[::2], pairs.mean(axis=1), atol=1e-9)
    squares = (eps * eps).reshape(-1, 2).sum(axis=1)
    np.testing.assert_allclose(squares, (pairs[:, 0] - pairs[:, 1]) ** 2, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("n", "inflation"),
    # (n - 1 + n (Var median - Var mean)) / (n - 1) for standard normal samples
    [(2, 1.0), (3, 1.173), (4, 1.064), (5, 1.109)],
)
def test_corrected_variance_of_few_repeats(n: int, inflation: float) -> None:
    """sqrt(n/(n-1)) is exact for pairs; about medians of more it errs a little upwards, because
    a median is farther from the values than their mean."""
    values = np.random.default_rng(0).normal(3.0, 2.0, size=(200_000, n))
    _, eps, _ = residuals(Samples(values))
    assert np.mean(eps * eps) / 4.0 == pytest.approx(inflation, abs=0.01)


def test_only_candidates_with_two_successes_have_residuals() -> None:
    """Missing values and failures are no residuals."""
    nan, inf = np.nan, np.inf
    values = np.array([[1.0, nan, nan], [2.0, 4.0, nan], [3.0, inf, nan], [5.0, 6.0, 10.0]])
    who, eps, medians = residuals(Samples(values))
    np.testing.assert_array_equal(who, [1, 1, 3, 3, 3])
    np.testing.assert_allclose(medians, [3, 3, 6, 6, 6])
    root = np.sqrt([2.0, 2.0, 1.5, 1.5, 1.5])
    np.testing.assert_allclose(eps, root * [-1.0, 1.0, -1.0, 0.0, 4.0])


@given(
    values=hnp.arrays(
        float,
        st.tuples(st.integers(1, 9), st.integers(2, 5)),
        elements=st.sampled_from([np.nan, np.inf, -1.5, 0.0, 2.25, 7.0]),
    )
)
def test_residuals_as_they_are(values: FloatArray) -> None:
    """Without widening: value minus median, for pairs and for more; otherwise the same."""
    who, eps, medians = residuals(Samples(values), widen=False)
    widened = residuals(Samples(values))
    np.testing.assert_array_equal(who, widened[0])
    np.testing.assert_array_equal(medians, widened[2])
    expected = []
    for row in values:
        good = row[np.isfinite(row)]
        if len(good) > 1:
            expected += (good - np.median(good)).tolist()
    np.testing.assert_allclose(eps, expected)
    n = np.array([np.sum(who == i) for i in who])
    np.testing.assert_allclose(eps * np.sqrt(n / np.maximum(n - 1.0, 1.0)), widened[1])


@given(batches=st.lists(st.integers(0, 700), max_size=12))
def test_pool_without_a_capacity_keeps_all(batches: list[int]) -> None:
    pool, inserted = Pool(None), 0
    for generation, n in enumerate(batches):
        z = np.arange(inserted, inserted + n, dtype=float)
        pool.insert(z, -z, generation)
        inserted += n
        assert pool.size == inserted
        np.testing.assert_array_equal(pool.z, np.arange(inserted))
    rows = pool.by_age()
    np.testing.assert_array_equal(rows[:, 1], np.arange(inserted))
    assert (np.diff(rows[:, 2]) >= 0).all()
    assert len(pool.rows) <= max(512, 2 * inserted)


@pytest.mark.parametrize("values", [np.ones((3, 1)), np.full((3, 2), np.inf), np.empty((0, 2))])
def test_no_repeats_no_residuals(values: FloatArray) -> None:
    assert [len(part) for part in residuals(Samples(values))] == [0, 0, 0]


@given(capacity=st.integers(2, 9), batches=st.lists(st.integers(0, 9), max_size=12))
def test_pool_keeps_the_newest(capacity: int, batches: list[int]) -> None:
    """A ring: whatever the batches, it holds the last ``capacity`` residuals, by age."""
    pool, inserted = Pool(capacity), 0
    for generation, n in enumerate(min(b, capacity) for b in batches):
        z = np.arange(inserted, inserted + n, dtype=float)
        pool.insert(z, -z, generation)
        inserted += n
    kept = np.arange(max(0, inserted - capacity), inserted)
    assert pool.size == len(kept)
    rows = pool.by_age()[: pool.size]
    np.testing.assert_array_equal(rows[:, 0], kept)
    np.testing.assert_array_equal(rows[:, 1], kept)  # |centre|
    assert (np.diff(rows[:, 2]) >= 0).all()
    np.testing.assert_array_equal(np.sort(pool.z), kept)


def test_more_residuals_than_room() -> None:
    """A generation may bring more residuals than a small pool holds: the newest stay."""
    pool = Pool(4)
    pool.insert(np.arange(11.0), np.zeros(11), 0)
    np.testing.assert_array_equal(np.sort(pool.z), [7, 8, 9, 10])
    np.testing.assert_array_equal(pool.by_age()[:, 0], [7, 8, 9, 10])


@given(capacity=st.integers(2, 9), batches=st.lists(st.integers(1, 14), max_size=8))
def test_archive_keeps_the_newest(capacity: int, batches: list[int]) -> None:
    """A ring of points and values that stay together."""
    archive, inserted = Archive(capacity), 0
    for n in batches:
        y = np.arange(inserted, inserted + n, dtype=float)
        archive.insert(np.column_stack((y, -y)), y)
        inserted += n
    X, y = archive.points()
    assert archive.size == len(y) == min(inserted, capacity)
    if inserted:
        np.testing.assert_array_equal(X, np.column_stack((y, -y)))
        assert set(y) == set(range(max(0, inserted - capacity), inserted))


def test_pool_and_archive_are_data() -> None:
    """Both survive encoding to the bit."""
    pool, whole, archive = Pool(3), Pool(None), Archive(3)
    for some in (pool, whole):
        some.insert(np.array([1.0, np.pi]), np.array([2.0, 3.0]), 5)
    archive.insert(np.eye(2), np.array([0.1, 0.2]))
    for kept in (pool, whole, archive):
        assert _data.encode(_data.decode(_data.encode(kept))) == _data.encode(kept)
