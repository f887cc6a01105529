"""What happens to a run, as lines of a file:

    ["asked", n, handed]     n trials were asked for (null: all that there were), and so many handed
                             out in all after that
    [id, value, se, ...]     trial id was told
    ["time", left]           the time was up, and so many evaluations were left for the answer

and, where several processes share a run, also

    ["gone", worker]         this process will tell nothing more
    ["budget", n]            the run may spend n evaluations in all, and goes on if it had ended
    ["stop"]                 a callback ended the run

Each line ends with its checksum.
"""

from __future__ import annotations

import json
import math
import zlib
from typing import Any, NamedTuple

import numpy as np

from noisewise.problem.values import Value

#: Bytes of the longest line, which has room for as many constraints as there may be: longer ones
#: are neither read nor written.
LONGEST = 1 << 18


class Asked(NamedTuple):
    """``n`` trials were asked for, None: all that there were; ``handed`` out were so many in all
    after that."""

    n: int | None
    handed: int


class TimeUp(NamedTuple):
    """The time was up: the search ended, with ``left`` evaluations to measure its answer."""

    left: int


class Gone(NamedTuple):
    """A process is gone: what it had is handed out again."""

    worker: str


class Budget(NamedTuple):
    """The run may spend ``n`` evaluations in all."""

    n: int


class Stop(NamedTuple):
    """The run ends."""


Event = Asked | TimeUp | Gone | Budget | Stop | Value


def read(line: bytes) -> Event:
    """What a line says; ValueError or its like if it is no such line."""
    text, _, crc = line.removesuffix(b"\n").rpartition(b" ")
    if crc.lower() != b"%x" % zlib.crc32(text):
        raise ValueError("checksum")
    entries = json.loads(text)
    if type(entries) is list and 0 < len(entries) <= 2 and entries[0] in _SHORT:
        return _short(_SHORT[entries[0]], entries[1:])
    id, value, se, *more = entries
    number = value is None or (type(value) is int and value > 0)
    if id == "asked" and number and type(se) is int and not more:
        return Asked(value, se)
    fine = type(id) is int and (value is None or _is_finite(value))
    if fine and value is None and type(se) is str and not more:
        return Value(id, math.nan, why=se)
    if not fine or not (se is None or (_is_finite(se) and se >= 0.0)):
        raise ValueError("not an id, a value and a standard error")
    if more and not (len(more) == 1 and more[0] and all(map(_is_finite, more[0]))):
        raise ValueError("no constraints")
    constraints = np.array(more[0], dtype=float) if more else None
    value = math.nan if value is None else float(value)
    return Value(id, value, None if se is None else float(se), constraints)


def write(event: Event) -> bytes:
    """The line for an event."""
    line = _entries(event) if isinstance(event, Value) else [_NAMES[type(event)], *event]
    text = json.dumps(line).encode()
    return b"%s %x\n" % (text, zlib.crc32(text))


_SHORT: dict[str, type[TimeUp | Gone | Budget | Stop]] = {
    "time": TimeUp,
    "gone": Gone,
    "budget": Budget,
    "stop": Stop,
}
_NAMES: dict[type, str] = {Asked: "asked"} | {kind: name for name, kind in _SHORT.items()}


def _short(kind: type[TimeUp | Gone | Budget | Stop], entries: list[Any]) -> Event:
    """An event of at most one entry."""
    fits = all(type(one) is (str if kind is Gone else int) for one in entries)
    if not fits or (kind in (TimeUp, Budget) and min(entries, default=0) < 0):
        raise ValueError(f"not an event of {kind.__name__}")
    return kind(*entries)


def _entries(value: Value) -> list[Any]:
    """A value as it is written: nothing where it failed; the exception in place of the standard
    error where it raised one."""
    number = value.y if math.isfinite(value.y) else None
    line = [value.id, number, value.se if value.why is None else value.why]
    return line if value.constraints is None else [*line, value.constraints.tolist()]


def _is_finite(number: Any) -> bool:
    return type(number) in (int, float) and math.isfinite(number)
