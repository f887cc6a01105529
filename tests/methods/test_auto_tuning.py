"""The rule by which `auto` chooses who is in charge, and what a short run keeps and takes in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.gp import answer, search
from noisewise.methods import Auto
from noisewise.methods.auto_tuning import AutoTuning
from noisewise.run.reserve import reserve


@pytest.mark.parametrize(
    ("d", "budget", "searches"),
    [
        (2, 4, True),  # two evaluations per parameter
        (2, 3, False),
        (7, 14, True),
        (8, 39, False),  # five per parameter from eight on
        (8, 40, True),
        (10, 300, True),
        (10, 301, False),
        (11, 100, False),
        (1, 101, False),
    ],
)
def test_where_the_model_searches_alone(d: int, budget: int, searches: bool) -> None:
    assert AutoTuning().searches(support.setup(d, budget)) == searches


def test_evaluations_of_the_last_phase_count() -> None:
    setup = replace(support.setup(2, 3), confirm=1)
    assert AutoTuning().searches(setup)


@pytest.mark.parametrize(
    ("d", "budget", "opening"),
    [
        (2, 200, 0),  # searched by the model alone
        (2, 201, 100),
        (2, 400, 100),
        (5, 400, 125),
        (5, 301, 125),
        (6, 400, 200),
        (10, 1000, 500),
        (10, 1001, 0),
        (11, 400, 0),
        (3, 10_000, 100),
    ],
)
def test_for_how_long_the_model_opens(d: int, budget: int, opening: int) -> None:
    assert AutoTuning().opening_of(support.setup(d, budget)) == opening
    common = replace(support.setup(d, budget), common=True)
    assert AutoTuning().opening_of(common) == 0
    compares = replace(support.setup(d, budget), compares=True)
    assert AutoTuning().opening_of(compares) == (opening if d <= 5 else 0)


def test_the_model_of_many_parameters_is_not_given_up_for_noise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(search, "noise_share", lambda model: 0.9)
    for d, anew in ((5, True), (6, False)):
        memory: Any = Auto().start(support.setup(d, 400))
        memory.learnt = 100
        X = np.random.default_rng(0).random((12, d))
        memory.model = search.learn(memory.model, X, X.sum(axis=1))
        assert bool(Auto()._why_anew(memory)) == anew


@pytest.mark.parametrize(
    ("budget", "d", "kept"),
    [(19, 2, False), (20, 2, True), (99, 10, False), (100, 10, True), (60, 11, True)],
)
def test_nothing_is_kept_where_every_evaluation_matters(budget: int, d: int, kept: bool) -> None:
    assert (sum(reserve(budget, d)) > 0) == kept


@pytest.mark.parametrize(("budget", "points"), [(4, 3), (12, 4), (21, 7), (30, 10), (300, 10)])
def test_the_start_design_takes_a_third_at_most(budget: int, points: int) -> None:
    low, high = np.zeros(5), np.ones(5)
    memory = search.start(low, high, np.full(5, 0.5), 0.3, budget=budget)
    assert memory.design == points


def valley(d: int) -> search.Memory:
    """A steep bowl without noise, whose values need a logarithm."""
    X = np.random.default_rng(5).random((40, d))
    memory = search.start(np.zeros(d), np.ones(d), np.full(d, 0.5), 0.3)
    return search.learn(memory, X, np.exp(8.0 * ((X - 0.3) ** 2).sum(axis=1)))


@pytest.mark.parametrize(("d", "misfit"), [(2, False), (3, True)])
def test_where_values_need_a_logarithm_the_answer_moves_towards_the_best(
    d: int, misfit: bool
) -> None:
    memory = answer.settled(valley(d))
    assert memory.misfit == misfit
    x = answer.minimum(memory, search.modelled(memory).posterior)
    found = answer.recommend(memory).x
    assert (np.abs(found - x).max() > 1e-9) == misfit


def test_the_answer_is_settled_when_the_search_has_no_evaluation_left() -> None:
    opt = nw.Optimizer([0.5] * 3, budget=30, bounds=(0.0, 1.0), rng=1, confirm=0, method="gp")
    while not opt.done:
        assert not opt._run.memory.model.misfit
        for trial in opt.ask():
            opt.tell(trial.id, float(np.exp(8.0 * ((trial.x - 0.3) ** 2).sum())))
    assert opt._run.memory.model.misfit
