"""The loop: what it returns, what it does with errors, and that a checkpoint is always whole."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds

import noisewise as nw
import support
from noisewise.cma.strategy import Strategy
from noisewise.methods import CMAES, Method
from noisewise.run.run import ALL_FAILED, BUDGET_SPENT, INTERRUPTED, STOPPED
from noisewise.run.search import Search

pytestmark = pytest.mark.boxes

_GOOD: dict[str, Any] = {"x0": [2.0, 2.0, 2.0], "sigma0": 1.0, "budget": 60, "rng": 0}
#: For what does not depend on the method: the default one fits a model after every few values.
_FAST = _GOOD | {"method": "cma-es"}


class Failing:
    """The bumpy sphere, except that the calls in ``at`` (or all) go wrong."""

    def __init__(self, how: Any, at: Any = None) -> None:
        self.how, self.at, self.calls = how, at, 0

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        if self.at is not None and self.calls not in self.at:
            return support.bumpy(x)
        if isinstance(self.how, BaseException):
            raise self.how
        return self.how


def test_result() -> None:
    r = nw.minimize(support.bumpy, **_GOOD, method="cma-es")
    assert isinstance(r, dict)
    assert r["x"] is r.x
    with pytest.raises(AttributeError, match="no entry 'nonsense'"):
        _ = r.nonsense
    assert r.success
    assert (r.status, r.nfev, r.n_failures, r.n_reevaluations) == (BUDGET_SPENT, 60, 0, 0)
    assert r.message.startswith("the budget is spent")
    assert r.x.shape == r.x_best_observed.shape == (3,)
    assert r.fun_best_observed <= r.fun
    assert r.fun_best_observed == pytest.approx(support.bumpy(r.x_best_observed))
    assert (r.fun_se, r.estimate) == (0.0, "exact")  # its noise belongs to the point
    assert r.interval == (r.fun, r.fun)
    assert r.method == "cma-es"
    assert math.isnan(r.misranking)
    assert {len(column) for column in r.history.values()} == {r.nit}
    # The best candidate and the mean were measured again, then the better one.
    assert r.history["evaluations"][-1] == 54
    assert (r.agreed, r.differed) == (4, 0)
    assert r.n_confirmations == 5
    assert isinstance(r.diagnostics, dict)
    assert r.x @ r.x < 3.0


def test_result_of_every_method(method: Method) -> None:
    r = nw.minimize(support.bumpy, **_GOOD, method=method, confirm=3)
    for name in ("fun", "fun_se", "fun_best_observed", "misranking"):
        assert isinstance(r[name], float), name
    for name in ("nfev", "nit", "n_reevaluations", "n_failures", "status"):
        assert isinstance(r[name], int), name
    assert r.success is True
    assert (r.nfev, r.n_failures) == (60, 0)
    assert 0 <= r.n_reevaluations < 60
    assert 1 <= r.nit <= (57 if "noise_share" in method.columns else 57 // 2)
    assert math.isnan(r.misranking) or 0.0 <= r.misranking <= 0.5
    assert {len(column) for column in r.history.values()} == {r.nit}
    assert (np.diff(r.history["evaluations"]) > 0).all()
    if "sigma" in method.columns and "noise_share" not in method.columns:
        assert (r.history["sigma"] > 0.0).all()
    assert "nfev: 60" in repr(r)


def test_history_is_a_snapshot() -> None:
    seen: list[nw.Result] = []
    nw.minimize(support.bumpy, **(_FAST | {"budget": 400}), callback=seen.append)
    for i, r in enumerate(seen):
        assert r.nit == len(r.history["sigma"]) == i + 1
    assert seen[0].history["sigma"][0] == seen[-1].history["sigma"][0]
    with pytest.raises(ValueError, match="read-only"):
        seen[0].history["sigma"][0] = 1.0


def test_result_is_not_changed_by_what_comes_after() -> None:
    seen: list[tuple[Any, Any]] = []

    def note(r: nw.Result) -> None:
        seen.append((r, {k: repr(v) for k, v in r.items()}))
        r.x_best_observed[:] = 99.0
        r.x[:] = 99.0

    final = nw.minimize(support.bumpy, **_FAST, callback=note)
    assert support.same_result(final, nw.minimize(support.bumpy, **_FAST))
    for r, _ in seen:
        r.x_best_observed[:] = r.x[:] = 0.0
    for r, then in seen:
        now = {k: repr(v) for k, v in r.items()}
        assert all(now[k] == then[k] for k in now if k not in ("x", "x_best_observed"))


def test_repr_is_readable() -> None:
    noise = np.random.default_rng(1)
    r = nw.minimize(lambda x: x @ x + noise.normal(), **_GOOD, method="rb-pem")
    text = str(r)
    for part in (
        "x: [",
        "95 % interval ",
        "the luckiest draw",
        "nfev: 60",
        "re-evaluations disagree by",
        "budget is spent",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) < 120
    few = nw.minimize(support.bumpy, **(_GOOD | {"budget": 1}))
    assert "interval" not in repr(few).split("\n")[1]


@pytest.mark.parametrize("how", [float("nan"), float("inf"), np.float32("nan"), np.array(np.inf)])
@pytest.mark.parametrize("on_error", ["raise", "worst"])
def test_nan_and_inf_are_failures(how: Any, on_error: str) -> None:
    fun = Failing(how, at=range(1, 60, 4))
    r = nw.minimize(fun, **_FAST, on_error=on_error)
    assert (r.nfev, fun.calls, r.n_failures) == (60, 60, 15)
    assert r.success
    assert np.isfinite([r.fun, r.fun_se, r.fun_best_observed]).all()


def test_failures_anywhere(method: Method) -> None:
    rng = np.random.default_rng(5)
    for rate in (0.1, 0.5, 0.8):
        fun = Failing(math.nan, at=set(np.flatnonzero(rng.random(60) < rate) + 1))
        r = nw.minimize(fun, **_GOOD, method=method, on_error="worst", bounds=(-3.0, 3.0))
        assert r.nfev == fun.calls
        assert r.n_failures == len([c for c in fun.at if c <= fun.calls])
        assert (np.abs(r.x) <= 3.0).all()
        assert r.nfev == 60 or r.status == ALL_FAILED


def test_failed_points_never_pull_the_mean() -> None:
    """Where half of the space fails, the search stays in the other half."""

    def fun(x: Any) -> float:
        return math.nan if x[0] < 0.0 else support.bumpy(x)

    r = nw.minimize(fun, **(_GOOD | {"budget": 400}))
    assert r.n_failures > 0
    assert r.x[0] > 0.0


@pytest.mark.parametrize("on_error", ["raise", "worst"])
def test_everything_fails(method: Method, on_error: str) -> None:
    r = nw.minimize(
        Failing(math.nan), **(_GOOD | {"budget": 500}), method=method, on_error=on_error
    )
    assert not r.success
    assert r.status == ALL_FAILED
    assert f"gave up: {r.nit} generations in a row had no successful evaluation" in r.message
    assert r.nit >= 3
    assert r.nfev >= 50  # a tenth of the budget
    assert r.n_failures == r.nfev < 500
    np.testing.assert_array_equal(r.x, _GOOD["x0"])
    assert math.isnan(r.fun)
    assert math.isnan(r.fun_best_observed)


@pytest.mark.parametrize("budget", range(1, 10))
def test_everything_fails_on_a_tiny_budget(budget: int) -> None:
    r = nw.minimize(Failing(math.nan), **(_FAST | {"budget": budget}))
    assert not r.success
    assert r.nfev == r.n_failures == budget
    assert "the budget is spent and no evaluation succeeded" in r.message


@pytest.mark.parametrize(
    "error", [ValueError("bad luck"), KeyError(3), StopIteration(), ZeroDivisionError(), OSError()]
)
def test_raise(error: Exception) -> None:
    with pytest.raises(nw.EvaluationError) as caught:
        nw.minimize(Failing(error, at=[20]), **_FAST)
    assert caught.value.__cause__ is error
    assert type(error).__name__ in str(caught.value)
    assert str(error) in str(caught.value)
    assert "after 19 evaluations" in str(caught.value)
    result = caught.value.result
    assert result.nfev == 19
    assert not result.success
    assert np.isfinite(result.x).all()
    assert result.fun_best_observed < math.inf


def test_worst() -> None:
    r = nw.minimize(Failing(ValueError(), at=[1, 2, 30]), **_GOOD, on_error="worst")
    assert (r.nfev, r.n_failures, r.success) == (60, 3, True)


def test_the_first_evaluation_may_fail() -> None:
    with pytest.raises(nw.EvaluationError, match="after 0 evaluations") as caught:
        nw.minimize(Failing(ValueError()), **_GOOD)
    assert caught.value.result.nfev == 0
    assert math.isnan(caught.value.result.fun)


@pytest.mark.parametrize("stop_after", [1, 3])
def test_callback_stops(stop_after: int) -> None:
    seen: list[nw.Result] = []

    def callback(intermediate_result: nw.Result) -> None:
        seen.append(intermediate_result)
        if len(seen) == stop_after:
            raise StopIteration

    r = nw.minimize(support.bumpy, **_FAST, callback=callback)
    assert (r.status, r.nit, len(seen)) == (STOPPED, stop_after, stop_after)
    assert r.success
    assert r.nfev == seen[-1].nfev < 60
    assert "stopped on request" in r.message


def test_stop_at_the_end_changes_nothing() -> None:
    def callback(intermediate_result: nw.Result) -> None:
        if intermediate_result.nfev == 60:
            raise StopIteration

    r = nw.minimize(support.bumpy, **_FAST, callback=callback)
    assert r.status == BUDGET_SPENT


def test_an_error_in_the_callback_is_the_users(tmp_path: Path) -> None:
    def callback(intermediate_result: nw.Result) -> None:
        raise RuntimeError("mine")

    path = tmp_path / "run"
    with pytest.raises(RuntimeError, match="mine"):
        nw.minimize(support.bumpy, **_FAST, callback=callback, checkpoint=path)
    again = nw.minimize(support.bumpy, **_FAST, checkpoint=path)
    assert support.same_result(again, nw.minimize(support.bumpy, **_FAST))


def test_args() -> None:
    def fun(x: Any, centre: float, scale: float) -> float:
        return scale * support.bumpy(x - centre)

    r = nw.minimize(fun, **(_FAST | {"budget": 300}), args=(1.0, 2.0))
    assert np.abs(r.x - 1.0).max() < 0.5


def test_vectorized_equals_scalar(method: Method) -> None:
    sizes = []

    def fun(X: Any, power: int) -> Any:
        sizes.append(len(X))
        return [support.bumpy(x) ** power for x in X]

    together = nw.minimize(fun, **_GOOD, method=method, vectorized=True, args=(3,), confirm=2)
    one_by_one = nw.minimize(lambda x: support.bumpy(x) ** 3, **_GOOD, method=method, confirm=2)
    assert support.same_result(together, one_by_one)
    assert sum(sizes) == 60
    assert max(sizes) > 1


def test_confirm() -> None:
    calls: list[Any] = []

    def fun(x: Any) -> float:
        calls.append(x.copy())
        return support.bumpy(x) + len(calls)

    # Five generations of ten: nothing is left over that would join the confirmation.
    r = nw.minimize(fun, **_GOOD, confirm=10, method=nw.methods.CMAES(population=10))
    assert r.nfev == 60
    for x in calls[-10:]:
        np.testing.assert_array_equal(x, r.x)
    values = [support.bumpy(x) + i + 51 for i, x in enumerate(calls[-10:])]
    assert r.fun == pytest.approx(np.mean(values))
    assert r.fun_se == pytest.approx(np.std(values, ddof=1) / math.sqrt(10))
    assert r.history["evaluations"][-1] <= 50


def test_trial_kinds() -> None:
    opt = nw.Optimizer(**_GOOD, method="rb-pem", confirm=2)
    kinds: list[str] = []
    while not opt.done:
        for trial in opt.ask():
            kinds.append(trial.kind)
            assert f"kind={trial.kind!r}" in repr(trial)
            opt.tell(trial.id, support.noisy(trial))
    assert set(kinds) == {"candidate", "reevaluation", "confirmation"}
    assert kinds.count("reevaluation") == opt.result().n_reevaluations
    assert kinds[-2:] == ["confirmation"] * 2


@pytest.mark.parametrize(
    ("bounds", "low", "high"),
    [
        ((-1, 2), [-1, -1], [2, 2]),
        (([-1, 3], [-2, 4]), [-1, -2], [3, 4]),
        (((-1, 3), (-2, 4)), [-1, -2], [3, 4]),
        ([(-1, 3), (-2, 4)], [-1, -2], [3, 4]),
        ([[-1, 3], [-2, 4]], [-1, -2], [3, 4]),
        (np.array([[-1, 3], [-2, 4]]), [-1, -2], [3, 4]),
        ([np.array([-1, -2]), np.array([3, 4])], [-1, -2], [3, 4]),
        (Bounds([-1, -2], [3, 4]), [-1, -2], [3, 4]),
        (Bounds(-1, 2), [-1, -1], [2, 2]),
        ((None, 5), [-np.inf, -np.inf], [5, 5]),
        ((0, None), [0, 0], [np.inf, np.inf]),
        ([(None, 3), (-2, None)], [-np.inf, -2], [3, np.inf]),
        (([0, None], [None, 4]), [0, -np.inf], [np.inf, 4]),
        ((np.array([0, -np.inf]), np.array([np.inf, 4])), [0, -np.inf], [np.inf, 4]),
        (np.array([[None, 3], [-2, None]]), [-np.inf, -2], [3, np.inf]),
        ((-np.inf, np.inf), [-np.inf] * 2, [np.inf] * 2),
        (None, [-np.inf] * 2, [np.inf] * 2),
    ],
    ids=repr,
)
def test_layouts_of_bounds(bounds: Any, low: list[float], high: list[float]) -> None:
    opt = nw.Optimizer([1.0, 1.0], budget=30, bounds=bounds, sigma0=0.5, rng=0)
    box = opt._run.setup.box
    np.testing.assert_array_equal(box.low, low)
    np.testing.assert_array_equal(box.high, high)


def test_defaults_from_bounds() -> None:
    opt = nw.Optimizer(budget=10, bounds=[(0, 10), (-1, 1)], method="cma-es")
    np.testing.assert_allclose(opt.recommend().x, [5.0, 0.0])
    assert opt._run.memory.state.sigma == pytest.approx(0.6)
    spread = np.array(
        [
            t.x
            for t in nw.Optimizer(
                budget=10**4, bounds=[(0, 1e4), (0, 1)], rng=0, method=CMAES(population=2000)
            ).ask()
        ]
    ).std(axis=0)
    assert spread[0] / spread[1] == pytest.approx(1e4, rel=0.1)


def test_rng_kinds() -> None:
    same = [0, np.int64(0), np.random.SeedSequence(0), np.random.default_rng(0)]
    runs = [nw.minimize(support.bumpy, **(_FAST | {"rng": rng})) for rng in same]
    assert all(support.same_result(runs[0], r) for r in runs[1:])
    rng = np.random.default_rng(0)
    one, two = (nw.minimize(support.bumpy, **(_FAST | {"rng": rng})) for _ in range(2))
    assert not support.same_result(one, two)
    fresh = [nw.minimize(support.bumpy, **(_FAST | {"rng": None})) for _ in range(2)]
    assert not support.same_result(*fresh)
    philox = [np.random.Generator(np.random.Philox(3)) for _ in range(2)]
    others = [nw.minimize(support.bumpy, **(_FAST | {"rng": rng})) for rng in philox]
    assert support.same_result(*others)


def test_global_random_state_is_left_alone() -> None:
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # type: ignore[index]  # noqa: NPY002
    nw.minimize(support.bumpy, **_FAST)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # type: ignore[index]  # noqa: NPY002


def test_an_objective_that_changes_its_argument_does_no_harm(method: Method) -> None:
    def rude(x: Any) -> float:
        value = support.bumpy(x)
        x[:] = math.nan
        return value

    assert support.same_result(
        nw.minimize(rude, **_GOOD, method=method, confirm=3),
        nw.minimize(support.bumpy, **_GOOD, method=method, confirm=3),
    )


@pytest.mark.parametrize("scale", [1e-300, 1e60, 1e308])
def test_extreme_values(method: Method, scale: float) -> None:
    """Large enough to overflow in sums and squares, small enough to vanish."""
    r = nw.minimize(lambda x: scale * min(support.bumpy(x), 1.0), **_GOOD, method=method)
    assert r.nfev == 60
    assert np.isfinite(r.x).all()
    assert np.isfinite([r.fun, r.fun_best_observed]).all()
    assert r.fun_se < math.inf or math.isnan(r.fun_se)


@pytest.mark.parametrize(
    "penalty", [np.finfo(float).max, 1e200, 10**400], ids=["max", "e200", "e400"]
)
def test_penalties_as_large_as_possible(method: Method, penalty: Any) -> None:
    def fun(x: Any) -> float:
        value = support.bumpy(x)
        return penalty if value > 13.0 else value

    budget = support.affordable(method, 200, most=100)
    r = nw.minimize(fun, **(_GOOD | {"budget": budget}), method=method)
    assert r.nfev == budget
    assert r.fun_best_observed < 13.0
    assert math.isfinite(r.fun)


def test_flat_objective(named_method: Method) -> None:
    """No tolerance stop: the budget decides."""
    budget = 100 if named_method.name == "gp" else 2000
    r = nw.minimize(lambda x: 1.0, **(_GOOD | {"budget": budget}), method=named_method)
    assert (r.nfev, r.fun, r.fun_best_observed) == (budget, 1.0, 1.0)
    assert np.isfinite(r.x).all()


@pytest.mark.parametrize("dimension", [2, 60])
def test_values_that_never_differ_are_worth_a_warning(dimension: int) -> None:
    bounds = [(0.0, 1.0)] * dimension
    r = nw.minimize(lambda x: 1.0, bounds=bounds, budget=40, rng=0)
    assert "all 40 values are equal" in r.warnings[-1]
    for good in (lambda x: x[0], lambda x: 1.0 if x[0] < 0.5 else math.nan):
        r = nw.minimize(good, bounds=bounds, budget=40, rng=0)
        said = any("equal" in warning for warning in r.warnings)
        assert said == (r.n_failures > 0)


def test_unbounded_objective(named_method: Method) -> None:
    if "draws" in vars(named_method):
        pytest.skip("its free draws come from another objective")
    budget = 200 if named_method.name == "gp" else 3000
    r = nw.minimize(lambda x: float(x.sum()), **(_GOOD | {"budget": budget}), method=named_method)
    assert r.nfev == budget
    assert np.isfinite(r.x).all()
    assert r.x.sum() < -100.0


# Checkpoints: whatever happens, calling again ends as if nothing had.


@pytest.mark.parametrize(
    ("at", "method"), [*((at, "cma-es") for at in (1, 7, 8, 30, 59, 60)), (30, "auto")]
)
@pytest.mark.parametrize("how", ["error", "interrupt"])
def test_resume_after_an_error_in_the_objective(
    tmp_path: Path, at: int, method: str, how: str
) -> None:
    given = _GOOD | {"method": method, "confirm": 3}
    expected = nw.minimize(support.bumpy, **given)
    path = tmp_path / "run"
    if how == "error":
        with pytest.raises(nw.EvaluationError, match=f"after {at - 1} evaluations"):
            nw.minimize(Failing(ValueError(), [at]), **given, checkpoint=path)
    else:
        with pytest.raises(KeyboardInterrupt, match=f"interrupted after {at - 1} of 60") as caught:
            nw.minimize(Failing(KeyboardInterrupt(), [at]), **given, checkpoint=path)
        partial = caught.value.result  # type: ignore[attr-defined]
        assert (partial.status, partial.nfev) == (INTERRUPTED, at - 1)
        assert not partial.success
        assert partial.message.startswith("interrupted; ")
    assert nw.Optimizer.load(path).spent == at - 1
    fun = Failing(None, [])
    again = nw.minimize(fun, **given, checkpoint=path)
    assert fun.calls == 60 - (at - 1)
    assert support.same_result(again, expected)


def test_an_interrupt_ends_the_program_around_the_run() -> None:
    """A loop over seeds must not go on with half a result."""
    done = []

    def study() -> None:
        for seed in range(3):
            fun = Failing(KeyboardInterrupt(), [20])
            done.append(nw.minimize(fun, **(_FAST | {"rng": seed})))

    with pytest.raises(KeyboardInterrupt, match="in its attribute result") as caught:
        study()
    assert done == []
    assert isinstance(caught.value.result, nw.Result)  # type: ignore[attr-defined]
    fun = Failing(KeyboardInterrupt("mine"), [20])
    with pytest.raises(KeyboardInterrupt, match=r"^mine$"):
        nw.minimize(fun, **_FAST)


@pytest.mark.parametrize("what", ["_close", "_open", "_advance"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), RuntimeError("a bug")])
def test_resume_after_an_update_that_was_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, error: BaseException
) -> None:
    """Ctrl-C may arrive in the middle of an update, which must not reach the file."""
    expected = nw.minimize(support.bumpy, **_FAST)
    path = tmp_path / "run"
    original = getattr(Search, what)
    calls = []

    def cut_short(self: Search, *args: Any, **kwargs: Any) -> Any:
        calls.append(what)
        if len(calls) == 4:
            raise error
        return original(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Search, what, cut_short)
        if isinstance(error, KeyboardInterrupt):
            partial = nw.minimize(support.bumpy, **_FAST, checkpoint=path, interrupt="return")
            assert partial.status == INTERRUPTED
        else:
            with pytest.raises(RuntimeError, match="a bug"):
                nw.minimize(support.bumpy, **_FAST, checkpoint=path)
    assert support.same_result(nw.minimize(support.bumpy, **_FAST, checkpoint=path), expected)


def test_resume_after_an_error_in_the_strategy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = _GOOD | {"method": "cma-es"}
    expected = nw.minimize(support.bumpy, **given)
    path = tmp_path / "run"

    def broken(*args: Any, **kwargs: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(Strategy, "update", broken)
        with pytest.raises(MemoryError):
            nw.minimize(support.bumpy, **given, checkpoint=path)
    assert support.same_result(nw.minimize(support.bumpy, **given, checkpoint=path), expected)


def test_a_finished_run_is_not_run_again(tmp_path: Path) -> None:
    fun = Failing(None, [])
    one = nw.minimize(fun, **_FAST, checkpoint=tmp_path / "run")
    two = nw.minimize(fun, **_FAST, checkpoint=str(tmp_path / "run"))
    assert fun.calls == 60
    assert support.same_result(one, two)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_stopped_run_stays_stopped(tmp_path: Path) -> None:
    def callback(intermediate_result: nw.Result) -> None:
        raise StopIteration

    one = nw.minimize(support.bumpy, **_FAST, checkpoint=tmp_path / "run", callback=callback)
    two = nw.minimize(support.bumpy, **_FAST, checkpoint=tmp_path / "run")
    assert two.status == STOPPED
    assert support.same_result(one, two)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"x0": [1.0, 1.0]}, "dimension 3, not 2"),
        ({"method": "cma-es"}, "method "),
        ({"confirm": 3}, "confirm 'auto', not 3"),
        ({"bounds": (-5, 5)}, "bounds "),
        ({"x0": [1.0, 1.0, 1.5]}, "x0 "),
        ({"sigma0": 0.123}, "sigma0 .*, not 0.123"),
        ({"rng": 12345}, "rng .*, not 12345"),
    ],
)
def test_a_checkpoint_of_another_run(tmp_path: Path, change: dict[str, Any], what: str) -> None:
    path = tmp_path / "run"
    options = _GOOD | {"method": "sep-cma-es"}
    interrupted = Failing(KeyboardInterrupt(), [20])
    nw.minimize(interrupted, **options, checkpoint=path, interrupt="return")
    before = path.read_bytes()
    with pytest.raises(nw.CheckpointError, match=f"holds a run with {what}") as caught:
        nw.minimize(support.bumpy, **(options | change), checkpoint=path)
    assert "give the same arguments or another path" in str(caught.value)
    assert path.read_bytes() == before


def test_a_generator_may_be_another_one_when_a_run_is_resumed(tmp_path: Path) -> None:
    """Only seeds can be compared: a generator without one is new in every process."""
    path = tmp_path / "run"
    first = _FAST | {"rng": np.random.default_rng()}
    interrupted = Failing(KeyboardInterrupt(), [20])
    stopped = nw.minimize(interrupted, **first, checkpoint=path, interrupt="return")
    for rng in (np.random.default_rng(), None, 7):
        r = nw.minimize(support.bumpy, **(_FAST | {"rng": rng}), checkpoint=path)
        assert r.nfev == _FAST["budget"] > stopped.nfev


def test_the_file_is_renewed_while_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = nw.minimize(support.bumpy, **_FAST)
    path = tmp_path / "run"
    lines: list[int] = []

    def count(intermediate_result: nw.Result) -> None:
        lines.append(path.read_bytes().count(b"\n"))

    monkeypatch.setattr("noisewise.loop.checkpoint._FRESHEN", 1e9)  # however slow the machine is
    nw.minimize(support.bumpy, **_FAST, checkpoint=path, callback=count)
    assert lines[-1] > 20  # values since the start
    path.unlink()
    monkeypatch.setattr("noisewise.loop.checkpoint._FRESHEN", 0.0)
    lines.clear()
    again = nw.minimize(support.bumpy, **_FAST, checkpoint=path, callback=count)
    assert lines == [2] * len(lines)  # head and state, after every generation
    assert support.same_result(again, expected)


def test_values_are_in_the_file_before_the_next_evaluation(tmp_path: Path) -> None:
    path = tmp_path / "run"
    known: list[int] = []

    def fun(x: Any) -> float:
        known.append(nw.Optimizer.load(path).spent)
        return support.bumpy(x)

    nw.minimize(fun, **_FAST, checkpoint=path)
    assert known == list(range(60))


def test_memory_of_the_path_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    nw.minimize(support.bumpy, **_GOOD, checkpoint="run")
    assert (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("how", "counted"),
    [
        ({}, False),
        ({"executor": nw.executors.threads(2)}, True),
        ({"executor": nw.executors.threads(2), "batch": 4}, False),
    ],
)
def test_as_many_trials_are_asked_for_as_workers_are_free(
    how: dict[str, Any], counted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The executor counts its workers, which may come and go; without workers and in batches, a
    run hands out all that it has."""
    asked, ask = [], Search.ask

    def noted(self: Search, n: int | None = None) -> Any:
        asked.append(n)
        return ask(self, n)

    monkeypatch.setattr(Search, "ask", noted)
    nw.minimize(lambda x: float(x @ x), [1.0, 1.0], sigma0=0.5, budget=20, method="cma-es", **how)
    assert {n is None for n in asked} == {not counted}
    assert not counted or set(asked) <= {0, 1, 2}
