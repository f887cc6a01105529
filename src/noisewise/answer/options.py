"""The options of a list, from the best to the worst: the table of a result, and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from noisewise.methods.method import Standings
from noisewise.problem.space import Space

#: Options that are listed as text.
_LISTED = 10
#: Columns of the table, and their headings as text.
COLUMNS = {
    "option": "option",
    "n": "evaluations",
    "failed": "failed",
    "mean": "mean",
    "shrunk": "shrunk mean",
    "chance": "chance to be the best",
}


def table(standings: Standings, space: Space, maximize: bool) -> dict[str, list[Any]]:
    """Columns by name, one entry per option, in the user's sign: the value of the parameter (values
    by name, where there are several), evaluations of the search that succeeded and that failed,
    their mean, what the option is expected to be given all values, and its chance to be the best.
    """
    sign = -1.0 if maximize else 1.0
    decoded = [space.decode(x) for x in standings.X]
    single = len(space.names) == 1
    return {
        "option": [next(iter(p.values())) if single else p for p in decoded],
        "n": standings.n.tolist(),
        "failed": standings.failed.tolist(),
        "mean": (sign * standings.mean).tolist(),
        "shrunk": (sign * standings.expected).tolist(),
        "chance": standings.chance.tolist(),
    }


def rows(options: dict[str, list[Any]], most: int = _LISTED) -> list[tuple[str, ...]]:
    """The headings and the first options as text; no column of failures where there are none."""
    names = [name for name in COLUMNS if name != "failed" or any(options["failed"])]
    found = [tuple(COLUMNS[name] for name in names)]
    for entries in zip(*(options[name][:most] for name in names), strict=True):
        found.append(tuple(_said(n, v) for n, v in zip(names, entries, strict=True)))
    return found


def lines(options: dict[str, list[Any]]) -> list[str]:
    """The same, aligned.

    >>> found = {"option": ["b", "a"], "n": [7, 3], "failed": [0, 0], "mean": [0.1, 1.0],
    ...          "shrunk": [0.2, 0.9], "chance": [0.91, 0.09]}
    >>> for line in lines(found):
    ...     print(line)
    option  evaluations  mean  shrunk mean  chance to be the best
    b                 7   0.1          0.2                   0.91
    a                 3     1          0.9                   0.09
    """
    cells = rows(options)
    widths = [max(len(row[j]) for row in cells) for j in range(len(cells[0]))]
    found = [_aligned(row, widths) for row in cells]
    if more := len(options["option"]) - _LISTED:
        found += [f"... and {more} more"] if more > 0 else []
    return found


def _aligned(row: Sequence[str], widths: Sequence[int]) -> str:
    first = row[0].ljust(widths[0])
    rest = (cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
    return "  ".join([first, *rest]).rstrip()


def _said(name: str, value: Any) -> str:
    if name == "chance":
        return f"{value:.2f}" if 0.005 <= value <= 0.995 or value in (0.0, 1.0) else _far(value)
    if name in ("mean", "shrunk"):
        return "" if value != value else f"{value:.4g}"
    if isinstance(value, dict):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    return str(value)


def _far(chance: float) -> str:
    return "< 0.01" if chance < 0.5 else "> 0.99"
