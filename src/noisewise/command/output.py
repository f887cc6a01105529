"""What a program prints: read through a pipe into memory, of which no more than the end is kept."""

from __future__ import annotations

import os
import select
import threading
from typing import IO

#: Bytes that are read at once.
_BLOCK = 1 << 16
#: Milliseconds between looks at whether to stop.
_LOOK = 100
#: Blocks that are read after we were told to stop: as much as a pipe can hold.
_LEFT = 16
#: Seconds after which a thread that does not stop is left to itself.
_GIVEN_UP = 1.0


class Output:
    """Reads ``stream`` in a thread of its own until it ends, and keeps its last ``most`` bytes.

    No file is involved: a full disk cannot cut an output off in silence, and a program that
    writes without end takes neither disk nor more memory.
    """

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream, self._most = stream, most
        self._kept, self._left = bytearray(), _LEFT
        #: Whether the beginning was too long to be kept, and whether the end came.
        self.cut, self.ended = False, False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._read, daemon=True, name="noisewise output")
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait for the end of the stream, at most this long."""
        self._thread.join(seconds)

    @property
    def unread(self) -> bool:
        """Whether there may be more that was written before we stopped."""
        return self._thread.is_alive() and hasattr(select, "poll")

    def stop(self) -> None:
        """Read what is there already and no further: a process may hold the stream open."""
        self._stop.set()
        self._thread.join(_GIVEN_UP)

    def text(self) -> str:
        """The output. Where an end of it is missing, the line there is left out: a part of a
        number would be another number."""
        kept = bytes(self._kept)[-self._most :]
        if self.cut:
            kept = kept.partition(b"\n")[2]
        if not self.ended:
            kept = kept[: kept.rfind(b"\n") + 1]
        return kept.decode("utf-8", errors="replace")

    def _read(self) -> None:
        with self._stream as stream:
            while self._ready(stream):
                block = os.read(stream.fileno(), _BLOCK)
                if not block:
                    self.ended = True
                    return
                self._kept += block
                self.cut = self.cut or len(self._kept) > self._most
                if len(self._kept) > 2 * self._most:  # not at every block: it moves the rest
                    del self._kept[: -self._most]

    def _ready(self, stream: IO[bytes]) -> bool:
        """Wait for something to read; False if there is nothing and we are to stop."""
        if not hasattr(select, "poll"):  # pragma: no cover - Windows, where reading itself waits
            return not self._stop.is_set()
        poll = select.poll()
        poll.register(stream, select.POLLIN)
        while not self._stop.is_set():
            if poll.poll(_LOOK):
                return True
        self._left -= 1
        return self._left >= 0 and bool(poll.poll(0))
