"""What a worker process does."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from noisewise._check import told
from noisewise.errors import BadValueError
from noisewise.executors import _groups, _seeding
from noisewise.executors._starting import received
from noisewise.executors.base import showable

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

WRONG = "the objective must return one real number"
#: Seconds between two looks at whether the other side is alive, where that must be looked at.
LOOK = 1.0
#: What a worker says when it has loaded the objective: only now a time-out begins.
BEGUN = "begun"


def work(
    pipe: Connection,
    objective: Any,
    entropy: tuple[int, ...],
    others: list[Any],
) -> None:
    """The life of a worker process; ``objective`` as in `_starting`."""
    import multiprocessing as mp

    _groups.lead()
    mp.current_process().daemon = False  # ours to end, but it may have children
    for other in others:
        if isinstance(other, int):
            os.close(other)
        elif other is not None:
            other.close()
    try:
        fun, args = received(objective)
    except Exception as error:  # whatever importing or building it raises
        fun, args = _Unloaded(told(error)), ()
    try:
        pipe.send(BEGUN)
    except OSError:  # the driver is gone
        return
    serve(pipe, fun, args, entropy)
    _groups.end_others()


class _Unloaded:
    """Stands for an objective that could not be loaded here."""

    def __init__(self, why: str) -> None:
        self._why = why

    def __call__(self, *args: Any, **more: Any) -> Any:
        raise BadValueError(f"a worker process cannot load the objective: {self._why}")


def serve(
    pipe: Connection, fun: Callable[..., Any], args: tuple[Any, ...], entropy: tuple[int, ...]
) -> None:
    """Read a point, answer with a value or an exception, until the driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what Ctrl-C means
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    driver = os.getppid()
    while True:
        try:
            while not pipe.poll(LOOK):
                if os.getppid() != driver:  # another process keeps its end open
                    return
            x, id, more = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            _seeding.seed(entropy, id)
            answer: tuple[Any, BaseException | None] = (fun(x, *args, **more), None)
        except Exception as error:
            answer = (None, _sendable(error))
        try:
            pipe.send(answer)
        except OSError:
            return
        except Exception:  # whatever pickling the value raises
            kind = type(answer[0]).__name__
            pipe.send((None, BadValueError(f"{WRONG}, got a {kind}")))


def _sendable(error: Exception) -> Exception:
    error = showable(error)
    try:
        if type(pickle.loads(pickle.dumps(error))) is type(error):
            return error
    except Exception:
        pass
    return RuntimeError(told(error))
