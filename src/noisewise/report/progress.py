"""Progress of an `Optimizer`, for Python and scikit-learn."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TextIO

from noisewise.report import logger
from noisewise.report.bar import Bar
from noisewise.report.words import brief, gains, settings

if TYPE_CHECKING:
    from noisewise.loop.optimizer import Optimizer

#: Seconds between two updates of the bar.
_EVERY = 0.1


class Progress:
    """Shows how far a run is and what it sees."""

    def __init__(self, opt: Optimizer, shown: bool, stream: TextIO | None = None) -> None:
        self._opt, self._shown = opt, shown
        self._bar = Bar(opt.budget, opt.spent, shown, stream)

    def update(self) -> None:
        """After a generation."""
        if self._shown:
            self._bar.show(self._opt.spent, self._words, _EVERY)

    def say(self, *lines: str) -> None:
        """Say something else, each on a line of its own."""
        for line in lines:
            self._bar.say(line)

    def finish(self) -> None:
        """After the last generation."""
        if self._shown:
            self._bar.finish(self._opt.spent, self._words)

    def _words(self) -> str:
        result = self._opt.result()
        shown = brief(result.fun, result.interval, result.outlook.error)
        smallest = result.get("smallest_gain", math.nan)
        parts = (
            "" if math.isnan(result.fun) else shown,
            gains(smallest) if smallest > 0.0 else "",
            settings(result.get("params") or {}),
        )
        return "  ".join(filter(None, parts))


def progress(opt: Optimizer) -> Progress:
    """A bar on stderr, or lines for the logger."""
    return Progress(opt, True, logger.stream())
