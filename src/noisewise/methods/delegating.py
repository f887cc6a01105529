"""A method that leaves what it is asked to another one, which is in charge for the time being."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.measured.population import Population
from noisewise.methods.method import (
    Distribution,
    Method,
    Now,
    Recommended,
    Sensitivity,
    Size,
    Standings,
)


class Delegating(Method):
    """Answers what the method in charge answers."""

    @abstractmethod
    def _charge(self, memory: Any) -> tuple[Method, Any]:
        """The method in charge and its memory."""

    def size(self, memory: Any, now: Now) -> Size:
        method, inner = self._charge(memory)
        return method.size(inner, now)

    def propose(
        self, memory: Any, n: int, pending: FloatArray, now: Now, rng: np.random.Generator
    ) -> FloatArray:
        method, inner = self._charge(memory)
        return method.propose(inner, n, pending, now, rng)

    def request(self, memory: Any, population: Population, rng: np.random.Generator) -> IntArray:
        method, inner = self._charge(memory)
        return method.request(inner, population, rng)

    def recommend(self, memory: Any) -> Recommended:
        method, inner = self._charge(memory)
        return method.recommend(inner)

    def finalists(self, memory: Any) -> FloatArray:
        method, inner = self._charge(memory)
        return method.finalists(inner)

    def compared(self, memory: Any, population: Population) -> FloatArray:
        method, inner = self._charge(memory)
        return method.compared(inner, population)

    def standings(self, memory: Any) -> Standings | None:
        method, inner = self._charge(memory)
        return method.standings(inner)

    def sensitivities(self, memory: Any, blocks: list[IntArray]) -> list[Sensitivity]:
        method, inner = self._charge(memory)
        return method.sensitivities(inner, blocks)

    def races(self, memory: Any) -> bool:
        method, inner = self._charge(memory)
        return method.races(inner)

    def improvement(self, memory: Any) -> float:
        method, inner = self._charge(memory)
        return method.improvement(inner)

    def distribution(self, memory: Any) -> Distribution | None:
        method, inner = self._charge(memory)
        return method.distribution(inner)

    def origin(self, memory: Any) -> FloatArray:
        method, inner = self._charge(memory)
        return method.origin(inner)
