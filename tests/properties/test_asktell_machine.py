"""Ask, tell, save, load, fail, tell twice, tell late, stop: in any order, the books balance."""

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
from noisewise.methods import Method

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

    def teardown(self) -> None:
        self.folder.cleanup()

    @initialize(
        method=st.sampled_from(_METHODS),
        budget=st.integers(1, 90),
        workers=st.sampled_from([1, 3]),
        lookahead=st.integers(0, 6),
        late=st.integers(0, 3),
        share=st.sampled_from([0.0, 0.2, None]),
    )
    def begin(
        self,
        method: Method,
        budget: int,
        workers: int,
        lookahead: int,
        late: int,
        share: float | None,
    ) -> None:
        self.budget = budget
        self.opt = nw.Optimizer(
            [2.0, -1.0],
            sigma0=1.0,
            budget=budget,
            rng=0,
            method=method,
            workers=workers,
            lookahead=lookahead,
            late=late,
            confirm="auto" if share is None else int(share * budget),
        )
        #: Handed out and not told; told; failures.
        self.held: dict[int, Any] = {}
        self.points: dict[int, bytes] = {}
        self.told: set[int] = set()
        self.failures = 0

    @rule(n=st.one_of(st.none(), st.integers(1, 7)))
    def ask(self, n: int | None) -> None:
        trials = self.opt.ask(n)
        assert n is None or len(trials) <= n
        for trial in trials:
            assert trial.id not in self.told
            assert self.points.setdefault(trial.id, trial.x.tobytes()) == trial.x.tobytes()
            self.held[trial.id] = trial
        if not self.opt.done and not trials:
            assert self.held  # somebody is waited for

    def _tell(self, which: int, value: float | None, se: float | None = None) -> None:
        id = sorted(self.held)[which % len(self.held)]
        trial = self.held.pop(id)
        self.opt.tell(id, support.noisy(trial) if value is None else value, se)
        self.told.add(id)

    @precondition(lambda self: self.held and not self.opt.done)
    @rule(which=st.integers(0, 30), se=st.sampled_from([None, None, 0.5]))
    def tell_one(self, which: int, se: float | None) -> None:
        self._tell(which, None, se)

    @precondition(lambda self: self.held and not self.opt.done)
    @rule(count=st.integers(1, 12))
    def tell_several(self, count: int) -> None:
        ids = sorted(self.held, reverse=True)[:count]
        self.opt.tell(ids, [support.noisy(self.held.pop(id)) for id in ids])
        self.told.update(ids)

    @precondition(lambda self: self.held and not self.opt.done)
    @rule(which=st.integers(0, 30), value=st.sampled_from([math.nan, math.inf]))
    def fail(self, which: int, value: float) -> None:
        self._tell(which, value)
        self.failures += 1

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
        before = support.data_of(self.opt)
        self.opt = nw.Optimizer.load(self.path)
        assert support.data_of(self.opt) == before

    @precondition(lambda self: len(self.told) > 60)
    @rule()
    def stop(self) -> None:
        self.opt.stop()
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


AskAndTell.TestCase.settings = settings(max_examples=25, stateful_step_count=40)
TestAskAndTell = pytest.mark.untraced(AskAndTell.TestCase)
