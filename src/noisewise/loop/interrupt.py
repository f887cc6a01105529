"""Ctrl-C before and after the command line: the end, without a traceback.

Importing numpy and scipy takes most of the first second. Only the process of the command itself
is touched; in a program that imports the library, Ctrl-C is what it was.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType


def guard() -> None:
    """If this process is the command, let Ctrl-C end it at once: nothing has been begun yet."""
    if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _quit)


def release() -> None:
    """Let Ctrl-C raise KeyboardInterrupt again."""
    if signal.getsignal(signal.SIGINT) is _quit:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _quit(number: int, frame: FrameType | None) -> None:
    os.write(2, b"noisewise: interrupted\n")
    os._exit(128 + number)


def _is_command() -> bool:
    """Whether this is ``python -m noisewise`` (while that is looked for, the first argument is
    ``-m``) or the script ``noisewise``, and no process that one of them has started."""
    called = sys.argv[0] if sys.argv else ""
    if called == "-m":
        return ("-m", "noisewise") in zip(sys.orig_argv, sys.orig_argv[1:], strict=False)
    return called in sys.orig_argv and os.path.basename(called) == "noisewise"


guard()  # the package imports this first
