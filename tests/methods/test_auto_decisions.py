"""auto: the rules by which the model hands over, one by one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.gp import search
from noisewise.methods import Auto
from noisewise.methods.method import Handover, Now


def pure_noise(trial: nw.Trial) -> float:
    return float(np.random.default_rng([trial.id, 3]).normal())


def foretold(
    d: int, n: int, in_order: bool, apart: float = 50.0, measured: int | None = None
) -> Any:
    """The memory of a model in ``d`` dimensions that predicted ``n`` values, far apart, whose order
    turned out to be the expected one or the opposite; it has ``measured`` twelve per dimension."""
    memory: Any = Auto().start(support.setup(d, 200))
    means = apart * np.arange(float(n))
    told = np.column_stack([means, np.ones(n), means if in_order else -means])
    X = np.random.default_rng(0).random((12 * d if measured is None else measured, d))
    seen = memory.model.measured.add(X, X.sum(axis=1))
    memory.model = replace(memory.model, told=told, measured=seen)
    return memory


def test_the_model_hands_over_after_twelve_evaluations_per_dimension() -> None:
    for measured, lost in ((71, False), (72, True)):
        memory = foretold(6, 10, False, measured=measured)
        assert Auto()._lost(memory, Now(ENOUGH, 200), 6) == lost


#: Eight generations of 4 + 3 ln 6 candidates.
ENOUGH = 76


@pytest.mark.parametrize(
    ("d", "n", "in_order", "free", "lost"),
    [
        (6, 10, False, ENOUGH, True),  # 45 pairs, all of them wrong
        (6, 10, True, ENOUGH, False),  # it predicts
        (10, 10, True, 500, False),
        (6, 9, False, ENOUGH, False),  # 36 pairs say too little
        (6, 10, False, ENOUGH - 1, False),  # too little is left for the strategy
        (5, 10, False, ENOUGH, False),  # the strategy would need more evaluations than there are
        (10, 10, False, 88, True),  # eight generations of 4 + 3 ln 10: 87.3
        (10, 10, False, 87, False),
    ],
)
def test_the_model_is_lost_where_it_does_not_predict_and_there_is_time(
    d: int, n: int, in_order: bool, free: int, lost: bool
) -> None:
    memory = foretold(d, n, in_order)
    assert Auto()._lost(memory, Now(free, 200), d) == lost


@pytest.mark.parametrize(("rate", "lost"), [(0.2, True), (0.3, False)])
def test_a_quarter_of_the_expected_order_is_enough(
    rate: float, lost: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "agreement", lambda model: (rate, 41.0))
    assert Auto()._lost(foretold(6, 3, True), Now(100, 200), 6) == lost


def test_what_a_model_expected_of_its_predictions() -> None:
    """Three values told: pairs that it was sure of count one, pairs it knew nothing of none."""
    memory = foretold(6, 3, in_order=True).model
    assert search.agreement(memory) == (pytest.approx(1.0), pytest.approx(3.0))
    wrong = foretold(6, 3, in_order=False).model
    assert search.agreement(wrong)[0] == pytest.approx((1.0 - 3.0) / (1.0 + 3.0))
    unsure = foretold(6, 3, in_order=True, apart=0.0).model
    assert search.agreement(unsure) == (pytest.approx(1.0), pytest.approx(0.0))
    # One pair, one standard deviation of the difference apart: 2 Phi(1) - 1 is expected.
    one = replace(memory, told=np.array([[1.0, 3.0, 5.0], [6.0, 4.0, 6.0]]))
    assert search.agreement(one)[1] == pytest.approx(0.6826894921)
    equal = replace(memory, told=np.array([[1.0, 3.0, 5.0], [6.0, 4.0, 5.0]]))
    assert search.agreement(equal) == (1.0, 0.0)


@pytest.mark.parametrize("d", [6, 10])
def test_a_model_that_predicts_stays_in_many_dimensions(d: int) -> None:
    """There would be time to hand over, and pairs enough to tell."""
    opt = support.start(Auto(), d, 170, confirm=0, bounds=(-5.0, 5.0))
    while opt.spent < 40:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x @ trial.x))
    memory = opt._run.memory
    rate, pairs = search.agreement(memory.model)
    assert rate > 0.25
    assert pairs > 40.0
    assert support.handed_over(opt) == 0


@pytest.mark.parametrize(("seeds", "kept"), [(None, True), ("common", False)])
def test_values_of_different_seeds_are_not_compared_when_the_model_hands_over(
    seeds: str | None, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each seed adds a number of its own to all values: the smallest is not the best."""
    monkeypatch.setattr(Auto, "_lost", lambda self, model, now, d: now.free <= 130)
    opt = support.start(Auto(), 6, 150, confirm=0, bounds=(-5.0, 5.0), seeds=seeds)
    while not support.handed_over(opt):
        for trial in opt.ask():
            opt.tell(trial.id, pure_noise(trial))
    assert (len(opt._run.memory.best.values) > 0) == kept


