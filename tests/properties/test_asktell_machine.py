"""Ask, tell, save, load, crash, fail, tell twice, stop: in any order, the books balance.

Beside the run, two others see the same events: a journal, from which the run is loaded as after a
crash, and a twin that is never saved. All three are the same, to the bit.
"""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import noisewise as nw
import support
from noisewise.loop.checkpoint import Journal
from noisewise.methods import Method
from noisewise.problem.values import Value
from noisewise.run.run import BUDGET_SPENT

#: One of each kind of plan, adaptation and recommender.
_METHODS = [
    support.with_population(support.METHODS[name], 5)
    for name in ("watchful", "cma-es", "resample", "racing", "uh-cma-es", "rb-pem", "probe-switch")
] + [support.METHODS["auto"]]


class AskAndTell(RuleBasedStateMachine):
    """A user who does everything that a user may do, and some things that he may not."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.path = Path(self.folder.name) / "run"
        self.journal = Journal(Path(self.folder.name) / "journal")

    def teardown(self) -> None:
        try:
            if hasattr(self, "opt"):
                self.to_the_end()
        finally:
            self.journal.close()
            self.folder.cleanup()

    @initialize(
        method=st.sampled_from(_METHODS),
        budget=st.integers(1, 90),
        how=st.sampled_from([{"workers": 1}, {"workers": 3}, {"workers": 8}, {"batch": 4}]),
        share=st.sampled_from([0.0, 0.2, None]),
        seeds=st.sampled_from([None, None, "common"]),
    )
    def begin(
        self,
        method: Method,
        budget: int,
        how: dict[str, int],
        share: float | None,
        seeds: str | None,
    ) -> None:
        self.budget = budget
        self.opt, self.twin = (
            nw.Optimizer(
                [2.0, -1.0],
                sigma0=1.0,
                budget=budget,
                rng=0,
                method=method,
                confirm="auto" if share is None else int(share * budget),
                seeds=seeds,
                **how,
            )
            for _ in range(2)
        )
        self.journal.open(self.opt.method, self.opt._run, self.opt.extra, self.opt.about)
        #: Handed out and not told; told; failures.
        self.held: dict[int, Any] = {}
        self.points: dict[int, bytes] = {}
        self.told: set[int] = set()
        self.failures = 0

    @rule(n=st.one_of(st.none(), st.integers(1, 7)))
    def ask(self, n: int | None) -> None:
        trials = self.opt.ask(n)
        assert n is None or len(trials) <= n
        new = [trial.id for trial in trials if trial.id not in self.points]
        if new:
            assert [trial.id for trial in self.twin.ask(len(new))] == new
        if trials:
            self.journal.asked(len(trials), self.opt._run.handed)
        for trial in trials:
            assert trial.id not in self.told
            assert self.points.setdefault(trial.id, trial.x.tobytes()) == trial.x.tobytes()
            self.held[trial.id] = trial
        if not self.opt.done and not trials:
            assert self.held  # somebody is waited for

    def tell(self, ids: list[int], values: list[float], se: float | None = None) -> None:
        for id in ids:
            del self.held[id]
        told = [
            Value(id, y if y < math.inf else math.inf, se)
            for id, y in zip(ids, values, strict=True)
        ]
        self.journal.append(told)
        for opt in (self.opt, self.twin):
            opt.tell(ids, values, None if se is None else [se] * len(ids))
        self.told.update(ids)
        self.failures += sum(not y < math.inf for y in values)

    def to_the_end(self) -> None:
        """Everything is handed out once, nothing is lost, and the twin has come to the same."""
        while not self.opt.done:
            self.ask(None)
            if self.held:
                id = max(self.held)
                self.tell([id], [support.noisy(self.held[id])])
            self.the_books_balance()
        self.twin._run.hand_out_again()
        self.opt._run.hand_out_again()
        assert support.data_of(self.opt) == support.data_of(self.twin)
        if self.opt.result().status == BUDGET_SPENT:
            assert sorted(self.points) == sorted(self.told) == list(range(self.budget))

    def _pick(self, which: int) -> int:
        return sorted(self.held)[which % len(self.held)]

    @precondition(lambda self: self.held and not self.opt.done)
    @rule(which=st.integers(0, 30), se=st.sampled_from([None, None, 0.5]))
    def tell_one(self, which: int, se: float | None) -> None:
        id = self._pick(which)
        self.tell([id], [support.noisy(self.held[id])], se)

    @precondition(lambda self: self.held and not self.opt.done)
    @rule(count=st.integers(1, 12))
    def tell_several(self, count: int) -> None:
        ids = sorted(self.held, reverse=True)[:count]
        self.tell(ids, [support.noisy(self.held[id]) for id in ids])

    @precondition(lambda self: self.held and not self.opt.done)
    @rule(which=st.integers(0, 30), value=st.sampled_from([math.nan, math.inf]))
    def fail(self, which: int, value: float) -> None:
        self.tell([self._pick(which)], [value])

    @precondition(lambda self: self.told)
    @rule(which=st.integers(0, 30))
    def tell_twice(self, which: int) -> None:
        before = support.data_of(self.opt)
        with pytest.raises(ValueError, match=r"already told"):
            self.opt.tell(sorted(self.told)[which % len(self.told)], 1.0)
        assert support.data_of(self.opt) == before

    @precondition(lambda self: self.held and not self.opt.done)
    @rule(value=st.sampled_from(["text", None, [1.0, 2.0], 1j]))
    def tell_nonsense(self, value: Any) -> None:
        before = support.data_of(self.opt)
        with pytest.raises((ValueError, TypeError)):
            self.opt.tell(min(self.held), value)
        with pytest.raises(ValueError, match="must come from ask"):
            self.opt.tell(10**6, 1.0)
        assert support.data_of(self.opt) == before

    @rule()
    def save_and_load(self) -> None:
        """As after a crash: what was handed out may be handed out again, and still be told."""
        self.opt.save(self.path)
        self.opt._run.hand_out_again()
        before = support.data_of(self.opt)
        self.opt = nw.Optimizer.load(self.path)
        assert support.data_of(self.opt) == before
        self.journal.open(self.opt.method, self.opt._run, self.opt.extra, self.opt.about)

    @rule()
    def crash(self) -> None:
        """As above, with what the journal has seen. What was asked for after the last value is not
        in there, and is handed out when it is asked for again."""
        if self.journal._waiting:
            self.journal.append([])
        self.opt._run.hand_out_again()
        before = support.data_of(self.opt)
        self.opt = nw.Optimizer.load(self.journal.path)
        assert support.data_of(self.opt) == before
        self.journal.open(self.opt.method, self.opt._run, self.opt.extra, self.opt.about)

    @precondition(lambda self: len(self.told) > 60)
    @rule()
    def stop(self) -> None:
        self.opt.stop()
        self.twin.stop()
        assert self.opt.done
        assert self.opt.ask() == []

    @invariant()
    def the_books_balance(self) -> None:
        if not hasattr(self, "opt"):
            return
        assert self.opt.spent == len(self.told) <= self.budget
        assert len(self.points) <= self.budget
        assert self.opt.remaining >= 0
        result = self.opt.result()
        assert result.n_failures == self.failures
        assert np.isfinite(result.x).all()


@pytest.fixture(autouse=True)
def _no_flushing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda fd: None)


AskAndTell.TestCase.settings = settings(max_examples=25, stateful_step_count=40)
TestAskAndTell = pytest.mark.untraced(AskAndTell.TestCase)
