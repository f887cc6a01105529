"""What methods without a model of constraints get to see, and where the model of them lies."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import noisewise as nw
import support
from noisewise._types import FloatArray
from noisewise.gp.limits import Limits, _kept
from noisewise.methods import CMAES, GP
from noisewise.methods.method import Now, Setup
from noisewise.problem.box import Box
from noisewise.run import feasibility


def known(worst: float = 10.0) -> Any:
    """Limits after 12 exact values of x0 - 1 <= 0; the largest value so far was ``worst``."""
    setup = support.setup(2, 100)
    limits = feasibility.begin(setup, 1)
    X = np.random.default_rng(0).uniform(-3.0, 3.0, (12, 2))
    return limits.learn(X, X[:, :1] - 1.0, np.append(np.zeros(11), worst))


def seen(X: list[list[float]], values: Any, limits: Any, method: Any = None) -> Any:
    """The population as the method gets to see it."""
    run = SimpleNamespace(limits=limits, memory=None)
    population = support.population(values, np.array(X))
    return feasibility.seen_by(method or CMAES(), run, population), population  # type: ignore[arg-type]


FAR, BEYOND, FINE = [3.0, 0.0], [2.0, 0.0], [-1.0, 0.0]


def test_infeasible_candidates_rank_behind_all_by_how_far_they_are_beyond() -> None:
    shown, population = seen([FAR, FINE, BEYOND, FINE], [1.0, 5.0, 2.0, 3.0], known())
    # The values seen lie between 1 and 5, so steps are 4; the worst of the run was 10.
    np.testing.assert_allclose(shown.samples.values[:, 0], [18.0, 5.0, 14.0, 3.0])
    assert shown.told is population.samples
    np.testing.assert_allclose(population.samples.values[:, 0], [1.0, 5.0, 2.0, 3.0])


def test_all_values_of_a_candidate_move_by_the_same_amount() -> None:
    """Their noise is what it was."""
    shown, _ = seen([FAR, FINE], [[1.0, 3.0], [5.0, np.nan]], known())
    np.testing.assert_allclose(shown.samples.values, [[13.0, 15.0], [5.0, np.nan]])


def test_equal_values_move_apart_by_one() -> None:
    shown, _ = seen([FAR, FINE, BEYOND], [2.0, 2.0, 2.0], known())
    np.testing.assert_allclose(shown.samples.values[:, 0], [12.0, 2.0, 11.0])


def test_failed_and_feasible_candidates_stay_as_they_are() -> None:
    shown, population = seen([FAR, FINE], [np.inf, 2.0], known())
    assert shown is population
    shown, population = seen([FINE, FINE], [1.0, 2.0], known())
    assert shown is population
    shown, population = seen([FAR, FINE], [1.0, 2.0], None)
    assert shown is population


def test_nothing_is_changed_where_all_have_failed() -> None:
    run: Any = SimpleNamespace(limits=known(), memory=None)
    population = support.population([1.0, 2.0], np.array([FAR, FINE]))
    population.failed = True
    assert feasibility.seen_by(CMAES(), run, population) is population


def test_a_method_with_a_model_is_told_the_limits_instead() -> None:
    method, limits = GP(), known()
    run: Any = SimpleNamespace(limits=limits, memory=None)
    population = support.population([1.0, 2.0], np.array([FAR, FINE]))
    shown = feasibility.seen_by(method, run, population)
    assert shown.samples is population.samples
    assert shown.limits is limits
    rng = np.random.default_rng(0)
    memory, _ = method.learn(method.start(support.setup(2, 40)), shown, Now(30, 40), rng)
    assert memory.model.limits is limits


def test_only_measured_constraints_are_learnt() -> None:
    """Of two constraints, all must have been measured; a population without any changes nothing."""
    limits = feasibility.begin(support.setup(2, 100), 2)
    run: Any = SimpleNamespace(limits=limits)
    population = support.population([1.0, 2.0], np.array([FAR, FINE]))
    feasibility.learn(run, population)
    assert run.limits is limits
    population.samples.put_limits(0, 0, np.array([0.5, 0.25]))
    population.samples.limits[1, 0] = [0.5, np.nan]  # type: ignore[index]
    feasibility.learn(run, population)
    assert run.limits.seen == 1
    assert [m.y.tolist() for m in run.limits.measured] == [[0.5], [0.25]]
    nothing: Any = SimpleNamespace(limits=None)
    feasibility.learn(nothing, population)
    assert nothing.limits is None


def test_where_the_model_of_constraints_lies() -> None:
    """The box in closed coordinates; ten thirds of the initial step around the start elsewhere."""
    box = Box.of(np.array([2.0, -np.inf, -np.inf]), np.array([6.0, np.inf, 5.0]))
    scale = box.scale
    setup = Setup(box, np.array([3.0, 7.0, 1.0]) / scale, 0.6, 100)
    limits = feasibility.begin(setup, 2)
    np.testing.assert_allclose(limits.unit, [4.0 / scale[0], 2.0, 2.0])
    np.testing.assert_allclose(limits.origin, [2.0 / scale[0], 7.0 / scale[1] - 1.0, 0.0], atol=1.0)
    np.testing.assert_allclose(limits.origin[1:], (np.array([7.0, 1.0]) / scale[1:]) - 1.0)
    assert len(limits.measured) == 2


def test_points_to_return_are_moved_to_where_constraints_are_met() -> None:
    run: Any = SimpleNamespace(limits=known(), setup=SimpleNamespace(options=None))
    points = np.array([FAR, FINE])
    moved = feasibility.safe(run, points)
    assert moved[0, 0] <= 1.0
    np.testing.assert_array_equal(moved[1], FINE)
    assert feasibility.safe(SimpleNamespace(limits=None), points) is points  # type: ignore[arg-type]


@pytest.mark.parametrize("failing", [0, 3])
def test_constraints_are_learnt_with_every_value_that_measured_them(failing: int) -> None:
    opt = nw.Optimizer([0.5, 0.5], sigma0=0.3, budget=40, method="cma-es", rng=0)
    values: list[float] = []
    while len(values) < 12:
        for trial in opt.ask():
            values.append(float("nan") if len(values) < failing else float(trial.x.sum()))
            opt.tell(trial.id, values[-1], constraints=[float(trial.x[0]), 1.0])
    limits = opt._run.limits
    assert limits is not None
    assert limits.seen == 12
    assert [len(m.y) for m in limits.measured] == [12, 12]
    np.testing.assert_allclose(limits.measured[1].y, 1.0)
    assert limits.worst == max(values[failing:])


# -- what is feasible


def of_chances(chances: list[float], monkeypatch: pytest.MonkeyPatch) -> Limits:
    """One constraint, met with these chances at the points 0, 1, ..."""
    g = -stats.norm.ppf(chances)

    def predict(self: Limits, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        return g[X[:, 0].astype(int)][None], np.ones((1, len(X)))

    monkeypatch.setattr(Limits, "predict", predict)
    return Limits.start(np.zeros(1), np.ones(1), 1)


def test_from_nineteen_in_twenty_on_a_point_is_feasible(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = of_chances([0.949, 0.951, 1.0], monkeypatch)
    assert limits.sure(np.arange(3.0)[:, None]).tolist() == [False, True, True]


@pytest.mark.parametrize(("best", "chosen"), [(0.51, 1), (0.49, 2)])
def test_from_an_even_chance_on_the_best_one_counts(
    best: float, chosen: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Below it, the point that is least beyond the limits."""
    limits = of_chances([0.1, best, 0.2], monkeypatch)
    monkeypatch.setattr(Limits, "violation", lambda self, X: np.array([3.0, 2.0, 1.0]))
    assert limits.most_feasible(np.arange(3.0)[:, None]).tolist() == [chosen]


@pytest.mark.parametrize(("seen", "older"), [(200, 80), (201, 41), (440, 80), (5000, 77)])
def test_the_newest_120_and_up_to_80_older_evaluations_are_remembered(
    seen: int, older: int
) -> None:
    """Of the older ones every second, fourth, ..., until no more than eighty are left."""
    index = np.arange(seen)
    kept = index[_kept(index, seen)]
    assert kept[-120:].tolist() == index[-120:].tolist()
    stride = kept[1] - kept[0]
    assert kept[:-120].tolist() == index[:-120:stride].tolist()
    assert len(kept) - 120 == older
