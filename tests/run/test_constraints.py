"""Measured constraints: noisy values that must be at most 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
from numpy.typing import NDArray

import noisewise as nw
import support
from noisewise import _data
from noisewise.errors import BadValueError
from noisewise.gp.limits import Limits, _kept
from noisewise.loop import checkpoint
from noisewise.loop.checkpoint import Journal
from noisewise.measured.samples import Samples
from noisewise.problem.values import MOST_CONSTRAINTS, Value
from noisewise.report import facts, text
from noisewise.report.page import page

Array = NDArray[np.float64]
BOX = [(-2.0, 2.0), (-2.0, 2.0)]
#: The best feasible point of `_value` under `_limit`.
BEST = np.array([0.3, -0.1])


def _value(x: Array) -> float:
    return float(((x - np.array([1.0, 0.6])) ** 2).sum())


def _limit(x: Array) -> float:
    """At most 0 up to a line that separates the lowest point from the rest."""
    return float(x @ np.array([1.0, 1.0]) - 0.2) / 2.0**0.5


class Noisy:
    """Both with noise, and how often they were called."""

    def __init__(self, seed: int, noise: float = 0.2) -> None:
        self.rng, self.noise = np.random.default_rng([seed, 3]), noise
        self.calls = [0, 0]

    def value(self, x: Array) -> float:
        self.calls[0] += 1
        return _value(x) + self.noise * float(self.rng.normal())

    def limit(self, x: Array) -> float:
        self.calls[1] += 1
        return _limit(x) + self.noise * float(self.rng.normal())

    def or_nan(self, x: Array) -> float:
        return self.value(x) if self.limit(x) <= 0.0 else np.nan


def _solve(seed: int, budget: int = 50, noise: float = 0.2, **options: Any) -> nw.Result:
    noisy = Noisy(seed, noise)
    options = {"rng": seed, "bounds": BOX, "constraints": noisy.limit} | options
    r = nw.minimize(noisy.value, budget=budget, **options)
    assert noisy.calls == [budget, budget]
    assert r.nfev == budget
    return r


@pytest.mark.untraced
def test_the_answer_is_feasible_and_better_than_with_nan_where_the_best_is_on_the_boundary() -> (
    None
):
    found, with_nan = [], []
    for seed in range(40):
        found.append(_solve(seed, 36).x)
        if seed >= 5:
            continue
        noisy = Noisy(seed)
        with_nan.append(nw.minimize(noisy.or_nan, bounds=BOX, budget=36, rng=seed).x)
    assert sum(_limit(x) <= 0.01 for x in found) >= 36
    # A point beyond the line has too small a value.
    off, other = (
        np.abs([_value(x) - _value(BEST) for x in X]).mean() for X in (found[:5], with_nan)
    )
    assert off < 0.5 * other


@pytest.mark.parametrize("method", ["watchful", "cma-es"])
def test_evolution_strategies_find_the_boundary(method: str) -> None:
    r = _solve(1, 300, method=method)
    assert _limit(r.x) <= 0.02
    assert _value(r.x) - _value(BEST) < 0.3
    assert r.feasible
    assert r.p_feasible > 0.5
    assert r.success


def test_the_result_says_what_is_known_about_the_constraints() -> None:
    noisy = Noisy(0)

    def both(x: Array) -> list[float]:
        return [noisy.limit(x), -x[0] - 1.0]

    r = nw.minimize(noisy.value, bounds=BOX, budget=50, rng=0, constraints=both)
    truth = np.array([_limit(r.x), -r.x[0] - 1.0])
    assert bool((np.abs(r.constraints - truth) <= 4.0 * r.constraints_se + 1e-2).all())
    assert r.constraints.shape == (2,)
    hints = get_type_hints(nw.Result)
    for name in ("constraints", "constraints_se", "feasible", "p_feasible"):
        assert _data.fits(r[name], hints[name]), name
    assert r.feasible == bool((r.constraints <= 0.0).all())
    said = repr(r).split("constraints: ")[1].splitlines()[0]
    assert "(each at most 0), met with probability" in said
    assert said in r.summary()
    assert said in r._repr_html_()


def test_nothing_feasible_is_said() -> None:
    r = nw.minimize(_value, bounds=BOX, budget=30, rng=0, constraints=lambda x: 1.0 + x @ x)
    assert not r.feasible
    assert not r.success
    assert r.p_feasible < 0.05
    assert any("no point was found that meets the constraints" in text for text in r.warnings)
    assert float(r.x @ r.x) < 0.5  # as near as it gets
    assert r.nfev == 30
    assert "no evaluation was feasible" in r.message


def test_a_point_that_is_probably_infeasible_is_no_success() -> None:
    """However large the chance is that it is feasible after all."""

    def limit(trial: nw.Trial) -> float:
        return 0.1 + 0.3 * float(np.random.default_rng(trial.id).normal())

    opt = nw.Optimizer(bounds=BOX, budget=20, method="cma-es", rng=0)
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, _value(trial.x), constraints=[limit(trial)])
    r = opt.result()
    assert r.constraints[0] > 0.0
    assert 0.1 < r.p_feasible < 0.5
    assert not r.feasible
    assert not r.success


def test_constraints_that_were_never_measured() -> None:
    r = nw.minimize(_value, bounds=BOX, budget=20, rng=0, constraints=lambda x: np.nan)
    assert len(r.constraints) == len(r.constraints_se) == 0
    assert not r.feasible
    assert not r.success
    assert "never measured" in repr(r)


def test_maximize_leaves_constraints_alone_and_names_work() -> None:
    r = nw.minimize(
        lambda p: p["a"] + p["b"],
        space={"a": "0..1", "b": "0..1"},
        budget=40,
        rng=0,
        maximize=True,
        constraints=lambda p: p["a"] - 0.25,
    )
    assert r.params is not None
    assert r.params["a"] <= 0.251
    assert r.params["b"] > 0.95
    assert r.fun > 1.1


def test_a_seed_goes_to_both() -> None:
    pairs: list[list[int]] = [[], []]

    def fun(x: Array, seed: int) -> float:
        pairs[0].append(seed)
        return float(x @ x)

    def limit(x: Array, seed: int) -> float:
        pairs[1].append(seed)
        return float(x[0])

    options: dict[str, Any] = {"bounds": BOX, "budget": 12, "seeds": "independent", "rng": 0}
    nw.minimize(fun, constraints=limit, **options)
    assert pairs[0] == pairs[1]
    assert len(set(pairs[0])) == 12


@pytest.mark.parametrize(("method", "after"), [("gp", 17), ("watchful", 3), ("watchful", 17)])
def test_a_resumed_run_is_the_same(method: str, after: int, tmp_path: Path) -> None:
    def noise(x: Array) -> float:
        return 0.1 * float(np.sin(1e4 * x).sum())

    def fun(x: Array) -> float:
        return _value(x) + noise(x)

    left = [after]

    def limit(x: Array) -> list[float]:
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return [_limit(x) + noise(x + 1.0), -x[0] - 1.0]

    options: dict[str, Any] = {"bounds": BOX, "budget": 30, "method": method, "rng": 3}
    path = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        nw.minimize(fun, constraints=limit, checkpoint=path, **options)
    loaded = nw.Optimizer.load(path)  # values of the journal included
    assert loaded.spent == after - 1
    resumed = nw.minimize(fun, constraints=limit, checkpoint=path, **options)
    whole = nw.minimize(fun, constraints=limit, **options)
    assert np.array_equal(resumed.x, whole.x)
    assert resumed.fun == whole.fun
    assert np.array_equal(resumed.constraints, whole.constraints)
    with pytest.raises(nw.CheckpointError, match="constraints"):
        nw.minimize(fun, checkpoint=path, **options)


def test_ask_and_tell_in_any_order_and_at_once() -> None:
    found = []
    for several in (False, True):
        opt = nw.Optimizer(bounds=BOX, budget=40, rng=0, batch=4)
        while not opt.done:
            trials = opt.ask()[::-1]
            if several:
                values = [_value(t.x) for t in trials]
                limits = [[_limit(t.x)] for t in trials]
                opt.tell([t.id for t in trials], values, constraints=limits)
                continue
            for t in trials:
                opt.tell(t.id, _value(t.x), constraints=_limit(t.x))
        found.append(opt.result().x)
    assert np.array_equal(found[0], found[1])
    assert _limit(found[0]) <= 1e-3


def test_workers_give_the_same_in_batches() -> None:
    options: dict[str, Any] = {"bounds": BOX, "budget": 20, "rng": 0, "batch": 4}
    method = nw.methods.CMAES(population=4)
    one = nw.minimize(_value, method=method, constraints=_limit, **options)
    two = nw.minimize(_value, method=method, constraints=_limit, workers=2, **options)
    assert np.array_equal(one.x, two.x)


def test_a_constraint_that_fails_is_a_failed_evaluation() -> None:
    def limit(x: Array) -> float:
        return np.nan if x[0] > 0.0 else float(x[0] + 0.5)

    r = nw.minimize(_value, bounds=BOX, budget=40, rng=0, constraints=limit)
    assert r.n_failures > 0
    assert r.x[0] <= -0.49


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"constraints": 3}, "constraints must be callable or None, got 3"),
        ({"constraints": _limit, "method": "rb-pem"}, "constraints need method 'auto', 'gp'"),
        ({"constraints": _limit, "vectorized": True}, "cannot be combined with vectorized=True"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        nw.minimize(_value, bounds=BOX, budget=20, **options)


@pytest.mark.parametrize("wrong", ["much", [], [[1.0, 2.0]], None])
def test_wrong_constraints(wrong: Any) -> None:
    with pytest.raises(nw.EvaluationError, match="constraints must be one or several real numbers"):
        nw.minimize(_value, bounds=BOX, budget=20, constraints=lambda x: wrong)


def test_another_number_of_constraints_is_one_sentence() -> None:
    counts = iter([1, 2])
    with pytest.raises(nw.EvaluationError, match="must always be 1 values, got 2"):
        nw.minimize(_value, bounds=BOX, budget=20, constraints=lambda x: [0.0] * next(counts))


def test_told_with_every_trial_or_with_none() -> None:
    opt = nw.Optimizer(bounds=BOX, budget=20, rng=0)
    a, b, c, d = opt.ask(4)
    opt.tell(a.id, 1.0, constraints=[0.5, 1.0])
    with pytest.raises(ValueError, match="must be told with every trial, 2 values"):
        opt.tell(b.id, 1.0)
    with pytest.raises(ValueError, match="must always be 2 values, got 1"):
        opt.tell(b.id, 1.0, constraints=0.5)
    opt.tell(b.id, np.nan)  # it failed
    opt.tell([c.id, d.id], [1.0, 2.0], constraints=[[0.5, 1.0], [0.5, np.nan]])
    assert opt.result().n_failures == 2
    other = nw.Optimizer(bounds=BOX, budget=20, rng=0)
    a, b = other.ask(2)
    other.tell(a.id, 1.0)
    with pytest.raises(ValueError, match="got trials without them"):
        other.tell(b.id, 1.0, constraints=1.0)


def test_what_is_remembered_is_bounded_and_spans_the_run() -> None:
    index = np.zeros(0, dtype=np.intp)
    for seen in range(1, 2000):
        index = np.append(index, seen - 1)
        index = index[_kept(index, seen)]
        assert len(index) <= 200
    assert (np.diff(index, 2) <= 0).all()  # the older the fewer
    assert index[0] == 0
    assert index[-1] == 1998


def test_the_chance_follows_the_values() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, (60, 2))
    g = np.array([_limit(x) for x in X]) + 0.1 * rng.normal(size=60)
    limits = Limits.start(np.full(2, -2.0), np.full(2, 4.0), 1).learn(X, g[:, None], g)
    inside, edge, outside = limits.chance(np.array([[-1.0, 0.0], BEST, [1.0, 0.5]]))
    assert inside > 0.99
    assert 0.01 < edge < 0.99
    assert outside < 0.01
    moved = limits.safe(BEST)
    assert limits.sure(moved[None])[0]
    assert np.abs(moved - BEST).max() < 0.5
    assert np.array_equal(limits.safe(np.array([-1.0, 0.0])), [-1.0, 0.0])
    # Where rounding leaves no safe point on the way, its end is one: a point that was measured.
    surest = X[int(np.argmax(limits.log_chance(X)))]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Limits, "sure", lambda self, X: np.zeros(len(X), dtype=bool))
        np.testing.assert_allclose(limits.safe(BEST), surest)


def test_samples_keep_constraints_beside_their_values() -> None:
    a, b = Samples(np.array([[1.0], [2.0]])), Samples(np.array([[3.0, 4.0]]))
    a.put_limits(1, 0, np.array([0.1, 0.2]))
    both = a.rows(np.array([False, True])).join(b)
    assert both.limits is not None
    assert both.limits.shape == (2, 2, 2)
    assert both.limits[0, 0].tolist() == [0.1, 0.2]
    assert np.isnan(both.limits[1]).all()


@pytest.mark.parametrize("texts", [None, "heat<=1", ["heat<=1", "f>=2"], ["heat>=1", "odd"], [3]])
def test_the_page_shows_constraints_by_name_if_there_are_names(texts: Any) -> None:
    """Names are those of a command; whatever else is kept with a run does no harm."""
    opt = nw.Optimizer(bounds=BOX, budget=20, rng=0, method="cma-es", extra={"limits": texts})
    while not opt.done:
        for trial in opt.ask():
            told = [_limit(trial.x), float(trial.x[0]) - 9.0]
            opt.tell(trial.id, _value(trial.x), constraints=told)
    found = facts.of(opt, "run")
    named = texts == ["heat<=1", "f>=2"]
    assert (("heat " in text.summary(found)) and ("(at least 2)" in page(found))) == named
    assert ("(each at most 0)" in page(found)) != named
    assert text.as_data(found)["constraints"]["feasible"] == opt.result().feasible


def test_the_page_of_constraints_that_were_never_measured() -> None:
    r = nw.minimize(
        lambda x: 0.0, bounds=BOX, budget=20, rng=0, method="cma-es", constraints=lambda x: np.nan
    )
    assert "constraints: never measured" in repr(r)


# -- many constraints


@pytest.mark.parametrize("q", [220, 2000])
def test_a_run_with_many_constraints_can_be_resumed(q: int, tmp_path: Path) -> None:
    """A value and its constraints are one line of the file, and such a line is long."""
    path = tmp_path / "run"
    opt = nw.Optimizer(bounds=BOX, budget=20, rng=0, method="cma-es", confirm=0)
    journal = Journal(path)
    journal.open(opt.method, opt._run)
    limits = -np.random.default_rng(0).random(q) / 3.0
    trials = opt.ask()
    journal.asked(len(trials), opt._run.handed)
    for trial in trials[:2]:
        journal.append([Value(trial.id, 1.0, None, limits)])
        opt.tell(trial.id, 1.0, constraints=limits)
    journal.close()
    opt._run.hand_out_again()
    assert support.data_of(nw.Optimizer.load(path)) == support.data_of(opt)


def test_the_most_constraints_fit_into_a_line(tmp_path: Path) -> None:
    path = tmp_path / "run"
    opt = nw.Optimizer(bounds=BOX, budget=20, rng=0, method="cma-es")
    journal = Journal(path)
    journal.open(opt.method, opt._run)
    longest = -1.2345678901234567e-100
    most = np.full(MOST_CONSTRAINTS, longest)
    journal.append([Value(10**18, longest, -longest, most)])
    before = path.read_bytes()
    with pytest.raises(nw.CheckpointError, match=r"cannot hold evaluation 7: its line would have"):
        journal.append([Value(7, 1.0, None, np.tile(most, 2))])
    journal.close()
    assert path.read_bytes() == before
    [told] = checkpoint.read(path).events
    assert isinstance(told, Value)
    assert told.constraints is not None
    assert told.constraints.tolist() == most.tolist()
    with pytest.raises(BadValueError, match="constraints must be at most 10000 values, got 10001"):
        opt.tell(opt.ask()[0].id, 1.0, constraints=np.zeros(MOST_CONSTRAINTS + 1))
