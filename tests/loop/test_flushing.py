"""When a journal flushes what it wrote to the disk: often enough to survive the machine's death,
and seldom enough to leave the time to the run."""

from __future__ import annotations

from pathlib import Path

import pytest

import support
from noisewise.loop.checkpoint import Journal
from noisewise.problem.values import Value


class Disk:
    """A clock of its own and a disk that takes a while to flush."""

    def __init__(self, flushing: float) -> None:
        self.now, self.flushing, self.flushed = 100.0, flushing, 0

    def monotonic(self) -> float:
        return self.now

    def fsync(self, fd: int) -> None:
        self.flushed += 1
        self.now += self.flushing


def flushes(
    path: Path, monkeypatch: pytest.MonkeyPatch, flushing: float, every: float, values: int
) -> int:
    """How often ``values`` that come ``every`` so many seconds are flushed, one by one."""
    disk = Disk(flushing)
    opt = support.start(support.METHODS["cma-es"])
    journal = Journal(path)
    journal.open(opt.method, opt._run)
    monkeypatch.setattr("time.monotonic", disk.monotonic)
    monkeypatch.setattr("os.fsync", disk.fsync)
    for id in range(values):
        disk.now += every
        journal.append([Value(id, 1.0)])
    journal.close()
    return disk.flushed


def test_values_that_come_slowly_are_flushed_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert flushes(tmp_path / "run", monkeypatch, flushing=0.01, every=1.0, values=20) == 20


@pytest.mark.parametrize(("every", "flushed"), [(0.06, 5), (0.0095, 1), (0.25, 20)])
def test_flushing_takes_at_most_a_twentieth_of_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every: float, flushed: int
) -> None:
    """A flush of 10 ms is followed by the next one after 200 ms at the earliest."""
    found = flushes(tmp_path / "run", monkeypatch, flushing=0.01, every=every, values=20)
    assert found == flushed
