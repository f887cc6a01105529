"""The Optuna sampler in one process: the same run as ask and tell, and what goes wrong."""

from __future__ import annotations

import json
import logging
import math
import pickle
import sys
import threading
import time
import warnings
from typing import Any

import numpy as np
import optuna
import optuna_support as support
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import TrialState

import noisewise as nw
from noisewise.integrations._extra import extra
from noisewise.integrations.optuna import (
    NoisewiseSampler,
    distributions,
    recommended_params,
    records,
    view,
)

LINE = {"x": FloatDistribution(-1.0, 1.0), "y": FloatDistribution(-1.0, 1.0)}


def study_of(
    n_trials: int | None = 60, direction: str = "minimize", **options: Any
) -> optuna.Study:
    given: dict[str, Any] = {"seed": 3, "search_space": LINE} | options
    return optuna.create_study(sampler=NoisewiseSampler(n_trials, **given), direction=direction)


def bowl(trial: optuna.Trial) -> float:
    for name in LINE:
        trial.suggest_float(name, -1.0, 1.0)
    return truth(trial.params) + 0.02 * float(np.random.default_rng(trial.number).normal())


def truth(params: dict[str, Any]) -> float:
    """0.13 in the middle of the ranges, where runs start."""
    return float((params["x"] - 0.3) ** 2 + (params["y"] + 0.2) ** 2)


def kinds(study: optuna.Study) -> list[str]:
    return [mark["kind"] for _, mark in support.marks(study)]


@pytest.mark.parametrize("method", ["auto", "watchful", "rb-pem", "resample", "uh-cma-es"])
def test_one_worker_makes_the_run_of_ask_and_tell(method: str) -> None:
    sampler = NoisewiseSampler(70, seed=5, method=method, search_space=support.SPACE)
    study = optuna.create_study(sampler=sampler)
    study.optimize(support.objective, n_trials=70)
    assert support.assert_faithful(study, budget=70, seed=5, method=method) == 70
    named = distributions.named(support.SPACE)
    opt = nw.Optimizer(budget=70, space=named, rng=5, method=method, confirm=0)
    numbers = iter(range(70))
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, support.value(named.decode(trial.x), next(numbers)))
    found, expected = recommended_params(study), opt.recommend()
    assert found.params == named.decode(expected.x)
    assert found.value == expected.fun
    assert math.isnan(found.standard_error)  # the point itself was not measured
    assert math.isnan(expected.fun_se)


def test_the_space_is_learnt_from_the_first_trial() -> None:
    study = study_of(60, search_space=None)
    study.optimize(bowl, n_trials=60)
    assert kinds(study)[0] == "start"
    assert sorted(mark["id"] for _, mark in support.marks(study)[1:]) == list(range(59))
    assert truth(recommended_params(study).params) < 0.03


def test_maximising_is_minimising_the_negative() -> None:
    down, up = (study_of(40, way, method="watchful") for way in ("minimize", "maximize"))
    down.optimize(bowl, n_trials=40)
    up.optimize(lambda trial: -bowl(trial), n_trials=40)
    assert [t.params for t in up.trials] == [t.params for t in down.trials]
    assert recommended_params(up).params == recommended_params(down).params
    assert recommended_params(up).value == -recommended_params(down).value


def test_second_looks_are_marked_and_repeat_the_parameters() -> None:
    study = study_of(60, method="watchful")
    study.optimize(bowl, n_trials=60)
    first = [t.params for t, mark in support.marks(study) if mark["kind"] == "candidate"]
    again = [t.params for t, mark in support.marks(study) if mark["kind"] == "reevaluation"]
    assert again
    assert all(params in first for params in again)


def test_after_the_budget_trials_measure_the_recommendation() -> None:
    study = study_of(40)
    study.optimize(bowl, n_trials=40)
    before = recommended_params(study)
    assert before.n_values == 0
    study.optimize(bowl, n_trials=8)
    after = recommended_params(study)
    values = [t.value for t in study.trials[40:]]
    assert all(t.params == before.params == after.params for t in study.trials[40:])
    assert after.n_values == 8
    assert after.value == pytest.approx(np.mean(values))
    assert after.standard_error == pytest.approx(np.std(values, ddof=1) / math.sqrt(8))


