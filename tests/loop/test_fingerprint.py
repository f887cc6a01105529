"""A resumed run notices that its objective is another one, without ever calling it."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.loop import fingerprint

_GOOD: dict[str, Any] = {"x0": [1.0, 2.0], "sigma0": 1.0, "budget": 40, "rng": 0}


def made(source: str) -> Callable[..., Any]:
    """The function ``f`` that this source defines."""
    names: dict[str, Any] = {"__name__": "elsewhere", "np": np, "functools": functools}
    exec(source, names)
    f: Callable[..., Any] = names["f"]
    return f


BASE = "def f(x, a=2.0):\n    'What it is.'\n    b = 0.5\n    return float(a * x @ x + b)\n"


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        ("\n\n# moved and commented\n" + BASE, False),
        (BASE.replace("What it is", "What else it is"), False),
        (BASE.replace("def f", "def g") + "f = g\n", False),
        (BASE.replace("0.5", "0.6"), True),
        (BASE.replace("a=2.0", "a=2.5"), True),
        (BASE.replace("a * x @ x", "a + x @ x"), True),
        (BASE.replace("float", "abs"), True),
        (BASE.replace("x @ x", "sum(v * v for v in x)"), True),
    ],
)
def test_what_differs(other: str, differs: bool) -> None:
    assert fingerprint.differ(fingerprint.of(made(BASE)), fingerprint.of(made(other))) == differs


NESTED = (
    "def f(x):\n    return sum(map(lambda v: v * v + 3, x)) if x[0] in {'a', 'b', 'c', 1} else 0\n"
)


def test_functions_inside_of_it_count() -> None:
    one, two = (fingerprint.of(made(s)) for s in (NESTED, NESTED.replace("v + 3", "v + 4")))
    assert fingerprint.differ(one, two)
    two = fingerprint.of(made(NESTED.replace("v * v", "v - v")))
    assert fingerprint.differ(one, two)


def test_it_is_the_same_in_every_process() -> None:
    """Sets of texts have another order in each."""
    code = f"""
import json
from noisewise.loop import fingerprint
names = {{}}
exec({NESTED!r}, names)
print(json.dumps(fingerprint.of(names["f"])))
"""
    told = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
        ).stdout
        for seed in range(3)
    }
    assert len(told) == 1
    [only] = told
    assert json.loads(only)["code"] == fingerprint.of(made(NESTED))["code"]  # type: ignore[index]


class Model:
    def __init__(self, a: float) -> None:
        self.a = a

    def __call__(self, x: Any) -> float:
        raise AssertionError("called")

    def cost(self, x: Any) -> float:
        raise AssertionError("called")


def test_kinds_of_callables() -> None:
    assert fingerprint.of(len) is None
    assert fingerprint.of(np.add) is None
    call, cost = fingerprint.of(Model(1.0)), fingerprint.of(Model(1.0).cost)
    assert call is not None
    assert cost is not None
    assert "Model" in call["name"]
    assert not fingerprint.differ(call, fingerprint.of(Model(2.0)))
    space = nw.Space({"a": "0..1"})
    plain = made("def f(p):\n    return p['a']\n")
    assert fingerprint.of(space.objective(plain)) == fingerprint.of(plain)
    with_two = functools.partial(made(BASE), a=2)
    with_three = functools.partial(made(BASE), a=3)
    assert fingerprint.differ(fingerprint.of(with_two), fingerprint.of(with_three))
    decorated = "@functools.wraps(len)\ndef f(x):\n    return 1\n"
    assert fingerprint.of(made(decorated)) is not None


def test_decorated_functions() -> None:
    def timed(fun: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(fun)
        def wrapper(*args: Any) -> Any:
            return fun(*args)

        return wrapper

    one, two = timed(made(BASE)), timed(made(BASE.replace("0.5", "0.6")))
    assert fingerprint.differ(fingerprint.of(one), fingerprint.of(two))


def test_other_versions_of_python_and_unknown_functions_are_not_compared() -> None:
    one, two = fingerprint.of(made(BASE)), fingerprint.of(made(BASE.replace("0.5", "0.6")))
    assert one is not None
    assert fingerprint.differ(one, two)
    assert not fingerprint.differ(one | {"python": "2.7"}, two)
    assert not fingerprint.differ(None, two)
    assert not fingerprint.differ(one, None)
    for damaged in (5, [], {}, {"code": 1}):
        assert not fingerprint.differ(damaged, two)


@pytest.mark.parametrize("finished", [True, False])
def test_a_resumed_run_says_so(tmp_path: Path, finished: bool) -> None:
    path, first = tmp_path / "run", made(BASE)
    second = made(BASE.replace("0.5", "0.6"))

    def stop(intermediate_result: nw.Result) -> None:
        if not finished:
            raise KeyboardInterrupt

    nw.minimize(first, **_GOOD, checkpoint=path, callback=stop, interrupt="return")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nw.minimize(made("\n" + BASE), **_GOOD, checkpoint=path, callback=stop, interrupt="return")
    said = r"^checkpoint .*run holds values of another objective: the code or .* of elsewhere\.f"
    for _ in range(2):  # and as long as that is so
        with pytest.warns(UserWarning, match=said):
            r = nw.minimize(second, **_GOOD, checkpoint=path)
        assert r.nfev == 40


def test_named_problems_and_saved_optimizers(tmp_path: Path) -> None:
    path = tmp_path / "run"
    options: dict[str, Any] = {"space": {"a": "0..1", "b": "0..1"}, "budget": 30, "rng": 0}
    source = "def f(p):\n    return p['a'] ** 2 + p['b'] ** 2 * 0.5\n"
    nw.minimize(made(source), **options, checkpoint=path)
    with pytest.warns(UserWarning, match="the code or the constants of"):
        nw.minimize(made(source.replace("0.5", "0.6")), **options, checkpoint=path)
    # A run that began elsewhere has no objective; the first one that goes on with it counts.
    path = tmp_path / "saved"
    nw.Optimizer(**_GOOD).save(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nw.minimize(made(BASE), **_GOOD, checkpoint=path)
    with pytest.warns(UserWarning, match="the code or the constants of"):
        nw.minimize(made(BASE.replace("float", "abs")), **_GOOD, checkpoint=path)
