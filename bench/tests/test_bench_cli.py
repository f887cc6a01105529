"""The commands, as a user types them."""

from __future__ import annotations

import argparse
import csv
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from bench_toys import Sphere

import noisewise
from noisewise_bench import cli, commands
from noisewise_bench.campaign import Grid
from noisewise_bench.store import Store

EXAMPLES = Path(__file__).parents[2] / "examples"
GRID = [
    *("--problems", "bench_toys:Sphere(dimension=2),bench_toys:Sphere(dimension=3)"),
    *("--methods", "bench_toys:random_search", "bench_toys:stay"),
    *("--budgets", "5d,50d", "--seeds", "1-4", "--workers", "1"),
]
ONE = ["--problems", "bench_toys:Sphere(dimension=2)"]


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "a.sqlite")


@pytest.fixture
def done(db: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert cli.main(["run", "--db", db, *GRID]) == 0
    capsys.readouterr()
    return db


def test_run_tells_what_it_did_and_goes_on_by_itself(
    db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", "--db", db, *GRID]) == 0
    told = capsys.readouterr()
    assert told.out == f"32 runs planned, 0 were there, 32 computed; rows are in {db}.\n"
    assert "32/32 runs" in told.err
    assert cli.main(["run", "--db", db]) == 0
    assert "32 were there, 0 computed" in capsys.readouterr().out


def test_status_counts(done: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["status", "--db", done]) == 0
    told = capsys.readouterr().out
    assert "32 runs planned, 32 done, 0 failed, 0 missing" in told
    assert f"32 rows by noisewise {noisewise.__version__}, source " in told


def test_failures_give_exit_code_one_and_are_listed(
    db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = ["--problems", "bench_toys:Sphere", "--methods", "bench_toys:nowhere", "--workers", "1"]
    assert cli.main(["run", "--db", db, *grid]) == 1
    assert "1 failed (see `noisewise bench status" in capsys.readouterr().out
    assert cli.main(["status", "--db", db]) == 1
    assert "1 failed: bench_toys:nowhere: ValueError" in capsys.readouterr().out


def test_score_in_every_format(
    done: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["score", "--db", done, "--reference", "bench_toys:stay"]
    assert cli.main(common) == 0
    text = capsys.readouterr().out
    assert text.startswith("Against bench_toys:stay, recommended regret")
    assert cli.main([*common, "--format", "markdown", "--metric", "best-evaluated"]) == 0
    assert "### Against bench_toys:stay, best-evaluated regret" in capsys.readouterr().out
    out = tmp_path / "table.csv"
    assert cli.main([*common, "--format", "csv", "--by", "budget", "--out", str(out)]) == 0
    assert capsys.readouterr().out == ""
    lines = list(csv.DictReader(out.open()))
    assert [line["budget"] for line in lines] == ["5d", "50d"]
    assert {line["n"] for line in lines} == {"8"}


def test_score_by_problem_without_groups_and_other_tables(
    done: str, capsys: pytest.CaptureFixture[str]
) -> None:
    common = ["score", "--db", done, "--reference", "bench_toys:stay", "--by", "none"]
    assert cli.main([*common, "--unit", "problem", "--format", "csv"]) == 0
    (line,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert line["n"] == "4"
    assert cli.main([*common, "--table", "ranks"]) == 0
    assert "mean rank" in capsys.readouterr().out
    assert cli.main([*common, "--table", "medians", "--methods", "bench_toys:stay"]) == 0
    assert "random_search" not in capsys.readouterr().out


def test_a_suite_chooses_problems_to_run_and_to_score(
    db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = ["--suite", "bbob-noisy", "--dimensions", "2", "--instances", "1"]
    grid = ["--methods", "bench_toys:stay", "bench_toys:random_search", "--budgets", "9"]
    assert cli.main(["run", "--db", db, *suite, *grid, "--workers", "1"]) == 0
    assert "60 runs planned" in capsys.readouterr().out
    assert cli.main(["score", "--db", db, "--suite", "bbob-noisy-high", "--format", "csv"]) == 0
    (line,) = csv.DictReader(capsys.readouterr().out.splitlines())
    assert line["n"] == "15"
    assert cli.main(["score", "--db", db, "--suite", "nonsense"]) == 2
    assert "nonsense" in capsys.readouterr().err


def test_report_writes_a_page_and_figures(
    db: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "figures"
    assert cli.main(["run", "--db", db, *GRID, "--budgets", "5d", *ONE]) == 0
    capsys.readouterr()
    assert cli.main(["report", "--db", db, "--figures", str(folder), "--format", "svg"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"{tmp_path / 'a.html'} written."
    assert "<h1>Campaign a</h1>" in (tmp_path / "a.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in folder.iterdir()) == [
        "convergence-recommended.svg",
        "difference-recommended.svg",
        "profile-recommended.svg",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "holds no grid to go on with"),
        (["run", "--seeds", "1-3"], "say which --suite or --problems and which --methods"),
        (["run", "--problems", "bench_toys:Sphere"], "the grid has no methods"),
        (["run", "--suite", "nonsense", "--methods", "auto"], "'nonsense'"),
        (["run", "--problems", "x", "--methods", "auto", "--seeds", "x"], "--seeds takes"),
        (["status"], "there is no campaign file"),
        (["score"], "there is no campaign file"),
    ],
)
def test_errors_are_one_sentence(
    arguments: list[str], message: str, db: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main([*arguments, "--db", db]) == 2
    told = capsys.readouterr().err
    assert told.startswith("noisewise bench: ")
    assert message in told
    assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reference", "nobody"], "the reference 'nobody' is not among"),
        (["--methods", "nobody"], "holds no rows of nobody"),
        (["--by", "nothing"], "by is 'nothing', it takes one of suite, function"),
        (["--methods", "bench_toys:stay"], "nothing to compare with 'bench_toys:stay'"),
    ],
)
def test_scoring_what_is_not_there_is_refused(
    arguments: list[str], message: str, done: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["score", "--db", done, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_versions_are_not_mixed_silently(
    done: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from noisewise_bench.provenance import provenance

    monkeypatch.setattr(noisewise, "__version__", "99.0")
    provenance.cache_clear()
    try:
        more = ["--problems", "bench_toys:Sphere", "--methods", "bench_toys:stay", "--budgets", "9"]
        assert cli.main(["run", "--db", done, *more, "--workers", "1"]) == 0
    finally:
        provenance.cache_clear()
    assert cli.main(["status", "--db", done]) == 1
    assert "32 stale" in capsys.readouterr().out
    assert cli.main(["score", "--db", done]) == 2
    assert "mixes rows of noisewise" in capsys.readouterr().err
    assert cli.main(["score", "--db", done, "--allow-mixed"]) == 0


def test_quick_ends_with_a_table_and_a_page(
    db: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Grid.of(**commands.QUICK).check()
    small = dict(commands.QUICK, problems=commands.QUICK["problems"][:2], budgets=["10d"])
    monkeypatch.setattr(commands, "QUICK", small)
    assert cli.main(["run", "--quick", "--db", db, "--workers", "1"]) == 0
    told = capsys.readouterr().out
    assert "Against cma-es, recommended regret" in told
    assert Path(db).with_suffix(".html").exists()


def test_it_hangs_under_another_command(done: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser(prog="noisewise")
    cli.add_parser(parser.add_subparsers())
    assert cli.execute(parser.parse_args(["bench", "status", "--db", done])) == 0
    assert "32 done" in capsys.readouterr().out


def test_exit_codes_are_in_the_help() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "noisewise_bench", "run", "--help"], capture_output=True, text=True
    )
    assert told.returncode == 0
    assert "130 interrupted" in told.stdout


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (EXAMPLES / "bring_your_own.py").read_text(encoding="utf-8")
    assert len([line for line in source.splitlines() if line.strip()]) <= 30
    assert source in (EXAMPLES.parent / "docs/guides/bench.md").read_text(encoding="utf-8")
    script = tmp_path / "bring_your_own.py"
    script.write_text(source.replace("range(1, 21)", "range(1, 3)").replace("100d", "5d"))
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(script), run_name="__main__")
    assert "Against one_plus_one" in capsys.readouterr().out
    assert (tmp_path / "bring_your_own.html").exists()


def test_rows_by_import_path_and_by_object_are_the_same(db: str) -> None:
    """A problem is what its name says: the noise follows the name, not the way it was given."""
    from noisewise_bench.task import Task, run_task

    name = "bench_toys:Sphere(dimension=3)"
    given = run_task(Task(name, "bench_toys:random_search", "5d", 1, Sphere(3)))
    found = run_task(Task(name, "bench_toys:random_search", "5d", 1))
    with Store(db) as store:
        store.put([given, found])
        assert len(store.rows()) == 1
    assert given.x == found.x