@pytest.mark.parametrize(
    ("d", "budget", "learnt", "extended", "stays"),
    [
        (6, 100, 40, 300, True),  # few evaluations still
        (6, 100, 40, 301, False),  # more than the model is in charge of, and most of it is left
        (6, 290, 160, 319, True),  # less than half of it is left
        (2, 150, 40, 1000, True),  # one that it may keep
        (2, 150, 40, 1001, False),
    ],
)
def test_more_budget_can_make_a_run_too_long_for_the_model(
    d: int, budget: int, learnt: int, extended: int, stays: bool
) -> None:
    method = Auto()
    memory: Any = method.start(support.setup(d, budget))
    memory.learnt = learnt
    found = method.resume(memory, support.setup(d, extended))
    assert (found is memory) == stays
    assert memory.setup.budget == extended
    if isinstance(found, Handover):
        assert found.memory.budget == extended - learnt


def test_the_strategy_in_charge_goes_on_with_more_budget() -> None:
    opt = support.start(Auto(), 12, 400, confirm=0)
    support.drive(opt)
    opt.extend(3600)
    opt.ask()
    assert opt._run.memory.budget == 4000


def opened(**changes: Any) -> Any:
    """A memory whose model opens a run of 400 evaluations in two dimensions."""
    memory: Any = Auto().start(support.setup(2, 400))
    for name, value in changes.items():
        setattr(memory, name, value)
    return memory


@pytest.mark.parametrize(
    ("learnt", "share", "reason"),
    [
        (14, 0.9, ""),  # nothing is known of the noise before 15 values
        (15, 0.9, "a model explained too little"),
        (15, 0.11, "a model explained too little"),
        (15, 0.09, ""),
        (15, math.nan, "nothing had succeeded"),
    ],
)
def test_why_the_strategy_begins_anew(
    learnt: int, share: float, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "noise_share", lambda model: share)
    memory = opened(learnt=learnt)
    X = np.random.default_rng(0).random((6, 2))
    memory.model = search.learn(memory.model, X, X.sum(axis=1))
    assert Auto()._why_anew(memory) == reason


@pytest.mark.parametrize(
    ("budget", "name", "share", "surprise", "blind", "keeps"),
    [
        (400, "none", 0.3, 0.7, False, True),
        (1000, "none", 0.3, 0.7, False, True),
        (1001, "none", 0.3, 0.7, False, False),  # more than it remembers
        (400, "log", 0.3, 0.7, False, False),  # noise falls with the values
        (400, "none", 0.004, 0.7, False, False),  # no noise to average
        (400, "none", 0.006, 0.7, False, True),
        (400, "none", 0.3, 0.34, False, False),  # a few outliers among exact values
        (400, "none", 0.3, 0.36, False, True),
        (400, "none", 0.3, 0.7, True, False),  # it has found nothing but noise
    ],
)
def test_what_the_model_keeps(
    budget: int,
    name: str,
    share: float,
    surprise: float,
    blind: bool,
    keeps: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "noise_share", lambda model: share)
    monkeypatch.setattr(search, "usual_surprise", lambda model: surprise)
    monkeypatch.setattr(search, "blind", lambda model: blind)
    memory = opened(setup=support.setup(2, budget))
    X = np.random.default_rng(0).random((6, 2))
    model = search.learn(memory.model, X, X.sum(axis=1))
    memory.model = replace(model, fit=replace(model.fit, name=name))
    assert Auto()._keeps(memory) == keeps
    flat = search.learn(opened().model, X, np.ones(6))
    memory.model = replace(flat, fit=replace(flat.fit, name=name))
    assert not Auto()._keeps(memory)  # all values are equal
