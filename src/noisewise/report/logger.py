"""The library's one logger, ``logging.getLogger("noisewise")``."""

from __future__ import annotations

import io
import sys
from typing import TextIO


def stream() -> TextIO | None:
    """Where progress goes: to the logger if stderr is not a terminal and somebody listens to INFO;
    None for stderr itself. Who asks for progress and has set up no logging sees it all the same."""
    import logging  # takes long to import

    logger = logging.getLogger("noisewise")
    terminal = bool(getattr(sys.stderr, "isatty", lambda: False)())
    listened = logger.isEnabledFor(logging.INFO) and logger.hasHandlers()
    return None if terminal or not listened else _Lines()


class _Lines(io.StringIO):
    """A stream that logs each line that is written to it, without its bar."""

    def write(self, text: str, /) -> int:
        import logging

        for line in text.splitlines():
            logging.getLogger("noisewise").info("%s", line.lstrip("█·#. "))
        return len(text)
