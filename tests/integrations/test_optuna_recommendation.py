"""The recommendation is complete, can be fed back, and is the same whoever asks."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import optuna
import optuna_support as support
import pytest
from optuna.trial import TrialState

from noisewise.integrations.optuna import NoisewiseSampler, recommendation, recommended_params
from noisewise.integrations.optuna.replay import Replay


def branching(trial: optuna.Trial) -> float:
    """Best with kind a and only_a = 0.8, which the other kinds do not have."""
    x, kind = trial.suggest_float("x", -1.0, 1.0), trial.suggest_categorical("kind", "abc")
    value = (x - 0.3) ** 2 + {"a": 0.0, "b": 0.5, "c": 1.0}[kind]
    if kind == "a":
        value += (trial.suggest_float("only_a", 0.1, 1.0, log=True) - 0.8) ** 2
        if trial.suggest_categorical("deep", [True, False]):
            value += 0.1 * trial.suggest_int("layers", 1, 5)
    return float(value + 0.02 * np.random.default_rng(trial.number).normal())


def study_of(n: int, storage: Any = None, direction: str = "minimize") -> optuna.Study:
    sampler = NoisewiseSampler(n, seed=3, method="watchful")
    return optuna.create_study(
        study_name="study", sampler=sampler, storage=storage, direction=direction
    )


@pytest.fixture(scope="module")
def done() -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = study_of(150)
    study.optimize(branching, n_trials=150)
    return study


def test_conditional_parameters_are_part_of_the_recommendation(done: optuna.Study) -> None:
    found = recommended_params(done).params
    assert set(found) == {"x", "kind", "only_a", "deep"}
    assert found["kind"] == "a"
    assert found["deep"] is False
    assert abs(found["x"] - 0.3) < 0.2
    assert 0.5 < found["only_a"] <= 1.0


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_options_of_a_list_are_in_the_sign_of_the_study(direction: str) -> None:
    worth = {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}
    study = study_of(24, direction=direction)
    study.sampler = NoisewiseSampler(
        24, seed=3, search_space={"kind": optuna.distributions.CategoricalDistribution("abcd")}
    )
    study.optimize(lambda t: worth[t.suggest_categorical("kind", "abcd")], n_trials=24)
    found = recommended_params(study)
    assert found.options is not None
    best = "a" if direction == "minimize" else "d"
    assert found.options["option"][0] == found.params["kind"] == best
    shown = dict(zip(found.options["option"], found.options["mean"], strict=True))
    assert shown == {kind: pytest.approx(value) for kind, value in worth.items()}
    assert min(worth.values()) <= min(found.options["shrunk"])


def test_the_recommendation_can_be_fed_back(done: optuna.Study) -> None:
    study = study_of(150)
    study.add_trials(done.trials)
    for name, kept in done._storage.get_study_system_attrs(done._study_id).items():
        study._storage.set_study_system_attr(study._study_id, name, kept)
    best = recommended_params(study)
    assert best.params == recommended_params(done).params
    assert best.n_values == 0
    for _ in range(3):
        study.enqueue_trial(best.params)
    study.optimize(branching, n_trials=3)
    assert all(trial.params == best.params for trial in study.trials[-3:])
    fed = recommended_params(study)
    assert fed.params == best.params
    assert fed.n_values == 3
    assert fed.value == pytest.approx(np.mean([trial.value for trial in study.trials[-3:]]))


@pytest.mark.parametrize(
    ("n", "near", "best"),
    [
        (2, 2, 2),
        (5, 5, 3),  # three at least
        (16, 10, 3),  # of the ten nearest
        (24, 12, 3),
        (30, 15, 4),  # a quarter of those near, which are a half of all
        (100, 50, 13),
    ],
)
@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_best_of_those_near_are_looked_at(n: int, near: int, best: int, direction: str) -> None:
    """Values fall with the distance, so that the best ones are the farthest of those near."""
    study = optuna.create_study(direction=direction)
    sign = 1.0 if direction == "minimize" else -1.0
    line = {"x": optuna.distributions.FloatDistribution(0.0, 1000.0)}
    trials = [
        optuna.trial.create_trial(params={"x": float(i)}, distributions=line, value=-sign * i)
        for i in range(n)
    ]
    points = SimpleNamespace(
        of=lambda trial: np.array([trial.params["x"]]), named=SimpleNamespace(decode=lambda x: {})
    )
    view: Any = SimpleNamespace(points=points, space={})
    found = recommendation._best_near(study, view, np.zeros(1), trials)
    assert [trial.params["x"] for trial in found] == [near - 1.0 - i for i in range(best)]


def test_confirmations_measure_the_whole_recommendation() -> None:
    study = study_of(60, direction="maximize")
    study.optimize(lambda trial: -branching(trial), n_trials=60)
    best = recommended_params(study)
    study.optimize(lambda trial: -branching(trial), n_trials=4)
    assert all(trial.params == best.params for trial in study.trials[60:])
    after = recommended_params(study)
    assert after.params == best.params
    assert after.n_values == 4
    assert after.value == pytest.approx(np.mean([trial.value for trial in study.trials[60:]]))


def test_another_process_gives_the_same_estimate(tmp_path: Path) -> None:
    study = study_of(30, support.storage("journal", str(tmp_path / "log")))
    study.optimize(branching, n_trials=33)
    code = (
        "import optuna, optuna_support as s\n"
        "from noisewise.integrations.optuna import recommended_params\n"
        f"storage = s.storage('journal', {str(tmp_path / 'log')!r})\n"
        "print(recommended_params(optuna.load_study(study_name='study', storage=storage)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent,
    )
    assert done.stdout.strip() == str(recommended_params(study))


def test_a_machine_that_rounds_otherwise_counts_the_same_trials(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = study_of(30)
    study.optimize(branching, n_trials=34)
    here, recommend = recommended_params(study), Replay.recommend

    def elsewhere(replay: Replay) -> Any:
        best = recommend(replay)
        return replace(best, x=np.clip(best.x * (1.0 + 1e-14), 0.0, 1.0))

    monkeypatch.setattr(Replay, "recommend", elsewhere)
    there = recommended_params(study)
    assert there.n_values == here.n_values == 4
    assert there.value == here.value


def test_a_trial_that_lacks_parameters_is_no_model() -> None:
    study = study_of(20)
    study.optimize(branching, n_trials=12)
    study.add_trial(optuna.trial.create_trial(state=TrialState.FAIL))
    study.optimize(branching, n_trials=8)
    asks = {"a": {"only_a", "deep"}}.get(recommended_params(study).params["kind"], set())
    assert asks <= set(recommended_params(study).params)


def test_failures_of_the_recommendation_are_told() -> None:
    def failing(trial: optuna.Trial) -> float:
        value = branching(trial)
        return value if trial.number < 30 or trial.number % 2 else float("nan")

    study = study_of(30)
    study.optimize(failing, n_trials=30)
    before = recommended_params(study)
    assert (before.n_values, before.n_failures, before.kind) == (0, 0, "unknown")
    assert np.isnan(before.standard_error)
    assert "(not measured)" in str(before)
    study.optimize(failing, n_trials=6)
    best = recommended_params(study)
    assert (best.n_values, best.n_failures) == (3, 3)
    assert best.value == pytest.approx(np.mean([t.value for t in study.trials[31::2]]))
    assert best.interval[0] < best.value < best.interval[1]
    assert str(best).endswith(", of the 3 successes in 6)")
