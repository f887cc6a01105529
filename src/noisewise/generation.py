"""What the parts of a method say to each other during one generation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.core.profiles import Profile
from noisewise.core.strategy import Info, State
from noisewise.noise.samples import Samples
from noisewise.noise.scales import spread


@data
@dataclass(frozen=True)
class Setup:
    """What is known before the first evaluation."""

    dimension: int
    budget: int
    workers: int = 1
    #: Candidates of the next generation that are handed out with each generation.
    lookahead: int = 0
    #: Missing values without which a generation may be closed.
    late: int = 0


@data
@dataclass(frozen=True, slots=True)
class Controls:
    """What may change from one generation to the next."""

    population: int
    c_mean: float = 1.0
    #: Evaluations of each candidate.
    repeats: int = 1
    #: Extra evaluations of chosen candidates.
    reevaluations: int = 0
    #: Which of a method's ways of working is in force, where it has several.
    branch: str = ""
    #: What the method takes the noise for: 0 ranks are right, 1 ranks are noise.
    noise: float = 0.0
    #: Measure the update against the population's own average.
    centred: bool = False


@dataclass(slots=True)
class Generation:
    """One generation as the parts see it."""

    index: int
    X: FloatArray  # candidates, inner coordinates, ask order
    samples: Samples
    controls: Controls
    profile: FloatArray  # weight of each rank, best first
    progress: float  # spent fraction of the budget
    rng: np.random.Generator  # for bootstrap draws, never for the search
    #: Rows of inner coordinates in units of the current search distribution.
    standardise: Callable[[FloatArray], FloatArray]
    #: Rows of inner coordinates as the user knows them.
    outer: Callable[[FloatArray], FloatArray]
    wave: int = 0
    #: What a part wants to have recorded: "misranking" and diagnostics.
    notes: dict[str, float] = field(default_factory=dict)
    #: Weights that move the mean, where they differ from those of the covariance.
    mean_weights: FloatArray | None = None
    _spread: float | None = None

    @property
    def spread(self) -> float:
        """Mean distance of the first values from their median, computed once."""
        if self._spread is None:
            self._spread = spread(self.samples.first)
        return self._spread


class Plan(ABC):
    """Which candidates to evaluate next."""

    @abstractmethod
    def request(self, gen: Generation, memory: Any) -> IntArray:
        """Candidates (possibly repeated) to evaluate in wave ``gen.wave``; empty: enough."""

    def cost(self, controls: Controls) -> float:
        """Evaluations one candidate costs on average, re-evaluations included."""
        return controls.repeats + controls.reevaluations / controls.population


class Selection(ABC):
    """Samples to weights."""

    def start(self, setup: Setup) -> Any:
        """What is remembered between generations: registered data, or None."""
        return None

    @abstractmethod
    def weigh(self, gen: Generation, memory: Any) -> tuple[FloatArray, Any]:
        """One weight per candidate, and the memory after this generation."""

    def report(self, memory: Any) -> tuple[dict[str, FloatArray], list[str]]:
        """Diagnostics by generation, and warnings in plain words."""
        return {}, []


class Adaptation(ABC):
    """What changes between generations."""

    def start(self, setup: Setup) -> Any:
        """What is remembered between generations: registered data, or None."""
        return None

    @abstractmethod
    def step(
        self, memory: Any, gen: Generation, before: State, after: State, info: Info
    ) -> tuple[Any, Controls, State]:
        """Memory, controls and distribution with which the next generation starts."""

    def explain(self, memory: Any) -> str:
        """What was seen and done, in plain words; empty if there is nothing to say."""
        return ""


class Recommender(ABC):
    """Which point to return."""

    def start(self, setup: Setup) -> Any:
        """What is remembered between generations: registered data, or None."""
        return None

    def step(self, memory: Any, gen: Generation, after: State) -> Any:
        """The memory after a generation."""
        return memory

    @abstractmethod
    def point(self, memory: Any, state: State) -> FloatArray:
        """The recommendation, in inner coordinates."""


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts that run a generation."""

    profile: Profile
    plan: Plan
    selection: Selection
    adaptation: Adaptation
    recommender: Recommender
