"""Where a run lies that several processes share: in a database, as a table of events.

``sqlite:///file#run`` is a file for processes of one machine, ``postgresql://host/db#run`` a server
for many machines. What is behind the ``#`` names the run: a database may hold many.
"""

from __future__ import annotations

from typing import Any

from noisewise._check import shown
from noisewise.storage.base import Entry, Store
from noisewise.storage.in_postgres import Postgres
from noisewise.storage.in_sqlite import Sqlite

__all__ = ["Entry", "Store", "is_url", "open_store"]

_KINDS = "postgresql://host/db#run or sqlite:///file#run"


def is_url(text: Any) -> bool:
    """Whether this names a run in a database, not a file."""
    return isinstance(text, str) and "://" in text


def open_store(url: Any) -> Store:
    """The run that ``url`` names; it may not be there yet."""
    if not is_url(url):
        raise ValueError(f"storage must look like {_KINDS}, got {shown(url)}")
    place, _, run = url.rpartition("#")
    kind = place.partition("://")[0]
    if not place or not run:
        raise ValueError(f"storage must name a run behind #, as in {_KINDS}, got {_hidden(url)}")
    if kind == "sqlite" and place.startswith("sqlite:///") and len(place) > len("sqlite:///"):
        return Sqlite(place.removeprefix("sqlite:///"), run, url)
    if kind in ("postgresql", "postgres"):
        return Postgres(place, run, _hidden(url))
    raise ValueError(f"storage must look like {_KINDS}, got {_hidden(url)}")


def _hidden(url: str) -> str:
    """A URL without its password."""
    kind, rest = url.split("://", 1)
    login, at, host = rest.rpartition("@")
    name, colon, _ = login.partition(":")
    return f"{kind}://{name}{':***' if colon else ''}{at}{host}"
