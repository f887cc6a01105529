"""Random calls of the library: arguments of every kind, right and wrong, never overspend."""

from __future__ import annotations

import contextlib
import io
import math
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

import noisewise as nw
from noisewise_bench.reliability.objective import bumpy

#: A call with these arguments: evaluations made, and evaluations counted.
_Call = Callable[[dict[str, Any]], tuple[int, int]]
#: What nobody should give, and somebody will.
WRONG: list[Any] = [
    None,
    -1,
    0,
    1.5,
    math.nan,
    -math.inf,
    10**400,
    "word",
    b"bytes",
    "a\0b",
    True,
    1j,
    Decimal("1"),
    Fraction(1, 3),
    [],
    [1.0, "a"],
    [[1.0], [2.0, 3.0]],
    (),
    {},
    {"a": 1},
    {1.0, 2.0},
    object(),
    np.array(3),
    np.array([1, 2, 3]),
    np.array([math.nan, 1.0]),
    np.empty((0, 2)),
    np.array([True, False]),
    np.array(["a", "b"]),
    np.ma.masked,
    np.ma.array([1.0, 2.0], mask=[False, True]),
    range(3),
    iter([1.0]),
    np.random.default_rng(0),
]


@dataclass
class Tally:
    """What came of random calls of one function."""

    name: str
    calls: int = 0
    ran: int = 0
    #: Refused by an exception that names the argument.
    refused: int = 0
    #: Refused by anything else: what was given, and what was said.
    unclear: list[str] = field(default_factory=list)
    #: Calls of the objective beyond the budget.
    overspent: int = 0


def _objective(calls: list[int]) -> Callable[..., Any]:
    """A function of one point or of many that counts its evaluations."""

    def fun(x: Any, *args: Any) -> Any:
        if np.ndim(x) == 2:
            return [fun(row) for row in x]
        calls.append(1)
        return bumpy(x)

    return fun


def _good(rng: np.random.Generator) -> dict[str, list[Any]]:
    """Arguments that are right, by name."""
    names = [name for name in nw.list_methods() if name not in ("pem", "select")]
    return {
        "x0": [[2.0, 2.0], np.array([0.5, 0.5]), (1, 2)],
        "budget": [1, 2, 7, 30, np.int64(12), 2e1],
        "bounds": [([0.0, 3.0], [0.0, 3.0]), (0.0, 3.0), [(0, 3), (0, 4)]],
        "sigma0": [0.5, 1, 1e-3],
        "method": [str(rng.choice(names)), nw.methods.CMAES(population=4)],
        "rng": [0, None, np.random.SeedSequence(1)],
        "confirm": [0, 1, 5],
        "workers": [1],
        "batch": [None, 1, 3],
        "on_error": ["raise", "worst"],
        "args": [(), (1.0,)],
        "vectorized": [False],
        "callback": [None, lambda intermediate_result: None],
        "extra": [None, {"a": 1}],
        "progress": [False],
        "timeout": [None],
        "retries": [0, 2],
        "executor": [None],
        "checkpoint": [None],
        "space": [None],
        "interrupt": ["raise", "return"],
        "n": [2, 5],
    }


_MINIMIZE = [
    "x0",
    "budget",
    "bounds",
    "sigma0",
    "method",
    "rng",
    "confirm",
    "workers",
    "batch",
    "on_error",
    "args",
    "vectorized",
    "callback",
    "extra",
    "progress",
    "executor",
    "checkpoint",
    "space",
    "interrupt",
]
_OPTIMIZER = [
    "x0",
    "budget",
    "bounds",
    "sigma0",
    "method",
    "rng",
    "confirm",
    "workers",
    "batch",
    "extra",
    "space",
]
_PROBE = [
    "x0",
    "space",
    "bounds",
    "sigma0",
    "n",
    "rng",
    "args",
    "workers",
    "executor",
    "timeout",
    "retries",
]


def _minimize(given: dict[str, Any]) -> tuple[int, int]:
    calls: list[int] = []
    fun = given.pop("fun", _objective(calls))
    r = nw.minimize(fun, **given)
    return len(calls), min(int(given["budget"]), r.nfev)


def _optimizer(given: dict[str, Any]) -> tuple[int, int]:
    opt = nw.Optimizer(**given)
    calls = 0
    while not opt.done:
        for trial in opt.ask():
            if opt.done:
                break
            opt.tell(trial.id, bumpy(trial.x))
            calls += 1
    return calls, int(given["budget"])


def _probe(given: dict[str, Any]) -> tuple[int, int]:
    calls: list[int] = []
    report = nw.probe(_objective(calls), **given)
    return len(calls), report.nfev


FUNCTIONS: dict[str, tuple[_Call, list[str]]] = {
    "minimize": (_minimize, _MINIMIZE),
    "Optimizer": (_optimizer, _OPTIMIZER),
    "probe": (_probe, _PROBE),
}
#: Arguments that are always given: what they are by default takes long, or is missing.
_ALWAYS = ("x0", "budget", "sigma0", "n")


def fuzz(name: str, times: int, seed: int = 0) -> Tally:
    """Call a function ``times`` times; about two thirds of the calls have one wrong argument."""
    call, arguments = FUNCTIONS[name]
    rng, tally = np.random.default_rng(seed), Tally(name)
    with tempfile.TemporaryDirectory() as folder, _working_in(folder):  # a word is a path, too
        _fuzz(tally, call, arguments, times, rng)
    return tally


@contextlib.contextmanager
def _working_in(folder: str) -> Iterator[None]:
    before = os.getcwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def _fuzz(
    tally: Tally, call: _Call, arguments: list[str], times: int, rng: np.random.Generator
) -> None:
    for _ in range(times):
        good = _good(rng)
        given = {
            key: good[key][int(rng.integers(len(good[key])))]
            for key in arguments
            if key in _ALWAYS or rng.random() < 0.3
        }
        wrong = str(rng.choice(arguments)) if rng.random() < 0.67 else ""
        if wrong:
            given[wrong] = WRONG[int(rng.integers(len(WRONG)))]
        _one(tally, call, given, wrong)


def _one(tally: Tally, call: _Call, given: dict[str, Any], wrong: str) -> None:
    tally.calls += 1
    shown = f"{wrong}={_shown(given.get(wrong))}"
    try:
        with contextlib.redirect_stderr(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made, budget = call(given)
    except (ValueError, nw.CheckpointError, nw.EvaluationError) as error:
        said = str(error)
        if any(key in said for key in (*given, "checkpoint")) and "\n" not in said:
            tally.refused += 1
        else:
            tally.unclear.append(f"{shown}: {type(error).__name__}: {said[:120]}")
    except Exception as error:
        tally.unclear.append(f"{shown}: {type(error).__name__}: {str(error)[:120]}")
    else:
        tally.ran += 1
        tally.overspent += max(0, made - budget)


def _shown(value: Any) -> str:
    return " ".join(repr(value).split())[:60]


def table(tallies: Iterator[Tally]) -> Iterator[str]:
    yield "| function | calls | ran | refused, naming the argument | unclear | overspent |"
    yield "|---|---|---|---|---|---|"
    for t in tallies:
        yield (
            f"| {t.name} | {t.calls} | {t.ran} | {t.refused} | {len(t.unclear)} | {t.overspent} |"
        )
        yield from (f"<!-- {line} -->" for line in sorted(set(t.unclear)))
