"""Runs as studies, and studies as data."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import optuna_support
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import noisewise as nw
import support
from noisewise.integrations.optuna import distributions, from_study, to_study
from noisewise.methods import CMAES

SPACE = {
    "rate": "1e-4..1:log",
    "size": nw.space.Int(2, 20, step=2),
    "kind": ["a", True, None],
    "one": [4],
    "part": nw.space.Float(0.0, 1.0, step=0.25),
}


def objective(params: dict[str, Any]) -> float:
    value = math.log10(params["rate"] / 0.01) ** 2 + (params["kind"] != "a") + params["part"]
    return math.nan if params["size"] > 18 else value


@pytest.mark.parametrize("maximize", [False, True])
def test_a_run_as_a_study(tmp_path: Path, maximize: bool) -> None:
    path, sign = tmp_path / "run.nw", -1.0 if maximize else 1.0
    rng = np.random.default_rng(1)
    r = nw.minimize(
        lambda params: sign * objective(params) + 0.1 * rng.normal(),
        space=SPACE,
        budget=60,
        rng=0,
        method=CMAES(),
        checkpoint=path,
        maximize=maximize,
    )
    storage = optuna_support.storage("journal", str(tmp_path / "study"))
    to_study(path, study_name="mine", storage=storage)
    storage = optuna_support.storage("journal", str(tmp_path / "study"))
    study = optuna.load_study(study_name="mine", storage=storage)
    assert study.direction.name == ("MAXIMIZE" if maximize else "MINIMIZE")
    *candidates, last = study.trials
    assert last.params == r.params
    assert last.value == r.fun
    assert last.user_attrs["interval"] == pytest.approx(list(r.interval))
    about = study.user_attrs["noisewise"]
    assert about["candidates"] == about["of candidates"] == len(candidates)
    assert about["evaluations"] == 60
    for trial in candidates:
        assert (trial.state == TrialState.FAIL) == (trial.params["size"] > 18)
        if trial.state == TrialState.COMPLETE:
            assert abs(trial.value - sign * objective(trial.params)) < 0.6
    assert study.best_trial.params.keys() == SPACE.keys()
    generations = [trial.user_attrs["generation"] for trial in candidates]
    assert generations == sorted(generations)
    assert generations[-1] == r.nit - 1


@pytest.mark.parametrize("bounds", [None, (-4.0, 4.0)])
def test_a_run_without_names(bounds: Any) -> None:
    given: dict[str, Any] = {"sigma0": 0.5, "budget": 60, "rng": 0, "confirm": 0}
    opt = nw.Optimizer([2.0] * 3, bounds=bounds, method="cma-es", **given)
    assert to_study(opt).trials == []
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, support.bumpy(trial.x))
    study = to_study(opt)
    X = np.array([[trial.params[f"x{i}"] for i in (1, 2, 3)] for trial in study.trials])
    assert len(X) == int(opt.result().history["population"].sum())
    values = [support.bumpy(x) for x in X]
    np.testing.assert_allclose([trial.value for trial in study.trials], values)


def test_a_run_of_the_command_line() -> None:
    extra = {"space": {"rate": "1e-4..1:log"}, "command": ["train", "{rate}"]}
    opt = nw.Optimizer(bounds=[(0.0, 1.0)], budget=20, rng=0, extra=extra, method="cma-es")
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x[0]))
    for trial in to_study(opt).trials[:-1]:
        assert math.log10(trial.params["rate"]) / 4.0 + 1.0 == pytest.approx(trial.value)


@pytest.mark.untraced
def test_only_the_newest_candidates_of_a_long_run_are_there() -> None:
    opt = nw.Optimizer(np.zeros(299), sigma0=1.0, budget=400, rng=0, method=CMAES(population=50))
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x @ trial.x))
    study = to_study(opt)
    about = study.user_attrs["noisewise"]
    assert 100 <= about["candidates"] < about["of candidates"]
    assert len(study.trials) - 1 <= about["candidates"] <= len(study.trials)
    json.dumps(about)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_a_study_as_data(direction: str) -> None:
    def score(params: dict[str, Any]) -> float:
        value = params["x"] ** 2 + 0.01 * params["n"] + (params["kind"] == "b")
        return value if direction == "minimize" else -value

    def train(trial: optuna.Trial) -> float:
        trial.suggest_float("x", -1.0, 1.0)
        trial.suggest_int("n", 1, 100, log=True)
        trial.suggest_int("one", 3, 3)
        if trial.suggest_categorical("kind", ["a", "b"]) == "b":
            trial.suggest_float("more", 0.0, 1.0)
        if trial.number % 5 == 4:
            raise optuna.TrialPruned
        return score(trial.params)

    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(sampler=sampler, direction=direction)
    study.optimize(train, n_trials=40)
    given = from_study(study)
    assert set(given["space"].names) == {"x", "n", "one", "kind"}
    assert given["maximize"] == (direction == "maximize")
    rows, values = given["data"]
    assert len(rows) == len(values) == 32
    assert values == [score(row) for row in rows]
    r = nw.minimize(score, budget=20, rng=0, method="cma-es", **given)
    assert r.params is not None
    assert r.params["one"] == 3
    assert r.nfev == 20


def test_there_and_back() -> None:
    opt = nw.Optimizer(space=SPACE, budget=30, rng=0, method="cma-es")
    while not opt.done:
        for trial in opt.ask():
            assert trial.params is not None
            opt.tell(trial.id, 1.0 + trial.params["part"] + 0.01 * trial.id)
    study = to_study(opt)
    given = from_study(study)
    assert given["space"].parameters == {
        name: nw.Space(SPACE).parameters[name] for name in given["space"].names
    }
    assert len(given["data"][0]) == len(study.trials)


@pytest.mark.parametrize(
    "d",
    [
        FloatDistribution(-2.0, 5.0),
        FloatDistribution(1e-5, 10.0, log=True),
        FloatDistribution(0.0, 1.0, step=0.25),
        IntDistribution(-3, 9),
        IntDistribution(1, 1000, log=True),
        IntDistribution(2, 20, step=3),
        CategoricalDistribution(["a", 1, True, None, 1.5]),
    ],
)
def test_distributions_there_and_back(d: Any) -> None:
    p = distributions.parameter(d)
    assert p is not None
    assert distributions.distribution(p) == d


def test_a_study_without_anything() -> None:
    with pytest.raises(ValueError, match="has no parameter that every completed trial has"):
        from_study(optuna.create_study())
    with pytest.raises(ValueError, match="takes studies with one objective, got 2"):
        from_study(optuna.create_study(directions=["minimize", "minimize"]))
