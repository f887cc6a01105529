"""Which branch runs the next generation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from noisewise._data import data
from noisewise.core.strategy import Info, State
from noisewise.generation import Adaptation, Controls, Generation, Parts, Setup
from noisewise.selection.switch import HIGH, LOW, PROBE, measured


@data
@dataclass(slots=True)
class SwitchMemory:
    """Memories of the two branches, their controls, and probes done."""

    low: Any
    high: Any
    low_controls: Controls
    high_controls: Controls
    probes: int = 0


@dataclass(frozen=True)
class Switch(Adaptation):
    """P >= threshold: high, else low. Probes again when the spent fraction of the budget passes
    each entry of ``reprobe``."""

    threshold: float
    warm_start: bool
    reprobe: tuple[float, ...]
    low: Parts
    high: Parts
    low_controls: Controls
    high_controls: Controls

    def start(self, setup: Setup) -> SwitchMemory:
        return SwitchMemory(
            self.low.adaptation.start(setup),
            self.high.adaptation.start(setup),
            replace(self.low_controls, branch=LOW),
            replace(self.high_controls, branch=HIGH),
        )

    def step(
        self, memory: SwitchMemory, gen: Generation, before: State, after: State, info: Info
    ) -> tuple[SwitchMemory, Controls, State]:
        branch = gen.controls.branch
        if branch == PROBE:
            branch = HIGH if measured(gen) >= self.threshold else LOW
            memory = replace(memory, probes=memory.probes + 1)
            if not self.warm_start:
                return memory, self._controls(memory, branch), before
            gen.controls = self._controls(memory, branch)  # a generation of that branch, then
        memory, after = self._delegate(branch, memory, gen, before, after, info)
        due = memory.probes - 1 < len(self.reprobe) and (
            gen.progress >= self.reprobe[memory.probes - 1]
        )
        controls = self._controls(memory, branch)
        return memory, replace(controls, branch=PROBE) if due else controls, after

    def _delegate(
        self,
        branch: str,
        memory: SwitchMemory,
        gen: Generation,
        before: State,
        after: State,
        info: Info,
    ) -> tuple[SwitchMemory, State]:
        if branch == LOW:
            low, controls, after = self.low.adaptation.step(memory.low, gen, before, after, info)
            return replace(memory, low=low, low_controls=controls), after
        high, controls, after = self.high.adaptation.step(memory.high, gen, before, after, info)
        return replace(memory, high=high, high_controls=controls), after

    def _controls(self, memory: SwitchMemory, branch: str) -> Controls:
        return memory.low_controls if branch == LOW else memory.high_controls
