"""Grids, files, resuming: every row once, whatever happened before."""

from __future__ import annotations

import dataclasses
import io
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import bench_toys
import pytest

import noisewise
from noisewise_bench.campaign import Grid, planned_tasks, run, status
from noisewise_bench.names import BenchError
from noisewise_bench.progress import Progress, span
from noisewise_bench.store import FORMAT, Store
from noisewise_bench.task import VOLATILE, Row

SPHERES = [f"bench_toys:Sphere(dimension={d})" for d in (2, 3)]
METHODS = ["bench_toys:random_search", "bench_toys:stay"]


def rows_of(db: Path) -> list[dict[str, object]]:
    with Store(db, create=False) as store:
        found = [dataclasses.asdict(row) for row in store.rows()]
    return [{k: repr(v) for k, v in row.items() if k not in VOLATILE} for row in found]


def quietly(grid: Grid | None, db: Path, **options: object) -> object:
    return run(grid, db, workers=1, progress=False, **options)  # type: ignore[arg-type]


def test_every_cell_becomes_one_row(tmp_path: Path) -> None:
    db = tmp_path / "a.sqlite"
    grid = Grid.of(SPHERES, METHODS, ["5d", 20], range(1, 4))
    summary = run(grid, db, workers=1, progress=False)
    assert (summary.planned, summary.computed, summary.failed) == (24, 24, 0)
    with Store(db) as store:
        assert store.keys() == {task.key for task in grid.tasks()}
        budgets = {(row.dimension, row.budget): row.spent for row in store.rows()}
    assert budgets == {(2, "5d"): 10, (3, "5d"): 15, (2, "20"): 20, (3, "20"): 20}
    again = run(grid, db, workers=1, progress=False)
    assert (again.found, again.computed) == (24, 0)


def test_the_order_of_tasks_depends_on_the_problems_only() -> None:
    forward = Grid.of(SPHERES, METHODS, ["5d"], [1, 2])
    backward = Grid.of(SPHERES[::-1], METHODS, ["5d"], [1, 2])
    assert forward.tasks() == backward.tasks()


def test_a_grid_in_pieces_and_in_another_order_gives_the_same_rows(tmp_path: Path) -> None:
    whole, pieces = tmp_path / "whole.sqlite", tmp_path / "pieces.sqlite"
    grid = Grid.of(SPHERES, METHODS, ["5d"], [1, 2])
    quietly(grid, whole)
    quietly(Grid.of(SPHERES[1:], METHODS[::-1], ["5d"], [2]), pieces)
    quietly(Grid.of(SPHERES[::-1], METHODS[:1], ["5d"], [2, 1]), pieces)
    assert len(rows_of(pieces)) == 5
    quietly(grid, pieces)
    assert rows_of(pieces) == rows_of(whole)


def test_two_processes_give_the_same_rows_as_one(tmp_path: Path) -> None:
    one, two = tmp_path / "one.sqlite", tmp_path / "two.sqlite"
    grid = Grid.of(SPHERES, [*METHODS, "bench_toys:careless"], ["5d", "50d"], range(1, 6))
    quietly(grid, one)
    run(grid, two, workers=2, progress=False)
    assert rows_of(one) == rows_of(two)


def test_the_file_alone_is_enough_to_go_on(tmp_path: Path) -> None:
    db = tmp_path / "a.sqlite"
    grid = Grid.of(SPHERES, METHODS, ["5d"], [1, 2])
    with Store(db) as store:
        store.add_grid(grid.as_dict())
        store.add_grid(grid.as_dict())
        assert planned_tasks(store) == grid.tasks()
    before = status(db)
    assert (before.planned, before.done, before.missing) == (8, 0, 8)
    quietly(None, db)
    after = status(db)
    assert (after.planned, after.done, after.missing, after.unplanned) == (8, 8, 0, 0)
    with pytest.raises(BenchError, match="holds no grid to go on with"):
        quietly(None, tmp_path / "empty.sqlite")


def test_objects_run_as_they_are_and_are_not_promised_to_the_file(tmp_path: Path) -> None:
    db = tmp_path / "a.sqlite"
    grid = Grid.of([bench_toys.Sphere()], [bench_toys.stay, "bench_toys:stay"], ["9"], [1])
    quietly(grid, db)
    assert status(db).unplanned == 2
    with Store(db) as store:
        assert {row.method for row in store.rows()} == {"stay", "bench_toys:stay"}


def test_failed_runs_stay_and_can_be_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, trouble = tmp_path / "a.sqlite", tmp_path / "trouble"
    monkeypatch.setenv("BENCH_TOYS_BROKEN", str(trouble))
    trouble.touch()
    grid = Grid.of(SPHERES, ["bench_toys:broken", "bench_toys:stay"], ["5d"], [1])
    first = run(grid, db, workers=1, progress=False)
    assert (first.computed, first.failed) == (4, 2)
    (failure,) = status(db).errors
    assert failure[0] == "bench_toys:broken"
    assert "RuntimeError: the pump is dry (bench_toys.py:" in failure[1]
    assert run(grid, db, workers=1, progress=False).computed == 0
    trouble.unlink()
    assert run(grid, db, workers=1, progress=False, retry_failed=True).computed == 2
    assert (status(db).failed, status(db).done) == (0, 4)


