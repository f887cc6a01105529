"""Running a program as an objective."""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any

from noisewise._check import integer, positive_real
from noisewise._types import FloatArray
from noisewise._values import Measured
from noisewise.command.limit import Limit
from noisewise.command.reading import NoValue, Reader
from noisewise.command.template import SEED, Template
from noisewise.seeds import BELOW
from noisewise.space import Space

#: Bytes at the end of a program's output that are looked at.
_LOOKED_AT = 1 << 22
#: Seconds between asking a program to end and killing it.
_GRACE = 2.0


class EvaluationFailed(RuntimeError):
    """A program gave no value; the message says why."""


@dataclass(frozen=True)
class Evaluation:
    """One evaluation: parameters, the value as printed (None if it failed), seconds, why it
    failed (empty if not), the seed (None if the command has none), and values that have limits."""

    parameters: dict[str, Any]
    value: float | None
    seconds: float
    failure: str = ""
    seed: int | None = None
    limited: dict[str, float] | None = None


class Program:
    """A program as an objective on the unit cube; threads may call it at the same time.

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
        template.check(space.names)
        if timeout is not None:
            positive_real("--timeout", timeout)
        self._space, self._template, self._reader = space, template, reader
        self._timeout, self._retries = timeout, integer("--retries", retries, least=0)
        self._listen, self._limits = listen, limits
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def __call__(self, x: FloatArray, seed: int | None = None) -> float | Measured:
        """The value; `EvaluationFailed` says why there is none. Further attempts have
        the numbers after ``seed``; without one it is drawn, if the command wants a seed."""
        values = self._space.decode(x)
        start, attempts = time.monotonic(), 0
        first = secrets.randbelow(BELOW) if seed is None else seed
        while True:
            used = (first + attempts) % BELOW if self._template.seeded(self._space.names) else None
            try:
                value, limited = self._attempt(values, used)
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
        self._listen(Evaluation(values, value, time.monotonic() - start, seed=used, limited=named))
        if named is None:
            return value
        pairs = zip(self._limits, limited, strict=True)
        return Measured(value, [one.excess(v) for one, v in pairs])

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

    def _attempt(self, values: dict[str, Any], seed: int | None) -> tuple[float, list[float]]:
        """The value, and those that have limits."""
        filled = self._template.fill({SEED: seed, **values})
        # Files and not pipes: a child that outlives the program must not keep us waiting.
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            code = self._run(filled, out, err)
            if code != 0:
                said = f"exit code {code}" if code > 0 else f"ended by signal {-code}"
                last = _tail(err, 4096).strip().splitlines()[-1:]
                raise EvaluationFailed(f"{said}: {last[0][:200]}" if last else said)
            try:
                output = _tail(out, _LOOKED_AT)
                limited = [Reader("json", one.key).read(output) for one in self._limits]
                return self._reader.read(output), limited
            except NoValue as error:
                raise EvaluationFailed(str(error)) from None

    def _run(self, filled: list[str], out: IO[bytes], err: IO[bytes]) -> int:
        """Start the program, wait for it; its exit code."""
        with self._lock:
            if self._closed:
                raise EvaluationFailed("the run has ended")
            try:
                process = subprocess.Popen(
                    filled[0] if self._template.shell else filled,
                    shell=self._template.shell,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=err,
                    start_new_session=True,  # a group of its own, to end its children as well
                )
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                raise EvaluationFailed(f"{filled[0]} cannot be started: {reason}") from None
            self._running.add(process)
        try:
            return process.wait(self._timeout)
        except subprocess.TimeoutExpired:
            _end([process])
            raise EvaluationFailed(f"took longer than {self._timeout:g} s") from None
        finally:
            with self._lock:
                self._running.discard(process)


def _end(processes: list[subprocess.Popen[bytes]]) -> None:
    """Ask programs and their children to end, and kill those that do not."""
    for process in processes:
        _signal(process, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, deadline - time.monotonic()))
        _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))  # children included
        process.wait()


def _signal(process: subprocess.Popen[bytes], how: int) -> None:
    """Send a signal to the program and its children."""
    with contextlib.suppress(OSError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, how)
        else:  # pragma: no cover - Windows
            process.kill()


def _tail(file: IO[bytes], most: int) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - most))
    return file.read().decode("utf-8", errors="replace")
