"""Another method goes on: what the run keeps of the one before it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.methods import CMAES, Resample
from noisewise.plugin import EvolutionMemory, Explanation, Handover, Info, Method, Setup, data


@data
@dataclass(frozen=True, kw_only=True)
class Relay(CMAES):
    """CMA-ES that leaves the search to other methods after some generations."""

    name: ClassVar[str] = "relay"
    columns: ClassVar[tuple[str, ...]] = ("sigma", "leg")

    leg: int = 1
    legs: int = 2

    @property
    def successors(self) -> tuple[Method, ...]:
        further = Relay(leg=self.leg + 1, legs=self.legs)
        return (Resample(k=2), further) if self.leg < self.legs else (Resample(k=2),)

    def learn(self, memory: Any, population: Any, now: Any, rng: Any) -> tuple[Any, Info]:
        memory, info = super().learn(memory, population, now, rng)
        row = Info((info.row[0], float(self.leg)))
        if memory.generation < 3 * self.leg:
            return memory, row
        last = self.successors[-1]
        setup = support.setup(len(memory.state.mean), now.free)
        inner = last.start(setup, self.distribution(memory))
        if isinstance(inner, EvolutionMemory) and isinstance(last, Relay):
            inner.generation = memory.generation
        return Handover(last, inner, f"leg {self.leg} ended", [f"warned by {self.leg}"], "old"), row

    def explain(self, memory: Any) -> Explanation:
        return Explanation("running")


@data
@dataclass(frozen=True, kw_only=True)
class Never(CMAES):
    """Hands over before its first generation."""

    name: ClassVar[str] = "never"

    @property
    def successors(self) -> tuple[Method, ...]:
        return (CMAES(),)

    def start(self, setup: Setup, distribution: Any = None) -> Any:
        return Handover(CMAES(), CMAES().start(setup, distribution))


@pytest.mark.parametrize("legs", [1, 2, 3])
def test_methods_take_turns_and_the_result_says_so(legs: int) -> None:
    opt = support.start(Relay(legs=legs), budget=150, confirm=0)
    support.drive(opt)
    r = opt.result()
    assert isinstance(opt.in_charge, Resample)
    assert (opt.method, r.method) == (Relay(legs=legs), "relay")
    said = "; ".join(f"leg {i + 1} ended" for i in range(legs))
    assert said in r.message
    assert "running" not in r.message
    assert [w for w in r.warnings if "warned" in w] == [f"warned by {i + 1}" for i in range(legs)]


def test_the_history_keeps_the_columns_of_the_chosen_method() -> None:
    """What another one does not know is nan."""
    opt = support.start(Relay(), budget=150, confirm=0)
    support.drive(opt)
    history = opt.result().history
    assert history["leg"][:6].tolist() == [1.0] * 3 + [2.0] * 3
    assert np.isnan(history["leg"][6:]).all()
    assert (history["sigma"] > 0.0).all()
    assert "mu_eff" not in history


def test_the_search_goes_on_from_the_distribution() -> None:
    opt = support.start(Relay(legs=1), budget=200, confirm=0)
    while not opt._run.handovers:
        before = opt._run.memory
        for trial in opt.ask():
            opt.tell(trial.id, support.noisy(trial))
    after = opt._run.memory
    assert after is not before
    assert after.state.sigma == before.state.sigma
    assert after.state.mean.tolist() == before.state.mean.tolist()
    assert support.handed_over(opt) == opt.spent


def test_a_run_that_was_handed_over_goes_on_after_it_was_saved(tmp_path: Path) -> None:
    parts: list[nw.Optimizer] = []

    def through_a_file(opt: nw.Optimizer) -> nw.Optimizer:
        opt.save(tmp_path / "run")
        parts.append(nw.Optimizer.load(tmp_path / "run"))
        return parts[-1]

    whole, first = (support.start(Relay(legs=3), budget=150) for _ in range(2))
    assert support.drive(first, after_tell=through_a_file) == support.drive(whole)
    assert isinstance(parts[-1].in_charge, Resample)
    assert support.same_result(parts[-1].result(), whole.result())


def test_a_method_may_hand_over_before_it_begins() -> None:
    """The run is that of the other method, and nothing was learnt before."""
    pair = [support.start(method, budget=60) for method in (Never(), CMAES())]
    assert support.drive(pair[0]) == support.drive(pair[1])
    assert support.handed_over(pair[0]) == 0
    assert math.isclose(pair[0].result().fun, pair[1].result().fun, rel_tol=0.0)
