"""Bad input gets a sentence that names the argument, what it got and what it takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.cma.weights import PowerLift
from noisewise.executors import processes
from noisewise.methods import CMAES


def sphere(x: Any) -> float:
    return float(x @ x)


_GOOD: dict[str, Any] = {"x0": [1.0, 2.0], "budget": 10, "sigma0": 1.0}
#: Arguments that differ from the good ones; the argument named; what it got; what it takes.
_BAD: list[tuple[dict[str, Any], str, str, str]] = [
    ({"budget": 0}, "budget", "0", "whole number of at least 1"),
    ({"budget": -5}, "budget", "-5", "whole number of at least 1"),
    ({"budget": 10.5}, "budget", "10.5", "whole number"),
    ({"budget": 1e300}, "budget", "1000000", "whole number of at most"),
    ({"budget": float("inf")}, "budget", "inf", "whole number"),
    ({"budget": 0.0}, "budget", "0", "whole number of at least 1"),
    ({"budget": True}, "budget", "True", "whole number"),
    ({"budget": "10"}, "budget", "'10'", "whole number"),
    ({"budget": None}, "budget", "None", "whole number"),
    ({"budget": float("nan")}, "budget", "nan", "whole number"),
    ({"x0": [1.0, float("nan")]}, "x0", "nan", "finite"),
    ({"x0": [1.0, float("inf")]}, "x0", "inf", "finite"),
    ({"x0": [[1.0, 2.0]]}, "x0", "(1, 2)", "one-dimensional"),
    ({"x0": 3.0}, "x0", "()", "one-dimensional"),
    ({"x0": []}, "x0", "(0,)", "not empty"),
    ({"x0": "ab"}, "x0", "'ab'", "numbers"),
    ({"x0": ["1", "2"]}, "x0", "['1', '2']", "numbers"),
    ({"x0": [1.0, None]}, "x0", "None", "numbers"),
    ({"x0": [1.0, 2j]}, "x0", "2j", "numbers"),
    ({"x0": np.array([1.0, 2j])}, "x0", "2.j", "numbers"),
    ({"x0": [[1.0], [2.0, 3.0]]}, "x0", "[[1.0], [2.0, 3.0]]", "numbers"),
    ({"x0": {"a": 1}}, "x0", "{'a': 1}", "numbers"),
    ({"x0": [5.0, 5.0], "bounds": (-1, 1)}, "x0", "x0[0] = 5", "inside the bounds"),
    ({"x0": [0.0, -1.5], "bounds": (-1, 1)}, "x0", "x0[1] = -1.5", "inside the bounds"),
    ({"x0": None}, "x0", "None", "required unless bounds are finite"),
    ({"x0": None, "bounds": [(0, 1), (0, None)]}, "x0", "None", "finite on both sides"),
    ({"bounds": (1, -1)}, "bounds", "[1, -1]", "low < high"),
    ({"bounds": (3, 3)}, "bounds", "(3, 3)", "low < high for at least one coordinate"),
    ({"bounds": np.array([(1, 1), (2, 2)])}, "bounds", "array", "at least one coordinate"),
    ({"x0": [1.0, 2.1], "bounds": [(0, 5), (2, 2)]}, "x0", "x0[1] = 2.1", "inside the bounds"),
    ({"x0": [1.0, 2.0 + 1e-8], "bounds": (0, 2)}, "x0", "x0[1] = 2", "inside the bounds"),
    ({"bounds": (float("nan"), 3)}, "bounds", "nan", "nan"),
    ({"bounds": ([-9, -9, -9], [9, 9, 9])}, "bounds", "3", "one entry or 2"),
    ({"bounds": [(-9, 9)] * 3}, "bounds", "[(-9, 9), ", "one pair per coordinate (2)"),
    ({"bounds": [(-9, 9)]}, "bounds", "[(-9, 9)]", "one pair per coordinate"),
    ({"bounds": 5}, "bounds", "5", "(low, high)"),
    ({"bounds": (1, 2, 3)}, "bounds", "(1, 2, 3)", "(low, high)"),
    ({"bounds": "ab"}, "bounds", "'ab'", "(low, high)"),
    ({"bounds": []}, "bounds", "[]", "(low, high)"),
    ({"bounds": ("a", "b")}, "bounds", "('a', 'b')", "(low, high)"),
    ({"bounds": (-1j, 9)}, "bounds", "1j", "(low, high)"),
    ({"bounds": (np.zeros((2, 2)), 9)}, "bounds", "array", "(low, high)"),
    ({"bounds": (np.inf, np.inf)}, "bounds", "[inf, inf]", "low < high"),
    ({"bounds": (-np.inf, -np.inf)}, "bounds", "[-inf, -inf]", "low < high"),
    ({"bounds": [(0, 1e-300), (0, 1e300)], "x0": [0, 0]}, "bounds", "1e-300", "widths"),
    ({"sigma0": 0}, "sigma0", "0", "positive finite number"),
    ({"sigma0": -1.0}, "sigma0", "-1.0", "positive finite number"),
    ({"sigma0": float("nan")}, "sigma0", "nan", "positive finite number"),
    ({"sigma0": float("inf")}, "sigma0", "inf", "positive finite number"),
    ({"sigma0": [1.0, 1.0]}, "sigma0", "[1.0, 1.0]", "positive finite number"),
    ({"sigma0": "1"}, "sigma0", "'1'", "positive finite number"),
    ({"sigma0": None}, "sigma0", "None", "required"),
    ({"sigma0": None, "bounds": [(0, 9), (0, None)]}, "sigma0", "None", "required"),
    ({"rng": -1}, "rng", "-1", "non-negative whole number"),
    ({"rng": 1.5}, "rng", "1.5", "non-negative whole number"),
    ({"rng": True}, "rng", "True", "non-negative whole number"),
    ({"rng": "seed"}, "rng", "'seed'", "Generator"),
    ({"rng": np.random}, "rng", "module", "Generator"),
    ({"method": "cmaes"}, "method", "'cmaes'", "cma-es, "),
    ({"method": None}, "method", "None", "auto, "),
    ({"method": CMAES}, "method", "CMAES", "a method object"),
    ({"confirm": -1}, "confirm", "-1", "whole number of at least 0"),
    ({"confirm": 10}, "confirm", "10", "smaller than the budget 10"),
    ({"confirm": 2.5}, "confirm", "2.5", "whole number"),
    ({"confirm": 1e1}, "confirm", "10", "smaller than the budget 10"),
    ({"workers": 0}, "workers", "0", "whole number of at least 1"),
    ({"workers": 2.0}, "workers", "2.0", "whole number"),
    ({"workers": None}, "workers", "None", "whole number"),
]
_MINIMIZE_ONLY: list[tuple[dict[str, Any], str, str, str]] = [
    ({"on_error": "ignore"}, "on_error", "'ignore'", "'raise', 'worst'"),
    ({"on_error": ["raise"]}, "on_error", "['raise']", "'raise', 'worst'"),
    ({"interrupt": "ignore"}, "interrupt", "'ignore'", "'raise', 'return'"),
    ({"executor": 3}, "executor", "3", "concurrent.futures.Executor"),
    ({"executor": "threads"}, "executor", "'threads'", "concurrent.futures.Executor"),
    ({"vectorized": True, "workers": 2}, "vectorized", "workers=2", "neither workers"),
    ({"args": 5}, "args", "5", "tuple"),
    ({"args": "ab"}, "args", "'ab'", "tuple"),
    ({"callback": 5}, "callback", "5", "callable"),
    ({"checkpoint": 5}, "checkpoint", "5", "path"),
]


@pytest.mark.parametrize(("given", "name", "got", "takes"), _BAD, ids=lambda v: str(v)[:40])
def test_optimizer(given: dict[str, Any], name: str, got: str, takes: str) -> None:
    with pytest.raises(ValueError, match=f"^{name}") as caught:
        nw.Optimizer(**(_GOOD | given))
    check_sentence(str(caught.value), got, takes)


@pytest.mark.parametrize(
    ("given", "name", "got", "takes"), _BAD + _MINIMIZE_ONLY, ids=lambda v: str(v)[:40]
)
def test_minimize(given: dict[str, Any], name: str, got: str, takes: str) -> None:
    calls: list[Any] = []
    with pytest.raises(ValueError, match=f"^{name}") as caught:
        nw.minimize(calls.append, **(_GOOD | given))
    check_sentence(str(caught.value), got, takes)
    assert calls == []


def check_sentence(said: str, got: str, takes: str) -> None:
    assert "got" in said
    assert got in said[said.index("got") :]
    assert takes in said
    assert "\n" not in said


@pytest.mark.parametrize("fun", [5, None, "sphere"])
def test_fun(fun: Any) -> None:
    with pytest.raises(ValueError, match=f"^fun must be callable, got {fun!r}"):
        nw.minimize(fun, **_GOOD)


def test_long_values_are_cut_short() -> None:
    with pytest.raises(ValueError, match=r"^x0 must") as caught:
        nw.Optimizer([float("nan")] * 10**5, budget=10, sigma0=1.0)
    assert len(str(caught.value)) < 400


def test_unknown_method_lists_the_known() -> None:
    with pytest.raises(ValueError, match=r"^method must be one of") as caught:
        nw.Optimizer(**_GOOD, method="simplex")
    for name in nw.list_methods():
        assert name in str(caught.value)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: CMAES(covariance="half"),
            "covariance must be one of 'full', 'diagonal', 'slow-diagonal', got",
        ),
        (
            lambda: CMAES(recombination="mode"),
            "recombination must be one of 'arithmetic', 'weiszfeld', got",
        ),
        (lambda: CMAES(rates="slow"), "rates must be one of"),
        (lambda: CMAES(c_mean=0.0), "c_mean must be a positive finite number of at most 1, got 0"),
        (lambda: CMAES(c_mean=1.5), "c_mean must be a positive finite number of at most 1"),
        (lambda: CMAES(population=1), "population must be a whole number of at least 2, got 1"),
        (
            lambda: nw.methods.get("cma-es", profile="logs"),
            "profile must be one of 'log', .* or a Profile, got 'logs'",
        ),
        (lambda: PowerLift(start=0.0), "start must be a positive finite number, got 0"),
        (lambda: nw.methods.get("cma-es", speed=3), "method 'cma-es' does not take .*speed"),
        (lambda: processes(0), "workers must be a whole number of at least 1, got 0"),
        (lambda: processes(2, retries=-1), "retries must be a whole number of at least 0, got -1"),
        (lambda: processes(2, timeout=0.0), "timeout must be a positive finite number, got 0"),
        (lambda: nw.probe(sphere, [1.0], sigma0=1.0, n=1), "n must be .* at least 2, got 1"),
    ],
)
def test_options(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        make()


_VALUES: list[tuple[Any, str]] = [
    ("1.0", "'1.0'"),
    (None, "None"),
    (1j, "1j"),
    ([1.0, 2.0], r"an array of shape \(2,\)"),
    (np.zeros((1, 1)), r"an array of shape \(1, 1\)"),
    (np.array([]), r"an array of shape \(0,\)"),
    ([1.0, [2.0, 3.0]], r"\[1.0, \[2.0, 3.0\]\]"),
    ({"loss": 1.0}, r"\{'loss': 1.0\}"),
    (np.datetime64("2020-01-01"), "datetime64"),
    ("x" * 10**6, "'xxx"),
]


@pytest.mark.parametrize("on_error", ["raise", "worst"])
@pytest.mark.parametrize(("value", "shown"), _VALUES, ids=lambda v: str(v)[:20])
def test_objective_returns_no_real_number(value: Any, shown: str, on_error: str) -> None:
    """A mistake in the objective, not a failed evaluation: raised in any case."""
    match = f"^the objective must return one real number, got .*{shown}"
    with pytest.raises(nw.EvaluationError, match=match) as caught:
        nw.minimize(lambda x: value, **_GOOD, on_error=on_error)
    assert len(str(caught.value)) < 200
    opt = nw.Optimizer(**_GOOD)
    [trial, *_] = opt.ask()
    with pytest.raises(TypeError, match=match):
        opt.tell(trial.id, value)
    assert opt.spent == 0
    opt.tell(trial.id, 1.0)  # still there


@pytest.mark.parametrize(
    "value", [1, True, np.float32(1.0), np.int8(1), np.array(1.0), np.array([1.0]), [1.0], 10**30]
)
def test_objective_may_return_any_real_number(value: Any) -> None:
    result = nw.minimize(lambda x: value, **_GOOD)
    assert result.fun == pytest.approx(float(np.asarray(value, dtype=float).reshape(())))


@pytest.mark.parametrize("on_error", ["raise", "worst"])
def test_minus_infinity(on_error: str) -> None:
    match = "^the objective must not return -inf"
    with pytest.raises(nw.EvaluationError, match=match):
        nw.minimize(lambda x: -np.inf, **_GOOD, on_error=on_error)
    opt = nw.Optimizer(**_GOOD)
    with pytest.raises(TypeError, match=match):
        opt.tell(opt.ask()[0].id, -np.inf)


_SHAPES: list[tuple[Any, str]] = [
    (lambda X: 1.0, r"an array of shape \(\)"),
    (lambda X: X, r"an array of shape \(\d+, 2\)"),
    (lambda X: np.zeros(len(X) + 1), r"an array of shape \(\d+,\)"),
    (lambda X: ["a"] * len(X), r"\['a', "),
    (lambda X: [None] * len(X), r"\[None, "),
    (lambda X: None, "None"),
    (lambda X: np.zeros(len(X), complex), r"0.\+0.j"),
    (lambda X: [1.0, [2.0]], r"\[1.0, \[2.0\]\]"),
]


@pytest.mark.parametrize("on_error", ["raise", "worst"])
@pytest.mark.parametrize(("fun", "shown"), _SHAPES, ids=range(len(_SHAPES)))
def test_vectorized_objective_returns_the_wrong_shape(fun: Any, shown: str, on_error: str) -> None:
    match = rf"^with vectorized=True the objective must return \d+ real numbers .* got .*{shown}"
    with pytest.raises(nw.EvaluationError, match=match):
        nw.minimize(fun, **_GOOD, vectorized=True, on_error=on_error)


def test_tell() -> None:
    opt = nw.Optimizer(**_GOOD)
    with pytest.raises(ValueError, match=r"^id must come from ask.., got the unknown 0"):
        opt.tell(0, 1.0)
    trials = opt.ask()
    with pytest.raises(ValueError, match=r"^id must come from ask.., got the unknown 99"):
        opt.tell(99, 1.0)
    with pytest.raises(ValueError, match=r"^id must come from ask.., got the unknown -1"):
        opt.tell(-1, 1.0)
    opt.tell(trials[0].id, 1.0)
    with pytest.raises(ValueError, match=r"^trial 0 was already told"):
        opt.tell(trials[0].id, 1.0)
    ids: list[Any] = ["0", None, 1.0, True, trials[1]]
    for wrong in ids:
        with pytest.raises(ValueError, match=r"^id must be that of a trial"):
            opt.tell(wrong, 1.0)
    assert opt.spent == 1


@pytest.mark.parametrize("se", [-1.0, float("nan"), float("inf"), "a", [1.0], True])
def test_tell_with_a_wrong_standard_error(se: Any) -> None:
    opt = nw.Optimizer(**_GOOD)
    trial = opt.ask()[0]
    with pytest.raises(ValueError, match=r"^se must be a non-negative finite number or None, got"):
        opt.tell(trial.id, 1.0, se=se)
    assert opt.spent == 0


def test_tell_after_the_end() -> None:
    opt = nw.Optimizer(**_GOOD)
    trials = []
    while not opt.done:
        for trial in opt.ask():
            trials.append(trial)
            opt.tell(trial.id, 1.0)
    with pytest.raises(ValueError, match=r"^trial 0 was already told"):
        opt.tell(trials[0].id, 1.0)
    with pytest.raises(ValueError, match=r"^id must come from ask.., got the unknown 99"):
        opt.tell(99, 1.0)
    assert opt.ask() == []


def test_tell_after_a_stop() -> None:
    opt = nw.Optimizer(**_GOOD)
    trials = opt.ask(2)
    opt.stop()
    assert opt.done
    assert opt.ask() == []
    opt.tell(trials[0].id, -3.0)  # it was handed out before: accepted and counted
    assert opt.spent == 1
    assert opt.result().fun_best_observed == -3.0
    with pytest.raises(ValueError, match=r"^trial 0 was already told"):
        opt.tell([0, 1], [1.0, 1.0])
    assert opt.spent == 1
    assert opt.ask() == []


def test_tell_several_is_all_or_nothing() -> None:
    opt = nw.Optimizer(**_GOOD)
    ids = [t.id for t in opt.ask()][:3]
    wrong: list[tuple[Any, Any, Any, str]] = [
        (ids, [1.0, 2.0], None, r"^value must have one entry per id \(3\), got 2"),
        (ids, 5.0, None, r"^value must have one entry per id \(3\), got 5.0"),
        (ids, [1.0, 2.0, 3.0], [0.1], r"^se must have one entry per id \(3\), got 1"),
        (ids, [1.0, 2.0, 3.0], 0.1, r"^se must have one entry per id \(3\), got 0.1"),
        (ids, [1.0, 2.0, 3.0], [0.1, 0.1, -1.0], "^se must be a non-negative"),
        (ids, [1.0, "a", 3.0], None, "^the objective must return one real number, got 'a'"),
        (ids, [1.0, 2.0, -np.inf], None, "^the objective must not return -inf"),
        ([0, 1, 1], [1.0, 2.0, 3.0], None, "^trial 1 is told twice in one call"),
        ([0, 1, 77], [1.0, 2.0, 3.0], None, "^id must come from ask.., got the unknown 77"),
        ([0, 1, "b"], [1.0, 2.0, 3.0], None, "^id must be that of a trial, .* got 'b'"),
    ]
    for id, value, se, message in wrong:
        with pytest.raises((ValueError, TypeError), match=message):
            opt.tell(id, value, se)
        assert opt.spent == 0
    opt.tell(ids, [1.0, 2.0, 3.0], [0.1, 0.2, 0.3])
    assert opt.spent == 3


@pytest.mark.parametrize("n", [0, -1, 1.5, "1"])
def test_ask(n: Any) -> None:
    with pytest.raises(ValueError, match=r"^n must be a whole number of at least 1, got"):
        nw.Optimizer(**_GOOD).ask(n)


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("maximise", "maximize"),
        ("n_trials", "budget"),
        ("seed", "rng"),
        ("worker", "workers"),
        ("timeout", "executor=noisewise.executors.processes(n, timeout=...)"),
    ],
)
def test_a_wrong_argument_names_the_right_one(word: str, said: str) -> None:
    for call in (nw.minimize, nw.Optimizer):
        with pytest.raises(TypeError, match=f"has no argument {word}, did you mean") as caught:
            call([0.0], sigma0=1.0, **{word: 1})  # type: ignore[operator]
        assert str(caught.value).endswith(f", did you mean {said}?")
    with pytest.raises(TypeError, match=r"^minimize has no argument qqq$"):
        nw.minimize(sum, [0.0], budget=1, qqq=1)  # type: ignore[call-arg]


def test_a_wrong_method_names_the_right_one() -> None:
    with pytest.raises(ValueError, match=r"got 'cmaes', did you mean cma-es\?$"):
        nw.minimize(sum, [0.0], sigma0=1.0, budget=9, method="cmaes")
    with pytest.raises(ValueError, match=r"got 'zzz'$"):
        nw.minimize(sum, [0.0], sigma0=1.0, budget=9, method="zzz")


def test_a_client_as_executor_names_the_function_that_takes_it() -> None:
    client = type("Client", (), {"__module__": "distributed.client"})()
    with pytest.raises(ValueError, match=r"use noisewise\.executors\.dask\(\.\.\.\)$"):
        nw.minimize(sum, [0.0], sigma0=1.0, budget=9, executor=client)


def test_only_public_names_are_listed() -> None:
    assert sorted(dir(nw)) == sorted([*nw.__all__, "__version__"])
    assert all(hasattr(nw, name) for name in dir(nw))