def test_a_larger_budget_goes_on_from_the_recommendation() -> None:
    study = study_of(30)
    study.optimize(bowl, n_trials=30)
    study.sampler = NoisewiseSampler(70, seed=3, search_space=LINE)
    study.optimize(bowl, n_trials=40)
    assert sum("id" in mark for _, mark in support.marks(study)) == 70
    assert sorted(mark["id"] for _, mark in support.marks(study)) == list(range(70))


def test_a_worker_learns_that_another_was_given_more_trials() -> None:
    study = study_of(20)
    study.optimize(bowl, n_trials=22)
    longer = NoisewiseSampler(60, seed=3, search_space=LINE)
    twin = optuna.load_study(study_name=study.study_name, storage=study._storage, sampler=longer)
    twin.optimize(bowl, n_trials=5)
    study.optimize(bowl, n_trials=35)
    held = [mark["id"] for _, mark in support.marks(study) if "id" in mark]
    assert sorted(held) == list(range(60))


def test_trials_that_were_not_where_they_should_have_been_are_failures() -> None:
    """The objective's range is not that of the search space: Optuna draws another value."""

    def narrower(trial: optuna.Trial) -> float:
        trial.suggest_float("x", -0.1, 0.1)
        trial.suggest_float("y", -1.0, 1.0)
        return truth(trial.params)

    study = study_of(20)
    study.optimize(narrower, n_trials=20)
    found = view.latest(study)
    assert found is not None
    failed = found.replay._opt.result().n_failures
    given = [records.as_row(m["row"]) for _, m in support.marks(study)]
    outside = sum(abs(2.0 * np.clip(row[0], 0.0, 1.0) - 1.0) > 0.1 for row in given)
    assert 0 < failed == outside


def test_without_a_budget_the_search_goes_on() -> None:
    study = study_of(None)
    study.optimize(bowl, n_trials=130)
    assert sorted(mark["id"] for _, mark in support.marks(study)) == list(range(130))
    assert truth(recommended_params(study).params) < 0.03


def test_a_new_stage_recommends_once_it_has_seen_half_of_it() -> None:
    study = study_of(None, method="watchful")
    study.optimize(bowl, n_trials=100)
    first = recommended_params(study).params
    study.optimize(bowl, n_trials=90)
    assert recommended_params(study).params == first
    study.optimize(bowl, n_trials=30)
    assert recommended_params(study).params != first


def test_failed_and_pruned_trials_rank_last() -> None:
    def sometimes(trial: optuna.Trial) -> float:
        value = bowl(trial)
        if trial.params["x"] < 0.0:
            raise optuna.TrialPruned
        if trial.params["y"] > 0.0:
            raise RuntimeError("broken")
        return math.nan if trial.number % 7 == 0 else value

    study = study_of(60)
    study.optimize(sometimes, n_trials=60, catch=RuntimeError)
    states = {t.state for t in study.trials}
    assert states == {TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED}
    found = recommended_params(study).params
    assert found["x"] > 0.0
    assert found["y"] < 0.0


def test_nothing_but_failures_falls_back_to_random_trials() -> None:
    study = study_of(60)
    study.optimize(lambda trial: bowl(trial) * math.nan, n_trials=58)
    marked = {t.number for t, _ in support.marks(study)}
    assert len(marked) >= 40
    others = [t.params["x"] for t in study.trials if t.number not in marked]
    assert len(set(others)) == len(others) >= 10


