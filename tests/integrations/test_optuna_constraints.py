"""Constraints of Optuna's trials reach the search; studies of any sampler have a recommendation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import noisewise as nw

optuna = pytest.importorskip("optuna")
from noisewise.integrations.optuna import (  # noqa: E402
    NoisewiseSampler,
    from_study,
    recommended_params,
)
from noisewise.integrations.optuna.constraints import values  # noqa: E402

optuna.logging.set_verbosity(optuna.logging.ERROR)
SPACE = {name: optuna.distributions.FloatDistribution(0.0, 1.0) for name in "xy"}


def total(trial: Any, noise: np.random.Generator) -> float:
    return sum(trial.suggest_float(name, 0.0, 1.0) for name in "xy") + 0.05 * noise.normal()


def room(params: dict[str, float]) -> float:
    """At most 0 where x + y is at least 1."""
    return 1.0 - params["x"] - params["y"]


needs_5 = pytest.mark.skipif(not hasattr(optuna.trial.Trial, "set_constraint"), reason="Optuna 4")


@needs_5
@pytest.mark.parametrize("space", [None, SPACE])
def test_constraints_of_trials_count(space: Any) -> None:
    noise = np.random.default_rng(0)

    def objective(trial: Any) -> float:
        value = total(trial, noise)
        trial.set_constraint("room", room(trial.params) + 0.02 * noise.normal())
        return value

    sampler = NoisewiseSampler(n_trials=60, seed=1, search_space=space)
    study = optuna.create_study(sampler=sampler)
    study.optimize(objective, n_trials=60)
    best = recommended_params(study)
    assert -0.05 < -room(best.params) < 0.25
    assert best.p_feasible > 0.5
    assert "constraints are met with probability" in str(best)


def test_a_function_of_constraints_is_taken_as_elsewhere() -> None:
    noise = np.random.default_rng(0)
    sampler = NoisewiseSampler(
        n_trials=50, seed=1, search_space=SPACE, constraints_func=lambda t: (room(t.params),)
    )
    study = optuna.create_study(sampler=sampler)
    study.optimize(lambda trial: total(trial, noise), n_trials=50)
    assert all(values(t) == {"0": pytest.approx(room(t.params))} for t in study.trials)
    assert -0.05 < -room(recommended_params(study).params) < 0.25


@pytest.mark.parametrize("given", [float("nan"), "x"])
def test_what_is_no_constraint(given: Any) -> None:
    sampler = NoisewiseSampler(n_trials=9, search_space=SPACE, constraints_func=lambda t: (given,))
    study = optuna.create_study(sampler=sampler)
    with pytest.raises(ValueError, match="constraints_func must return numbers"):
        study.optimize(lambda trial: total(trial, np.random.default_rng(0)), n_trials=1)
    with pytest.raises(ValueError, match="constraints_func must be callable"):
        NoisewiseSampler(constraints_func=3)  # type: ignore[arg-type]


def told(study: Any, constraint: bool) -> None:
    trial = study.ask()
    value = total(trial, np.random.default_rng(trial.number))
    if constraint:
        storage, key = study._storage, "constraints"
        storage.set_trial_system_attr(trial._trial_id, key, (room(trial.params),))
    study.tell(trial, value)


def test_a_trial_without_its_constraints_counts_as_failed() -> None:
    study = optuna.create_study(sampler=NoisewiseSampler(20, seed=1, search_space=SPACE))
    for i in range(20):
        told(study, constraint=i != 7)
    sampler = study.sampler
    sampler.infer_relative_search_space(study, None)
    assert recommended_params(study).p_feasible > 0.0
    assert sampler._view.replay.result().n_failures == 1


def test_constraints_that_come_late_are_left_out_with_a_warning() -> None:
    study = optuna.create_study(sampler=NoisewiseSampler(12, seed=1, search_space=SPACE))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for i in range(12):
            told(study, constraint=i > 3)
    assert any("constraints are left out" in str(one.message) for one in heard)


def test_several_objectives_are_refused_in_a_sentence() -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=NoisewiseSampler())
    with pytest.raises(ValueError, match="studies with one objective, got 2: keep one of them"):
        study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 0.0), n_trials=1)
    with pytest.raises(ValueError, match="one objective"):
        nw.audit(study)


def study_of(sampler: Any, n: int = 60) -> Any:
    noise = np.random.default_rng(0)
    study = optuna.create_study(sampler=sampler, direction="maximize")

    def objective(trial: Any) -> float:
        return -((trial.suggest_float("x", -1, 1) - 0.3) ** 2) + 0.2 * noise.normal()

    study.optimize(objective, n_trials=n)
    return study


@pytest.mark.parametrize("name", ["RandomSampler", "TPESampler"])
def test_studies_of_other_samplers_have_a_recommendation(name: str) -> None:
    study = study_of(getattr(optuna.samplers, name)(seed=0))
    best = recommended_params(study)
    assert best.kind == "model"
    assert abs(best.params["x"] - 0.3) < 0.3
    assert best.interval[0] < best.value < best.interval[1]
    assert best.value < study.best_value
    assert str(best).startswith("{'x': ")
    found = nw.audit(study)
    assert found.maximize
    assert found.params == best.params


def test_a_storage_by_its_address(tmp_path: Any) -> None:
    address = f"sqlite:///{tmp_path}/studies.db"
    for name in ("one", "two"):
        study = optuna.create_study(storage=address, study_name=name)
        study.add_trials(
            optuna.trial.create_trial(
                params={"x": x}, distributions={"x": SPACE["x"]}, value=(x - 0.5) ** 2
            )
            for x in np.linspace(0.0, 1.0, 20)
        )
    with pytest.raises(
        ValueError, match="must hold one study, or end in #name of one, got one, two"
    ):
        nw.audit(address)
    with pytest.raises(ValueError, match="has no study 'three'"):
        nw.audit(f"{address}#three")
    found = nw.audit(f"{address}#two")
    assert found.title == "two"
    assert abs((found.params or {})["x"] - 0.5) < 0.1


def test_trials_that_break_a_constraint_are_no_choice() -> None:
    """The smallest values are those that are not allowed."""
    study = optuna.create_study()
    study.add_trials(
        optuna.trial.create_trial(
            params={"x": x},
            distributions={"x": SPACE["x"]},
            value=x,
            system_attrs={"constraints": [0.4 - x]},
        )
        for x in np.linspace(0.0, 1.0, 41)
    )
    found = nw.audit(study)
    assert found.n == 25
    assert found.notes == ["16 trials that break a constraint are left out"]
    assert 0.39 < (found.params or {})["x"] < 0.6
    assert len(from_study(study)["data"][1]) == 41
