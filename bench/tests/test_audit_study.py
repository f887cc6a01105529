"""Audits of studies whose truth is known."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewise_bench.experiments import audit

pytest.importorskip("optuna")
PROBLEM = "small/sphere/i1/d2/gaussian/0.2"


def test_a_line_says_what_came_of_one_study() -> None:
    one = audit.line(PROBLEM, "random")
    assert one == audit.line(PROBLEM, "random")
    assert (one.problem, one.sampler) == (PROBLEM, "random")
    assert one.trials in audit.TRIALS
    assert one.wins in (0.0, 0.5, 1.0)


def test_lines_that_are_kept_are_not_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = tmp_path / "lines.jsonl"
    monkeypatch.setattr(audit, "SAMPLERS", ("random",))
    first = list(audit.lines([PROBLEM], kept))
    monkeypatch.setattr(audit, "line", lambda *_: pytest.fail("computed again"))
    assert list(audit.lines([PROBLEM], kept)) == first


def made(covers: bool, wins: float) -> audit.Line:
    return audit.Line(PROBLEM, "tpe", 50, covers, True, wins, lucky=False)


def test_the_verdict_comes_first_and_names_a_miss() -> None:
    good = [made(True, 1.0)] * 9 + [made(False, 0.0)]
    text, tables = audit.page("small", good, "1", "2")
    assert text.splitlines()[2].startswith("Over 10 studies the interval covers in 90% (goal 90 %)")
    assert "both goals are met" in text
    assert "a goal is missed" in audit.verdict([made(True, 0.5)])
    assert tables[0].rows[-1][:3] == ("all", 10, 0.9)
    assert "experiments audit --suite small --instances 1 --dimensions 2" in text


def test_wrong_arguments_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert audit.main(["--instances", "x"]) == 2
    assert "instances" in capsys.readouterr().err
