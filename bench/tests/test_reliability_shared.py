"""Shared runs under kills, on a database that the date decides, and their throughput."""

from __future__ import annotations

import sys
from datetime import date

import pytest

from noisewise_bench.reliability import postgres, shared, throughput

PLACE = ("sqlite", "postgres")[date.today().toordinal() % 2]
pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or (PLACE == "postgres" and postgres.initdb() is None),
    reason="needs fork, signals and perhaps PostgreSQL",
)


def test_processes_and_connections_killed() -> None:
    """Repeated by ``python -m noisewise_bench.reliability shared --where PLACE --kills 4``."""
    [head, line, row] = shared.table(iter([shared.survive(PLACE, 4, budget=60, n=3)]))
    found = [cell.strip() for cell in row.strip("|").split("|")]
    assert head.count("|") == line.count("|") == row.count("|")
    assert found[0] == PLACE
    assert int(found[3]) == 60 * int(found[2])
    assert found[5:] == ["0", "0", "0", "0"]


def test_throughput_beside_optuna() -> None:
    ours, theirs = throughput.measure(12, workers=(2,), places=("sqlite",))
    assert (ours.library, ours.trials) == ("noisewise", 12)
    assert (theirs.library, theirs.trials) == ("Optuna (random)", 12)
    assert ours.rate > 0.0
    assert theirs.rate > 0.0


def test_joining_a_run() -> None:
    rows = list(throughput.joined_table(throughput.join((200, 400), places=("sqlite",))))
    assert [row.split("|")[2].strip() for row in rows[2:]] == ["200", "400"]
