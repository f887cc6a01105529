"""A run that commands name: a file, or the URL of a run in a database."""

from __future__ import annotations

from pathlib import Path

from noisewise.errors import CheckpointError
from noisewise.loop import shared
from noisewise.loop.optimizer import Optimizer
from noisewise.storage import is_url, open_store


class Kept:
    """A run that is kept somewhere, or will be."""

    def __init__(self, where: str) -> None:
        self.url = where if is_url(where) else None
        self.path = Path(where)
        if self.url is not None:
            store = open_store(where)
            #: What it is called, and how its place is shown, without a password.
            self.name, self.shown = store.run, store.shown
        else:
            self.name, self.shown = self.path.name, where

    def __str__(self) -> str:
        return self.shown

    def exists(self) -> bool:
        return self.stamp() != ""

    def load(self) -> Optimizer:
        return Optimizer.load(self.path) if self.url is None else shared.load(self.url)

    def page(self) -> Path:
        """Where a page about the run is written if nothing else is said."""
        return self.path.with_suffix(".html") if self.url is None else Path(f"{self.name}.html")

    def is_at(self, path: Path) -> bool:
        """Whether this file is the run."""
        return self.url is None and path.resolve() == self.path.resolve()

    def stamp(self) -> str:
        """Changes whenever the run does; empty while there is none."""
        if self.url is not None:
            return self._newest()
        try:
            found = self.path.stat()
        except OSError:
            return ""
        return f"{found.st_mtime_ns}-{found.st_size}"

    def _newest(self) -> str:
        """The number of the newest event."""
        assert self.url is not None
        store = open_store(self.url)
        store.patience = 0.0
        try:
            newest = store.newest()
        except CheckpointError:  # not there, or away; whoever reads it says why
            return ""
        finally:
            store.close()
        return "" if newest < 0 else str(newest)
