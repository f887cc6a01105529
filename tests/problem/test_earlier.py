"""Data that the user brings: how they are read, kept, resumed and charged (not at all)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noisewise as nw
import support
from noisewise.methods import Method
from noisewise.problem import earlier
from noisewise.problem.box import Box

pytestmark = pytest.mark.boxes

BOX = Box.of(np.array([0.0, -1.0, 2.0]), np.array([1.0, 3.0, 2.0]))  # the last one is fixed


def some_data(d: int, n: int = 30) -> tuple[Any, Any]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, d)) + 1.0
    return X, (X * X).sum(axis=1) + 0.2 * rng.normal(size=n)


# -- reading


def test_points_come_in_the_coordinates_of_the_methods() -> None:
    found = earlier.read(([[0.5, 1.0, 2.0]], [3.0], [0.1]), BOX)
    np.testing.assert_allclose(found.X, [[0.5, 0.25]])  # scaled to the narrowest, without fixed
    assert found.y.tolist() == [3.0]
    assert found.se.tolist() == [0.1]


@given(st.lists(st.floats(0.0, 1.0), min_size=2, max_size=2))
@settings(max_examples=30, deadline=None)
def test_reading_is_the_inverse_of_what_the_user_sees(u: list[float]) -> None:
    x = np.array([u[0], 4.0 * u[1] - 1.0, 2.0])
    found = earlier.read(([x], [0.0]), BOX).X[0]
    np.testing.assert_allclose(BOX.outer(found), x, atol=1e-12)


def test_failures_and_unknown_errors() -> None:
    X = np.tile([0.5, 1.0, 2.0], (3, 1))
    found = earlier.read((X, [np.nan, np.inf, 1e80], None), BOX)
    assert found.y.tolist() == [np.inf, np.inf, 1e70]
    assert np.isnan(found.se).all()
    assert earlier.read((X, [1, 2, 3], 0.5), BOX).se.tolist() == [0.5] * 3


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (
            3,
            r"^data must be \(X, y\), \(X, y, se\) or a table with a column named value, got 3$",
        ),
        (([[0.5, 1.0]], [1.0]), "X must have 3 columns, got 2"),
        (([0.5, 1.0, 2.0], [1.0]), "X must be rows of 3 finite numbers"),
        (([["a", 1.0, 2.0]], [1.0]), "X must be rows of 3 finite numbers"),
        (([[0.5, np.nan, 2.0]], [1.0]), "X must be rows of 3 finite numbers"),
        (([[0.5, 1.0, 2.0]], [1.0, 2.0]), r"y must have one entry per row \(1\), got shape"),
        (([[0.5, 1.0, 2.0]], ["a"]), "y must be numbers, one per row"),
        (([[0.5, 1.0, 2.0]], [-np.inf]), "y must not be -inf"),
        (([[0.5, 1.0, 2.0]], [1.0], [-0.1]), "se must be non-negative"),
        (([[0.5, 4.0, 2.0]], [1.0]), r"got X\[0\]\[1\] = 4 outside \[-1, 3\]"),
        (([[0.5, 1.0, 2.5]], [1.0]), r"got X\[0\]\[2\] = 2.5 outside \[2, 2\]"),
        (([[9.0, 1.0, 2.0]] * 7, [1.0] * 7), "7 rows lie outside: 0, 1, 2, 3, 4, ..."),
    ],
)
def test_what_cannot_be_read_is_one_sentence(data: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        earlier.read(data, BOX)


SPACE = nw.Space({"lr": "1e-4..1e-1:log", "layers": "1..4:int", "opt": ["adam", "sgd"]})
NAMED = [{"lr": 1e-3, "layers": 2, "opt": "adam"}, {"lr": 1e-2, "layers": 4, "opt": "sgd"}]


@pytest.mark.parametrize("kind", ["rows", "columns", "frame", "points"])
def test_named_parameters_come_as_rows_columns_or_points(kind: str) -> None:
    columns = {name: [row[name] for row in NAMED] for name in SPACE.names}

    class Frame:  # as pandas and polars have it
        columns = SPACE.names

        def __getitem__(self, name: str) -> Any:
            return [row[name] for row in NAMED]

    points = np.array([SPACE.encode(row) for row in NAMED])
    X = {"rows": NAMED, "columns": columns, "frame": Frame(), "points": points}[kind]
    opt = nw.Optimizer(space=SPACE, budget=30, data=(X, [1.0, 2.0]))
    found = earlier.read((X, [1.0, 2.0]), opt._run.setup.box, SPACE)
    np.testing.assert_allclose(opt._run.setup.box.outer(found.X), points)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([{**NAMED[0], "lr": 5.0}], "row 0: lr must be a number in 0.0001..0.1, got 5.0"),
        ([NAMED[0], {"lr": 1e-3, "opt": "adam"}], "row 1 must have a value of layers"),
        ([{**NAMED[0], "extra": 1}], "row 0: values must be of lr, layers, opt, got 'extra'"),
        ({"lr": [0.01], "layers": [1, 2], "opt": ["sgd"]}, "columns of X must have the same"),
        (
            [NAMED[0], [0.5, 0.5, 0.5]],
            "X must be rows of 3 finite numbers, a dictionary of columns",
        ),
    ],
)
def test_wrong_rows_are_named(rows: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        nw.Optimizer(space=SPACE, budget=30, data=(rows, [1.0] * len(rows)))


def test_values_to_maximise_come_in_the_users_sign() -> None:
    X = np.tile([0.5, 1.0, 2.0], (3, 1))
    found = earlier.read((X, [1.0, np.nan, -np.inf]), BOX, maximize=True)
    assert found.y.tolist() == [-1.0, np.inf, np.inf]
    with pytest.raises(ValueError, match=r"y must not be \+inf: there is nothing above it"):
        earlier.read((X, [1.0, 2.0, np.inf]), BOX, maximize=True)


# -- keeping


def test_data_are_not_charged(method: Method) -> None:
    opt = support.start(method, data=some_data(3))
    assert (opt.spent, opt.remaining) == (0, 60)
    support.drive(opt)
    assert opt.spent == 60
    r = opt.result()
    ignored = [w for w in r.warnings if "had no use for 30 rows" in w]
    assert bool(ignored) != ("earlier data" in r.message)


def test_resume_is_exact_before_and_after_data_are_added(method: Method, tmp_path: Path) -> None:
    def run(saved_at: set[int]) -> tuple[dict[int, bytes], str]:
        budget = support.affordable(method, 40, most=25)
        opt, asked, tells = support.start(method, d=2, budget=budget), {}, 0
        while not opt.done:
            for trial in opt.ask():
                asked[trial.id] = trial.x.tobytes()
                if tells in (0, 11):
                    opt.add(*some_data(2, 12 + tells))
                if tells in saved_at:
                    opt.save(tmp_path / "run")
                    opt = nw.Optimizer.load(tmp_path / "run", method)
                opt.tell(trial.id, support.noisy(trial))
                tells += 1
        return asked, support.data_of(opt)

    straight = run(set())
    assert run({0, 11}) == straight
    assert run(set(range(10, 14))) == straight


def test_adding_twice_is_adding_once() -> None:
    X, y = some_data(3)
    once = support.start(nw.methods.CMAES(), data=(X, y))
    twice = support.start(nw.methods.CMAES())
    twice.add(X[:10], y[:10])
    twice.add(X[10:], y[10:])
    assert support.drive(once) == support.drive(twice)


def test_a_finished_run_takes_data_and_does_nothing() -> None:
    opt = support.start(nw.methods.CMAES(), budget=30)
    support.drive(opt)
    x = opt.recommend().x
    opt.add(*some_data(3))
    assert opt.recommend().x.tolist() == x.tolist()


def test_minimize_resumes_with_the_same_data_only(tmp_path: Path) -> None:
    path, data = tmp_path / "run", some_data(2)

    def stop(intermediate_result: nw.Result) -> None:
        if intermediate_result.nfev > 30:
            raise KeyboardInterrupt

    def call(data: Any, **more: Any) -> nw.Result:
        return nw.minimize(
            support.bumpy,
            [2.0, 2.0],
            sigma0=1.0,
            budget=90,
            method="cma-es",
            rng=1,
            data=data,
            **more,
        )

    call(data, checkpoint=path, callback=stop, interrupt="return")
    with pytest.raises(nw.CheckpointError, match=r"data \['30 rows \(\w+\)'\], not None"):
        call(None, checkpoint=path)
    assert support.same_result(call(data, checkpoint=path), call(data))


# -- a point that was measured elsewhere


def test_a_trial_may_be_measured_elsewhere(method: Method) -> None:
    opt, rng = support.start(method, budget=60), np.random.default_rng(0)
    while not opt.done:
        trials = opt.ask()
        where = [t.x + 0.02 * rng.normal(size=3) for t in trials]
        opt.tell([t.id for t in trials], [float(x @ x) for x in where], x=where)
    r = opt.result()
    assert r.nfev == 60
    assert r.n_failures == 0
    assert np.isfinite(r.fun)


def test_a_moved_candidate_is_where_it_was_measured() -> None:
    opt = support.start(nw.methods.CMAES(), d=2)
    first, second, *_ = opt.ask()
    opt.tell(first.id, 1.0, x=[0.5, 0.25])
    opt.tell([second.id], [2.0], x=[None])
    population = opt._run.current
    assert population is not None
    assert population.X[0].tolist() == [0.5, 0.25]
    np.testing.assert_array_equal(population.X[1], second.x)


def test_replicates_measured_elsewhere_average_their_points() -> None:
    opt = support.start(nw.methods.Resample(k=2), d=1)
    trials = opt.ask()
    half = len(trials) // 2
    opt.tell([trials[0].id, trials[half].id], [1.0, 2.0], x=[[1.0], [2.0]])
    population = opt._run.current
    assert population is not None
    assert population.X[0].tolist() == [1.5]


def test_a_confirmation_measured_far_away_counts_as_failed() -> None:
    opt = support.start(nw.methods.CMAES(), budget=40, confirm=4)
    while not opt.done:
        for trial in opt.ask():
            off = 1.0 if trial.kind == "confirmation" and trial.id % 2 else 0.0
            opt.tell(trial.id, 1.0, x=trial.x + off)
    assert opt.result().n_failures == 2


@pytest.mark.parametrize(
    ("x", "said"),
    [
        ([0.5], "x must be 2 finite numbers, got"),
        ([0.5, np.nan], "x must be 2 finite numbers, got"),
        ([0.5, 7.0], r"x must lie inside the bounds, got x\[1\] = 7 outside \[0, 1\]"),
        ("ab", "x must be 2 finite numbers, got 'ab'"),
    ],
)
def test_wrong_places_are_refused_and_change_nothing(x: Any, said: str) -> None:
    opt = nw.Optimizer(bounds=[(0, 2), (0, 1)], budget=30, rng=0)
    trial = opt.ask()[0]
    with pytest.raises(ValueError, match=said):
        opt.tell(trial.id, 1.0, x=x)
    assert opt.spent == 0
    opt.tell(trial.id, 1.0, x=[0.5, 0.5])
    assert opt.spent == 1
