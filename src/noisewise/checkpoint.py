"""Exact resume: one text file, written atomically, without pickle.

Line 1 is a header with the format, the length and the checksum of line 2, which is the state of
the run as JSON. Every further line is one value told since then, with its own checksum. A value
is appended the moment it is known; from time to time the file is replaced by a fresh one, so it
stays small. A last line that was cut off by a crash is dropped: its evaluation was in flight.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NamedTuple

from noisewise import _data, _files
from noisewise._check import shown
from noisewise.errors import CheckpointError

FORMAT = 2
_MAGIC = "noisewise"
#: Bytes of the longest header or value line, and bytes of the state that are read at a time.
_LONGEST_LINE = 4096
_CHUNK = 1 << 20
#: Seconds between two fresh files of a journal.
_FRESHEN = 5.0
#: Flushing to the disk takes at most one part in this many of the run's time.
_SYNC_SHARE = 20.0


class Told(NamedTuple):
    """A value (nan: failed) with its standard error and measured constraints, where known."""

    id: int
    value: float
    se: float | None
    constraints: list[float] | None = None


@dataclass(frozen=True)
class Saved:
    """What a file holds."""

    method: Any
    run: Any
    tells: list[Told]
    #: Whether the method is in the file, too.
    whole: bool
    #: What the user keeps with the run.
    extra: dict[str, Any]
    #: What the library keeps with it: named parameters, a fingerprint of the objective.
    about: dict[str, Any]


def write(
    path: str | os.PathLike[str], method: Any, run: Any, extra: Any = None, about: Any = None
) -> None:
    """Replace ``path`` by a file with this state, or leave it as it was."""
    with _named_errors(path):
        real = _files.resolved(path)
        _files.clean(real)
        _files.replace(real, _content(method, run, extra, about))


def _content(method: Any, run: Any, extra: Any, about: Any) -> bytes:
    content = {"method": _encode_method(method), "run": _data.encode(run)}
    kept = {"extra": _data.encode(extra or {}), "about": _data.encode(about or {})}
    body = json.dumps(content | kept)
    head = json.dumps({_MAGIC: FORMAT, "bytes": len(body), "crc": zlib.crc32(body.encode())})
    return f"{head}\n{body}\n".encode()


def read(path: str | os.PathLike[str], method: Any = None) -> Saved:
    """What is in ``path``; `CheckpointError` in one sentence if that is not a whole checkpoint."""
    with _named_errors(path), _files.open_regular(_files.resolved(path)) as file:
        kept, run, extra, about = _state(path, _body(path, file))
        tells = list(_tells(path, file))
    if kept is not None and method is not None and kept != method:
        raise CheckpointError(
            f"checkpoint {path} holds a run with method {shown(kept)}, not {shown(method)}: "
            "give the same arguments or another path"
        )
    if kept is None and method is None:
        raise CheckpointError(
            f"checkpoint {path} was made by a method that holds a function: give it again as method"
        )
    return Saved(method if kept is None else kept, run, tells, kept is not None, extra, about)


def _body(path: Any, file: IO[bytes]) -> bytes:
    """The second line, if it is what the header in the first one says."""
    try:
        head = json.loads(file.readline(_LONGEST_LINE))
        version, length, crc = head[_MAGIC], head["bytes"], head["crc"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise CheckpointError(f"{path} is not a noisewise checkpoint") from None
    if version == 1 and type(version) is int:
        raise CheckpointError(
            f"checkpoint {path} was written by noisewise 0.1, which this version cannot resume: "
            "finish it there, or start anew with another path"
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


def _state(path: Any, body: bytes) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """Method, run, extra data and what the library keeps."""
    try:
        content = json.loads(body)
        kept = _data.decode(content["method"])
        run = _data.decode(content["run"])
        extra, about = _data.decode(content["extra"]), _data.decode(content["about"])
    except (_data.DataError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise CheckpointError(f"checkpoint {path} is damaged: {str(error)[:200]}") from error
    if type(run).__name__ != "Run" or not isinstance(extra, dict) or type(about) is not dict:
        raise CheckpointError(f"checkpoint {path} is damaged: it holds no run")
    return kept, run, extra, about


def _tells(path: Any, file: IO[bytes]) -> Iterator[Told]:
    """The values told after the state; what follows the last newline was cut off by a crash. A
    line that is there twice was written again after an interrupt."""
    seen: set[bytes] = set()
    number = 3
    while line := file.readline(_LONGEST_LINE):
        if not line.endswith(b"\n") and len(line) < _LONGEST_LINE:
            return
        try:
            told = _told(line)
        except (ValueError, TypeError, OverflowError, RecursionError):
            raise CheckpointError(f"checkpoint {path} is damaged in line {number}") from None
        if line not in seen:
            yield told
        seen.add(line)
        number += 1


def _told(line: bytes) -> Told:
    """What a line says; ValueError or its like if it is no such line."""
    text, _, crc = line.removesuffix(b"\n").rpartition(b" ")
    if crc.lower() != b"%x" % zlib.crc32(text):
        raise ValueError("checksum")
    id, value, se, *more = json.loads(text)
    fine = type(id) is int and (value is None or _is_finite(value))
    if not fine or not (se is None or (_is_finite(se) and se >= 0.0)):
        raise ValueError("not an id, a value and a standard error")
    if more and not (len(more) == 1 and more[0] and all(map(_is_finite, more[0]))):
        raise ValueError("no constraints")
    constraints = list(map(float, more[0])) if more else None
    value = math.nan if value is None else float(value)
    return Told(id, value, None if se is None else float(se), constraints)


def _is_finite(number: Any) -> bool:
    return type(number) in (int, float) and math.isfinite(number)


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

    def __post_init__(self) -> None:
        with _named_errors(self.path):
            self.path = _files.resolved(self.path)

    def open(self, method: Any, run: Any, extra: Any = None, about: Any = None) -> None:
        """Write the present state; values are appended from now on."""
        self._stale = True
        if os.name == "nt" and self._file is not None:  # pragma: no cover - it must not be open
            self._file.close()
        with _named_errors(self.path):
            _files.replace(self.path, _content(method, run, extra, about))
        self._reopen()
        self._fresh = time.monotonic()

    def _reopen(self) -> None:
        with _named_errors(self.path):
            old, self._file = self._file, open(self.path, "ab", buffering=0)  # noqa: SIM115
        if old is not None:
            old.close()
        self._stale = False

    def append(
        self,
        ids: Sequence[int],
        values: Sequence[float],
        errors: Sequence[float | None] | None = None,
        constraints: Sequence[Any] | None = None,
    ) -> None:
        """Values are known, in the user's sign. From here on they survive the death of this
        process; that of the machine too, unless they come so fast that flushing would take over
        the run."""
        if self._stale:  # an interrupt came while it was replaced
            self._reopen()
        assert self._file is not None
        lines = []
        for i, id in enumerate(ids):
            value, se = values[i], None if errors is None else errors[i]
            line = [id, value if math.isfinite(value) else None, se]
            if constraints is not None and constraints[i] is not None:
                line.append(constraints[i].tolist())
            text = json.dumps(line).encode()
            lines.append(b"%s %x\n" % (text, zlib.crc32(text)))
        with _named_errors(self.path):
            self._write(b"".join(lines))
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

    def refresh(self, method: Any, run: Any, extra: Any = None, about: Any = None) -> None:
        """Replace the file by a fresh one if that is due."""
        if time.monotonic() - self._fresh > _FRESHEN:
            self.open(method, run, extra, about)

    def lock(self) -> None:
        """Claim the path for this process, and remove what killed processes left beside it."""
        name = f"{self.path}.lock"
        while self._lock is None:
            with _named_errors(self.path):
                lock = _files.open_lock(Path(name))
            try:
                with _named_errors(self.path):
                    _files.lock(lock)
            except BaseException:
                lock.close()
                raise
            if _files.is_at(lock, name):
                self._lock = lock
                _HELD.add(lock)
            else:  # removed by its last owner between our open and our lock
                lock.close()
        _files.clean(self.path)

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
