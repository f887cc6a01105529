"""Fixed coordinates, starts a rounding error outside the box, budgets written as floats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
import support
from noisewise._data import decode, encode
from noisewise.methods import Method
from noisewise.problem.box import Box
from noisewise.report import facts
from noisewise.report.page import page

pytestmark = pytest.mark.boxes

BOUNDS = [(0.0, 4.0), (2.5, 2.5), (-1.0, 1.0), (-7.0, -7.0)]
FREE = [(0.0, 4.0), (-1.0, 1.0)]


def sphere(x: Any) -> float:
    assert x[1] == 2.5
    assert x[3] == -7.0
    return float(x[0] ** 2 + x[2] ** 2)


def short_sphere(x: Any) -> float:
    """The same without the fixed coordinates, to the bit: `x @ x` may round otherwise."""
    return float(x[0] ** 2 + x[1] ** 2)


@pytest.mark.parametrize("d", [1, 2, 5])
@given(data=st.data())
def test_the_box_leaves_out_what_is_fixed_and_puts_it_back(d: int, data: st.DataObject) -> None:
    low = np.array(data.draw(st.lists(st.integers(-9, 9), min_size=d, max_size=d)), dtype=float)
    width = data.draw(st.lists(st.integers(0, 3), min_size=d, max_size=d))
    high = low + width
    box = Box.of(low, high)
    free = np.flatnonzero(width)
    twin = Box.of(low[free], high[free])
    assert (len(box.low), box.dimension) == (len(free), d)
    np.testing.assert_array_equal(box.bounds, (low, high))
    U = np.random.default_rng(d).normal(size=(4, len(free)))
    X = box.outer(U)
    for row, short in zip(X, twin.outer(U), strict=True):
        at = iter(short)
        assert row.tolist() == [low[j] if width[j] == 0 else next(at) for j in range(d)]
    np.testing.assert_array_equal(box.outer(U[0]), X[0])
    np.testing.assert_allclose(box.inner(X), box.repaired(U), atol=1e-12)
    again = decode(encode(box))
    np.testing.assert_array_equal(again.outer(U), X)


def test_methods_see_the_free_coordinates_only(named_method: Method) -> None:
    """The search is that of the problem without the fixed coordinates, to the bit."""
    budget = support.affordable(named_method, 80)
    options: dict[str, Any] = {"budget": budget, "rng": 3, "confirm": 4}
    if named_method.name == "pem":
        pytest.skip("its draws are functions of whole points")
    r = nw.minimize(sphere, bounds=BOUNDS, method=named_method, **options)
    twin = nw.minimize(short_sphere, bounds=FREE, method=named_method, **options)
    assert r.x.tolist() == [twin.x[0], 2.5, twin.x[1], -7.0]
    assert (r.fun, r.nfev) == (twin.fun, twin.nfev)
    assert r.x_best_observed.tolist()[1::2] == [2.5, -7.0]


def test_ask_and_tell() -> None:
    opt = nw.Optimizer([1.0, 2.5, 0.0, -7.0], bounds=BOUNDS, budget=60, rng=0)
    assert opt.dimension == 4
    assert opt.deviations.tolist()[1::2] == [0.0, 0.0]
    assert (opt.deviations[::2] > 0.0).all()
    support.drive(opt, lambda trial: sphere(trial.x))
    assert opt.recommend().x.shape == (4,)
    assert opt.recommend().x[1] == 2.5


def test_probe() -> None:
    assert nw.probe(sphere, bounds=BOUNDS, rng=0).P == 0.0


def test_resume(tmp_path: Path) -> None:
    path = tmp_path / "run"
    options: dict[str, Any] = {"bounds": BOUNDS, "rng": 0, "budget": 100, "method": "watchful"}
    calls: list[Any] = []

    def fails(x: Any) -> float:
        calls.append(x)
        if len(calls) == 40:
            raise RuntimeError("once")
        return sphere(x)

    with pytest.raises(nw.EvaluationError):
        nw.minimize(fails, checkpoint=path, **options)
    assert nw.Optimizer.load(path).dimension == 4
    changed = [*BOUNDS[:3], (-6.0, -6.0)]
    with pytest.raises(nw.CheckpointError, match="bounds"):
        nw.minimize(fails, checkpoint=path, **(options | {"bounds": changed}))
    again = nw.minimize(fails, checkpoint=path, **options)
    assert support.same_result(again, nw.minimize(sphere, **options))


def test_the_report_leaves_them_out() -> None:
    opt = nw.Optimizer(bounds=BOUNDS, budget=200, rng=0, method="watchful")
    support.drive(opt, lambda trial: sphere(trial.x))
    told = facts.of(opt, "fixed")
    assert [spread.name for spread in told.spreads] == ["x1", "x3"]
    assert told.recommended["x2"] == 2.5
    assert told.spreads[1].low != told.spreads[1].high
    assert "x3" in page(told)


def test_the_only_pair_of_readings_that_makes_sense_is_taken() -> None:
    """At two coordinates, a fixed one is clear where low and high would contradict each other."""
    opt = nw.Optimizer(bounds=[(0, 5), (2, 2)], budget=9)
    assert opt.recommend().x.tolist() == [2.5, 2.0]


@pytest.mark.parametrize(
    ("x0", "bounds", "inside"),
    [
        ([0.1 + 0.2, 1.0], (0.0, 0.3), None),
        ([0.1 + 0.2, 0.1], (0.0, 0.3), [0.3, 0.1]),
        ([-1e-10, 1.0], (0.0, 1.0), [0.0, 1.0]),
        ([-1e-6, 0.0], [(0.0, 1e4), (-1, 1)], [0.0, 0.0]),
        ([1e6 - 1e-4, 0.0], [(1e6, None), (-1, 1)], [1e6, 0.0]),
        ([0.1 + 0.2, 0.0], [(0.3, 0.3), (-1, 0)], [0.3, 0.0]),
    ],
)
def test_a_start_outside_by_rounding_is_moved_inside(
    x0: list[float], bounds: Any, inside: list[float] | None
) -> None:
    if inside is None:
        with pytest.raises(ValueError, match=r"^x0 must lie inside the bounds"):
            nw.Optimizer(x0, bounds=bounds, sigma0=0.1, budget=9)
        return
    opt = nw.Optimizer(x0, bounds=bounds, sigma0=0.1, budget=9)
    assert opt.recommend().x.tolist() == inside


@pytest.mark.parametrize("budget", [1e2, np.float64(100.0), np.int64(100), 100])
def test_budget_and_confirm_may_be_whole_floats(budget: Any) -> None:
    opt = nw.Optimizer([1.0], sigma0=1.0, budget=budget, confirm=budget / 20)
    assert (opt.budget, opt._run.ledger.reserve) == (100, 5)
    assert type(opt.budget) is int
    r = nw.minimize(lambda x: float(x @ x), [1.0], sigma0=1.0, budget=budget, method="cma-es")
    assert r.nfev == 100