def test_rows_of_another_version_are_told_apart_and_redone_on_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db = tmp_path / "a.sqlite"
    quietly(Grid.of(SPHERES, METHODS, ["5d"], [1]), db)
    assert status(db).stale == 0
    monkeypatch.setattr(noisewise, "__version__", "99.0")
    assert status(db).stale == 4
    summary = run(None, db, workers=1, progress=False)
    assert (summary.computed, summary.stale) == (0, 4)
    summary = run(None, db, workers=1, progress=False, redo_stale=True)
    assert (summary.computed, summary.stale) == (4, 0)
    assert len(rows_of(db)) == 4


def test_a_row_is_never_doubled(tmp_path: Path) -> None:
    row = Row("p", "m", "9", 1, suite="p", recommended_regret=1.0)
    other = dataclasses.replace(row, recommended_regret=2.0)
    with Store(tmp_path / "a.sqlite") as store:
        store.put([row, other])
        store.put([other])
        assert [r.recommended_regret for r in store.rows()] == [1.0]
        store.put([other], replace=True)
        assert [r.recommended_regret for r in store.rows()] == [2.0]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    row = Row("p'\"; DROP TABLE rows; --", "<m>", "9", 1, suite="s", spent=3, error="e\n\0é")
    with Store(tmp_path / "a.sqlite") as store:
        store.put([row])
        (found,) = store.rows()
    assert repr(found) == repr(row)  # nan included


def test_readers_that_open_a_campaign_in_the_moment_it_begins(tmp_path: Path) -> None:
    barrier = threading.Barrier(6)

    def look(path: Path) -> int:
        barrier.wait()
        with Store(path) as store:
            return len(store.keys())

    with ThreadPoolExecutor(6) as pool:
        for i in range(40):
            path = tmp_path / f"{i}.sqlite"
            assert list(pool.map(look, [path] * 6)) == [0] * 6


def test_a_file_that_is_no_campaign_is_refused(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("not a database, but long enough to be mistaken for one" * 20)
    with pytest.raises(BenchError, match="cannot be used as a campaign file"):
        Store(text)
    foreign = tmp_path / "foreign.sqlite"
    with sqlite3.connect(foreign) as db:
        db.execute("CREATE TABLE recipes (name TEXT)")
    with pytest.raises(BenchError, match="something else than a campaign"):
        Store(foreign)
    newer = tmp_path / "newer.sqlite"
    with sqlite3.connect(newer) as db:
        db.execute(f"PRAGMA user_version = {FORMAT + 1}")
    with pytest.raises(BenchError, match=f"has format {FORMAT + 1}"):
        Store(newer)
    with pytest.raises(BenchError, match="there is no campaign file"):
        status(tmp_path / "missing.sqlite")
    with pytest.raises(BenchError, match="cannot be used"):
        Store(tmp_path / "no" / "folder.sqlite")


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (([], METHODS, ["5d"], [1]), "no problems"),
        ((SPHERES, [], ["5d"], [1]), "no methods"),
        ((SPHERES, METHODS, [], [1]), "no budgets"),
        ((SPHERES, METHODS, ["5d"], []), "no seeds"),
        ((SPHERES, [bench_toys.stay, "stay"], ["5d"], [1]), "are called 'stay'"),
        (([bench_toys.Sphere(), bench_toys.Sphere()], METHODS, ["5d"], [1]), "called 'Sphere'"),
    ],
)
def test_a_grid_that_means_nothing_is_refused(parts: tuple, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(BenchError, match=message):
        Grid.of(*parts)


def test_unknown_names_stop_a_campaign_before_it_starts(tmp_path: Path) -> None:
    db = tmp_path / "a.sqlite"
    with pytest.raises(BenchError, match="problem 'nonsense' cannot be made"):
        quietly(Grid.of(["nonsense"], METHODS, ["5d"], [1]), db)
    with pytest.raises(BenchError, match="no method 'nonsense'"):
        quietly(Grid.of(SPHERES, ["nonsense"], ["5d"], [1]), db)
    with pytest.raises(BenchError, match="workers is 0"):
        run(Grid.of(SPHERES, METHODS, ["5d"], [1]), db, workers=0)
    assert not db.exists()


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_progress_bar_says_how_long_it_still_takes() -> None:
    now = [0.0]
    screen, log = Terminal(), io.StringIO()
    bars = [Progress(100, stream, clock=lambda: now[0]) for stream in (screen, log)]
    for second in range(1, 26):
        now[0] = float(second)
        for bar in bars:
            bar.add(1, failed=second == 25)
    assert screen.getvalue().endswith(
        "[######..................] 25/100 runs, 1 failed, 25s gone, 1m15s left\x1b[K"
    )
    assert log.getvalue().splitlines() == [
        "10/100 runs, 10s gone, 1m30s left",
        "20/100 runs, 20s gone, 1m20s left",
    ]
    for bar in bars:
        bar.close()
    assert screen.getvalue().endswith("\n")
    assert [span(seconds) for seconds in (0.4, 59.6, 3599, 7500)] == [
        "0s",
        "1m00s",
        "59m59s",
        "2h05m",
    ]
