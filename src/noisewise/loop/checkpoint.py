"""Exact resume: one text file, written atomically, without pickle.

Line 1 is a header with the format, the length and the checksum of line 2, which is the state of
the run as JSON. Every further line is an event since then (`events`). The same events make the same
run, so nothing else has to be kept. A value is appended the moment it is known; from time to time
the file is replaced by a fresh one, so it stays small. A last line that was cut off by a crash is
dropped: its evaluation was in flight.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import IO, Any

from noisewise import _data
from noisewise._check import shown
from noisewise.errors import CheckpointError
from noisewise.loop import events, files
from noisewise.loop.events import Asked, Event, TimeUp
from noisewise.problem.values import Value
from noisewise.run.about import About

FORMAT = 3
#: Versions of the library that wrote earlier formats.
_EARLIER = {1: "0.1", 2: "0.2"}
_MAGIC = "noisewise"
#: Bytes of the state that are read at a time.
_CHUNK = 1 << 20
#: Seconds between two fresh files of a journal.
_FRESHEN = 5.0
#: Flushing to the disk takes at most one part in this many of the run's time.
_SYNC_SHARE = 20.0


@dataclass(frozen=True)
class Saved:
    """What a file holds."""

    method: Any
    run: Any
    #: What happened since the state was written, values in the user's sign.
    events: list[Event]
    #: Whether the method is in the file, too.
    whole: bool
    #: What the user keeps with the run.
    extra: dict[str, Any]
    about: About


def write(
    path: str | os.PathLike[str],
    method: Any,
    run: Any,
    extra: Any = None,
    about: About | None = None,
) -> None:
    """Replace ``path`` by a file with this state, or leave it as it was."""
    with _named_errors(path):
        real = files.resolved(path)
        files.clean(real)
        files.replace(real, content(method, run, extra, about))


def content(method: Any, run: Any, extra: Any, about: About | None) -> bytes:
    """A file with this state, and no event after it."""
    found = {"method": _encode_method(method), "run": _data.encode(run)}
    kept = {"extra": _data.encode(extra or {}), "about": _data.encode(about or About())}
    body = json.dumps(found | kept)
    head = json.dumps({_MAGIC: FORMAT, "bytes": len(body), "crc": zlib.crc32(body.encode())})
    return f"{head}\n{body}\n".encode()


def read(path: str | os.PathLike[str], method: Any = None) -> Saved:
    """What is in ``path``; `CheckpointError` in one sentence if that is not a whole checkpoint."""
    with _named_errors(path), files.open_regular(files.resolved(path)) as file:
        return parse(path, file, method)


def parse(path: Any, file: IO[bytes], method: Any = None) -> Saved:
    """What is in a file that is called ``path`` in errors."""
    kept, run, extra, about = _state(path, _body(path, file))
    happened = list(_since(path, file))
    if kept is not None and method is not None and not _data.same(kept, method):
        raise CheckpointError(
            f"checkpoint {path} holds a run with method {shown(kept)}, not {shown(method)}: "
            "give the same arguments or another path"
        )
    if kept is None and method is None:
        raise CheckpointError(
            f"checkpoint {path} was made by a method that holds a function: give it again as method"
        )
    return Saved(method if kept is None else kept, run, happened, kept is not None, extra, about)


def _body(path: Any, file: IO[bytes]) -> bytes:
    """The second line, if it is what the header in the first one says."""
    try:
        head = json.loads(file.readline(events.LONGEST))
        version, length, crc = head[_MAGIC], head["bytes"], head["crc"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CheckpointError(f"{path} is not a noisewise checkpoint") from None
    if type(version) is int and version in _EARLIER:
        raise CheckpointError(
            f"checkpoint {path} was written by noisewise {_EARLIER[version]}, which this version "
            "cannot resume: finish it there, or start anew with another path"
        )
    if version != FORMAT:
        raise CheckpointError(
            f"checkpoint {path} has format {version!r:.20}, this noisewise reads {FORMAT}"
        )
    body = b"".join(_chunks(file, length)) if type(length) is int else b""
    if len(body) != length or zlib.crc32(body) != crc or file.read(1) not in (b"\n", b""):
        raise CheckpointError(f"checkpoint {path} is damaged: its checksum does not match")
    return body


def _chunks(file: IO[bytes], length: int) -> Iterator[bytes]:
    """The next ``length`` bytes, or those before a NUL: a sparse file must not fill the memory."""
    while length > 0 and (chunk := file.read(min(length, _CHUNK))) and b"\0" not in chunk:
        yield chunk
        length -= len(chunk)


def _state(path: Any, body: bytes) -> tuple[Any, Any, dict[str, Any], About]:
    """Method, run, extra data and what the library keeps."""
    try:
        content = json.loads(body)
        kept = _data.decode(content["method"])
        run = _data.decode(content["run"])
        extra, about = _data.decode(content["extra"]), _data.decode(content["about"])
    except (_data.DataError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(f"checkpoint {path} is damaged: {str(error)[:200]}") from error
    is_run = type(run).__name__ == "Run" and is_dataclass(run.memory)
    if not is_run or not isinstance(extra, dict) or not isinstance(about, About):
        raise CheckpointError(f"checkpoint {path} is damaged: it holds no run")
    return kept, run, extra, about


def _since(path: Any, file: IO[bytes]) -> Iterator[Event]:
    """What happened after the state; what follows the last newline was cut off by a crash. A
    line that is there twice was written again after an interrupt."""
    seen: set[bytes] = set()
    number = 3
    while line := file.readline(events.LONGEST):
        if not line.endswith(b"\n") and len(line) < events.LONGEST:
            return
        try:
            event = events.read(line)
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise CheckpointError(f"checkpoint {path} is damaged in line {number}") from None
        if line not in seen:
            yield event
        seen.add(line)
        number += 1


def _encode_method(method: Any) -> Any:
    """The method's options, or None where they hold a function."""
    try:
        return _data.encode(method)
    except _data.DataError:
        return None


