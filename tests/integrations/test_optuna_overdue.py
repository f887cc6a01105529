"""After how long a running trial of a study is taken for dead."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence

import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import TrialState

from noisewise.integrations.optuna import NoisewiseSampler, view

LINE = {"x": FloatDistribution(-3.0, 5.0)}


def seen_after(seconds: Sequence[float], state: TrialState = TrialState.COMPLETE) -> view.View:
    """The run of a study whose trials took so many seconds, and one that still runs."""
    sampler = NoisewiseSampler(30, seed=3, search_space=LINE, method="watchful")
    study = optuna.create_study(sampler=sampler)
    for number, took in enumerate(seconds):
        study.tell(study.ask(LINE), None if state == TrialState.FAIL else 1.0, state=state)
        made = study.get_trials(deepcopy=False)[number]
        made.datetime_complete = made.datetime_start + dt.timedelta(seconds=took)
    study.ask(LINE)
    found = view.latest(study)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("seconds", "limit"),
    [
        ([], math.inf),  # nothing is known of how long a trial takes
        ([0.1], 5.0),
        ([1.6], 5.0),
        ([10.0], 30.0),
        ([0.1, 10.0, 2.0], 30.0),  # the longest one counts
    ],
)
def test_a_trial_is_overdue_after_three_times_the_longest_and_five_seconds(
    seconds: list[float], limit: float
) -> None:
    assert seen_after(seconds).limit(None) == pytest.approx(limit, rel=0.01)


def test_the_users_limit_counts_where_there_is_one() -> None:
    assert seen_after([10.0]).limit(0.25) == 0.25
    assert seen_after([]).limit(7.0) == 7.0


def test_failed_trials_say_nothing_about_how_long_a_trial_takes() -> None:
    assert seen_after([10.0], TrialState.FAIL).limit(None) == math.inf


def test_only_trials_that_run_for_longer_are_overdue(monkeypatch: pytest.MonkeyPatch) -> None:
    found = seen_after([10.0])
    (held,) = (id for id in found.replay.open if found._claims(id))
    began = next(iter(found._since.values()))
    for later, overdue in ((29.0, []), (31.0, [held])):
        monkeypatch.setattr("time.monotonic", lambda later=later: began + later)
        assert found.overdue(None) == overdue


def test_an_evaluation_is_overdue_only_when_all_that_claim_it_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While claims are being settled, two trials may hold the same evaluation."""
    found = seen_after([10.0])
    (held,) = (id for id in found.replay.open if found._claims(id))
    ((number, trial),) = found._claims(held).items()
    twin = optuna.trial.create_trial(state=TrialState.RUNNING, system_attrs=trial.system_attrs)
    twin.number = number + 1
    found._running[held][twin.number] = twin
    began = found._since[number]
    found._since[twin.number] = began + 20.0
    for later, overdue in ((31.0, []), (51.0, [held])):
        monkeypatch.setattr("time.monotonic", lambda later=later: began + later)
        assert found.overdue(None) == overdue
