"""Trials that the sampler did not ask for: enqueued, added, or made by another sampler."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
import optuna_support as support
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

import noisewise as nw
from noisewise.integrations.optuna import (
    NoisewiseSampler,
    recommended_params,
    records,
    sampler,
    view,
)
from noisewise.integrations.optuna.replay import Replay, Settings
from noisewise.methods import get

LINE = {"x": FloatDistribution(-1.0, 1.0), "y": FloatDistribution(-1.0, 1.0)}


def study_of(n_trials: int | None = 40, method: str = "watchful", **options: Any) -> optuna.Study:
    given: dict[str, Any] = {"seed": 3, "search_space": LINE, "method": method} | options
    return optuna.create_study(sampler=NoisewiseSampler(n_trials, **given))


def bowl(trial: optuna.Trial) -> float:
    x, y = (trial.suggest_float(name, -1.0, 1.0) for name in LINE)
    return (x - 0.3) ** 2 + (y + 0.2) ** 2 + 0.02 * np.random.default_rng(trial.number).normal()


def added(study: optuna.Study, x: float, y: float, value: float | None = None) -> None:
    state = TrialState.COMPLETE if value is not None else TrialState.FAIL
    study.add_trial(
        optuna.trial.create_trial(
            state=state, params={"x": x, "y": y}, distributions=LINE, value=value
        )
    )


def answered(study: optuna.Study) -> tuple[list[int], dict[int, int]]:
    """Evaluations that trials of the run claim, and those that foreign trials answer."""
    own, placed = [], {}
    for _, mark in support.marks(study):
        own += [mark["id"]] if "id" in mark else []
        for id, number in mark.get("placed", ()):
            assert id not in placed
            assert number not in placed.values()
            placed[id] = number
    return own, placed


@pytest.mark.parametrize("method", ["watchful", "gp"])
def test_enqueued_trials_count_against_the_budget(method: str) -> None:
    study = study_of(24, method)
    study.optimize(bowl, n_trials=9)
    study.enqueue_trial({"x": 0.5, "y": 0.5})
    study.enqueue_trial({"x": 0.25})
    study.optimize(bowl, n_trials=15)
    assert study.trials[9].params == {"x": 0.5, "y": 0.5}
    assert study.trials[10].params["x"] == 0.25
    own, placed = answered(study)
    assert sorted(placed.values()) == [9, 10]
    assert sorted([*own, *placed]) == list(range(24))
    found = view.latest(study)
    assert found is not None
    assert not found.replay.open


def test_a_model_learns_from_a_foreign_trial_where_it_was() -> None:
    study = study_of(30, "gp")
    study.optimize(bowl, n_trials=8)
    added(study, -0.9, 0.9, value=-7.0)
    study.optimize(bowl, n_trials=1)
    found = view.latest(study)
    assert found is not None
    best = found.replay._opt.result()
    assert best.fun_best_observed == -7.0
    assert best.x_best_observed == pytest.approx([0.05, 0.95])


def test_foreign_trials_that_failed_or_are_elsewhere() -> None:
    study = study_of(20)
    study.optimize(bowl, n_trials=2)
    added(study, 0.1, 0.1)
    other = {"x": FloatDistribution(-9.0, 9.0), "y": LINE["y"]}
    for params, known in (({"x": 4.0, "y": 0.0}, other), ({"x": 0.0}, {"x": LINE["x"]})):
        study.add_trial(
            optuna.trial.create_trial(params=params, distributions=known, value=-1000.0)
        )
    study.optimize(bowl, n_trials=17)
    own, placed = answered(study)
    assert list(placed.values()) == [2]
    assert sorted([*own, *placed]) == list(range(20))
    found = view.latest(study)
    assert found is not None
    assert found.replay._opt.result().n_failures == 1


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_trials_before_the_first_are_data_and_do_not_count(direction: str) -> None:
    sampler = NoisewiseSampler(20, seed=3, method="gp", search_space=LINE)
    study = optuna.create_study(sampler=sampler, direction=direction)
    sign = 1.0 if direction == "minimize" else -1.0
    for k in range(12):
        x, y = -0.9 + 0.1 * k, 0.5 - 0.06 * k
        added(study, x, y, value=sign * ((x - 0.3) ** 2 + (y + 0.2) ** 2))
    added(study, 0.1, 0.1)
    study.optimize(lambda trial: sign * bowl(trial), n_trials=20)
    own, placed = answered(study)
    assert sorted(own) == list(range(20))
    assert not placed
    found = view.latest(study)
    assert found is not None
    assert found.replay._opt._run.earlier == 12
    named, before = found.points.named, study.trials[:12]
    data = ([named.encode(t.params) for t in before], [sign * t.value for t in before])
    opt = nw.Optimizer(space=named, budget=20, rng=3, method="gp", confirm=0, data=data)
    assert named.decode(opt.ask()[0].x) == study.trials[13].params


def test_a_search_that_starts_again_has_the_earlier_trials_as_data() -> None:
    def branching(trial: optuna.Trial) -> float:
        value = bowl(trial)
        if trial.params["x"] > 0.0:
            value += trial.suggest_float("more", 0.0, 0.1)
        return value

    study = study_of(40, search_space=None)
    study.enqueue_trial({"x": 0.5})
    study.optimize(branching, n_trials=40)
    runs = {mark.get("run") for _, mark in support.marks(study)} - {None}
    assert len(runs) == 2
    found = view.latest(study)
    assert found is not None
    assert found.replay._opt._run.earlier >= 2
    assert len(study.trials) - found.replay.settings.budgets[0] == found.replay._opt._run.earlier


def test_trials_that_were_running_when_the_run_began_count_when_they_are_done() -> None:
    study = study_of(20, search_space=None)
    slow, first = study.ask(LINE), study.ask(LINE)
    study.tell(first, 1.0)
    study.optimize(bowl, n_trials=8)
    study.tell(slow, 2.0)
    study.optimize(bowl, n_trials=10)
    own, placed = answered(study)
    assert list(placed.values()) == [0]
    assert sorted([*own, *placed]) == list(range(19))


def test_threads_place_each_foreign_trial_once() -> None:
    study = study_of(60, workers=3)
    study.optimize(bowl, n_trials=4)
    for k in range(6):
        study.enqueue_trial({"x": 0.1 * k, "y": 0.0})
    study.optimize(bowl, n_trials=50, n_jobs=3)
    own, placed = answered(study)
    assert sorted(placed.values()) == list(range(4, 10))
    assert not set(own) & set(placed)


def test_the_recommendation_does_not_depend_on_who_asks() -> None:
    """Another worker that joins in the middle rebuilds the same run, foreign trials included."""
    study = study_of(30)
    study.optimize(bowl, n_trials=5)
    study.enqueue_trial({"x": -0.9, "y": 0.9})
    study.optimize(bowl, n_trials=12)
    mine = study.sampler._view  # type: ignore[attr-defined]
    fresh = view.latest(study)
    assert fresh is not None
    mine.sync(study)
    assert mine.replay.open.keys() == fresh.replay.open.keys()
    for id, offer in mine.replay.open.items():
        np.testing.assert_array_equal(offer.row, fresh.replay.open[id].row)
    assert recommended_params(study).params == fresh.points.named.decode(mine.replay.recommend().x)


def _begun(method: str) -> Replay:
    """A run of which the first candidates are evaluated."""
    replay = Replay(Settings(np.full(3, 0.5), 0.02, get(method), 1, 1, (2000,)))
    for id in list(replay.open):
        replay.answer(id, float(id))
    return replay


def test_a_model_learns_a_point_where_it_is() -> None:
    far = np.ones(3)
    np.testing.assert_array_equal(_begun("auto")._injected(far), far)


@pytest.mark.parametrize("method", ["cma-es", "sep-cma-es", "watchful"])
def test_a_point_far_away_is_moved_to_where_samples_are(method: str) -> None:
    replay = _begun(method)
    far, near = np.ones(3), replay._opt.recommend().x + 1e-4
    search = replay._opt.method.distribution(replay._opt._run.memory)
    assert search is not None
    moved = replay._injected(far)
    C = np.diag(search.C) if search.C.ndim == 1 else search.C
    step = (moved - search.mean) / search.sigma
    length = math.sqrt(step @ np.linalg.inv(C) @ step)
    assert length == pytest.approx(math.sqrt(3.0) + 6.0 / 5.0)
    along = (far - search.mean) / np.linalg.norm(far - search.mean)
    assert step / np.linalg.norm(step) == pytest.approx(along)
    np.testing.assert_array_equal(replay._injected(near), near)


def test_a_worker_that_begins_waits_for_others_before_it_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Two workers that begin at once would make two runs of the study."""
    events, keep = [], records.keep_settings

    def kept(*args: Any) -> None:
        events.append("writes")
        keep(*args)

    monkeypatch.setattr(sampler, "_wait_to_begin", lambda *_: events.append("waits"))
    monkeypatch.setattr(records, "keep_settings", kept)
    study_of(20).optimize(bowl, n_trials=2)
    assert events == ["waits", "writes"]
