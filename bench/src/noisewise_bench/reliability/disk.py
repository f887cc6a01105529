"""Disks that are full, paths that cannot be written, rivals, and files that are damaged."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import signal
import tempfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from noisewise.loop.checkpoint import FORMAT
from noisewise_bench.reliability.kills import options
from noisewise_bench.reliability.objective import bumpy

_FORK = multiprocessing.get_context("fork")
BUDGET = 120


@dataclass(frozen=True)
class Faults:
    """A kind of fault: how often injected, how often answered by one clear sentence, and how
    often the run went on afterwards to the same answer (or the damaged file was refused)."""

    kind: str
    injected: int
    clear: int
    survived: int
    example: str


def full_disk(times: int, rng: np.random.Generator) -> Faults:
    """No file may grow beyond some size: writing fails in the middle of a line or of a state."""

    def fault(path: Path) -> str:
        def squeezed() -> None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            # The state comes first in the file; the rest of the room is for values.
            room = _size_of_state() + int(rng.integers(-200, 2500))
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
            nw.minimize(bumpy, **options(BUDGET, 0), checkpoint=path)

        return _in_a_process(squeezed)

    return _try("the disk is full", times, fault)


def read_only(times: int) -> Faults:
    """A folder that does not exist, a file in the place of a folder, a device that is full."""
    kinds: list[Callable[[Path], Path]] = [
        lambda path: path.parent / "missing" / "run",
        lambda path: Path("/dev/null/run"),
        lambda path: Path("/proc/run"),
    ]

    def fault(path: Path) -> str:
        wrong = kinds[fault.calls % len(kinds)](path)  # type: ignore[attr-defined]
        fault.calls += 1  # type: ignore[attr-defined]
        return _said(lambda: nw.minimize(bumpy, **options(BUDGET, 0), checkpoint=wrong))

    fault.calls = 0  # type: ignore[attr-defined]
    return _try("the path cannot be written", times, fault)


def rival(times: int, rng: np.random.Generator) -> Faults:
    """A second process on the same checkpoint, while the first is at work."""

    def fault(path: Path) -> str:
        said: list[str] = []
        when = int(rng.integers(BUDGET))
        calls = [0]

        def watched(x: Any) -> float:
            calls[0] += 1
            if calls[0] == when + 1:
                said.append(
                    _in_a_process(lambda: nw.minimize(bumpy, **options(BUDGET, 0), checkpoint=path))
                )
            return bumpy(x)

        nw.minimize(watched, **options(BUDGET, 0), checkpoint=path)
        return said[0]

    return _try("a second process on one checkpoint", times, fault)


def damaged(times: int, rng: np.random.Generator) -> Faults:
    """A file that was cut off, or has flipped bits, or whose numbers are made up."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        opt = nw.Optimizer(**options(BUDGET, 0))
        for trial in opt.ask():
            opt.tell(trial.id, bumpy(trial.x))
        opt.save(path)
        whole = path.read_bytes()
        clear = refused = 0
        example = ""
        for i in range(times):
            path.write_bytes(_spoilt(whole, i, rng))
            said = _said(lambda: nw.Optimizer.load(path))
            refused += said != ""
            clear += _is_clear(said)
            example = said or example
        return Faults("a damaged file", times, clear, refused, example.replace(str(path), "run"))


def _spoilt(whole: bytes, i: int, rng: np.random.Generator) -> bytes:
    if i % 3 == 0:
        return whole[: int(rng.integers(len(whole) - 1))]
    if i % 3 == 1:
        broken = bytearray(whole)
        for at in rng.integers(len(broken) - 1, size=3):
            broken[at] ^= 1 << int(rng.integers(8))
        return bytes(broken)
    body = json.loads(whole.split(b"\n")[1])
    [run] = body["run"].values()
    run[str(rng.choice(["memory", "current", "setup", "ledger"]))] = [1e300] * 8
    text = json.dumps(body)
    head = {"noisewise": FORMAT, "bytes": len(text), "crc": zlib.crc32(text.encode())}
    return f"{json.dumps(head)}\n{text}\n".encode()


def _try(kind: str, times: int, fault: Callable[[Path], str]) -> Faults:
    clear = survived = 0
    example = ""
    expected = nw.minimize(bumpy, **options(BUDGET, 0))
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "run"
            said = fault(path)
            clear += _is_clear(said)
            example = said.replace(folder, "...") or example
            r = nw.minimize(bumpy, **options(BUDGET, 0), checkpoint=path)
            survived += r.nfev == BUDGET and bool((r.x == expected.x).all())
    return Faults(kind, times, clear, survived, example)


def _is_clear(said: str) -> bool:
    return said.startswith(("checkpoint ", "/")) and "\n" not in said


def _said(work: Callable[[], Any]) -> str:
    """What the library says when ``work`` fails; empty if it does not."""
    try:
        work()
    except nw.CheckpointError as error:
        return str(error)
    return ""


def _in_a_process(work: Callable[[], Any]) -> str:
    ours, theirs = _FORK.Pipe()
    process = _FORK.Process(target=lambda: theirs.send(_said(work)))
    process.start()
    theirs.close()
    try:
        return str(ours.recv())
    except EOFError:
        return "the process died"
    finally:
        process.join()


def _size_of_state() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        nw.Optimizer(**options(BUDGET, 0)).save(path)
        return os.path.getsize(path)


def table(rows: Iterator[Faults]) -> Iterator[str]:
    yield "| fault | injected | one clear sentence | survived | for example |"
    yield "|---|---|---|---|---|"
    for r in rows:
        yield f"| {r.kind} | {r.injected} | {r.clear} | {r.survived} | {r.example} |"
