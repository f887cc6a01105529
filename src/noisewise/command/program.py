"""Running a program as an objective."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from noisewise._check import integer, positive_real
from noisewise.command.output import Output
from noisewise.command.reading import Found, Limit, NoValue, Reader
from noisewise.command.template import SEED, Template
from noisewise.problem.space import Space
from noisewise.problem.values import Measured
from noisewise.run.seeds import BELOW

#: Bytes at the end of a program's stdout and stderr that are kept.
_LOOKED_AT, _COMPLAINT = 1 << 22, 1 << 12
#: Seconds between asking a program to end and killing it.
_GRACE = 2.0
#: The same for children of a program that has ended.
_GRACE_OF_CHILDREN = 0.2
#: Seconds for which processes that outlive the program may go on writing, as in `p > >(tee log)`.
_LINGER = 0.5
#: Seconds between looks at whether all processes of a program have ended.
_LOOK = 0.01


class EvaluationFailed(RuntimeError):
    """A program gave no value; the message says why."""


@dataclass(frozen=True)
class Evaluation:
    """One evaluation: parameters, the value as printed (None if it failed), seconds, why it
    failed (empty if not), the seed (None if the command has none), values that have limits, and
    where the value was found."""

    parameters: dict[str, Any]
    value: float | None
    seconds: float
    failure: str = ""
    seed: int | None = None
    limited: dict[str, float] | None = None
    found: Found | None = None


class Program:
    """A program as an objective of values by name; threads may call it at the same time.

    ``timeout`` is in seconds per attempt. An attempt that fails is repeated ``retries`` times
    before the evaluation counts as failed. ``limits`` are of other keys of the program's JSON.
    ``listen`` hears of every evaluation.
    """

    def __init__(
        self,
        space: Space,
        template: Template,
        reader: Reader,
        *,
        timeout: float | None = None,
        retries: int = 0,
        limits: tuple[Limit, ...] = (),
        listen: Callable[[Evaluation], None] = lambda evaluation: None,
    ) -> None:
        template.check(space)
        if timeout is not None:
            positive_real("--timeout", timeout)
        self._space, self._template, self._reader = space, template, reader
        self._timeout, self._retries = timeout, integer("--retries", retries, least=0)
        self._listen, self._limits = listen, limits
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def __call__(self, values: dict[str, Any], seed: int | None = None) -> float | Measured:
        """The value; `EvaluationFailed` says why there is none. Further attempts have
        the numbers after ``seed``; without one it is drawn, if the command wants a seed."""
        start, attempts = time.monotonic(), 0
        first = secrets.randbelow(BELOW) if seed is None else seed
        while True:
            used = (first + attempts) % BELOW if self._template.seeded(self._space.names) else None
            try:
                found, limited = self._attempt(values, used)
                break
            except EvaluationFailed as failed:
                attempts += 1
                if self._closed:
                    raise
                if attempts > self._retries:
                    took = time.monotonic() - start
                    self._listen(Evaluation(values, None, took, str(failed), used))
                    raise
        named = {one.key: v for one, v in zip(self._limits, limited, strict=True)} or None
        took = time.monotonic() - start
        self._listen(Evaluation(values, found.value, took, "", used, named, found))
        if named is None:
            return found.value
        pairs = zip(self._limits, limited, strict=True)
        return Measured(found.value, [one.excess(v) for one, v in pairs])

    def close(self) -> None:
        """End all that runs and start nothing more."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        _end(running)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _attempt(self, values: dict[str, Any], seed: int | None) -> tuple[Found, list[float]]:
        """What was found, and the values that have limits."""
        given = {SEED: seed, **values}
        code, out, err = self._run(self._template.fill(given), self._template.environment(given))
        if code != 0:
            said = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
            last = err.text().strip().splitlines()[-1:]
            raise EvaluationFailed(f"{said}: {last[0][:200]}" if last else said)
        if out.unread:
            raise EvaluationFailed("stdout could not be read to its end")
        try:
            output = out.text()
            limited = [Reader("json", one.key).read(output) for one in self._limits]
            return self._reader.find(output), limited
        except NoValue as error:
            raise EvaluationFailed(f"{error}{_missing(out)}") from None

    def _run(self, filled: list[str], variables: dict[str, str]) -> tuple[int, Output, Output]:
        """Start the program, wait for it; its exit code, stdout and stderr."""
        with self._lock:
            if self._closed:
                raise EvaluationFailed("the run has ended")
            try:
                process = subprocess.Popen(
                    filled[0] if self._template.shell else filled,
                    shell=self._template.shell,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    bufsize=0,
                    env={**os.environ, **variables} if variables else None,
                    start_new_session=True,  # a group of its own, to end its children as well
                )
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise EvaluationFailed(f"{filled[0]} cannot be started: {reason}") from None
            self._running.add(process)
        assert process.stdout is not None
        assert process.stderr is not None
        outputs = Output(process.stdout, _LOOKED_AT), Output(process.stderr, _COMPLAINT)
        try:
            code = process.wait(self._timeout)
            deadline = time.monotonic() + _LINGER
            for output in outputs:
                output.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise EvaluationFailed(f"took longer than {self._timeout:g} s") from None
        finally:
            _end([process])
            for output in outputs:
                output.stop()
            with self._lock:
                self._running.discard(process)
        return (code, *outputs)


def _missing(out: Output) -> str:
    """What of an output was not looked at, in brackets."""
    if out.cut:
        return f" (only the last {_LOOKED_AT >> 20} MiB of stdout are kept)"
    if not out.ended:
        return " (a process that the program left behind holds stdout open)"
    return ""


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """Ask programs and their children to end, and kill those that do not."""
    for process in processes:
        _signal(process, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
    deadline = time.monotonic() + _GRACE_OF_CHILDREN
    for process in processes:
        # A group of children that ended, but were not waited for by anybody, is still there.
        while hasattr(os, "killpg") and _signal(process, 0) and time.monotonic() < deadline:
            time.sleep(_LOOK)
        _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))  # children included
        process.wait()


def _signal(process: subprocess.Popen[bytes], how: int) -> bool:
    """Send a signal to the program and its children; whether there is one of them."""
    try:
        if hasattr(os, "killpg"):
            os.killpg(process.pid, how)
        else:  # pragma: no cover - Windows
            process.kill()
    except OSError:
        return False
    return True
