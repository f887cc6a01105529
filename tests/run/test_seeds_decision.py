"""seeds="auto": what follows from how well two evaluations of a round agree."""

from __future__ import annotations

import math

import pytest

from noisewise.run.seeds import AUTO, COMMON, INDEPENDENT, Seeds, affordable


def after(*agreements: tuple[str, float]) -> Seeds:
    """What is known after rounds with common ("c") or independent ("i") seeds agreed so well."""
    seeds = Seeds(AUTO, key=1)
    for kind, agreement in agreements:
        seeds.compared(kind == "c", agreement)
    return seeds


@pytest.mark.parametrize(
    ("common", "independent", "decided"),
    [
        ([], [], ""),
        ([0.9], [0.1], ""),  # two of each are needed
        ([0.9, 0.9], [0.1], ""),
        ([0.9], [0.1, 0.1], ""),
        ([0.9, 0.9], [0.1, 0.1], COMMON),
        ([0.1, 0.1], [0.9, 0.9], INDEPENDENT),
        ([0.5, 0.5], [0.5, 0.5], INDEPENDENT),
        ([0.61, 0.61], [0.5, 0.5], COMMON),  # a gain of a tenth is enough, a little less is not
        ([0.59, 0.59], [0.5, 0.5], INDEPENDENT),
        # The standard error of the gain: sqrt(0.5 / 2 + 0.5 / 2) = 0.71 here, more than the gain.
        ([1.0, 0.0], [0.5, -0.5], INDEPENDENT),
        # sqrt(0.5 / 2) = 0.5 in one of the two alone, less than the gain of 0.6.
        ([1.1, 0.1], [0.0, 0.0], COMMON),
        ([0.6, 0.6], [0.5, -0.5], COMMON),
        # With both it is 0.71, more than 0.6.
        ([1.1, 0.1], [0.5, -0.5], INDEPENDENT),
        # Four values each: sqrt(2 * 0.33 / 4) = 0.41, less than 0.5.
        ([1.0, 0.0, 1.0, 0.0], [0.5, -0.5, 0.5, -0.5], COMMON),
    ],
)
def test_decisions(common: list[float], independent: list[float], decided: str) -> None:
    rounds = [("c", a) for a in common] + [("i", a) for a in independent]
    assert after(*rounds).decided == decided
    assert after(*reversed(rounds)).decided == decided


def test_common_seeds_stay_until_they_are_worse() -> None:
    """What would not be enough to begin with them is enough to stay."""
    seeds = after(("c", 0.9), ("c", 0.9), ("i", 0.5), ("i", 0.5))
    assert seeds.decided == COMMON
    assert seeds.shared(9, compared=False)
    for _ in range(4):
        seeds.compared(True, 0.55)
    for agreement, decided in ((0.4, COMMON), (0.3, INDEPENDENT)):  # means of 0.51 and 0.45
        seeds.compared(True, agreement)
        assert seeds.decided == decided


def test_common_seeds_are_given_up_and_taken_up_again() -> None:
    seeds = after(("c", 0.9), ("c", 0.9), ("i", 0.5), ("i", 0.5))
    for agreement, decided in ((0.1, COMMON), (0.1, COMMON), (0.1, INDEPENDENT)):
        seeds.compared(True, agreement)
        assert seeds.decided == decided
    assert not seeds.shared(9, compared=False)
    for _ in range(4):
        seeds.compared(True, 0.9)
    assert seeds.decided == COMMON


def test_the_newest_four_of_either_kind_count() -> None:
    seeds = after(*[("c", 0.0)] * 9, *[("i", 0.5)] * 9, *[("c", 1.0)] * 4)
    assert seeds.common == [1.0] * 4
    assert seeds.independent == [0.5] * 4
    assert seeds.decided == COMMON


def test_a_round_that_says_nothing_is_left_out() -> None:
    seeds = after(("c", 0.9), ("c", 0.9), ("i", 0.1), ("i", 0.1))
    seeds.compared(True, math.nan)
    assert (seeds.common, seeds.decided) == ([0.9, 0.9], COMMON)


def test_rounds_that_are_compared() -> None:
    """The first four, and two of every 24; they take turns between the two kinds."""
    seeds = Seeds(AUTO, key=1)
    rounds = [n for n in range(60) if seeds.compares(n)]
    assert rounds == [0, 1, 2, 3, 24, 25, 48, 49]
    assert [seeds.shared(n, compared=True) for n in rounds] == [True, False] * 4
    assert not any(Seeds(mode, key=1).compares(0) for mode in (COMMON, INDEPENDENT))


@pytest.mark.parametrize(
    ("free", "candidates", "begun", "enough"),
    [
        (400, 10, False, True),  # forty rounds for the first comparison
        (399, 10, False, False),
        (80, 10, True, True),  # eight for later ones
        (79, 10, True, False),
        (160, 4, False, True),
        (1000, 3, False, False),  # too few candidates for an order
    ],
)
def test_comparisons_that_the_budget_pays_for(
    free: int, candidates: int, begun: bool, enough: bool
) -> None:
    assert affordable(free, candidates, begun) == enough
