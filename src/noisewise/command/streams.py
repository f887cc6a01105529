"""Where the command line writes to, whatever state that is in."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path

from noisewise.loop import files


def prepare_streams() -> None:
    """Make standard streams that are closed or know few characters fit to be written to."""
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:  # else the next file to be opened would take its place
            got = os.open(os.devnull, os.O_RDWR)
            if got != fd:
                os.dup2(got, fd)
                os.close(got)
            setattr(sys, name, os.fdopen(fd, "w" if fd else "r", closefd=False))
        elif fd and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def write_page(path: Path, text: str) -> None:
    """Replace ``path`` as a whole, so that a failure leaves what was there; a device or a pipe is
    written to."""
    content = text.encode("utf-8", "backslashreplace")
    device = path.as_posix().startswith(("/dev/", "/proc/"))  # /dev/stdout may be a file, too
    if device or (path.exists() and not path.is_file()):
        path.write_bytes(content)
    else:
        files.replace(files.resolved(path), content)


def say(text: str) -> None:
    """Print a line about the command itself, on stderr."""
    with contextlib.suppress(OSError):  # after a hang-up there is nobody to hear it
        print(f"noisewise: {text}", file=sys.stderr, flush=True)