def test_two_workers_that_begin_at_once_make_one_run() -> None:
    samplers = [NoisewiseSampler(20, seed=3, search_space=LINE) for _ in range(2)]
    first = optuna.create_study(sampler=samplers[0])
    second = optuna.load_study(
        study_name=first.study_name, storage=first._storage, sampler=samplers[1]
    )
    begin = samplers[0]._wanted.begin
    threads: list[threading.Thread] = []

    def late(*args: Any) -> Any:
        threads.append(threading.Thread(target=second.ask, args=(LINE,)))
        threads[0].start()
        threads[0].join(0.3)  # without the rule it would be done by then
        return begin(*args)

    object.__setattr__(samplers[0]._wanted, "begin", late)
    first.ask(LINE)
    threads[0].join()
    marks = [mark for _, mark in support.marks(first)]
    assert len(marks) == 2
    assert len({mark["run"] for mark in marks}) == 1
    assert len({mark["id"] for mark in marks}) == 2


def test_infinite_values() -> None:
    study = study_of(30)
    study.optimize(lambda trial: [math.inf, -math.inf, bowl(trial)][trial.number % 3], n_trials=30)
    assert len(kinds(study)) == 30


def test_a_parameter_with_one_value_is_part_of_the_recommendation() -> None:
    study = study_of(20, search_space=None)
    study.optimize(lambda t: bowl(t) + t.suggest_int("one", 4, 4), n_trials=20)
    assert recommended_params(study).params["one"] == 4


def test_more_asked_for_than_a_generation_has_measures_the_recommendation() -> None:
    study = study_of(40)
    trials = [study.ask(LINE) for _ in range(20)]
    assert kinds(study)[-1] == "confirmation"
    for trial in reversed(trials):
        study.tell(trial, trial.params["x"] ** 2)
    study.optimize(bowl, n_trials=20)
    held = [mark["id"] for _, mark in support.marks(study) if "id" in mark]
    assert sorted(held) == list(range(len(held)))


def test_threads_share_a_run() -> None:
    sampler = NoisewiseSampler(60, seed=4, workers=3, search_space=support.SPACE)
    study = optuna.create_study(sampler=sampler)
    study.optimize(support.objective, n_trials=60, n_jobs=3)
    used = support.assert_faithful(study, budget=60, seed=4, workers=3)
    assert used == sum("id" in mark for _, mark in support.marks(study))
    assert used >= 40


def test_no_worker_waits_for_another() -> None:
    sampler = NoisewiseSampler(
        40, seed=4, workers=4, search_space=support.SPACE, method="watchful", overdue=600.0
    )
    study = optuna.create_study(sampler=sampler)
    others, enough = [], threading.Event()

    def objective(trial: optuna.Trial) -> float:
        y = support.objective(trial)
        if trial.number == 0:  # as long as five rounds of the others
            assert enough.wait(30.0), "the others waited"
        others.append(trial.number)
        if len(others) == 20:
            enough.set()
        return y

    study.optimize(objective, n_trials=40, n_jobs=4)
    assert others.index(0) >= 20
    assert support.assert_faithful(study, budget=40, seed=4, workers=4, method="watchful") == 40


def test_of_two_workers_that_let_the_run_learn_at_once_one_does() -> None:
    """The second writes between the two looks of the first."""
    study = study_of(30, workers=3)
    study.optimize(bowl, n_trials=3)  # all that was open: the next worker makes a step
    other = NoisewiseSampler(30, seed=3, search_space=LINE, workers=3)
    twin = optuna.load_study(study_name=study.study_name, storage=study._storage, sampler=other)
    write, rivals = records.write, []

    def late(study: Any, trial: Any, content: Any) -> None:
        write(study, trial, content)
        if content["kind"] == "step" and not rivals:
            rivals.append(threading.Thread(target=twin.ask, args=(LINE,)))
            rivals[0].start()
            rivals[0].join(0.3)  # it waits

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(records, "write", late)
        study.optimize(bowl, n_trials=1)
    rivals[0].join(30.0)
    assert not rivals[0].is_alive()
    study.tell(4, 1.0)
    study.optimize(bowl, n_trials=9)
    assert support.assert_faithful(study, 30, 3, space=LINE, sigma0=0.3, workers=3) == 14


