"""The order in which a run with several workers learns, as all of them agree on it.

With several workers nobody waits, so a run depends on the order in which values come. Whoever
rebuilds it must therefore tell it the same values in the same order. The workers agree on *steps*:
in a step the run is told the values that were known by then, and asked for as many evaluations as
there is room for. A worker that finds no evaluation to claim makes the next step. As with other
claims, it writes that it is about to, reads whether somebody else is, and withdraws if so; a step
that it keeps stays in the mark of its trial.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, final

#: Seconds after which a worker that began a step and did not end doing so is taken for dead.
_PATIENCE = 30.0

#: Pairs of an evaluation and the number of the trial that answers it, in the order of telling.
Told = list[list[int]]


@final
class Steps:
    """The steps of one run, as far as they are known here."""

    def __init__(self) -> None:
        self._made: dict[int, Told] = {}
        #: Trials whose workers are about to make a step, and since when that is known here.
        self._makers: dict[tuple[int, int], float] = {}
        self._seen: set[tuple[int, int]] = set()
        #: What the workers of this process have made, by the trial in whose mark it is.
        self._mine: dict[int, list[Any]] = defaultdict(list)

    # -- reading

    def begin(self) -> None:
        """The marks of all trials that run are about to be read."""
        self._seen = set()

    def note(self, number: int, mark: Mapping[str, Any], finished: bool, now: int) -> None:
        """Read the mark of a trial of the run, which has made ``now`` steps."""
        for step, told in mark.get("steps", ()):
            if step >= now:
                self._made.setdefault(step, told)
        if "step" in mark and not finished:
            self._seen.add((mark["step"], number))

    def end(self) -> None:
        """The marks are read."""
        known = self._makers
        self._makers = {key: known.get(key, time.monotonic()) for key in self._seen}

    def take(self, step: int) -> Told | None:
        """What was told in this step; None: nobody has made it."""
        return self._made.pop(step, None)

    def others(self, step: int, number: int) -> bool:
        """Whether the worker of another trial is about to make this step."""
        latest = time.monotonic() - _PATIENCE
        return any(
            which == step and maker != number and since > latest
            for (which, maker), since in self._makers.items()
        )

    # -- writing

    def keep(self, number: int, step: int, told: Told) -> None:
        """The worker of this trial, of this process, has made a step."""
        self._mine[number].append([step, told])

    def of(self, number: int) -> list[Any]:
        """Steps that belong into the mark of this trial, of this process."""
        return self._mine.get(number, [])
