"""What is measured again at the end, and what is believed: tables worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import support
from noisewise.measured.evidence import Evidence
from noisewise.problem.box import Box
from noisewise.run import last_phase, recheck
from noisewise.run.recheck import Recheck, request, start, strange_share, strangeness, strangest
from noisewise.run.run import Ledger

NAN, INF = math.nan, math.inf


def point(x: float) -> np.ndarray:
    return np.array([x])


def check(best: float | None = None, strange: tuple[float, ...] = (), at: float = 0.0) -> Recheck:
    """The recommended point is 0; the best one is 1 (or ``at``) and strange ones are 2, 3, ..."""
    others = [(point(2.0 + i), value) for i, value in enumerate(strange)]
    return start(point(0.0), None if best is None else (point(at or 1.0), best), others)


# -- what it says about the noise


@pytest.mark.parametrize(
    ("known", "values", "agreed", "differed", "contradicted"),
    [
        # The recommended point was not measured before: its values are compared with each other.
        ([NAN], [[5.0, 5.0]], 1, 0, 0),
        ([NAN], [[5.0, 6.0]], 0, 1, 0),
        # Points chosen for their values give them again or not, which says nothing of the others.
        ([NAN, 1.0], [[5.0, NAN], [1.0, 1.0]], 2, 0, 0),
        ([NAN, 1.0], [[5.0, NAN], [1.0, 2.0]], 1, 0, 1),
        ([NAN, 1.0, 90.0], [[5.0, NAN], [1.0, NAN], [7.0, 8.0]], 1, 0, 2),
    ],
)
def test_what_a_check_says_about_the_noise(
    known: list[float], values: list[list[float]], agreed: int, differed: int, contradicted: int
) -> None:
    points = np.arange(float(len(known)))[:, None]
    best = min(1, len(known) - 1)
    found = Recheck(points, np.array(known), best, True, values=np.array(values))
    run: Any = SimpleNamespace(evidence=Evidence(), ledger=Ledger(100))
    last_phase._learn(run, found)
    seen = run.evidence
    assert (seen.agreed, seen.differed, seen.contradicted) == (agreed, differed, contradicted)


def test_a_strange_value_that_was_checked_before_is_not_checked_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opt = support.start("watchful", 2, 100, confirm="auto")
    while opt.spent < 60:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x @ trial.x))
    run, first, second = opt._run, np.array([7.0, 7.0]), np.array([8.0, 8.0])
    monkeypatch.setattr(recheck, "strangest", lambda X, y: [(first, 50.0), (second, 60.0)])

    def checked() -> list[float]:
        found = last_phase._begin(opt._search.method, run).recheck
        assert found is not None
        return found.points[2:, 0].tolist()

    assert checked() == [7.0, 8.0]
    run.doubted = first[None]
    assert checked() == [8.0]


@pytest.mark.parametrize("limited", [False, True])
def test_where_the_best_value_was_wrong_the_next_one_takes_its_place(limited: bool) -> None:
    """Not under constraints: the next one may be infeasible."""
    X, y = np.arange(12.0)[:, None], np.arange(12.0) % 5.0
    y[7] = -1.0
    limits = SimpleNamespace(sure=lambda X: np.ones(len(X), dtype=bool))
    run: Any = SimpleNamespace(
        best_value=-90.0,
        best_x=point(50.0),
        doubted=point(50.0)[None],
        evidence=SimpleNamespace(recent=SimpleNamespace(rounds=[(X, y[:, None])])),
        setup=SimpleNamespace(dimension=1, box=Box.of(np.array([-INF]), np.array([INF]))),
        limits=limits if limited else None,
    )
    found, strict = last_phase._best(run)
    assert not strict
    assert (found is None) == limited
    if found is not None:
        assert (found[0].tolist(), found[1]) == ([7.0], -1.0)
    run.doubted = np.empty((0, 1))
    found, strict = last_phase._best(run)
    assert found is not None
    assert (found[0].tolist(), found[1], strict) == ([50.0], -90.0, True)


# -- which points


def test_points_with_their_values() -> None:
    found = check(-3.0, (50.0, 60.0))
    assert found.points.ravel().tolist() == [0.0, 1.0, 2.0, 3.0]
    np.testing.assert_array_equal(found.known, [NAN, -3.0, 50.0, 60.0])
    assert found.best == 1
    assert not found.asked
    none = check(None, (50.0,))
    assert (none.points.ravel().tolist(), none.best) == ([0.0, 2.0], 0)


def test_the_recommended_point_may_be_the_best_or_a_strange_one() -> None:
    same = start(point(0.0), (point(0.0), -3.0), [(point(2.0), 50.0)])
    assert (same.points.ravel().tolist(), same.known.tolist(), same.best) == (
        [0.0, 2.0], [-3.0, 50.0], 0,
    )  # fmt: skip
    strange = start(point(0.0), (point(1.0), -3.0), [(point(0.0), 50.0), (point(2.0), 60.0)])
    assert (strange.points.ravel().tolist(), strange.best) == ([0.0, 1.0, 2.0], 1)
    assert strange.known.tolist() == [50.0, -3.0, 60.0]


@pytest.mark.parametrize(
    ("found", "rows"),
    [
        # The best, the recommended and the strange ones, then these with the recommended first.
        (check(-3.0, (50.0, 60.0)), [1, 0, 2, 3, 0, 1, 2, 3, 1, 0]),
        (check(-3.0), [1, 0, 0, 1, 1, 0, 0, 1, 1, 0]),
        (check(None, (50.0,)), [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]),
        (check(), [0] * 10),
    ],
)
def test_the_order_in_which_points_are_measured(found: Recheck, rows: list[int]) -> None:
    for n in (0, 1, 3, 10):
        assert request(found, n).tolist() == rows[:n]


# -- what came of it


@pytest.mark.parametrize(
    ("values", "holds", "wins", "contradicted"),
    [
        # Rows: the recommended point, then the best, whose value was -3.
        ([[1.0], [-3.0]], True, True, False),
        ([[-3.0], [-3.0]], True, True, False),  # not worse is enough
        ([[-4.0], [-3.0]], True, False, False),
        ([[1.0], [-2.0]], False, False, True),
        ([[1.0, NAN], [-3.0, -2.9]], False, False, True),  # every time
        ([[1.0], [INF]], False, False, True),  # a failure contradicts a value
        ([[INF], [-3.0]], True, True, False),
        ([[INF, -9.0, -8.0, 5.0], [-3.0, NAN, NAN, NAN]], True, False, False),  # its median
        ([[1.0], [NAN]], False, False, False),  # nothing was measured there
    ],
)
def test_the_best_point_is_returned_if_it_gives_its_value_again(
    values: list[list[float]], holds: bool, wins: bool, contradicted: bool
) -> None:
    found = replace(check(-3.0), values=np.array(values))
    assert found.asked
    assert (found.best_holds, found.best_wins, found.contradicted) == (holds, wins, contradicted)
    assert found.answer == (1 if wins else 0)


@pytest.mark.parametrize(("again", "contradicted"), [(50.0, False), (51.0, True)])
def test_strange_values_can_be_contradicted(again: float, contradicted: bool) -> None:
    found = replace(check(None, (50.0,)), values=np.array([[1.0], [again]]))
    assert found.contradicted == contradicted
    assert not found.best_holds  # there is none
    assert found.answer == 0


def test_values_and_errors_of_a_point() -> None:
    values = np.array([[1.0, NAN, 2.0], [NAN, -3.0, NAN]])
    found = replace(check(-3.0), values=values, errors=0.1 * values)
    assert found.at(0).tolist() == [1.0, 2.0]
    assert found.errors_at(0).tolist() == pytest.approx([0.1, 0.2])  # type: ignore[union-attr]
    assert found.at(1).tolist() == [-3.0]
    assert replace(found, errors=None).errors_at(0) is None
    assert len(check(-3.0).at(0)) == 0


def test_further_values_are_those_of_the_best_point() -> None:
    found = replace(check(-3.0), values=np.array([[1.0], [-3.0]]), errors=np.array([[0.1], [0.2]]))
    more = found.more(np.array([-3.0, -2.0]))
    assert more.at(0).tolist() == [1.0]
    assert more.at(1).tolist() == [-3.0, -3.0, -2.0]
    assert not more.best_holds
    np.testing.assert_array_equal(more.errors, [[0.1, NAN, NAN], [0.2, NAN, NAN]])


# -- strange values


def test_how_strange_a_value_is() -> None:
    """Of 0 to 7 the median is 3.5 and the median distance from it 2."""
    y = np.arange(8.0)
    np.testing.assert_allclose(strangeness(y), (y - 3.5) / 2.0)
    assert not strangeness(y[:7]).any()  # too few to say
    with_failures = np.array([NAN, *y, INF])
    np.testing.assert_allclose(strangeness(with_failures), [0.0, *(y - 3.5) / 2.0, 0.0])
    assert not strangeness(np.array([1.0] * 8)).any()


def test_a_value_is_compared_with_ten_neighbours_on_either_side() -> None:
    """A window moves along; at both ends it stays."""
    y = np.arange(41.0)
    # The window of 21 values around each has its own value as median, and median distance 5.
    inside = np.clip(np.arange(41.0) - 10.0, 0.0, 20.0) + 10.0
    np.testing.assert_allclose(strangeness(y), (y - inside) / 5.0)


def outliers(*at: tuple[int, float]) -> np.ndarray:
    y = np.arange(30.0) % 3.0  # around a median of 1, by a median distance of 1
    for i, value in at:
        y[i] = value
    return y


@pytest.mark.parametrize(
    ("at", "found"),
    [
        ([(5, 21.0)], []),  # twenty are not yet strange
        ([(5, 21.1)], [21.1]),
        ([(5, -90.0)], []),  # below its neighbours it may be the optimum
        ([(5, 30.0), (20, 40.0)], [40.0, 30.0]),
        ([(5, 30.0), (12, 50.0), (20, 40.0)], [50.0, 40.0]),  # two at most
    ],
)
def test_the_strangest_values(at: list[tuple[int, float]], found: list[float]) -> None:
    y = outliers(*at)
    X = np.arange(30.0)[:, None]
    assert [value for _, value in strangest(X, y)] == found
    assert [y[int(x[0])] for x, _ in strangest(X, y)] == found


def test_the_share_of_strange_values_is_two_sided() -> None:
    assert strange_share(outliers((5, 90.0), (12, -90.0), (20, NAN))) == pytest.approx(2.0 / 29.0)
    assert strange_share(np.array([NAN])) == 0.0
