"""Every evaluation of a run: as columns of the result, and one by one for a callback."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.report.words import brief

SPACE = {"rate": "1e-3..1:log", "seed": ["a", "b"]}


def noisy(rng: np.random.Generator) -> Any:
    def fun(p: dict[str, Any]) -> Any:
        if p["rate"] > 0.9:
            return math.nan
        return math.log10(p["rate"]) ** 2 + (p["seed"] == "a") + 0.1 * rng.normal(), 0.1

    return fun


@pytest.mark.parametrize("method", ["auto", "watchful", "gp"])
def test_columns_are_what_the_callback_heard(method: str) -> None:
    heard: list[dict[str, Any]] = []
    fun = noisy(np.random.default_rng(0))
    options: dict[str, Any] = {"on_evaluation": heard.append, "method": method}
    r = nw.minimize(fun, space=SPACE, budget=60, rng=0, maximize=True, **options)
    seen = r.evaluations
    assert list(seen)[:5] == ["evaluation", "kind", "generation", "rate", "param_seed"]
    assert seen["evaluation"] == list(range(1, 61))
    assert {len(column) for column in seen.values()} == {60}
    for i, one in enumerate(heard):
        assert one["params"]["rate"] == seen["rate"][i]
        assert one["params"]["seed"] == seen["param_seed"][i]
        assert (one["kind"], one["seed"]) == (seen["kind"][i], None)
        assert one["failed"] == seen["failed"][i] == math.isnan(seen["value"][i])
        assert one["value"] == seen["value"][i] or one["failed"]
    assert sum(seen["failed"]) == r.n_failures
    assert seen["kind"].count("confirmation") >= r.n_confirmations
    good = [v for v, failed in zip(seen["value"], seen["failed"], strict=True) if not failed]
    assert max(good) == r.fun_best_observed


def test_columns_of_points_and_seeds() -> None:
    def fun(x: Any, seed: int) -> float:
        return float(x @ x + np.random.default_rng(seed).normal())

    r = nw.minimize(fun, bounds=[(-1, 1), (2, 2), (-1, 1)], budget=50, rng=0, seeds="independent")
    seen = r.evaluations
    assert set(seen["x2"]) == {2.0}
    columns = (seen[name] for name in ("x1", "x2", "x3", "seed"))
    again = [fun(np.array([*x]), seed) for *x, seed in zip(*columns, strict=True)]
    assert again == seen["value"]


def test_a_result_that_is_kept_stays_as_it_was() -> None:
    kept: list[nw.Result] = []
    rng = np.random.default_rng(0)
    nw.minimize(
        lambda x: float(x @ x + rng.normal()),
        [1.0, 1.0],
        sigma0=1.0,
        budget=80,
        rng=0,
        method="cma-es",
        callback=kept.append,
    )
    assert len(kept) > 3
    for r in kept:
        assert len(r.evaluations["value"]) == r.nfev
        assert r.evaluations["x1"] == kept[-1].evaluations["x1"][: r.nfev]


def test_a_callback_ends_the_run_and_is_not_called_again(tmp_path: Path) -> None:
    heard: list[int] = []

    def enough(one: dict[str, Any]) -> None:
        heard.append(one["evaluation"])
        if len(heard) == 7:
            raise StopIteration

    def run(**options: Any) -> nw.Result:
        return nw.minimize(
            lambda x: float(x @ x), [1.0, 1.0], sigma0=1.0, budget=40, rng=0, **options
        )

    assert run(on_evaluation=enough).status == 1
    first = max(heard)
    heard.clear()
    path = tmp_path / "run.nw"

    def interrupt(one: dict[str, Any]) -> None:
        heard.append(one["evaluation"])
        if one["evaluation"] > first:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(on_evaluation=interrupt, checkpoint=path)
    seen = len(heard)
    r = run(on_evaluation=lambda one: heard.append(one["evaluation"]), checkpoint=path)
    assert sorted(set(heard)) == heard
    assert len(heard) >= 40 - (first + 8) + seen
    whole = run()
    assert r.evaluations["value"] == whole.evaluations["value"]
    assert r.evaluations["generation"] == whole.evaluations["generation"]


def test_workers_are_heard_of_one_by_one() -> None:
    heard: list[dict[str, Any]] = []
    r = nw.minimize(
        _sphere, [1.0, 1.0], sigma0=1.0, budget=30, rng=0, workers=2, on_evaluation=heard.append
    )
    heard.sort(key=lambda one: int(one["evaluation"]))
    assert [one["evaluation"] for one in heard] == r.evaluations["evaluation"]
    assert [one["value"] for one in heard] == r.evaluations["value"]
    assert len(heard) == 30


def _sphere(x: Any) -> float:
    return float(x @ x)


def test_only_callables() -> None:
    with pytest.raises(ValueError, match="on_evaluation must be callable or None, got 3"):
        nw.minimize(_sphere, [1.0], sigma0=1.0, budget=9, on_evaluation=3)  # type: ignore[arg-type]


def test_importance_names_what_matters() -> None:
    rng = np.random.default_rng(0)

    def fun(p: dict[str, Any]) -> float:
        return 5.0 * p["much"] ** 2 + (p["kind"] == "bad") + 0.1 * float(rng.normal())

    space = {"nothing": "0..1", "kind": ["good", "bad"], "much": "-1..1"}
    r = nw.minimize(fun, space=space, budget=60, rng=0)
    told = r.importance
    assert told["of"] == ["variance"] * 3
    assert told["parameter"][-1] == "nothing"
    assert told["clear"][:2] == [True, True]
    assert told["share"] == sorted(told["share"], reverse=True)


def test_names_come_first_everywhere() -> None:
    r = nw.minimize(lambda p: p["rate"] ** 2, space={"rate": "0..1"}, budget=20, rng=0)
    assert repr(r).lstrip().startswith("params: {'rate': ")
    assert r.summary().startswith("params: {'rate': ")
    card = r._repr_html_()
    assert card.index("recommended") < card.index("fun (estimated")
    assert "&#x27;rate&#x27;" in card


def test_what_is_not_measured_yet_has_an_error() -> None:
    rng = np.random.default_rng(0)
    opt = nw.Optimizer([3.0, 3.0], budget=400, sigma0=1.0, rng=0, method="cma-es")
    while opt.generation < 3:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x @ trial.x + rng.normal()))
    r = opt.result()
    assert math.isnan(r.fun_se)
    assert 0.0 < r.outlook.error < 20.0
    assert "±" in brief(r.fun, r.interval, r.outlook.error)


def test_swapped_pairs() -> None:
    """Where half of the variance is noise, by simulation."""
    rng = np.random.default_rng(0)
    true, noise = rng.normal(size=(2, 2, 100_000))
    seen = float(np.mean((true[0] < true[1]) != (true[0] + noise[0] < true[1] + noise[1])))
    r = nw.minimize(_sphere, [1.0, 1.0], sigma0=1.0, budget=60, rng=0)
    assert replace(r.outlook, noise_share=0.5).swapped == pytest.approx(seen, abs=0.01)
    assert replace(r.outlook, noise_share=0.0).swapped == 0.0
