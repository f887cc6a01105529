"""A sample of faults that depends on a seed and on the lines themselves, not on their order.

Every line has a rank, a hash of the seed and its text. A room gives the lines with the smallest
ranks, so that a change elsewhere in the code leaves the rest of the sample as it was.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from noisewise_bench.mutants.faults import Fault

#: Faults of a room, at least, where it has as many lines.
_LEAST = 5


def draw(faults: Iterable[Fault], n: int, seed: int) -> list[Fault]:
    """``n`` faults on different lines; every room in proportion to its lines, and at least 5."""
    rooms: dict[str, dict[tuple[str, int], list[Fault]]] = defaultdict(lambda: defaultdict(list))
    for fault in faults:
        rooms[fault.room][fault.path, fault.line].append(fault)
    shares = _shares({room: len(lines) for room, lines in rooms.items()}, n)
    drawn = []
    for room, lines in sorted(rooms.items()):
        ranked = sorted(lines.values(), key=lambda line: _line_rank(line[0], seed))
        drawn += [_one(line, seed) for line in ranked[: shares[room]]]
    return drawn


def _one(line: list[Fault], seed: int) -> Fault:
    """One of the faults of a line: any kind is as likely as the others."""
    where = _line_rank(line[0], seed)
    kind = min({f.kind for f in line}, key=lambda kind: rank(f"{where} {kind}", seed))
    return min((f for f in line if f.kind == kind), key=lambda f: rank(f.key, seed))


def rank(key: str, seed: int | str) -> str:
    """Where something comes in the order of a seed."""
    return hashlib.sha256(f"{seed} {key}".encode()).hexdigest()


def _line_rank(fault: Fault, seed: int) -> str:
    name = Path(fault.path).name
    return rank(f"{name} {fault.function} {fault.before} {fault.nth}", seed)


def _shares(lines: dict[str, int], n: int) -> dict[str, int]:
    """How many of ``n`` faults each room gets: highest averages above the least."""
    shares = {room: min(count, _LEAST, n // len(lines)) for room, count in lines.items()}
    for _ in range(min(n, sum(lines.values())) - sum(shares.values())):
        open_ = [room for room in sorted(lines) if shares[room] < lines[room]]
        shares[max(open_, key=lambda room: lines[room] / (shares[room] + 1))] += 1
    return shares
