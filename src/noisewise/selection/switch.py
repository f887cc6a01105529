"""Two selections, of which the branch in force does the work."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.evaluation.probe import Probe
from noisewise.generation import Controls, Generation, Parts, Plan, Selection, Setup
from noisewise.noise.misranking import displacement
from noisewise.selection.hard import rank_weights

PROBE, LOW, HIGH = "probe", "low", "high"


@data
@dataclass(slots=True)
class Both:
    """Memories of the two branches."""

    low: Any
    high: Any


def measured(gen: Generation) -> float:
    """P of a probed generation; 0 where the probe found nothing to repeat."""
    P = displacement(gen.samples)
    return P if P == P else 0.0


@dataclass(frozen=True)
class SwitchPlan(Plan):
    """Probe while probing, else what the branch in force asks for."""

    probe: Probe
    low: Parts
    high: Parts

    def request(self, gen: Generation, memory: Both) -> IntArray:
        branch = gen.controls.branch
        if branch == PROBE:
            return self.probe.request(gen, memory)
        parts, remembered = (self.low, memory.low) if branch == LOW else (self.high, memory.high)
        gen.profile = parts.profile.weights(len(gen.X), gen.progress)
        return parts.plan.request(gen, remembered)

    def cost(self, controls: Controls) -> float:
        if controls.branch == PROBE:
            return 2.0
        parts = self.low if controls.branch == LOW else self.high
        return parts.plan.cost(controls)


@dataclass(frozen=True)
class SwitchSelection(Selection):
    """Selects as the branch in force does; a probed generation belongs to the branch that its
    misranking calls for, or to none where it is thrown away (no ``warm_start``)."""

    threshold: float
    warm_start: bool
    low: Parts
    high: Parts

    def start(self, setup: Setup) -> Both:
        return Both(self.low.selection.start(setup), self.high.selection.start(setup))

    def weigh(self, gen: Generation, memory: Both) -> tuple[FloatArray, Both]:
        branch = gen.controls.branch
        if branch == PROBE:
            gen.notes["misranking"] = measured(gen)
            if not self.warm_start:
                return rank_weights(gen.samples.mean(), gen.profile), memory
            branch = HIGH if measured(gen) >= self.threshold else LOW
        parts = self.low if branch == LOW else self.high
        gen.profile = parts.profile.weights(len(gen.X), gen.progress)
        if branch == LOW:
            weights, low = parts.selection.weigh(gen, memory.low)
            return weights, replace(memory, low=low)
        weights, high = parts.selection.weigh(gen, memory.high)
        return weights, replace(memory, high=high)

    def report(self, memory: Both) -> tuple[dict[str, FloatArray], list[str]]:
        diagnostics, said = self.high.selection.report(memory.high)
        return diagnostics, said
