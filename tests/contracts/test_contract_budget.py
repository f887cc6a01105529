"""More budget: a run goes on, spends all of it, and resumes exactly, for every method."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noisewise as nw
import support
from noisewise.methods import CMAES, GP, Auto, Method, Watchful
from noisewise.methods.auto import AutoMemory
from noisewise.run.run import BUDGET_SPENT, STOPPED


@pytest.fixture(autouse=True)
def _no_flushing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda fd: None)


def through_a_file(opt: nw.Optimizer, path: Path) -> nw.Optimizer:
    opt.save(path)
    return nw.Optimizer.load(path, opt.method)


def run(
    opt: nw.Optimizer,
    grants: dict[int, int],
    between: Callable[[nw.Optimizer], nw.Optimizer] = lambda opt: opt,
) -> tuple[nw.Optimizer, list[bytes]]:
    """Tell one value at a time; after so many tells (``grants``) so many evaluations more."""
    asked: dict[int, bytes] = {}
    for told in itertools.count():
        if told in grants:
            opt = between(opt)
            opt.extend(grants[told])
            opt = between(opt)
        if opt.done:
            return opt, [asked[id] for id in sorted(asked)]
        first = opt.ask(1)
        trial = first[0] if first else None
        assert trial is not None
        asked[trial.id] = trial.x.tobytes()
        opt.tell(trial.id, support.noisy(trial))
        opt = between(opt)


@pytest.mark.parametrize("grants", [{17: 13}, {28: 13}, {30: 2, 32: 11}])
def test_a_longer_run_spends_all_and_resumes_exactly(
    method: Method, grants: dict[int, int], tmp_path: Path
) -> None:
    """In the search, in the last phase and after the end."""
    confirm: Any = "auto" if 28 in grants else 3
    straight, asked = run(support.start(method, d=2, budget=30, confirm=confirm), grants)
    assert (straight.spent, straight.budget, straight.done) == (43, 43, True)
    assert len(asked) == 43
    assert straight.result().status == BUDGET_SPENT

    def now_and_then(opt: nw.Optimizer) -> nw.Optimizer:
        return through_a_file(opt, tmp_path / "run") if opt.spent % 7 in (0, 3) else opt

    opt = support.start(method, d=2, budget=30, confirm=confirm)
    opt, again = run(opt, grants, now_and_then)
    assert again == asked
    assert support.data_of(opt) == support.data_of(straight)


@settings(max_examples=12, deadline=None)
@given(
    name=st.sampled_from(["watchful", "psa-cma-es", "probe-switch", "uh-cma-es", "racing"]),
    grants=st.dictionaries(st.integers(0, 40), st.integers(1, 60), max_size=3),
    confirm=st.sampled_from([0, 4, "auto"]),
    seed=st.integers(0, 99),
)
def test_the_ledger_holds_whatever_is_granted(
    name: str, grants: dict[int, int], confirm: Any, seed: int
) -> None:
    opt = support.start(nw.methods.get(name), d=2, budget=40, confirm=confirm, rng=seed)
    opt, _ = run(opt, grants)
    run_ = opt._run
    assert (run_.untold, run_.parts) == (0, [])
    assert run_.ledger.told == run_.ledger.charged == opt.budget
    assert opt.spent == opt.budget == 40 + sum(grants.values())
    assert run_.setup.budget >= run_.ledger.base + run_.ledger.reevaluation


def test_a_finished_run_searches_on_and_measures_its_new_answer() -> None:
    opt = support.start(CMAES(population=6), budget=60, confirm=10)
    support.drive(opt)
    before, old = opt.result(), opt._run.confirmed
    opt.extend(60)
    assert not opt.done
    assert opt.result().interval == before.interval  # until the search moves on
    support.drive(opt)
    after = opt.result()
    assert after.x.tolist() != before.x.tolist()
    assert (after.nfev, opt._run.ledger.confirmation) == (120, 20)
    assert len(opt._run.confirmed) == 10
    assert not np.isin(opt._run.confirmed, old).any()


def test_a_few_more_evaluations_measure_the_same_point_again() -> None:
    opt = support.start(CMAES(population=6), budget=60, confirm=10)
    support.drive(opt)
    before = opt.result()
    opt.extend(10)
    support.drive(opt)
    after = opt.result()
    assert after.x.tolist() == before.x.tolist()
    assert len(opt._run.confirmed) == 20
    assert after.fun_se < before.fun_se


def test_in_the_middle_of_the_search_no_estimate_is_left_over() -> None:
    opt = support.start(CMAES(population=6), budget=60, confirm=10)
    support.drive(opt)
    opt.extend(60)
    for trial in opt.ask():
        opt.tell(trial.id, support.noisy(trial))
    assert opt.result().estimate == "unknown"


def test_a_run_that_was_stopped_or_gave_up_goes_on() -> None:
    opt = support.start(CMAES(population=6), budget=60)
    held = opt.ask()
    opt.tell(held[0].id, 1.0)
    opt.stop()
    for trial in held[1:]:
        opt.tell(trial.id, 1.0)
    assert (opt.done, opt.result().status) == (True, STOPPED)
    opt.extend(10)
    assert opt.generation == 1
    support.drive(opt)
    assert (opt.spent, opt.result().status) == (70, BUDGET_SPENT)
    failing = support.start(CMAES(population=6), budget=200)
    support.drive(failing, value=lambda trial: float("nan"))
    assert failing.gave_up
    failing.extend(1)
    support.drive(failing)
    assert failing.spent == 201


def test_what_adapts_to_the_new_length() -> None:
    strategy = support.start(Watchful(), d=3, budget=200, confirm=0)
    support.drive(strategy)
    largest = strategy._run.memory.largest
    assert strategy._run.memory.state.covariance.C.ndim == 1
    strategy.extend(2000)
    strategy.ask()
    memory = strategy._run.memory
    assert memory.largest > largest
    assert memory.state.covariance.C.ndim == 2
    assert memory.best.capacity == 200
    for more, hands_over in ((30, False), (1000, True)):
        opt = support.start(Auto(), d=2, budget=60, confirm=0)
        support.drive(opt)
        opt.extend(more)
        opt.ask()
        assert isinstance(opt._run.memory, AutoMemory) != hands_over
    assert isinstance(GP().resume(memory, opt._run.setup), type(memory))


def test_values_that_a_model_waits_for_reach_the_strategy_that_takes_over() -> None:
    opt = support.start(Auto(), d=2, budget=40, confirm=0, workers=4, rng=1)
    held: list[nw.Trial] = []
    while opt.spent < 36:
        for trial in opt.ask():
            if not held and opt.spent > 20 and trial.kind == "candidate":
                held.append(trial)
            else:
                opt.tell(trial.id, support.noisy(trial))
    assert held
    opt.extend(1000)
    while not opt.done:
        for trial in opt.ask() or held[:1]:
            opt.tell(trial.id, support.noisy(trial))
            held = [one for one in held if one.id != trial.id]
    assert not isinstance(opt._run.memory, AutoMemory)
    assert (opt.spent, opt._run.parts) == (1040, [])


@pytest.mark.parametrize("told", [7, 24, 30, 37])
def test_more_budget_while_trials_are_under_way(method: Method, told: int) -> None:
    """With workers, in the search, in the last phase and while the last values come in."""
    budget = support.affordable(method, 60, most=38)
    opt = support.start(method, d=2, budget=budget, confirm=6, workers=5)
    rng = np.random.default_rng(told)
    held: list[nw.Trial] = []
    ids: list[int] = []
    while not opt.done:
        more = opt.ask()
        ids += [t.id for t in more]
        held += more
        trial = held.pop(int(rng.integers(len(held))))
        opt.tell(trial.id, support.noisy(trial))
        if opt.spent == told:
            opt.extend(12)
    assert sorted(ids) == list(range(budget + 12))
    assert (opt.spent, opt.budget) == (budget + 12, budget + 12)
    assert opt.result().status == BUDGET_SPENT


class Budgeted:
    """Calls of minimize on one file; the objective stops the process at some calls."""

    def __init__(self, path: Path, stops: list[int]) -> None:
        self.path, self.stops, self.calls = path, stops, 0

    def __call__(self, x: Any) -> float:
        self.calls += 1
        if self.calls in self.stops:
            raise KeyboardInterrupt
        return support.bumpy(x)

    def run(self, budget: int) -> nw.Result:
        return nw.minimize(
            self,
            [2.0] * 3,
            sigma0=1.0,
            budget=budget,
            rng=0,
            method="watchful",
            checkpoint=self.path,
            interrupt="return",
        )


@pytest.mark.parametrize("stops", [[30], [60], [75], [20, 80, 99]])
def test_minimize_goes_on_whenever_it_was_killed(tmp_path: Path, stops: list[int]) -> None:
    whole = Budgeted(tmp_path / "whole", [])
    whole.run(70)
    expected = whole.run(120)
    part = Budgeted(tmp_path / "part", stops)
    while part.run(70).status != BUDGET_SPENT:
        pass
    while (found := part.run(120)).status != BUDGET_SPENT:
        pass
    assert found.nfev == 120
    assert support.same_result(found, expected)


def test_a_budget_that_is_spent_already_is_refused(tmp_path: Path) -> None:
    fun = Budgeted(tmp_path / "run", [50])
    fun.run(100)
    with pytest.raises(nw.CheckpointError, match=r"at least \d\d, .* has used already, got 20"):
        fun.run(20)
    assert fun.run(60).nfev == 60  # a smaller one will do
    with pytest.raises(ValueError, match="n must be"):
        support.start(CMAES()).extend(0)