@contextlib.contextmanager
def _named_errors(path: Any) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        raise CheckpointError(f"checkpoint {path} cannot be used: {reason}") from error


@dataclass
class Journal:
    """Keeps a checkpoint up to date while a run goes on.

    A lock file beside it makes a second process on the same file fail at once. ``path`` is
    resolved once: the working directory may change during the run, and a symbolic link must not
    be replaced by a file.
    """

    path: Path
    _file: IO[bytes] | None = field(default=None, init=False)
    _lock: IO[bytes] | None = field(default=None, init=False)
    #: Whether the open file may have been replaced.
    _stale: bool = field(default=True, init=False)
    _fresh: float = field(default=-math.inf, init=False)
    _synced: float = field(default=-math.inf, init=False)
    _sync_cost: float = field(default=0.0, init=False)
    #: What is written with the next value: nothing depends on it before.
    _waiting: list[bytes] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        with _named_errors(self.path):
            self.path = files.resolved(self.path)

    def open(self, method: Any, run: Any, extra: Any = None, about: About | None = None) -> None:
        """Write the present state; values are appended from now on."""
        self._stale = True
        self._waiting.clear()
        if os.name == "nt" and self._file is not None:  # pragma: no cover - it must not be open
            self._file.close()
        with _named_errors(self.path):
            files.replace(self.path, content(method, run, extra, about))
        self._reopen()
        self._fresh = time.monotonic()

    def _reopen(self) -> None:
        with _named_errors(self.path):
            old, self._file = self._file, open(self.path, "ab", buffering=0)  # noqa: SIM115
        if old is not None:
            old.close()
        self._stale = False

    def asked(self, n: int | None, handed: int) -> None:
        """``n`` trials were asked for (None: all that there were), and ``handed`` out so many in
        all. Written with the next values: without these it does not matter."""
        self._waiting.append(events.write(Asked(n, handed)))

    def time_up(self, left: int) -> None:
        """The time was up, with so many evaluations left. Written with the next values, too."""
        self._waiting.append(events.write(TimeUp(left)))

    def append(self, values: Sequence[Value]) -> None:
        """Values are known, in the user's sign. From here on they survive the death of this
        process; that of the machine too, unless they come so fast that flushing would take over
        the run."""
        if self._stale:  # an interrupt came while it was replaced
            self._reopen()
        assert self._file is not None
        lines = list(self._waiting)
        for value in values:
            lines.append(events.write(value))
            if len(lines[-1]) > events.LONGEST:
                raise CheckpointError(
                    f"checkpoint {self.path} cannot hold evaluation {value.id}: its line would "
                    f"have {len(lines[-1])} bytes, at most {events.LONGEST} can be read"
                )
        with _named_errors(self.path):
            self._write(b"".join(lines))
            self._waiting.clear()
            now = time.monotonic()
            if now - self._synced > _SYNC_SHARE * self._sync_cost:
                os.fsync(self._file.fileno())
                self._synced = time.monotonic()
                self._sync_cost = self._synced - now

    def _write(self, line: bytes) -> None:
        """All of it, or nothing: a disk may be full in the middle of it."""
        assert self._file is not None
        fd = self._file.fileno()
        end = os.fstat(fd).st_size
        try:
            while line:
                line = line[os.write(fd, line) :]
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(fd, end)
            raise

    def refresh(self, method: Any, run: Any, extra: Any = None, about: About | None = None) -> None:
        """Replace the file by a fresh one if that is due."""
        if time.monotonic() - self._fresh > _FRESHEN:
            self.open(method, run, extra, about)

    def lock(self) -> None:
        """Claim the path for this process, and remove what killed processes left beside it."""
        name = f"{self.path}.lock"
        while self._lock is None:
            with _named_errors(self.path):
                lock = files.open_lock(Path(name))
            try:
                with _named_errors(self.path):
                    files.lock(lock)
            except BaseException:
                lock.close()
                raise
            if files.is_at(lock, name):
                self._lock = lock
                _HELD.add(lock)
            else:  # removed by its last owner between our open and our lock
                lock.close()
        files.clean(self.path)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        if self._lock is not None:
            with contextlib.suppress(OSError):
                os.unlink(f"{self.path}.lock")
            _HELD.discard(self._lock)
            self._lock.close()
        self._file = self._lock = None


#: Lock files of this process. A forked child would hold them beyond our death: it lets go.
_HELD: set[IO[bytes]] = set()


def _let_go() -> None:
    for lock in _HELD:
        lock.close()
    _HELD.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)
