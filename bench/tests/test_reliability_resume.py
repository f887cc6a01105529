"""Resumed equals never interrupted, for every method and way, at every evaluation: a part of it a
day. `python -m noisewise_bench.reliability resume` does all of it."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import Any

import pytest

import noisewise as nw
from noisewise.loop.checkpoint import Journal
from noisewise.run.run import Run
from noisewise_bench.reliability import resume
from noisewise_bench.reliability.__main__ import main
from noisewise_bench.reliability.resume import Case

#: Days since the year 1; NOISEWISE_DAY repeats another day's part.
DAY = int(os.environ.get("NOISEWISE_DAY", date.today().toordinal()))


@pytest.mark.untraced
@pytest.mark.parametrize(
    ("case", "which"), resume.of_day(DAY), ids=[case.method for case, _ in resume.of_day(DAY)]
)
def test_the_part_of_today(case: Case, which: slice, tmp_path: Path) -> None:
    found = resume.resume(case, tmp_path, which)
    assert found.good, f"on day {DAY}: {found}; repeat it with: {case.command}"


def test_the_days_cover_everything() -> None:
    points: dict[Case, set[int]] = {case: set() for case in resume.cases()}
    for day in range(DAY, DAY + 2 * 3 * len(resume.WAYS)):
        today = resume.of_day(day)
        assert [case.method for case, _ in today] == nw.list_methods()
        for case, which in today:
            points[case].update(range(resume.BUDGET)[which])
    assert all(known == set(range(resume.BUDGET)) for known in points.values())


def test_a_trial_that_is_handed_out_twice_is_found_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def forgetful(self: Run) -> None:
        """What waited is handed out again, and what was under way is not held to be out."""
        self.waiting += sorted(id for part in self.parts for id in part.pending)

    case = Case("racing", "batch", "states")
    assert resume.resume(case, tmp_path).good
    monkeypatch.setattr(Run, "hand_out_again", forgetful)
    assert resume.resume(case, tmp_path).differ


def test_workers_that_lose_or_repeat_something_are_found_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    case, points = Case("cma-es", "workers", "values"), slice(20, 24)
    assert resume.resume(case, tmp_path, points).good
    monkeypatch.setattr(Journal, "append", lambda *args: None)
    assert resume.resume(case, tmp_path, points).lost > 40


def test_a_lost_value_is_found_out(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(Journal, "append", lambda *args: None)
    found = resume.resume(Case("cma-es", "plain", "values"), tmp_path, slice(8, 12))
    assert found.lost == 8 + 9 + 10 + 11


def test_the_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetful(case: Case, *args: Any) -> resume.Tally:
        return resume.Tally(5, ["evaluation 3: another result"] if case.way == "data" else [])

    main(["resume", "--methods", "pem", "--ways", "data", "errors", "--states", "values"])
    out = capsys.readouterr().out.splitlines()
    assert [line.split(" | ")[:4] for line in out[2:]] == [
        ["| data", "1", str(resume.BUDGET + 1), str(resume.BUDGET + 1)],
        ["| errors", "1", str(resume.BUDGET + 1), str(resume.BUDGET + 1)],
    ]
    monkeypatch.setattr(resume, "resume", forgetful)
    main(["resume", "--methods", "pem", "--ways", "data", "--states", "values"])
    assert capsys.readouterr().out.splitlines()[-1] == (
        "python -m noisewise_bench.reliability resume --methods pem --ways data --states values: "
        "evaluation 3: another result"
    )
