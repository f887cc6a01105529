"""Waiting for what other workers do."""

from __future__ import annotations

import logging
import time
from typing import final

from noisewise.integrations.optuna.view import View

#: Shortest and longest pause, in seconds, between two looks at what other workers do, and seconds
#: of waiting after which the user is told for what.
_LOOKS, _TOLD = (0.01, 1.0), 10.0

#: Below Optuna's, so that its verbosity counts.
_logger = logging.getLogger("optuna.noisewise")


@final
class Waiting:
    """The time that one trial waits for a point."""

    def __init__(self, number: int) -> None:
        self._number, self._start, self._said = number, time.monotonic(), False

    @property
    def seconds(self) -> float:
        """How long it has been."""
        return time.monotonic() - self._start

    def pause(self, view: View, limit: float) -> None:
        """Wait a little before the next look; trials are overdue after ``limit`` seconds."""
        if self.seconds > _TOLD and not self._said:
            self._said = True
            others = ", ".join(map(str, sorted(view.holders())))
            _logger.warning(
                f"trial {self._number} waits for the values of trials {others}; those that run "
                f"for more than {limit:.0f} seconds are evaluated again; if one is dead, say so "
                "with study.tell(number, state=optuna.trial.TrialState.FAIL)"
            )
        time.sleep(min(max(0.02 * limit, _LOOKS[0]), _LOOKS[1]))
