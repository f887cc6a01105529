"""Which parameters mattered: those that do are found, those that do not are not made up."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise import _data
from noisewise.answer.importance import Importance, importances
from noisewise.report import facts, text
from noisewise.report.page import page
from noisewise.space import Space

SPACE = Space({"lr": "1e-4..1e-1:log", "units": "8..256:int", "kind": "a,b,c", "dead": "0..1"})


def loss(p: dict[str, Any]) -> float:
    """The first three matter: near 1e-2, near 64, and b is worse."""
    bad = {"a": 0.0, "b": 1.0, "c": 0.1}[p["kind"]]
    return float((np.log10(p["lr"]) + 2.0) ** 2 + ((p["units"] - 64) / 60) ** 2 + bad)


def run(
    fun: Callable[[dict[str, Any]], float], budget: int, seed: int, noise: float, **options: Any
) -> nw.Optimizer:
    rng = np.random.default_rng(seed)
    options = {"method": "watchful"} | options
    opt = nw.Optimizer(
        budget=budget, bounds=SPACE.bounds, rng=seed, extra={"space": SPACE.texts}, **options
    )
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, fun(SPACE.decode(trial.x)) + noise * rng.normal())
    return opt


def found(opt: nw.Optimizer) -> dict[str, Importance]:
    return {i.name: i for i in facts.of(opt, "run").importances}


def test_what_matters_is_found() -> None:
    runs = [found(run(loss, 300, seed, 0.1)) for seed in range(5)]
    for told in runs:
        shares = [i.share for i in told.values()]
        assert shares == sorted(shares, reverse=True)
        assert told["units"].clear  # the steepest
        assert told["units"].share > 0.1 > told["dead"].share
    clear = {name: sum(told[name].clear for told in runs) for name in SPACE.names}
    assert clear["lr"] >= 2
    assert clear["kind"] >= 2
    assert clear["dead"] <= 1


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_what_does_not_matter_is_not_made_up(noise: float) -> None:
    """A search that closes in moves every parameter; that alone must not look like an effect.
    One in twenty runs may raise a false alarm about any parameter."""
    alarms = sum(found(run(loss, 150, seed, noise))["dead"].clear for seed in range(20))
    assert alarms <= 3


def test_pure_noise() -> None:
    alarms = [
        any(i.clear for i in found(run(lambda p: 0.0, 150, seed, 1.0)).values())
        for seed in range(20)
    ]
    assert sum(alarms) <= 4


def test_one_parameter_that_decides_all() -> None:
    X = np.random.default_rng(0).random((60, 2))
    generation = np.repeat(np.arange(6), 10)
    # Levels differ from generation to generation, which must not matter.
    told = importances(X, X[:, 1] + 100.0 * generation, generation, None)
    assert [i.name for i in told] == ["x2", "x1"]
    assert told[0].share > 0.9
    assert told[0].clear
    assert told[1].share < 0.1
    assert not told[1].clear


def test_failures_rank_last_and_ties_count_as_such() -> None:
    X = np.random.default_rng(0).random((60, 2))
    generation = np.repeat(np.arange(6), 10)
    told = importances(X, np.where(X[:, 0] > 0.5, np.inf, 1.0), generation, None)
    assert told[0].name == "x1"
    assert told[0].clear
    assert importances(X, np.full(60, np.inf), generation, None) == []
    stuck = np.column_stack((X[:, 0], np.ones(60)))
    assert importances(stuck, X[:, 0], generation, None)[1] == Importance("x2", 0.0, False)


def test_too_few_candidates_tell_nothing() -> None:
    opt = run(loss, 16, 0, 0.1)
    assert facts.of(opt, "run").importances == []
    assert "Which parameters mattered" not in page(facts.of(opt, "run"))
    assert facts.of(nw.Optimizer([0.0], sigma0=1.0, budget=9), "run").importances == []
    many = nw.Optimizer(np.zeros(60), sigma0=1.0, budget=200, rng=0)
    while not many.done:
        for trial in many.ask():
            many.tell(trial.id, float(trial.x @ trial.x))
    assert facts.of(many, "run").importances == []


def test_the_newest_candidates_are_kept_in_step_with_their_generations(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also when the oldest were dropped, and after saving and loading."""
    monkeypatch.setattr("noisewise.run.run._KEPT", 400 * (SPACE.dimension + 1))
    opt = run(loss, 1000, 0, 0.0, method="sep-cma-es")
    kept = opt._run.evidence.recent
    assert 400 <= kept.size < 420 < opt.spent
    assert 400 <= facts.of(opt, "run").compared <= kept.size
    told = found(opt)
    # Without noise, ranks follow the one parameter that is not a whole number and settled;
    # out of step they would not.
    assert told["lr"].clear
    assert told["lr"].share > 0.4
    copy = _data.decode(json.loads(json.dumps(_data.encode(opt._run))))
    for mine, theirs in zip(kept.points(400), copy.evidence.recent.points(400), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_the_page_and_the_data_say_it() -> None:
    told = facts.of(run(loss, 300, 1, 0.1), "run")
    shown, clear = page(told), sum(i.clear for i in told.importances)
    assert 1 <= shown.count("of the ranks<") == clear
    rest = shown.partition("Not clear: ")[2].partition(" of the ranks.")[0]
    assert rest.count("%") == sum(not i.clear and i.share >= 0.005 for i in told.importances)
    assert ("No effect seen: " in shown) == any(i.share < 0.005 for i in told.importances)
    assert f"newest {told.compared} candidates" in shown
    listed = text.as_data(told)["importance"]
    assert listed[0] == {"name": "units", "share": told.importances[0].share, "clear": True}
    assert told.spreads[1].narrowed < 0.5


@pytest.mark.parametrize("space", [None, {"a": "0..1", "b": "0..1", "word": ["s", "t", "u"]}])
def test_a_model_says_what_mattered_to_it(space: Any) -> None:
    rng = np.random.default_rng(0)
    options: dict[str, Any] = {"bounds": [(0, 1)] * 3} if space is None else {"space": space}
    opt = nw.Optimizer(budget=60, rng=0, method="auto", **options)
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, 3.0 * (trial.x[0] - 0.3) ** 2 + 0.03 * rng.normal())
    found = facts.of(opt, "run")
    first, *others = found.importances
    assert first.name == ("x1" if space is None else "a")
    assert len(others) == 2
    assert first.share > 0.8
    assert first.clear
    assert all(other.share < 0.2 and not other.clear for other in others)
    assert "takes part in" in page(found)