def test_a_worker_that_died_while_it_let_the_run_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noisewise.integrations.optuna.steps._PATIENCE", 0.05)
    study = study_of(30, workers=3)
    study.optimize(bowl, n_trials=3)
    dead = study._storage.create_new_trial(study._study_id)
    run = study.trials[0].system_attrs[records.MARK]["run"]
    mark = {"run": run, "kind": "step", "step": 0}
    study._storage.set_trial_system_attr(dead, records.MARK, mark)
    study.optimize(bowl, n_trials=9)
    assert support.assert_faithful(study, 30, 3, space=LINE, sigma0=0.3, workers=3) == 12


def test_an_overdue_trial_is_made_again_and_counts_no_more(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("noisewise.integrations.optuna.waiting._TOLD", 0.0)
    monkeypatch.setattr(logging.getLogger("optuna"), "propagate", True)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = study_of(30, overdue=0.2)
    other = NoisewiseSampler(30, seed=3, search_space=LINE)
    twin = optuna.load_study(study_name=study.study_name, storage=study._storage, sampler=other)
    slow = twin.ask(LINE)
    study.optimize(bowl, n_trials=30)
    assert "waits for the values of trials 0; those that run for more than 0 seconds" in caplog.text
    held = [(mark["id"], mark.get("attempt", 0)) for _, mark in support.marks(study)]
    assert sorted(held) == sorted([(id, 0) for id in range(30)] + [(0, 1)])
    before = repr(recommended_params(study))  # nan does not equal itself
    twin.tell(slow, -1000.0)
    assert repr(recommended_params(study)) == before


def test_a_worker_that_died_while_it_claimed_what_another_had() -> None:
    """Its claim stays, and the trial that made the evaluation answers."""
    study = study_of(30)
    dead = study._storage.create_new_trial(study._study_id)
    study.optimize(bowl, n_trials=1)
    made = study.trials[1].system_attrs[records.MARK]
    study._storage.set_trial_system_attr(dead, records.MARK, made)
    study.sampler = NoisewiseSampler(30, seed=3, search_space=LINE, overdue=0.05)
    time.sleep(0.1)
    study.optimize(bowl, n_trials=29)
    held = [mark["id"] for t, mark in support.marks(study) if t.state == TrialState.COMPLETE]
    assert sorted(held) == list(range(30))


def test_points_of_another_machine_are_taken_as_they_were() -> None:
    """A sampled point may differ between machines: the one on record counts."""
    study = study_of(30, method="watchful")
    study.optimize(bowl, n_trials=4)
    row = np.array([0.9, 0.1])
    here = study.ask(LINE)
    mark = study.get_trials()[-1].system_attrs[records.MARK]
    mark["row"] = records.as_text(row)
    study._storage.set_trial_system_attr(here._trial_id, records.MARK, mark)
    study.tell(here, state=TrialState.FAIL)
    found = view.latest(study)
    assert found is not None
    X = found.replay._opt._run.current.X
    assert any(np.array_equal(x, row) for x in X)


def test_a_sampler_can_be_sent_elsewhere_and_serve_another_study() -> None:
    study = study_of(30)
    study.optimize(bowl, n_trials=15)
    sampler = pickle.loads(pickle.dumps(study.sampler))
    study.sampler = sampler
    study.optimize(bowl, n_trials=15)
    other = optuna.create_study(sampler=sampler)
    other.optimize(bowl, n_trials=30)
    assert [t.params for t in other.trials] == [t.params for t in study.trials]


def test_without_a_seed_studies_differ_and_workers_agree() -> None:
    one, two = study_of(20, seed=None), study_of(20, seed=None)
    one.optimize(bowl, n_trials=5)
    two.optimize(bowl, n_trials=5)
    assert [t.params for t in one.trials[1:]] != [t.params for t in two.trials[1:]]
    one.sampler = NoisewiseSampler(20, search_space=LINE)
    one.optimize(bowl, n_trials=5)
    assert len({mark["run"] for _, mark in support.marks(one)}) == 1


def test_two_workers_that_begin_at_once_begin_the_same_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One looks for a run and finds none; before it writes its own, the other has begun."""
    study = study_of(20)
    look, other = records.settings, NoisewiseSampler(20, seed=3, search_space=LINE)

    def slowly(*args: Any) -> Any:
        found = look(*args)
        if found is None:
            monkeypatch.setattr(records, "settings", look)
            twin = optuna.load_study(
                study_name=study.study_name, storage=study._storage, sampler=other
            )
            twin.optimize(bowl, n_trials=3)
        return found

    monkeypatch.setattr(records, "settings", slowly)
    study.optimize(bowl, n_trials=5)
    assert len({mark["run"] for _, mark in support.marks(study)}) == 1
    assert sorted(mark["id"] for _, mark in support.marks(study)) == list(range(8))


def test_other_settings_than_the_studys_are_said_once() -> None:
    study = study_of(30)
    study.optimize(bowl, n_trials=3)
    study.sampler = NoisewiseSampler(30, seed=9, method="cma-es", search_space=LINE)
    with pytest.warns(UserWarning, match=r"other settings \(method, seed\); it goes on"):
        study.optimize(bowl, n_trials=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        study.optimize(bowl, n_trials=1)


def test_trials_of_an_earlier_version_are_data_of_a_new_run() -> None:
    study = study_of(20)
    study.optimize(bowl, n_trials=6)
    earlier = optuna.create_study()
    for name, kept in study._storage.get_study_system_attrs(study._study_id).items():
        old = name.replace(records.MARK, "noisewise")
        earlier._storage.set_study_system_attr(earlier._study_id, old, kept)
    for trial in study.trials:
        mark = {"noisewise": trial.system_attrs[records.MARK]}
        earlier.add_trial(
            optuna.trial.create_trial(
                value=trial.value,
                params=trial.params,
                distributions=trial.distributions,
                system_attrs=mark,
            )
        )
    # They are audited as those of another sampler, which are too few here.
    said = "^an audit of 2 parameters needs at least 8 trials that succeeded, got 6$"
    with pytest.raises(ValueError, match=said):
        recommended_params(earlier)
    earlier.sampler = NoisewiseSampler(20, seed=1, search_space=LINE)
    with pytest.warns(UserWarning, match="a new one begins, and the trials so far are its data"):
        earlier.optimize(bowl, n_trials=1)
    found = view.latest(earlier)
    assert found is not None
    assert found.replay.settings.data is not None
    assert len(found.replay.settings.data[1]) == 6
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        earlier.optimize(bowl, n_trials=2)


def test_what_is_kept_is_small() -> None:
    study = study_of(60)
    study.optimize(bowl, n_trials=60)
    assert all(len(json.dumps(mark)) < 250 for _, mark in support.marks(study))
    kept = study._storage.get_study_system_attrs(study._study_id)
    assert sum(len(json.dumps(value)) for value in kept.values()) < 1500


@pytest.mark.parametrize(
    ("distribution", "value"),
    [
        (FloatDistribution(-2.0, 5.0), 1.25),
        (FloatDistribution(1e-5, 10.0, log=True), 0.02),
        (FloatDistribution(0.0, 1.0, step=0.1), 0.1 * 3),
        (FloatDistribution(0.0, 0.3, step=0.1), 0.3),
        (IntDistribution(-3, 9), 4),
        (IntDistribution(1, 1000, log=True), 30),
        (IntDistribution(2, 20, step=3), 11),
        (CategoricalDistribution(["a", 1, True, None, 1.5]), True),
    ],
)
def test_values_and_points(distribution: Any, value: Any) -> None:
    named = distributions.named({"p": distribution})
    found = named.decode(named.encode({"p": value}))["p"]
    assert found == pytest.approx(value)
    assert type(found) is type(value)
    rng = np.random.default_rng(0)
    for _ in range(50):
        point = named.decode(rng.uniform(size=named.dimension))["p"]
        assert distribution._contains(distribution.to_internal_repr(point))


def test_the_end_of_a_range_with_steps_is_found() -> None:
    study = study_of(40, search_space=None)  # 0.1 + 0.1 + 0.1 is above 0.3
    study.optimize(lambda trial: -trial.suggest_float("x", 0.0, 0.3, step=0.1), n_trials=40)
    assert recommended_params(study).params == {"x": 0.3}
    assert study.trials[-1].params == {"x": 0.3}


def test_nan_is_a_choice_like_others() -> None:
    named = distributions.named({"p": CategoricalDistribution([math.nan, 1.0])})
    assert math.isnan(named.decode(named.encode({"p": float("nan")}))["p"])


@pytest.mark.parametrize("choices", [[(8,), (8, 8)], [int, float]])
def test_choices_that_no_storage_keeps_are_left_to_the_independent_sampler(choices: Any) -> None:
    def objective(trial: optuna.Trial) -> float:
        assert trial.suggest_categorical("kind", choices) in choices
        return bowl(trial)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Optuna's own
        kind = CategoricalDistribution(choices)
        study = study_of(30, search_space=None)
        study.optimize(objective, n_trials=1)
    with pytest.warns(UserWarning, match="'kind' is left to the independent sampler"):
        study.optimize(objective, n_trials=29)
    assert recommended_params(study).params["kind"] in choices
    with pytest.warns(UserWarning, match="'kind' is left to the independent sampler"):
        NoisewiseSampler(30, search_space=LINE | {"kind": kind})


def test_ranges_that_cannot_be_searched_are_left_out() -> None:
    assert distributions.parameter(FloatDistribution(2.0, 2.0)) is None
    assert distributions.parameter(IntDistribution(0, 2**60)) is None
    assert distributions.parameter(FloatDistribution(-1.7e308, 1.7e308)) is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"n_trials": 1}, "n_trials must be a whole number of at least 2, got 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0, got -1"),
        ({"method": "tpe"}, "method must be one of auto"),
        ({"method": nw.methods.PEM(draws=support.value)}, "method must have plain options"),
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0"),
        ({"search_space": {"x": (0, 1)}}, "search_space must be a dictionary of Optuna"),
        ({"search_space": {"x": IntDistribution(1, 1)}}, "search_space must leave something"),
        ({"x0": [1.0]}, "x0 must be a dictionary of parameters or None"),
        ({"x0": {"x": 3.0}, "search_space": LINE}, "x0 x must be a number in -1.0..1.0, got 3.0"),
        ({"x0": {"z": 3.0}, "search_space": LINE}, "x0 values must be of x, y, got 'z'"),
        ({"sigma0": 2.0}, "sigma0 must be a positive finite number of at most 1, got 2.0"),
        ({"overdue": 0}, "overdue must be a positive finite number, got 0"),
        (
            {"independent_sampler": "random"},
            "independent_sampler must be an Optuna sampler or None, got 'random'",
        ),
    ],
)
def test_wrong_arguments(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match="^" + said.replace("(", r"\(")):
        NoisewiseSampler(**options)


def test_a_start_for_what_is_not_searched_is_said() -> None:
    study = study_of(10, search_space=None, x0={"x": 0.5, "z": 1.0})
    with pytest.warns(UserWarning, match="x0 has values for what is not searched: 'z'"):
        study.optimize(bowl, n_trials=3)


def test_several_objectives() -> None:
    sampler = NoisewiseSampler(20, search_space=LINE)
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=sampler)
    with pytest.raises(ValueError, match="takes studies with one objective, got 2"):
        study.optimize(lambda trial: (bowl(trial), 0.0), n_trials=1)


def test_there_is_nothing_to_recommend_from() -> None:
    said = "^study 'empty' has no parameter that every completed trial has$"
    with pytest.raises(ValueError, match=said):
        recommended_params(optuna.create_study(study_name="empty"))


@pytest.mark.parametrize("name", ["optuna", "sklearn"])
def test_a_missing_library_is_named_with_its_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, name, None)
    said = rf"integrations.{name} needs the extra '{name}': pip install '\.\[{name}\]'"
    with pytest.raises(ModuleNotFoundError, match=said):
        extra(name)


@pytest.mark.parametrize("direction", ["minimize", "maximize"])
def test_the_estimate_is_that_of_a_result(direction: str) -> None:
    """Wins and losses: a few equal values at the recommendation are not without error."""
    rng = np.random.default_rng(0)
    study = study_of(40, direction, method="watchful")

    def won(trial: optuna.Trial) -> float:
        return float(rng.random() < 0.2 + 0.3 * abs(trial.suggest_float("x", -1.0, 1.0)))

    study.optimize(won, n_trials=44)
    found = recommended_params(study)
    assert found.n_values == 4
    assert found.kind == "mean"
    assert found.interval[0] <= found.value <= found.interval[1]
    assert found.interval[1] - found.interval[0] > 0.3
    assert found.standard_error > 0.0


def test_workers_with_the_same_seed_begin_at_different_points() -> None:
    """Nothing is known of the space before the first trial is done, so points are random."""
    study = optuna.create_study()
    points = []
    for _ in range(4):  # each worker has a sampler of its own
        study.sampler = NoisewiseSampler(40, seed=1)
        trial = study.ask()
        points.append((trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)))
    assert len({x for point in points for x in point}) == 8
    again = optuna.create_study(sampler=NoisewiseSampler(40, seed=1)).ask()
    assert (again.suggest_float("x", 0.0, 1.0), again.suggest_float("y", 0.0, 1.0)) == points[0]


TREE = nw.Space(
    {
        "kind": ["linear", "tree", "svm"],
        "rate": nw.space.Float(1e-3, 10.0, log=True),
        "depth": nw.space.Int(1, 8, when={"kind": "tree"}),
        "C": "0.01..100:log when kind=svm,linear",
    }
)


def branching(trial: optuna.Trial) -> float:
    kind = trial.suggest_categorical("kind", ["linear", "tree", "svm"])
    loss = abs(math.log10(trial.suggest_float("rate", 1e-3, 10.0, log=True)))
    if kind == "tree":
        loss += 0.1 * abs(trial.suggest_int("depth", 1, 8) - 5)
    else:
        loss += 0.3 + 0.3 * abs(math.log10(trial.suggest_float("C", 0.01, 100.0, log=True)))
    return loss + 0.05 * float(np.random.default_rng(trial.number).normal())


@pytest.mark.parametrize("method", ["gp", "watchful"])
def test_conditional_parameters_are_searched_where_the_space_says_so(method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        study = study_of(50, search_space=TREE, method=method)
        study.optimize(branching, n_trials=52)
    opt = nw.Optimizer(space=TREE, budget=50, rng=3, method=method, confirm=0)
    for trial in study.trials[:50]:
        (asked,) = opt.ask(1)
        assert asked.params == trial.params
        opt.tell(asked.id, trial.value)
    best = recommended_params(study)
    assert best.params == opt.recommend().params
    assert best.n_values == 2
    assert ("depth" in best.params) == (best.params["kind"] == "tree")


def test_what_is_drawn_at_random_is_said_once() -> None:
    study = study_of(30, search_space=None)
    with pytest.warns(UserWarning, match="not searched but drawn at random") as caught:
        study.optimize(branching, n_trials=30)
    said = [str(one.message) for one in caught if "at random" in str(one.message)]
    assert sorted(said)[0].startswith("'C' is not in every trial")
    assert len(said) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        own = study_of(30, search_space=None, independent_sampler=optuna.samplers.RandomSampler(1))
        own.optimize(branching, n_trials=20)


def test_an_objective_that_asks_for_what_does_not_apply() -> None:
    study = study_of(10, search_space=TREE)

    def wrong(trial: optuna.Trial) -> float:
        return branching(trial) + 0.0 * trial.suggest_int("depth", 1, 8)

    with pytest.warns(UserWarning, match="'depth' was asked for where search_space does not have"):
        study.optimize(wrong, n_trials=10)
