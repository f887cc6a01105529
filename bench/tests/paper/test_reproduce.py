"""The frame: a command that resumes, pages that say how they were made, every artifact's rows."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

from noisewise_bench import reproduce
from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper import _artifact
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Plot, Scale, write
from noisewise_bench.experiments.paper._duel import duel, duel_table
from noisewise_bench.experiments.paper._registry import artifacts
from noisewise_bench.figures import Panel
from noisewise_bench.record import checkpoints
from noisewise_bench.store import Store
from noisewise_bench.task import Row, Task, suite_of

#: The artifacts made of campaigns alone, which this file owns.
OURS = (
    *("ablations", "breakdowns", "coco-noise", "convergence", "depth-fidelity"),
    "depth-robustness",
    *("high-misranking", "log-weights", "rank-by-probe", "restarts", "single-crossing", "table1"),
    *("task-ranks", "threshold-network", "threshold-transfer", "verdict"),
)
QUICK = Scale("quick")


def made_up(task: Task) -> Row:
    """A row nobody ran: regrets drawn from a stream of the task's own."""
    rng = np.random.default_rng(list(repr(task.key).encode()))
    match = re.search(r"/d(\d+)", task.problem)
    d = int(match[1]) if match else 5
    best, extra = 10.0 ** rng.normal(1, 1), 1 + rng.random()
    budget = 100 * d
    curve = [[n, best, best * extra] for n in checkpoints(budget)]
    return Row(
        *task.key,
        suite=suite_of(task.problem),
        dimension=d,
        evaluations=budget,
        spent=budget,
        recommended_regret=best * extra,
        best_evaluated_regret=best,
        noisy_best=float(rng.normal()),
        noisy_best_regret=best * 1.5,
        generations=budget // 10,
        seconds_method=0.1 + rng.random(),
        curve=json.dumps(curve),
    )


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Artifact:
    """An artifact of its own, small enough to be run."""

    def grids(scale: Scale) -> list[Grid]:
        problems = [f"bbob-noisy/f{f}/i{i}/d2" for f in (101, 110) for i in scale.instances(2)]
        return [Grid.of(problems, ["sep-cma-es", "rb-pem"], ["30d"], [1])]

    def make(rows: list[Row], scale: Scale) -> Output:
        found = duel(rows, "rb-pem", "sep-cma-es", "recommended")
        panel = Panel("toy", "What it shows.", 2.0, lambda ax: ax.plot([0, 1], [found.wins, 1]))
        return Output([duel_table("Toys", ("who",), [(("rb-pem",), found, (3, 1))])],
                      [Plot([panel])], ["Mind the gap."])  # fmt: skip

    artifact = Artifact("toy", "Toys", "Table 0", "toys are good.", grids, make)
    monkeypatch.setattr(reproduce, "artifacts", lambda: {"toy": artifact})
    return artifact


def test_the_command_resumes_and_says_how(toy: Artifact, tmp_path: Path) -> None:
    arguments = ["--scale", "short", "--db", str(tmp_path / "rows.sqlite"), "--workers", "1"]
    assert reproduce.main([*arguments, "--out", str(tmp_path / "a")]) == 0
    with Store(tmp_path / "rows.sqlite", create=False) as store:
        first = [row.finished for row in store.rows()]
    assert len(first) == 8
    assert reproduce.main([*arguments, "--out", str(tmp_path / "b")]) == 0
    with Store(tmp_path / "rows.sqlite", create=False) as store:
        assert [row.finished for row in store.rows()] == first
    page = (tmp_path / "a" / "toy.md").read_text()
    assert page == (tmp_path / "b" / "toy.md").read_text()
    assert "--only toy --scale short" in page
    assert "8 runs: bbob-noisy d = 2, B = 30d, instances 1-2, noise seeds 1, 2 methods)" in page
    assert "Mind the gap." in page
    assert "![What it shows.](toy-1.svg)" in page
    assert "3/1" in page
    assert (tmp_path / "a" / "toy-1.svg").read_text().count("<svg") == 1
    assert len((tmp_path / "a" / "toy-1.csv").read_text().splitlines()) == 2


def test_quick_says_so_and_leaves_the_committed_pages_alone(
    toy: Artifact, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert reproduce.main(["--quick", "--workers", "1"]) == 0
    page = tmp_path / "out" / "reproduction-quick" / "toy.md"
    assert _artifact.QUICK_NOTE in page.read_text()
    assert not (tmp_path / "docs").exists()


def test_an_unknown_artifact_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce.main(["--only", "table9"]) == 2
    assert capsys.readouterr().err.startswith("error: there is no artifact 'table9'")


def test_an_interrupted_run_says_how_to_go_on(
    toy: Artifact, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(reproduce, "collect", interrupt)
    assert reproduce.main(["--quick", "--db", "x.sqlite"]) == reproduce.INTERRUPTED
    assert "goes on from x.sqlite" in capsys.readouterr().err


def test_the_list_names_every_artifact(capsys: pytest.CaptureFixture[str]) -> None:
    assert reproduce.main(["--list"]) == 0
    listed = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == list(artifacts())
    assert set(OURS) <= set(listed)


def test_what_an_earlier_run_left_is_replaced(toy: Artifact, tmp_path: Path) -> None:
    (tmp_path / "toy-7.csv").write_text("old")
    (tmp_path / "toy-story.csv").write_text("another's")
    write(toy, QUICK, [], tmp_path)
    assert not (tmp_path / "toy-7.csv").exists()
    assert (tmp_path / "toy-story.csv").exists()


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("name", OURS)
def test_rows_become_a_page(name: str, tmp_path: Path) -> None:
    artifact = artifacts()[name]
    tasks = {task.key: task for grid in artifact.grids(QUICK) for task in grid.tasks()}
    page = write(artifact, QUICK, [made_up(task) for task in tasks.values()], tmp_path).read_text()
    assert f"{len(tasks)} runs: " in page
    assert artifact.claim in page
    tables = sorted(tmp_path.glob("*.csv"))
    assert len(tables) == page.count("\n### ")
    for table in tables:
        head, *body = list(csv.reader(table.open()))
        assert body, f"{table.name} is empty"
        assert all(len(line) == len(head) for line in body)
    for figure in re.findall(r"\]\((.*\.svg)\)", page):
        assert (tmp_path / figure).stat().st_size > 1000


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("scale", ["quick", "short", "full"])
def test_grids_name_what_exists(name: str, scale: _artifact.ScaleName) -> None:
    for grid in artifacts()[name].grids(Scale(scale)):
        small = Grid.of(grid.problems[:1], grid.methods, grid.budgets, grid.seeds)
        small.check()


def test_fewer_instances_are_asked_for_by_number(
    toy: Artifact, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    few = Scale("short", 3)
    assert list(few.instances()) == [1, 2, 3]
    assert list(few.seeds()) == list(range(1, 11))
    assert list(Scale("full").seeds()) == list(range(1, 51))
    assert "--scale short --instances 3`" in write(toy, few, [], tmp_path).read_text()
    assert reproduce.main(["--instances", "0"]) == 2
    assert "--instances is 0, it takes a number of at least 1" in capsys.readouterr().err


def test_full_is_the_papers_protocol() -> None:
    full = artifacts()["table1"].grids(Scale("full"))
    assert len(full[0].tasks()) == 30 * 15 * 3 * 6
    assert len(full[2].tasks()) == 6 * 50 * 6
