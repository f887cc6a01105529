"""Files that were made to do harm: refused in one sentence, or harmless, and cheap either way."""

from __future__ import annotations

import copy
import json
import os
import random
import socket
import tempfile
import time
import tracemalloc
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import noisewise as nw
from noisewise.loop.checkpoint import FORMAT
from noisewise_bench.reliability.kills import options
from noisewise_bench.reliability.objective import bumpy

#: What a number, a word or an array of a run is replaced by.
_VALUES: list[Any] = [
    None,
    "word",
    True,
    -1,
    0,
    10**18,
    10**400,
    1e308,
    -0.5,
    {"~float": "nan"},
    {"~float": "inf"},
    [],
    [[[]]],
    {"~tuple": []},
    {"~dict": []},
    {"~unknown": 1},
    {"~array": ["float64", [10**9], "C", ""]},
    {"~array": ["float64", [1], "C", "AAAAAAAA8H8="]},
]
#: What a value line is replaced by; the checksum fits.
_LINES: list[bytes] = [
    b"[6, [1.0], null]",
    b'[6, "x", null]',
    b"[6, 1" + b"0" * 400 + b", null]",
    b"[6, NaN, null]",
    b'["6", 1.0, null]',
    b"[10000, 1.0, null]",
    b"[6, 1.0, -1.0]",
    b"[6]",
    b"null",
    b"[" * 2000,
    b"[6, 1.0, null]" + b" " * 10**6,
    b"\xff\xfe",
]


@dataclass
class Hostile:
    """What came of one kind of files."""

    kind: str
    files: int = 0
    refused: int = 0
    #: Loaded, and the run could go on to its end.
    harmless: int = 0
    #: Loaded, and the run ended in an exception later.
    failed: int = 0
    #: Anything else: another exception while it is loaded, or more spent than the budget.
    escaped: int = 0
    #: CPU seconds and megabytes of the most expensive one.
    seconds: float = 0.0
    megabytes: float = 0.0


def attack(times: int, seed: int = 0) -> Iterator[Hostile]:
    """``times`` files with wrong fields, and as many of each other kind as there are."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run"
        whole = _saved(path)
        makers: dict[str, list[Callable[[], Any]]] = {
            "wrong fields": [lambda: path.write_bytes(_wrong(whole, rng)) for _ in range(times)],
            "wrong value lines": [
                partial(path.write_bytes, whole + b"%s %x\n" % (line, zlib.crc32(line)))
                for line in _LINES
            ],
            "no regular file": [partial(make, path) for make in _ODD],
            "3 GiB of nothing": [partial(_sparse, path, part) for part in (b"", whole)],
        }
        for kind, made in makers.items():
            yield _tried(kind, path, made)


def _saved(path: Path) -> bytes:
    opt = nw.Optimizer(**options(60, 0))
    for trial in opt.ask()[:6]:
        opt.tell(trial.id, bumpy(trial.x))
    opt.save(path)
    return path.read_bytes()


def _wrong(whole: bytes, rng: random.Random) -> bytes:
    """One to three numbers, words or arrays replaced; the checksum fits."""
    content = json.loads(whole.split(b"\n")[1])
    for _ in range(rng.randint(1, 3)):
        *outer, last = rng.choice(list(_leaves(content)))
        place = content
        for key in outer:
            place = place[key]
        place[last] = copy.deepcopy(rng.choice(_VALUES))
    return _sealed(content)


def _sealed(content: Any) -> bytes:
    """A file with this content whose header fits."""
    text = json.dumps(content)
    head = {"noisewise": FORMAT, "bytes": len(text), "crc": zlib.crc32(text.encode())}
    return f"{json.dumps(head)}\n{text}\n".encode()


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        if isinstance(inner, (dict, list)) and inner and "~array" not in inner:
            yield from _leaves(inner, (*path, key))
        else:
            yield (*path, key)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as ear:
        ear.bind(str(path))


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _loop(path: Path) -> None:
    path.symlink_to(path)


_ODD: tuple[Callable[[Path], Any], ...] = (_fifo, _socket, _device, _loop, Path.mkdir)


def _sparse(path: Path, start: bytes) -> None:
    path.write_bytes(start)
    os.truncate(path, 3 << 30)


def _tried(kind: str, path: Path, made: list[Callable[[], Any]]) -> Hostile:
    tally = Hostile(kind)
    for make in made:
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        path.unlink(missing_ok=True)
        make()
        began = time.process_time()
        tracemalloc.start()
        outcome = _loaded(path)
        tally.megabytes = max(tally.megabytes, tracemalloc.get_traced_memory()[1] / 1e6)
        tracemalloc.stop()
        tally.seconds = max(tally.seconds, time.process_time() - began)
        tally.files += 1
        setattr(tally, outcome, getattr(tally, outcome) + 1)
    return tally


def _loaded(path: Path) -> str:
    try:
        opt = nw.Optimizer.load(path)
    except nw.CheckpointError as error:
        return "refused" if "\n" not in str(error) else "escaped"
    except Exception:
        return "escaped"
    try:
        before = opt.spent
        while not opt.done and opt.spent < before + 40:
            trials = opt.ask()
            if not trials:  # it waits for what never comes
                return "failed"
            for trial in trials:
                opt.tell(trial.id, bumpy(trial.x))
    except Exception:
        return "failed" if opt.spent <= opt.budget else "escaped"
    return "harmless" if opt.spent <= opt.budget else "escaped"


def table(rows: Iterator[Hostile]) -> Iterator[str]:
    yield "| files | tried | refused in a sentence | harmless | failed | escaped | at most |"
    yield "|---|---|---|---|---|---|---|"
    for r in rows:
        yield (
            f"| {r.kind} | {r.files} | {r.refused} | {r.harmless} | {r.failed} "
            f"| {r.escaped} | {r.seconds:.1f} CPU s, {r.megabytes:.0f} MB |"
        )
