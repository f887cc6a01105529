"""Today's parameters beside what a study found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
import pytest

from noisewise.integrations.optuna import NoisewiseSampler, recommended_params

TODAY = {"x": 0.9, "kind": "b"}


def loss(params: dict[str, Any], number: int) -> float:
    noise = 0.1 * np.random.default_rng(number).normal()
    return float((params["x"] - 0.3) ** 2 + 0.2 * (params["kind"] == "b") + noise)


def objective(trial: optuna.Trial) -> float:
    params = {"x": trial.suggest_float("x", 0.0, 1.0)}
    return loss(params | {"kind": trial.suggest_categorical("kind", ["a", "b"])}, trial.number)


SPACE: dict[str, Any] = {
    "x": optuna.distributions.FloatDistribution(0.0, 1.0),
    "kind": optuna.distributions.CategoricalDistribution(["a", "b"]),
}


def study(direction: str = "minimize", n: int = 40, **options: Any) -> optuna.Study:
    given: dict[str, Any] = {"search_space": SPACE, "incumbent": TODAY} | options
    sampler = NoisewiseSampler(n_trials=n, seed=1, **given)
    made = optuna.create_study(sampler=sampler, direction=direction)
    sign = 1.0 if direction == "minimize" else -1.0
    made.optimize(lambda trial: sign * objective(trial), n_trials=n)
    return made


def test_the_recommendation_has_the_verdict() -> None:
    made = study()
    found = recommended_params(made)
    assert found.kept is False
    assert found.improvement_interval[0] > 0.0
    low, high = found.improvement_interval
    truth = loss(TODAY, 0) - loss(found.params, 0)  # the noise of one number cancels
    assert low < truth < high
    assert found.verdict in str(found)
    today = sum(t.params == TODAY for t in made.trials)
    assert today >= 8


def test_maximising_is_the_mirror_image() -> None:
    down, up = recommended_params(study()), recommended_params(study("maximize"))
    assert (down.params, down.verdict, down.improvement) == (up.params, up.verdict, up.improvement)
    assert up.value == -down.value


def test_the_best_setting_is_kept() -> None:
    best = {"x": 0.3, "kind": "a"}
    found = recommended_params(study(incumbent=best))
    assert found.kept is True
    assert found.params == best
    assert "keep today" in found.verdict


def test_without_an_incumbent_there_is_no_verdict() -> None:
    found = recommended_params(study(incumbent=None))
    assert (found.kept, found.verdict) == (None, "")
    assert math.isnan(found.improvement)


@pytest.mark.parametrize(
    ("incumbent", "said"),
    [
        ({"x": 0.9}, "incumbent must have a value of kind"),
        ({"x": 0.9, "kind": "c"}, "incumbent: kind"),
        ([0.9, "b"], "incumbent must be a dictionary of parameters or None"),
    ],
)
def test_wrong_incumbents_are_one_sentence(incumbent: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        study(incumbent=incumbent)
    assert "\n" not in str(raised.value)


def test_a_budget_too_small_to_compare() -> None:
    with pytest.raises(ValueError, match="n_trials must be at least 10 with incumbent, got 9"):
        study(n=9)
