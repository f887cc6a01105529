"""Process groups: a worker ends together with everything that it has started."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator


def lead(pid: int = 0) -> None:
    """Make a process (0: this one) the leader of a process group, where there are such groups."""
    with contextlib.suppress(OSError, AttributeError):  # it may be dead, or lead one already
        os.setpgid(pid, pid)


def end(pid: int) -> None:
    """Kill the descendants of a worker and all their process groups, its own included.

    A nested run has workers that lead groups of their own, so the group alone is not enough. On
    systems without ``/proc`` it is all that can be found.
    """
    if not hasattr(os, "killpg"):  # pragma: no cover - Windows
        return
    found = [pid]
    for one in found:
        _send(one, signal.SIGSTOP)  # it starts nothing more while its children are looked up
        found.extend(_children(one))
    for one in found:
        with contextlib.suppress(OSError):
            os.killpg(one, signal.SIGKILL)
        _send(one, signal.SIGKILL)


def end_others() -> None:
    """Ask what is left in the process group that this process leads to end."""
    with contextlib.suppress(OSError, AttributeError):
        if os.getpgrp() == os.getpid():
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            os.killpg(0, signal.SIGTERM)


def _send(pid: int, number: int) -> None:
    with contextlib.suppress(OSError):
        os.kill(pid, number)


def _children(pid: int) -> Iterator[int]:
    """Processes that this one has started, by any of its threads."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            fd = os.open(f"/proc/{pid}/task/{thread}/children", os.O_RDONLY)
            with os.fdopen(fd) as file:
                yield from map(int, file.read().split())
