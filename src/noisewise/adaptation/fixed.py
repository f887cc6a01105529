"""Nothing changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noisewise.core.strategy import Info, State
from noisewise.generation import Adaptation, Controls, Generation


@dataclass(frozen=True)
class Fixed(Adaptation):
    """The controls of the first generation stay."""

    def step(
        self, memory: Any, gen: Generation, before: State, after: State, info: Info
    ) -> tuple[Any, Controls, State]:
        return memory, gen.controls, after
