"""Workers that die, clusters that lose one, and users who press Ctrl-C or worse."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest
from test_campaign import rows_of

import support
from noisewise_bench.campaign import Grid, run
from noisewise_bench.names import BenchError
from noisewise_bench.pools import DaskCluster, Inline, _rows_of
from noisewise_bench.runner import drive
from noisewise_bench.store import Store
from noisewise_bench.task import Row, Task

SPHERE = "bench_toys:Sphere(dimension=2)"
SLOW = Grid.of([SPHERE], ["bench_toys:slow"], ["5d"], range(1, 25))


def count(db: Path) -> int:
    if not db.exists():
        return 0
    with Store(db) as store:
        return len(store.keys())


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """The rows of the slow grid when nothing happens to it."""
    db = tmp_path_factory.mktemp("undisturbed") / "a.sqlite"
    run(SLOW, db, workers=1, progress=False)
    return rows_of(db)


def test_a_worker_that_dies_is_replaced_and_its_task_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BENCH_TOYS_MARK", str(tmp_path / "mark"))
    db = tmp_path / "a.sqlite"
    methods = ["bench_toys:deadly", "bench_toys:deadly_once", "bench_toys:stay"]
    summary = run(Grid.of([SPHERE], methods, ["5d"], [1]), db, workers=2, progress=False)
    assert (summary.computed, summary.failed) == (3, 1)
    with Store(db) as store:
        errors = {row.method: row.error for row in store.rows()}
    assert errors == {
        "bench_toys:deadly": "the process that ran this died (killed or out of memory)",
        "bench_toys:deadly_once": None,
        "bench_toys:stay": None,
    }


def test_what_cannot_be_sent_to_a_process_is_named(tmp_path: Path) -> None:
    grid = Grid.of([SPHERE], [lambda oracle, budget, seed: oracle.x0], ["5d"], [1, 2])
    with pytest.raises(BenchError, match="cannot be sent to another process"):
        run(grid, tmp_path / "a.sqlite", workers=2, progress=False)


def test_a_script_without_its_guard_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "careless.py"
    script.write_text(
        "from noisewise_bench.campaign import Grid, run\n"
        "grid = Grid.of(['noisysphere/d33/n1'], ['auto', 'cma-es'], ['9'], [1])\n"
        "run(grid, 'a.sqlite', workers=2, progress=False)\n"
    )
    done = subprocess.run(
        [sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert "must do so under if __name__ == '__main__'" in done.stderr.splitlines()[-1]


def test_small_tasks_travel_together_and_come_back_once() -> None:
    tasks = [Task(SPHERE, "bench_toys:stay", "4", seed) for seed in range(200)]
    chunks: list[list[Row]] = []
    drive(tasks, Inline(), chunks.append)
    assert sorted(row.seed for rows in chunks for row in rows) == list(range(200))
    assert max(map(len, chunks)) > 10


def bench(db: Path, *arguments: str) -> subprocess.Popen[str]:
    folder = str(Path(__file__).parent)
    return subprocess.Popen(
        [sys.executable, "-m", "noisewise_bench", "run", "--db", str(db), *arguments],
        cwd=folder,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.untraced  # a signal can leave coverage waiting for its own lock
@pytest.mark.xdist_group("undisturbed")
def test_a_campaign_survives_ctrl_c_and_kill(
    tmp_path: Path, undisturbed: list[dict[str, object]]
) -> None:
    db = tmp_path / "a.sqlite"
    grid = ["--problems", SPHERE, "--methods", "bench_toys:slow", "--budgets", "5d"]
    first = bench(db, *grid, "--seeds", "1-24", "--workers", "2")
    support.wait_until(lambda: count(db) >= 3)
    first.send_signal(signal.SIGINT)
    _, told = first.communicate()
    assert first.returncode == 130
    assert f"Go on with:\n  noisewise bench run --db {db}" in told
    assert "Traceback" not in told

    before = count(db)
    assert 3 <= before < 20
    second = bench(db, "--workers", "2")
    support.wait_until(lambda: count(db) >= before + 3)
    workers = psutil.Process(second.pid).children(recursive=True)
    second.kill()
    second.communicate()
    assert count(db) < 24
    assert len(workers) >= 2
    _, alive = psutil.wait_procs(workers, timeout=200)
    assert not alive, "workers outlive the campaign they work for"

    run(None, db, workers=1, progress=False)
    assert rows_of(db) == undisturbed


@pytest.mark.xdist_group("undisturbed")
def test_a_dask_cluster_that_loses_a_worker_loses_no_row(
    tmp_path: Path, undisturbed: list[dict[str, object]]
) -> None:
    distributed = pytest.importorskip("distributed")
    db = tmp_path / "a.sqlite"
    killed: list[int] = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        assert os.getpid() not in pids

        def kill_one() -> None:
            support.wait_until(lambda: count(db) >= 3)
            os.kill(pids[0], signal.SIGKILL)
            killed.append(count(db))

        killer = threading.Thread(target=kill_one)
        killer.start()
        run(SLOW, db, scheduler=cluster.scheduler_address, progress=False)
        killer.join()
        assert 3 <= killed[0] < 24
        assert pids[0] not in client.run(os.getpid).values()
    assert rows_of(db) == undisturbed


class Broken:
    """The future of a task that could not be run."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def result(self) -> None:
        raise self.error


def test_a_task_that_kills_dasks_workers_is_lost_and_other_trouble_is_named() -> None:
    distributed = pytest.importorskip("distributed")
    assert _rows_of(Broken(distributed.KilledWorker("task", None, 3))) is None
    stranded = RuntimeError("<Event object> is bound to a different event loop")
    assert _rows_of(Broken(stranded)) is None
    with pytest.raises(BenchError, match="the Dask cluster could not run a task: no disk"):
        _rows_of(Broken(OSError("no disk")))


def test_a_scheduler_that_is_not_there_is_named() -> None:
    with pytest.raises(BenchError, match="no Dask scheduler answers at 'nonsense://x'"):
        DaskCluster("nonsense://x")
