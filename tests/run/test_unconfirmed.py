"""The chosen point fails when it is confirmed: another finalist is returned, or it is said."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import noisewise as nw


def run(fails: Any, *, d: int = 3, budget: int = 300, **more: Any) -> tuple[nw.Result, list[Any]]:
    """A noisy sphere on which evaluations of the last phase fail where ``fails(x, n)`` says so, n
    being the place of ``x`` among the confirmed points, the one chosen first being the first."""
    opt = nw.Optimizer([1.0] * d, sigma0=0.5, budget=budget, rng=3, **more)
    rng, points = np.random.default_rng(0), list[Any]()
    while not opt.done:
        for trial in opt.ask():
            value = float(trial.x @ trial.x + 0.2 * rng.normal())
            if trial.kind == "confirmation":
                points = points or [opt.recommend().x]
                known = [np.array_equal(trial.x, x) for x in points]
                points += [] if any(known) else [trial.x]
                if fails(trial.x, known.index(True) if any(known) else len(known)):
                    value = math.nan
            opt.tell(trial.id, value)
    return opt.result(), points


METHODS = ("auto", "watchful", "gp", "cma-es", "racing")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("d", [3, 12])
def test_another_finalist_is_confirmed_where_the_first_one_fails(method: str, d: int) -> None:
    r, points = run(lambda x, n: n == 0, d=d, budget=100 * d, method=method)
    assert len(points) > 1
    assert any(np.array_equal(r.x, x) for x in points[1:])
    assert r.success
    assert r.nfev == 100 * d
    assert r.n_confirmations > r.n_confirmations_failed == 0
    assert math.isfinite(r.fun)
    assert any("another finalist was returned" in text for text in r.warnings)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("confirm", ["auto", 1, 18])
def test_it_is_no_success_if_every_finalist_fails(method: str, confirm: Any) -> None:
    r, points = run(lambda x, n: True, method=method, confirm=confirm)
    assert not r.success
    assert r.nfev == 300
    assert "no evaluation of the recommended point succeeded" in r.message
    assert any("confirmations failed" in text and "no answer" in text for text in r.warnings)
    assert r.estimate == "unknown"
    assert math.isnan(r.fun)
    assert len(points) == (1 if confirm == 1 else len({*map(tuple, points)}))
    assert confirm == 1 or len(points) > 1


def test_few_failures_in_a_row_are_enough() -> None:
    r, points = run(lambda x, n: n == 0, confirm=18)
    assert len(points) == 2
    assert r.n_confirmations == 15


def test_a_point_that_fails_now_and_then_stays_the_answer() -> None:
    rng = np.random.default_rng(1)
    r, points = run(lambda x, n: rng.random() < 0.3, confirm=18)
    assert len(points) == 1
    assert r.success
    assert 0 < r.n_confirmations_failed < r.n_confirmations == 18


def test_where_most_evaluations_fail_anyway_more_failures_say_nothing() -> None:
    """Three failures in a row are no evidence where four of five evaluations fail everywhere."""
    opt = nw.Optimizer([1.0] * 3, sigma0=0.5, budget=400, rng=3, confirm=40)
    rng, seen = np.random.default_rng(0), list[Any]()
    while not opt.done:
        for trial in opt.ask():
            value = float(trial.x @ trial.x + 0.2 * rng.normal())
            failed = rng.random() < 0.8
            if trial.kind == "confirmation":
                seen.append(tuple(trial.x))
                failed = len(seen) < 10
            opt.tell(trial.id, math.nan if failed else value)
    assert len(set(seen)) == 1
    assert opt.result().success


def test_without_noise_a_point_that_did_not_fail_is_the_answer() -> None:
    opt = nw.Optimizer([2.0] * 4, sigma0=0.5, budget=400, method="cma-es", rng=0)
    while not opt.done:
        for trial in opt.ask():
            lies = trial.kind == "confirmation" and opt.remaining == 0
            opt.tell(trial.id, math.nan if lies else float(trial.x @ trial.x))
    r = opt.result()
    assert r.n_failures == 3
    assert r.success
    assert r.fun == r.x @ r.x
    assert r.n_confirmations_failed == 0


@pytest.mark.parametrize("batch", [5, 8])
def test_whole_batches_are_confirmed(batch: int) -> None:
    opt = nw.Optimizer([1.0] * 3, sigma0=0.5, budget=203, rng=3, batch=batch, confirm=18)
    rng, sizes, first = np.random.default_rng(0), list[int](), None
    while trials := opt.ask():
        sizes.append(len(trials))
        for trial in trials:
            value = float(trial.x @ trial.x + 0.2 * rng.normal())
            if trial.kind == "confirmation":
                first = tuple(trial.x) if first is None else first
                value = math.nan if tuple(trial.x) == first else value
            opt.tell(trial.id, value)
    assert set(sizes[:-1]) == {batch}
    assert opt.result().success
    assert opt.spent == 203


def test_a_run_that_is_saved_between_two_finalists_goes_on(tmp_path: Any) -> None:
    whole, _ = run(lambda x, n: n == 0, confirm=18)
    opt = nw.Optimizer([1.0] * 3, sigma0=0.5, budget=300, rng=3, confirm=18)
    rng, first = np.random.default_rng(0), None
    while not opt.done:
        for trial in opt.ask():
            value = float(trial.x @ trial.x + 0.2 * rng.normal())
            if trial.kind == "confirmation":
                first = tuple(trial.x) if first is None else first
                value = math.nan if tuple(trial.x) == first else value
            opt.tell(trial.id, value)
            if trial.kind == "confirmation":
                opt.save(tmp_path / "run")
                opt = nw.Optimizer.load(tmp_path / "run")
                break
    again = opt.result()
    np.testing.assert_array_equal(again.x, whole.x)
    assert (again.fun, again.message, again.warnings) == (whole.fun, whole.message, whole.warnings)
