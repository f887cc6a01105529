"""Who runs the tasks: this process, local processes, or the workers of a Dask cluster.

A pool takes chunks and gives them back with their rows, or without if their worker died.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from noisewise.errors import install
from noisewise_bench.names import BenchError
from noisewise_bench.task import Row, Task, run_tasks

Chunk = Sequence[Task]
#: A chunk and its rows, or None where the worker died.
Outcome = tuple[Chunk, list[Row] | None]
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


class Pool(Protocol):
    """Where chunks of tasks are run."""

    def slots(self) -> int:
        """How many chunks it can usefully hold now."""

    def submit(self, chunk: Chunk) -> None:
        """Start a chunk."""

    def collect(self) -> list[Outcome]:
        """Wait until at least one chunk is back."""

    def close(self) -> None:
        """Stop everything at once; unfinished chunks are dropped."""


class Inline:
    """One chunk at a time in this process."""

    def __init__(self) -> None:
        self._chunks: list[Chunk] = []

    def slots(self) -> int:
        return 1

    def submit(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)

    def collect(self) -> list[Outcome]:
        chunk = self._chunks.pop()
        return [(chunk, run_tasks(chunk))]

    def close(self) -> None:
        self._chunks.clear()


class Processes:
    """Local processes with one chunk each. One that dies is replaced and its chunk is known."""

    def __init__(self, workers: int) -> None:
        self._context = multiprocessing.get_context("spawn")
        self._idle: list[tuple[BaseProcess, Connection]] = []
        self._busy: dict[Connection, tuple[BaseProcess, Chunk]] = {}
        self._up: set[Connection] = set()  # workers that have said they are up
        self._workers = workers
        for _ in range(workers):
            self._start()

    def slots(self) -> int:
        return self._workers

    def submit(self, chunk: Chunk) -> None:
        process, pipe = self._idle.pop()
        try:
            pipe.send(chunk)
        except BrokenPipeError:
            pass  # it died while idle: collecting it says so
        except Exception as error:
            self._idle.append((process, pipe))
            raise BenchError(
                f"a problem or method cannot be sent to another process ({error}); "
                "define it in an importable module, or use one worker"
            ) from None
        self._busy[pipe] = (process, chunk)

    def collect(self) -> list[Outcome]:
        outcomes: list[Outcome] = []
        while not outcomes:
            for pipe in wait(list(self._busy)):
                assert isinstance(pipe, Connection)
                outcomes += self._receive(pipe)
        return outcomes

    def _receive(self, pipe: Connection) -> list[Outcome]:
        """What a worker has to say: that it is up, that a chunk is done, or nothing any more."""
        process, chunk = self._busy[pipe]
        try:
            rows = pipe.recv()
        except (EOFError, ConnectionResetError):
            if pipe not in self._up:
                raise BenchError(
                    "worker processes do not start: a script that runs a campaign must do so under "
                    "if __name__ == '__main__'"
                ) from None
            process.join()
            del self._busy[pipe]
            self._start()
            return [(chunk, None)]
        if rows is None:
            self._up.add(pipe)
            return []
        del self._busy[pipe]
        self._idle.append((process, pipe))
        return [(chunk, rows)]

    def close(self) -> None:
        everyone = [*self._idle, *((process, pipe) for pipe, (process, _) in self._busy.items())]
        for process, pipe in everyone:
            process.kill()
            process.join()
            pipe.close()
        self._idle, self._busy = [], {}

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs,), daemon=True)
        with _one_thread_each(), _interrupts_ignored():
            process.start()
        theirs.close()  # so that the end of the worker is the end of the pipe
        self._idle.append((process, ours))


def _serve(pipe: Connection) -> None:
    """Run chunks until the other end closes, as it does when the campaign's process dies."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    warnings.simplefilter("ignore")  # a warning per run would drown the progress line
    try:
        pipe.send(None)
        while True:
            pipe.send(run_tasks(pipe.recv()))
    except (EOFError, OSError):
        return


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """New processes start with one BLAS thread: the cores are busy with other tasks already."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """New processes leave Ctrl-C to the process that started them, from their first moment."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class DaskCluster:
    """Workers of a running Dask cluster; they must be able to import what the names mean."""

    def __init__(self, address: str) -> None:
        try:
            from distributed import Client, as_completed
        except ImportError:
            raise BenchError(f"--scheduler needs Dask: {install('all', bench=True)}") from None
        try:
            self._client = Client(address, timeout="10s")
        except (OSError, ValueError) as error:
            raise BenchError(f"no Dask scheduler answers at {address!r}: {error}") from None
        self._completed = as_completed()
        self._flying: dict[str, Chunk] = {}

    def slots(self) -> int:
        # Two per worker, so that none waits for the next chunk; one if no worker is up yet.
        return max(1, 2 * len(self._client.nthreads()))

    def submit(self, chunk: Chunk) -> None:
        future = self._client.submit(run_tasks, chunk, pure=False)
        self._flying[future.key] = chunk
        self._completed.add(future)

    def collect(self) -> list[Outcome]:
        futures = self._completed.next_batch(block=True)
        return [(self._flying.pop(future.key), _rows_of(future)) for future in futures]

    def close(self) -> None:
        self._client.close()


def _rows_of(future: Any) -> list[Row] | None:
    from distributed import KilledWorker

    try:
        rows: list[Row] = future.result()
    except KilledWorker:
        return None
    except Exception as error:
        # A result that died with its worker after it was announced: distributed then waits for it
        # on an event of another loop. The chunk is lost, as if the worker had died before.
        if "bound to a different event loop" in str(error):
            return None
        raise BenchError(f"the Dask cluster could not run a task: {error}") from None
    return rows
