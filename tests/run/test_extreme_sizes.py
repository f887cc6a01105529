"""Numbers of extreme size are refused before anything is evaluated, or the run ends with an answer
that can be shown. No budget is spent on an OverflowError."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.command.main import main
from noisewise.methods import Method
from noisewise.problem.values import LARGEST

pytestmark = pytest.mark.boxes

GOOD: dict[str, Any] = {"x0": [1.0, 1.0], "sigma0": 1.0, "budget": 60, "rng": 0}


def shown(fun: Callable[..., Any], method: Method, folder: Path, **options: Any) -> nw.Result:
    """The result of a run that was also summed up, saved, and shown as text and as a page."""
    path = folder / "run.nw"
    r = nw.minimize(fun, method=method, checkpoint=path, **options)
    assert r.nfev == options["budget"]
    assert r.summary()
    assert r._repr_html_()
    if method.name != "pem":  # its file lacks the function that draws values
        assert main(["show", str(path)]) == 0
        assert main(["report", str(path), "--out", str(folder / "page.html")]) == 0
        assert (folder / "page.html").stat().st_size > 1000
    return r


@pytest.mark.parametrize("se", [1e-320, 1e69, 1e155, 1e308])
def test_standard_errors_of_any_size(named_method: Method, se: float, tmp_path: Path) -> None:
    r = shown(lambda x: (support.bumpy(x), se), named_method, tmp_path, **GOOD)
    assert np.isfinite(r.x).all()
    assert not r.fun_se > LARGEST


def test_a_tiny_standard_error_of_values_that_differ(named_method: Method, tmp_path: Path) -> None:
    values = iter(np.random.default_rng(0).normal(size=10**4))

    def fun(x: Any) -> tuple[float, float]:
        return float(x @ x) + next(values), 1e-320

    r = shown(fun, named_method, tmp_path, **GOOD | {"confirm": 10})
    assert 0.0 < r.fun_se < 10.0


def test_a_huge_standard_error_counts_as_the_largest_value() -> None:
    one, two = (support.start(nw.methods.CMAES(), confirm=0) for _ in range(2))
    for trial, same in zip(one.ask(), two.ask(), strict=True):
        one.tell(trial.id, 1.0, 1e155)
        two.tell(same.id, 1.0, LARGEST)
    X, y = np.zeros((3, 3)), np.zeros(3)
    one.add(X, y, se=[1e155, 0.0, math.nan])
    two.add(X, y, se=[LARGEST, 0.0, math.nan])
    assert support.data_of(one) == support.data_of(two)


@pytest.mark.parametrize("sigma0", [1e-150, 1e-100, 1e100, 1e150])
@pytest.mark.parametrize("at", [0.0, 1.0])
def test_step_sizes_of_any_size(
    named_method: Method, sigma0: float, at: float, tmp_path: Path
) -> None:
    r = shown(
        lambda x: float(np.abs(np.arctan(x)).sum()),
        named_method,
        tmp_path,
        **GOOD | {"sigma0": sigma0, "x0": [at, at]},
    )
    assert np.isfinite(r.x).all()


@pytest.mark.parametrize("size", [1e-149, 1e-100, 1e100, 1e150])
@pytest.mark.parametrize("bounded", [True, False])
def test_coordinates_of_any_size(
    named_method: Method, size: float, bounded: bool, tmp_path: Path
) -> None:
    start = {"bounds": [(-size, size)] * 2, "x0": None, "sigma0": None}
    r = shown(
        lambda x: support.bumpy(np.tanh(x / size)),
        named_method,
        tmp_path,
        **GOOD | (start if bounded else {"x0": [size, -size], "sigma0": size}),
    )
    assert np.isfinite(r.x).all()


@pytest.mark.parametrize("name", ["auto", "cma-es", "ra-cma-es", "rb-pem"])
def test_coordinates_that_run_away(name: str, tmp_path: Path) -> None:
    """The step size grows as long as going on pays; the points must stay numbers."""

    def fun(x: Any) -> float:
        return -float(np.arcsinh(x).sum())

    given = GOOD | {"budget": 2000, "sigma0": 1e140, "confirm": 0}
    r = shown(fun, support.METHODS[name], tmp_path, **given)
    assert np.isfinite(r.x).all()
    assert r.x.min() > 1e140


@pytest.mark.parametrize(
    "text",
    ["1e-300..1e300:log", "1e-307..1e308:log", "1e-150..1e150:log", "-8e307..8e307", "0..1e-300"],
)
def test_ranges_of_any_size(named_method: Method, text: str, tmp_path: Path) -> None:
    space = {"a": text, "b": "0..1"}

    def fun(p: dict[str, float]) -> float:
        return math.atan(p["a"]) + (p["b"] - 0.3) ** 2

    given = {"space": space, "budget": 60, "rng": 0}
    assert math.isfinite(shown(fun, named_method, tmp_path, **given).params["a"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"sigma0": 1e-320}, r"sigma0 must be between 1e-150 and 1e\+150, got 1e-320"),
        ({"sigma0": 1e151}, r"sigma0 must be between 1e-150 and 1e\+150, got 1e\+151"),
        ({"x0": [1.0, -1e160]}, r"x0 must be within ±1e\+150, got x0\[1\] = -1e\+160"),
        ({"bounds": (-1e160, 2.0)}, r"bounds must be within ±1e\+150, or infinite, got -1e\+160"),
        ({"bounds": (0.0, 1e300)}, r"bounds must be within ±1e\+150, or infinite, got 1e\+300"),
        (
            {"x0": None, "sigma0": None, "bounds": [(0.0, 1e-200)] * 2},
            r"bounds must be at least 1e-149 apart, or equal, got \[0, 1e-200\] for coordinate 0",
        ),
    ],
)
def test_what_is_refused(wrong: dict[str, Any], said: str) -> None:
    calls: list[Any] = []
    with pytest.raises(ValueError, match=said):
        nw.minimize(calls.append, **GOOD | wrong)
    del (given := GOOD | wrong)["budget"]
    with pytest.raises(ValueError, match=said):
        nw.probe(calls.append, **given)
    assert calls == []


def test_points_too_far_away_are_refused() -> None:
    opt = nw.Optimizer(**GOOD)
    id = opt.ask()[0].id
    with pytest.raises(ValueError, match=r"x must be within ±1e\+150, got x\[1\] = -1e\+160"):
        opt.tell(id, 1.0, x=[1.0, -1e160])
    with pytest.raises(ValueError, match=r"X must be within ±1e\+150, got X\[0\]\[0\] = 1e\+160"):
        opt.add([[1e160, 1.0]], [1.0])
    opt.tell(id, 1.0, x=[1.0, -1e150])
    assert opt.spent == 1
