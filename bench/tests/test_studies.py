"""Studies: grids that exist, rows that resume, pages that say how they were made."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.__main__ import STUDIES, main
from noisewise_bench.experiments.study import (
    Scope,
    Study,
    against,
    execute,
    labelled,
    versus,
    write,
)

SCOPE = Scope((1,), (2,), (1, 2))


def _grids(scope: Scope) -> list[Grid]:
    problems = [f"bbob-noisy/f{f}/i{i}/d2" for f in (101, 110) for i in scope.instances]
    return [Grid.of(problems, ["auto", "sep-cma-es"], ["20d"], scope.seeds)]


TOY = Study(
    "toy",
    "Does it work?",
    SCOPE,
    _grids,
    lambda rows: [
        versus(labelled(rows), "auto", "recommended", "auto, B = 20d"),
        against(labelled(rows), "sep-cma-es", "best-evaluated", "against, B = 20d"),
    ],
)


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_every_study_names_what_exists(name: str) -> None:
    study = STUDIES[name]
    for grid in study.grids(Scope(study.scope.instances[:1], (10,), (1,))):
        grid.check()
        assert grid.tasks()


def test_a_study_resumes_and_says_how_it_was_made(tmp_path: Path) -> None:
    db = tmp_path / "toy.sqlite"
    rows = execute(TOY, SCOPE, db, workers=1)
    assert len(rows) == 8
    again = execute(TOY, SCOPE, db, workers=1)
    assert [r.finished for r in again] == [r.finished for r in rows]
    text = write(TOY, SCOPE, rows, tmp_path / "out").read_text()
    assert "--instances 1 --dimensions 2 --seeds 1-2" in text
    assert "high misranking" in text
    assert "complement" in text
    assert text.count("| sep-cma-es |") == 2  # auto against it, in both groups
    assert (tmp_path / "out" / "toy-2.csv").read_text().count("\n") >= 3


def test_only_the_rows_of_the_scope_are_used(tmp_path: Path) -> None:
    db = tmp_path / "toy.sqlite"
    execute(TOY, SCOPE, db, workers=1)
    assert len(execute(TOY, Scope((1,), (2,), (2,)), db, workers=1)) == 4


def test_a_bad_range_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["auto", "--instances", "x"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
