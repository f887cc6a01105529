"""How worker processes are started, so that none can hang on a lock that a thread held.

A fork copies the memory of one thread only. What other threads had locked stays locked in the
child for ever, so a process with threads is not forked: its workers come from a server that has
none (forkserver), or are new (spawn). They import the main module and get the objective as bytes.
OpenBLAS ends its own threads before a fork and does not count.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import threading
from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from noisewise import _threads
from noisewise._check import shown

FORK = "fork"
#: What the server of workers imports once, so that workers need not.
_PRELOADED = "noisewise.executors._worker"


def _multiprocessing() -> Any:
    import multiprocessing  # takes long to import

    return multiprocessing


class Start:
    """Starts the workers of one objective.

    A fork inherits the objective: lambdas and closures work. Any other process gets a copy.
    """

    def __init__(self, fun: Callable[..., Any], args: tuple[Any, ...]) -> None:
        mp = _multiprocessing()
        if getattr(mp.current_process(), "_inheriting", False):
            raise RuntimeError(
                "the main script started again in a worker process: put what it runs under "
                'if __name__ == "__main__":, so that workers can import it'
            )
        self._fun, self._args = fun, args
        if not _forks() and self._sent is None and not may_fork():
            raise ValueError(_refusal(fun))

    @cached_property
    def _sent(self) -> bytes | None:
        return sent(self._fun, self._args)

    def context(self) -> tuple[Any, Any]:
        """The context of the next worker, and what it gets as its objective."""
        # What cannot be sent is forked even if threads have come up during the run.
        mp = _multiprocessing()
        if _forks() or self._sent is None:
            return mp.get_context(FORK), (self._fun, self._args)
        method = _usual() if _usual() != FORK else "forkserver"
        context = mp.get_context(method)
        if method == "forkserver":
            _preload(context)
        return context, self._sent


def received(objective: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """The objective and its arguments in the worker."""
    fun, args = pickle.loads(objective) if isinstance(objective, bytes) else objective
    return fun, args


def _forks() -> bool:
    """Whether a worker that starts now is forked."""
    return _usual() == FORK and may_fork()


def may_fork() -> bool:
    """Whether this process can be forked and has one thread only, but for those of ours that hold
    no lock then."""
    if sys.platform != "linux" or FORK not in _multiprocessing().get_all_start_methods():
        return False  # macOS offers it, but its own libraries do not survive it
    ours = 1 + len(_threads.quiet)
    return threading.active_count() <= ours and _native() <= ours + _of_openblas()


def sent(fun: Callable[..., Any], args: tuple[Any, ...]) -> bytes | None:
    """The objective as bytes that another process can load; None if there are none."""
    with contextlib.suppress(Exception):  # whatever pickling raises
        found = pickle.dumps((fun, args))
        if b"__main__" not in found or _is_importable(sys.modules.get("__main__")):
            return found
    with contextlib.suppress(Exception):  # it may not be installed
        import cloudpickle  # type: ignore[import-untyped]

        by_value: bytes = cloudpickle.dumps((fun, args))
        return by_value
    return None


def _is_importable(main: Any) -> bool:
    """Whether workers can import the main module: it is a file, not a notebook or a prompt."""
    return getattr(main, "__spec__", None) is not None or os.path.isfile(
        getattr(main, "__file__", None) or ""
    )


def _usual() -> str:
    """The start method that the user has set, else that of the platform."""
    mp = _multiprocessing()
    return str(mp.get_start_method(allow_none=True) or mp.get_all_start_methods()[0])


def _refusal(fun: Callable[..., Any]) -> str:
    where = "in a process with threads, such as a notebook" if _usual() == FORK else ""
    return (
        "fun must be picklable (a function at the top level of a module) for workers > 1 "
        f"{where or 'on this platform'}, got {shown(fun)}: put it in a module, install "
        "cloudpickle, or use executor=noisewise.executors.threads(...)"
    )


def _preload(context: Any) -> None:
    """Have the server import this library once, unless the user wants other modules there."""
    from multiprocessing import forkserver

    server: Any = getattr(forkserver, "_forkserver", None)
    if getattr(server, "_preload_modules", None) == ["__main__"]:
        context.set_forkserver_preload(["__main__", _PRELOADED])


def _native() -> int:
    """Threads of this process, those of other languages included."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 1


def _of_openblas() -> int:
    """Threads that the OpenBLAS libraries in this process may have started."""
    return sum(read() - 1 for file in _openblas() for read, _ in _settings(file))


def _openblas() -> set[str]:
    """The files of OpenBLAS libraries that are loaded."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return set()
    return {line.split(maxsplit=5)[5] for line in lines if "openblas" in line.lower()}


@lru_cache(maxsize=16)
def _settings(file: str) -> list[_threads.Setting]:
    return _threads.settings(Path(file))
