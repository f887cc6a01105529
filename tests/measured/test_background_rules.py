"""What follows from values that come again, or do not: tables worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from noisewise.measured import evidence
from noisewise.measured.evidence import Evidence, Shape
from noisewise.measured.samples import Samples, agree, usual

NAN, INF = math.nan, math.inf


def seen(*rounds: list[float]) -> Evidence:
    """After rounds of first values."""
    found = Evidence()
    for values in rounds:
        found = found.saw(np.array(values))
    return found


def counts(found: Evidence) -> tuple[int, int, int, int]:
    return found.agreed, found.differed, found.shared, found.contradicted


# -- equal values


@pytest.mark.parametrize(
    ("again", "value", "same"),
    [
        (1.0, 1.0, True),
        (1.0 + 8.0 * 2.0**-52, 1.0, True),  # eight spacings of 1.0
        (1.0 + 9.0 * 2.0**-52, 1.0, False),
        (-1.0 - 8.0 * 2.0**-52, -1.0, True),
        (1.0, -1.0, False),
        (0.0, 5e-324, True),
        (INF, INF, True),
        (INF, 1.0, False),
        (NAN, NAN, False),
    ],
)
def test_values_agree_but_for_rounding(again: float, value: float, same: bool) -> None:
    assert agree(np.array([again]), value).tolist() == [same]
    assert agree(np.array([value]), again).tolist() == [same]


@pytest.mark.parametrize(
    ("row", "most"),
    [([3.0, 1.0, 3.0], 3.0), ([2.0, 1.0], 1.0), ([NAN, 4.0, INF], 4.0), ([NAN, INF], NAN)],
)
def test_the_most_frequent_value(row: list[float], most: float) -> None:
    assert usual(np.array(row)) == pytest.approx(most, nan_ok=True)


# -- first values


def test_first_values_are_listed_as_long_as_there_are_few() -> None:
    found = seen([3.0, 1.0, INF, NAN], [2.0, 1.0])
    assert found.n == 4
    assert found.listed.tolist() == [1.0, 2.0, 3.0]
    assert len(seen(list(map(float, range(20)))).listed) == 20
    many = seen(list(map(float, range(30))))
    assert len(many.listed) == 21  # one more than is listed: the law is continuous
    assert many.saw(np.array([-5.0])).listed.tolist() == many.listed.tolist()


def test_the_smallest_and_the_largest_value_with_the_points_that_have_them() -> None:
    found = seen([3.0, 1.0, 1.0, INF])
    assert (found.extremes.tolist(), found.at_extremes.tolist()) == ([1.0, 3.0], [2.0, 1.0])
    found = found.saw(np.array([1.0, 2.0, 3.0, 3.0]))
    assert (found.extremes.tolist(), found.at_extremes.tolist()) == ([1.0, 3.0], [3.0, 3.0])
    found = found.saw(np.array([0.0, 2.0]))
    assert (found.extremes.tolist(), found.at_extremes.tolist()) == ([0.0, 3.0], [1.0, 3.0])
    assert found.saw(np.array([NAN])).at_extremes.tolist() == [1.0, 3.0]


@pytest.mark.parametrize(
    ("distinct", "n", "discrete"),
    [
        (2, 4, False),  # too few to say
        (2, 5, True),
        (3, 6, True),  # at most half as many different ones
        (4, 7, False),
        (20, 40, True),
        (21, 60, False),
    ],
)
def test_when_a_law_is_discrete(distinct: int, n: int, discrete: bool) -> None:
    values = [float(i % distinct) for i in range(n)]
    found = seen(values)
    assert found.discrete == discrete
    assert found.levels.tolist() == (sorted(set(values)) if discrete else [])


# -- re-evaluations


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([[1.0], [2.0]], (0, 0, 0, 0)),
        ([[1.0, NAN], [2.0, NAN]], (0, 0, 0, 0)),
        ([[1.0, 1.0], [2.0, NAN]], (1, 0, 0, 0)),
        ([[1.0, 1.5], [2.0, 2.0]], (1, 1, 0, 0)),
        ([[1.0, INF], [2.0, NAN]], (0, 0, 0, 0)),  # failures are not compared
        # Of several values, those that equal the most frequent one agree.
        ([[1.0, 1.0, 1.0, 4.0], [2.0, NAN, NAN, NAN]], (2, 1, 0, 0)),
        # Another point has the value, too: that may be a ceiling.
        ([[1.0, 1.0], [1.0, NAN]], (1, 0, 1, 0)),
        ([[1.0, 1.0, 1.0], [1.0, NAN, NAN]], (2, 0, 2, 0)),
    ],
)
def test_values_that_come_again_agree(
    values: list[list[float]], expected: tuple[int, int, int, int]
) -> None:
    assert counts(Evidence().compared(np.array(values))) == expected


def test_a_value_at_the_edge_of_what_was_seen_is_shared_if_two_points_have_it() -> None:
    again = np.array([[5.0, 5.0]])
    assert counts(seen([5.0, 1.0, 2.0]).compared(again)) == (1, 0, 0, 0)
    assert counts(seen([5.0, 5.0, 2.0]).compared(again)) == (1, 0, 1, 0)
    assert counts(seen([5.0, 5.0, 7.0, 1.0]).compared(again)) == (1, 0, 0, 0)  # inside
    assert counts(seen([5.0, 5.0, 2.0]).checked(5.0, np.array([5.0, 5.0]))) == (2, 0, 2, 0)
    assert counts(seen([5.0, 1.0, 2.0]).checked(5.0, np.array([5.0, 5.0]))) == (2, 0, 0, 0)


def test_a_point_that_was_chosen_for_its_value_counts_apart() -> None:
    found = Evidence().checked(1.0, np.array([1.0, 2.0, INF, 3.0]))
    assert counts(found) == (1, 0, 0, 2)
    assert found.agreed_on.tolist() == [1.0]
    assert counts(found.checked(2.0, np.array([2.5]))) == (1, 0, 0, 3)


def test_two_of_the_values_that_came_again_are_kept() -> None:
    found = Evidence()
    for value in (3.0, 3.0, 1.0, 2.0):
        found = found.compared(np.array([[value, value]]))
    assert (found.agreed, found.agreed_on.tolist()) == (4, [1.0, 3.0])


# -- what follows


def known(**changes: Any) -> Evidence:
    """A continuous law unless ``listed`` is given."""
    return replace(Evidence(n=100, listed=np.arange(21.0)), **changes)


WINS = {"n": 100, "listed": np.array([0.0, 1.0])}
BOTH = np.array([0.0, 1.0])


@pytest.mark.parametrize(
    ("changes", "deterministic", "outliers", "untested"),
    [
        ({}, False, False, True),
        ({"agreed": 1}, True, False, False),
        ({"agreed": 1, "shared": 1}, False, False, True),
        ({"agreed": 2, "shared": 1}, True, False, False),
        ({"differed": 1}, False, False, False),
        ({"agreed": 1, "differed": 1}, False, True, False),
        ({"agreed": 1, "differed": 2}, False, False, False),
        ({"agreed": 1, "contradicted": 1}, False, True, False),
        ({"agreed": 1, "contradicted": 9}, False, True, False),
        ({"agreed": 2, "shared": 2, "contradicted": 1}, False, False, False),
        ({"contradicted": 1}, False, False, False),
        # Twelve that agree on two different values are enough for any law.
        (WINS | {"agreed": 12, "agreed_on": BOTH}, True, False, False),
        (WINS | {"agreed": 11, "agreed_on": BOTH}, False, False, True),
        (WINS | {"agreed": 50, "agreed_on": BOTH[:1]}, False, False, True),
        (WINS | {"agreed": 12, "agreed_on": BOTH, "differed": 1}, False, False, False),
        (WINS | {"agreed": 12, "agreed_on": BOTH, "contradicted": 1}, False, False, False),
        ({"agreed": 12, "agreed_on": BOTH, "shared": 12}, True, False, False),
    ],
)
def test_what_follows(
    changes: dict[str, Any], deterministic: bool, outliers: bool, untested: bool
) -> None:
    found = known(**changes)
    assert (found.deterministic, found.outliers, found.untested) == (
        deterministic,
        outliers,
        untested,
    )


@pytest.mark.parametrize(
    ("differed", "agreed", "settled"), [(7, 0, False), (8, 0, True), (8, 7, True), (8, 8, False)]
)
def test_when_there_is_noise_for_certain(differed: int, agreed: int, settled: bool) -> None:
    assert known(differed=differed, agreed=agreed).settled == settled


@pytest.mark.parametrize(("groups", "share"), [(1.0, 0.25), (3.0, 0.5), (27.0, 0.9)])
def test_the_skewness_of_few_groups_counts_less(groups: float, share: float) -> None:
    """As if three groups had shown none."""
    assert known(shape=Shape(skew=2.0, groups=groups)).skew == pytest.approx(2.0 * share)
    assert known().skew is None


@pytest.mark.parametrize("n", [5, 9, 10, 40])
def test_the_skewness_of_few_values_is_raised_to_that_of_ten(n: int) -> None:
    """The skewness of a sample from a skewed law is about proportional to the root of its size."""
    y = np.arange(float(n)) ** 1.2
    expected = float(stats.skew(y)) * math.sqrt(max(1.0, 10 / n))
    assert 0.1 < expected < 1.5
    assert Shape().add(y).skew == pytest.approx(expected)
    assert Shape().add(-y).skew == pytest.approx(-expected)


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_skewness_of_a_group_counts_as_at_most_one_and_a_half(sign: float) -> None:
    y = np.append(np.arange(9.0), 30.0)
    assert stats.skew(y) > 2.0
    assert Shape().add(sign * y).skew == sign * 1.5


def test_misranking_is_averaged_over_the_newest_32_re_evaluations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Up to 32 all count the same; then older ones fade as new ones come."""
    found, moves = Evidence(), iter([(0.4, 8), (0.8, 24), (0.0, 8), (math.nan, 0), (0.2, 40)])
    monkeypatch.setattr(evidence, "displacement", lambda *_: next(moves))
    population: Any = SimpleNamespace(
        X=np.zeros((1, 2)), samples=Samples(np.zeros((1, 2))), common=False
    )
    averages = []
    for _ in range(5):
        found.observe(population, None)
        averages.append(found.misranking)
    # 0.7 = (8 * 0.4 + 24 * 0.8) / 32; a quarter of the 32 is new, then all of it.
    assert averages == pytest.approx([0.4, 0.7, 0.75 * 0.7, 0.75 * 0.7, 0.2])
    assert found.reevaluations == 80


def test_a_discrete_law_has_a_mean() -> None:
    heavy = Shape(low=1.0, high=1.0, values=100.0)
    assert known(shape=heavy).heavy
    assert not known(shape=heavy, **WINS).heavy
