"""What the rule of selection keeps to, whatever the values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise._types import FloatArray, IntArray
from noisewise.select import allocation
from noisewise.select.tally import OptionValues, Tally

_VALUES = st.lists(
    st.lists(st.floats(-1e3, 1e3).map(lambda y: round(y, 2)), min_size=0, max_size=5),
    min_size=2,
    max_size=8,
).filter(lambda lists: sum(map(len, lists)) >= 2)


def log(values: list[list[float]]) -> OptionValues:
    option = [i for i, y in enumerate(values) for _ in y]
    told = [one for y in values for one in y]
    return OptionValues().add(np.array(option, dtype=np.intp), np.array(told))


def tally(values: list[list[float]]) -> Tally:
    return Tally.of(log(values), len(values))


def everything(k: int) -> np.ndarray:
    return np.ones(k, dtype=bool)


@given(_VALUES)
def test_weights_are_finite_and_none_is_negative(values: list[list[float]]) -> None:
    found = tally(values)
    w = found.weights(everything(len(values)))
    assert np.isfinite(w).all()
    assert (w >= 0.0).all()
    assert (w[found.n == 0] == 0.0).all()
    assert (found.v >= 0.0).all()


@given(_VALUES, st.floats(0.01, 100.0), st.floats(-100.0, 100.0))
def test_units_do_not_matter(values: list[list[float]], unit: float, offset: float) -> None:
    moved = [[offset + unit * y for y in one] for one in values]
    a, b = tally(values), tally(moved)
    every = everything(len(values))
    np.testing.assert_allclose(b.weights(every), a.weights(every), rtol=1e-4, atol=1e-6)
    seen = a.n > 0
    scale = max(1.0, float(np.abs(a.m[seen]).max())) * unit
    np.testing.assert_allclose(b.e[seen], offset + unit * a.e[seen], atol=1e-5 * scale)


@given(_VALUES, st.randoms())
def test_names_of_options_do_not_matter(values: list[list[float]], random: object) -> None:
    k = len(values)
    order = np.random.default_rng(random.randrange(2**32)).permutation(k)  # type: ignore[attr-defined]
    a, b = tally(values), tally([values[i] for i in order])
    np.testing.assert_allclose(b.e, a.e[order], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(b.v, a.v[order], rtol=1e-9, atol=1e-9)


@given(_VALUES)
def test_shrinking_moves_towards_the_others_and_is_no_surer_than_the_mean(
    values: list[list[float]],
) -> None:
    found = tally(values)
    seen = found.n > 0
    low, high = found.m[seen].min(), found.m[seen].max()
    assert (found.e[seen] >= low - 1e-6).all()
    assert (found.e[seen] <= high + 1e-6).all()
    assert (found.q[seen] ** 2 <= found.v[seen] / found.n[seen] + 1e-9).all()


@given(_VALUES)
def test_chances_are_a_distribution(values: list[list[float]]) -> None:
    found = tally(values)
    chance = allocation.chances(found.e, found.q)
    assert chance.sum() == pytest.approx(1.0)
    assert (chance >= 0.0).all()
    assert (chance[found.n == 0] == 0.0).all()


@given(
    st.lists(st.integers(1, 6), min_size=3, max_size=7),
    st.integers(1, 40),
    st.integers(0, 2**32 - 1),
)
def test_a_batch_gives_each_option_its_share(n: list[int], batch: int, seed: int) -> None:
    """Pending evaluations count: the ratios w / (n + p) end close together where p > 0."""
    rng = np.random.default_rng(seed)
    counts, m, squares = np.array(n), rng.normal(size=len(n)), rng.random(len(n)) + 0.1
    w = allocation.weights(counts, m, allocation.variances(counts, m, squares))
    p = np.zeros(len(n), dtype=int)
    for _ in range(batch):
        p[int(allocation.urgency(counts, p, w, everything(len(n))).argmax())] += 1
    before = w / (counts + np.maximum(p - 1, 0))
    after = (w / (counts + p)).max()
    assert (before[p > 0] >= after - 1e-12).all()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12),
    st.integers(1, 5),
)
def test_of_equal_means_those_with_most_values_stay(pairs: list[tuple[int, int]], k: int) -> None:
    n, m = (np.array(column) for column in zip(*pairs, strict=True))
    stay = allocation.first_of_ties(n, m.astype(float), k)
    for value in set(m.tolist()):
        mine = m == value
        assert (stay & mine).sum() == min(k, mine.sum())
        if (mine & ~stay).any():
            assert n[mine & stay].min() >= n[mine & ~stay].max()


@pytest.mark.parametrize(
    ("e", "q", "chance"),
    [
        ([0.0, 0.0], [1.0, 1.0], [0.5, 0.5]),
        ([0.0, 1.0], [0.6, 0.8], [0.8413447, 0.1586553]),  # one standard deviation apart
        ([0.0, 3.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.0, 0.5]),
        ([0.0, 0.0, np.inf], [2.0, 2.0, 0.0], [0.5, 0.5, 0.0]),
        ([0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.25] * 4),
        ([0.0, 1e9], [1e-6, 1e-6], [1.0, 0.0]),
    ],
)
def test_chances_by_hand(e: FloatArray, q: FloatArray, chance: FloatArray) -> None:
    found = allocation.chances(np.array(e), np.array(q))
    np.testing.assert_allclose(found, chance, atol=2e-4)


def test_the_weights_of_two_options_are_equal_where_their_noise_is() -> None:
    n: IntArray = np.array([5, 5])
    w = allocation.weights(n, np.array([0.0, 2.0]), np.array([1.0, 1.0]))
    # g^2 = 4 + 1/5 + 1/5
    np.testing.assert_allclose(w, [1.0 / 4.4, 1.0 / 4.4])
    w = allocation.weights(n, np.array([0.0, 2.0]), np.array([1.0, 4.0]))
    assert w[1] / w[0] == pytest.approx(2.0)  # as the standard deviations


def test_without_noise_those_with_the_fewest_values_come_first() -> None:
    n, m = np.array([2, 1, 3]), np.array([0.0, 1.0, 2.0])
    w = allocation.weights(n, m, np.zeros(3))
    assert w.tolist() == [0.0, 0.0, 0.0]
    none = np.zeros(3, dtype=int)
    assert allocation.urgency(n, none, w, everything(3)).tolist() == [-2.0, -1.0, -3.0]
    allowed = np.array([True, False, True])
    assert int(allocation.urgency(n, none, w, allowed).argmax()) == 0


def test_before_any_option_has_two_values_means_stand_for_values() -> None:
    n, m = np.array([1, 1, 1, 0]), np.array([0.0, 2.0, 4.0, 9.0])
    v = allocation.variances(n, m, np.zeros(4))
    np.testing.assert_allclose(v, 4.0)  # of 0, 2 and 4


@pytest.mark.parametrize(
    ("lost", "pooled"),
    [(0, 6.0 / 3.0), (1, 6.0 / 2.0), (3, 2.0)],  # without any left, the means 1 and 3 stand in
)
def test_variances_are_pooled_as_if_of_eight_more_values(lost: int, pooled: float) -> None:
    """Squares of 2 and 4 with two and one degrees of freedom, less those that common seeds took."""
    v = allocation.variances(np.array([3, 2]), np.array([1.0, 3.0]), np.array([2.0, 4.0]), lost)
    np.testing.assert_allclose(v, [(8.0 * pooled + 2.0) / 10.0, (8.0 * pooled + 4.0) / 9.0])


def test_wins_and_losses_have_one_variance() -> None:
    n, m = np.array([4, 4]), np.array([0.0, 0.5])
    v = allocation.variances(n, m, np.array([0.0, 1.0]), same=True)
    np.testing.assert_allclose(v, 1.0 / 6.0)
