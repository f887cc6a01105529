"""The four lines of the guide to clusters, everywhere that its table says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from docs_blocks import ROOT, blocks

from postgres_server import postgres_server as postgres_server

PAGE = ROOT / "docs/guides/cluster.md"
TASK = """
import noisewise as nw
import numpy as np
import submitit


def simulate(x):
    return float(np.sum((x - 0.3) ** 2)) + 0.1 * np.random.default_rng().normal()


where = {where}
"""
WHERE = re.findall(r"^\| `(dict\(.*\))` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_table_has_four_places() -> None:
    kinds = ("workers=4", "executors.dask(", "executors.submitit(", 'storage="postgresql://')
    assert len(WHERE) == len(kinds)
    assert all(kind in place for kind, place in zip(kinds, WHERE, strict=True))


@pytest.fixture
def scheduler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    from distributed import LocalCluster

    monkeypatch.syspath_prepend(str(tmp_path))
    with LocalCluster(
        n_workers=1,
        threads_per_worker=2,
        processes=False,
        protocol="tcp",
        dashboard_address=None,
        silence_logs=50,
    ) as cluster:
        yield str(cluster.scheduler_address)


@pytest.mark.untraced
@pytest.mark.parametrize("place", WHERE)
def test_the_same_four_lines(place: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    [lines] = [block for block in blocks(PAGE) if block.title == "tune.py"]
    assert len([line for line in lines.body.splitlines() if line]) == 4
    times = 1
    if "dask" in place:
        place = place.replace("tcp://scheduler:8786", request.getfixturevalue("scheduler"))
    if "postgresql" in place:
        server = request.getfixturevalue("postgres_server")
        place = place.replace("postgresql://me@host/db", server.url())
        times = 2
    (tmp_path / "tune.py").write_text(lines.body, encoding="utf-8")
    # Without SLURM submitit starts its jobs here, where 32 would be many.
    task = TASK.replace("{where}", place.replace("workers=32", "workers=2"))
    (tmp_path / "task.py").write_text(task, encoding="utf-8")
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    started = [
        subprocess.Popen(
            [sys.executable, "tune.py"],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(times)
    ]
    said = {process.communicate()[0] for process in started}
    assert [process.returncode for process in started] == [0] * times
    assert len(said) == 1
    assert said.pop().startswith("8 evaluations, ")
