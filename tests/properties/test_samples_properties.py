"""Samples: every value has its place; aggregates look at what succeeded."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from noisewise._types import FloatArray
from noisewise.measured.samples import Samples, ranks

_ELEMENTS = st.floats(-1e6, 1e6) | st.sampled_from([np.nan, np.inf])
_TABLES = st.tuples(st.integers(1, 8), st.integers(1, 5)).flatmap(
    lambda shape: hnp.arrays(float, shape, elements=_ELEMENTS)
)


@given(table=_TABLES)
def test_aggregates_row_by_row(table: FloatArray) -> None:
    """nan: not there; +inf: failed. Both are left out; nothing left means +inf."""
    table[:, 0] = np.where(np.isnan(table[:, 0]), np.inf, table[:, 0])
    samples = Samples(table.copy())
    found = (samples.mean(), samples.median(), samples.trimmed_mean())
    for i, row in enumerate(table):
        good = row[np.isfinite(row)]
        assert samples.counts[i] == len(good)
        if len(good) == 0:
            assert all(f[i] == np.inf for f in found)
            continue
        cut = int(0.2 * len(good))
        trimmed = np.sort(good)[cut : len(good) - cut]
        for f, expected in zip(found, (good.mean(), np.median(good), trimmed.mean()), strict=True):
            np.testing.assert_allclose(f[i], expected, rtol=1e-9, atol=1e-6)


@given(table=_TABLES, seed=st.integers(0, 1000))
def test_known_standard_errors_weigh_the_mean(table: FloatArray, seed: int) -> None:
    table = np.where(np.isfinite(table), table, 0.0)
    errors = np.random.default_rng(seed).uniform(0.1, 10.0, table.shape)
    found = Samples(table, errors).mean()
    if table.shape[1] == 1:
        np.testing.assert_array_equal(found, table[:, 0])
    else:
        weight = errors**-2.0
        expected = (weight * table).sum(axis=1) / weight.sum(axis=1)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-6)


def test_one_unknown_standard_error_makes_the_row_count_equally() -> None:
    values = np.array([[1.0, 3.0], [1.0, 3.0]])
    errors = np.array([[1.0, np.nan], [1.0, 3.0]])
    np.testing.assert_allclose(Samples(values, errors).mean(), [2.0, 1.2])


def test_tiny_and_huge_standard_errors_do_not_overflow() -> None:
    values = np.array([[1.0, 3.0], [1.0, 3.0]])
    errors = np.array([[1e-200, 1e-200], [1e200, 1e200]])
    np.testing.assert_allclose(Samples(values, errors).mean(), [2.0, 2.0])


@given(data=st.data(), k=st.integers(1, 6), rounds=st.integers(1, 4))
def test_put_and_extend_leave_no_trace_of_the_order(
    data: st.DataObject, k: int, rounds: int
) -> None:
    places = [(i, j) for i in range(k) for j in range(rounds)]
    one, two = (Samples(np.empty((k, 0))) for _ in range(2))
    one.extend(rounds)
    for slots in range(1, rounds + 1):
        two.extend(slots)
    for i, j in places:
        one.put(i, j, 10.0 * i + j, se=0.5 if j else None)
    for i, j in data.draw(st.permutations(places)):
        two.put(i, j, 10.0 * i + j, se=0.5 if j else None)
    np.testing.assert_array_equal(one.values, two.values)
    if rounds > 1:
        np.testing.assert_array_equal(one.errors, two.errors)
    else:
        assert one.errors is None


@given(table=_TABLES)
def test_ranks(table: FloatArray) -> None:
    table = np.where(np.isnan(table), np.inf, table)
    found = ranks(table)
    for row, r in zip(table, found, strict=True):
        np.testing.assert_array_equal(r, ranks(row))
        np.testing.assert_array_equal(np.sort(r), np.arange(len(row)))
        assert all(
            (row[i], i) < (row[j], j) or r[i] > r[j] or i == j
            for i in range(len(row))
            for j in range(len(row))
        )
