"""Files that are replaced as a whole, and locks on them."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

#: Opening a fifo must not wait for its other end. Windows has neither the flag nor the problem.
_AT_ONCE = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def resolved(path: str | os.PathLike[str]) -> Path:
    """The absolute path behind all symbolic links of ``path``.

    OSError if there is something there that is not a regular file.
    """
    text = os.fsdecode(path)
    if "\0" in text:
        raise OSError(errno.EINVAL, "its name contains a NUL character")
    real = os.path.realpath(text)
    try:
        mode = os.lstat(real).st_mode
    except FileNotFoundError:
        return Path(real)
    if stat.S_ISLNK(mode):  # links in a circle stay as they are
        raise OSError(errno.ELOOP, "too many levels of symbolic links")
    _check_regular(mode, "it")
    return Path(real)


def open_regular(path: Path) -> IO[bytes]:
    """``path`` for reading; OSError if it is not a regular file."""
    return _opened(path, os.O_RDONLY, "rb")


def open_lock(path: Path) -> IO[bytes]:
    """The file ``path``, created if need be, to be locked; OSError if it is not a regular file."""
    return _opened(path, os.O_RDWR | os.O_CREAT, "wb")


def _opened(path: Path, flags: int, mode: str) -> IO[bytes]:
    fd = os.open(path, flags | _AT_ONCE, 0o666)
    try:
        _check_regular(os.fstat(fd).st_mode, path.name if flags & os.O_CREAT else "it")
        return os.fdopen(fd, mode)
    except BaseException:
        os.close(fd)
        raise


def _check_regular(mode: int, what: str) -> None:
    if not stat.S_ISREG(mode):
        kind = "a directory, " if stat.S_ISDIR(mode) else ""
        raise OSError(errno.EINVAL, f"{what} is {kind}not a regular file")


def replace(path: Path, content: bytes) -> None:
    """Write to a neighbour, flush it to the disk, then rename: all or nothing.

    A file that is there already keeps its permissions.
    """
    with _part(path) as (name, file):
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
        with contextlib.suppress(OSError, AttributeError):
            os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
        if os.name == "nt":  # pragma: no cover - open files cannot be renamed there
            file.close()
        os.replace(name, path)
    _sync_folder(path.parent)


@contextlib.contextmanager
def _part(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """A new file beside ``path``, locked while it is written; removed if that fails."""
    while True:
        name = str(path.parent / f".{path.name}.{secrets.token_hex(4)}.part")
        file = os.fdopen(
            os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _AT_ONCE, 0o666), "wb"
        )
        with contextlib.suppress(OSError):  # some file systems have no locks
            lock(file)
        if is_at(file, name):
            break
        file.close()  # another process cleaned up before it was locked
    try:
        with file:
            yield name, file
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def clean(path: Path) -> None:
    """Remove what processes left beside ``path`` that were killed while they replaced it."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.[a-z0-9_]{{8}}\.part")
    names: list[str] = []
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        names = [entry.path for entry in entries if pattern.fullmatch(entry.name)]
    for name in names:
        with contextlib.suppress(OSError), open_regular(Path(name)) as file:
            lock(file)  # fails while the writer lives
            os.unlink(name)


def _sync_folder(folder: Path) -> None:
    """Flush the rename, too, where folders can be flushed."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def is_at(file: IO[bytes], name: str) -> bool:
    """Whether the open ``file`` is still the one called ``name``."""
    try:
        return os.path.samestat(os.stat(name), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def lock(file: IO[bytes]) -> None:
    """Lock ``file`` for this process; OSError at once if another process has locked it."""
    claim: Any
    try:
        import fcntl
    except ImportError:  # pragma: no cover - Windows
        import msvcrt

        claim = partial(msvcrt.locking, file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
    else:
        claim = partial(fcntl.flock, file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    try:
        claim()
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            error.strerror = "it is in use by another process"
        raise
