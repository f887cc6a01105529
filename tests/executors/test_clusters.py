"""Real Dask and Ray workers, in processes of their own, some of them killed in the middle."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import noisewise as nw
import support
from noisewise.executors.base import Limits
from noisewise.executors.on_ray import at_a_time
from noisewise.methods import CMAES

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
_GOOD: dict[str, Any] = {
    "x0": [2.0, 2.0, 2.0],
    "sigma0": 1.0,
    "budget": 40,
    "rng": 0,
    "method": CMAES(population=8),
    "batch": 8,  # the order of values leaves no trace
}


@pytest.fixture
def client() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def objective(folder: Path, trouble: Any) -> Any:
    """What the workers get: by value, since they cannot import the tests."""
    import zlib

    def fun(x: Any, scale: float = 1.0) -> float:

        import numpy as np

        noise = np.random.default_rng(zlib.crc32(np.asarray(x).tobytes())).normal()
        value = float(x @ x + 0.2 * noise)
        mark = folder / f"{value!r}"
        if trouble and value > 24.0 and not mark.exists():
            mark.touch()
            if trouble == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            if trouble == "raises":
                raise KeyError("lost")
            time.sleep(trouble)
        return scale * value

    return fun


def check_deaths_and_errors(executor: Any, patient: Any, folder: Path) -> None:
    """``patient`` waits 1.5 seconds for an evaluation."""
    here = nw.minimize(support.bumpy, **_GOOD)
    there = nw.minimize(objective(folder, "dies"), **_GOOD, executor=executor)
    [mark] = folder.iterdir()  # it did happen
    assert support.same_result(there, here)
    mark.unlink()
    with pytest.raises(nw.EvaluationError, match="KeyError: 'lost'") as caught:
        nw.minimize(partial(objective(folder, "raises")), **_GOOD, executor=executor)
    assert isinstance(caught.value.__cause__, KeyError)
    mark.unlink()
    short = _GOOD | {"budget": 16, "confirm": 0}
    slow = nw.minimize(objective(folder, 4.0), **short, executor=patient)
    assert slow.n_failures >= 1
    assert slow.nfev == 16


def test_dask(client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All in one test, since a cluster takes seconds to start."""
    monkeypatch.setattr("noisewise.executors.on_dask._PATIENCE", 300.0)  # a busy machine
    assert nw.executors.dask(client).start(support.bumpy, (), Limits()).workers == 2
    patient = nw.executors.dask(client, timeout=1.5)
    check_deaths_and_errors(nw.executors.dask(client), patient, tmp_path)
    client.wait_for_workers(2)
    address = nw.executors.dask(client.scheduler.address, workers=3)
    fun = objective(tmp_path, None)
    r = nw.minimize(fun, **_GOOD, args=(2.0,), executor=address)
    assert r.fun == 2.0 * nw.minimize(fun, **_GOOD).fun
    assert client.submit(abs, -1).result() == 1  # it stays the user's
    check_arguments(client)
    check_a_task_that_kills_every_worker(client, tmp_path)


def _allow_no_failures(dask_scheduler: Any) -> None:
    dask_scheduler.allowed_failures = 0


def check_a_task_that_kills_every_worker(client: Any, tmp_path: Path) -> None:
    log = tmp_path / "deaths"

    def deadly(x: Any) -> float:

        with open(log, "a") as file:
            file.write("x")
        os.kill(os.getpid(), signal.SIGKILL)
        return 0.0

    client.run_on_scheduler(_allow_no_failures)
    with pytest.raises(nw.EvaluationError, match="WorkerDied: Dask gave up a task"):
        nw.minimize(
            deadly,
            **(_GOOD | {"budget": 1}),
            executor=nw.executors.dask(client, workers=1, retries=1),
        )
    assert log.stat().st_size == 2


def check_arguments(client: Any) -> None:
    for wrong in (3, None, object()):
        with pytest.raises(ValueError, match=r"^client must be a dask\.distributed\.Client or"):
            nw.minimize(support.bumpy, **_GOOD, executor=nw.executors.dask(wrong))
    with pytest.raises(ValueError, match=r"^workers must be"):
        nw.executors.dask(client, workers=0)


def test_no_scheduler_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noisewise.executors.on_dask._PATIENCE", 0.3)
    with socket.socket() as taken:  # nobody listens there, and nobody else can
        taken.bind(("127.0.0.1", 0))
        spec = nw.executors.dask(f"tcp://127.0.0.1:{taken.getsockname()[1]}")
        check_no_scheduler(spec)


def check_no_scheduler(spec: Any) -> None:
    with pytest.raises(ValueError, match=r"^client must be the address of a Dask scheduler: "):
        nw.minimize(support.bumpy, **_GOOD, executor=spec)


def test_ray(tmp_path: Path) -> None:
    """In a process of its own, which Ray ends if one of its servers dies: then once more."""
    for name in ("first", "second"):
        (folder := tmp_path / name).mkdir()
        done = subprocess.run(
            [sys.executable, __file__, str(folder)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0 or "Traceback" in done.stderr:
            break
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == "checked"


def check_ray(folder: Path) -> None:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="error")
    assert nw.executors.ray().start(support.bumpy, (), Limits()).workers == 2
    check_deaths_and_errors(nw.executors.ray(), nw.executors.ray(timeout=1.5), folder)
    assert ray.is_initialized()  # it stays the user's
    ray.shutdown()


@pytest.mark.parametrize(
    ("options", "workers"),
    [
        ({}, 8),
        ({"num_cpus": 3}, 2),
        ({"num_gpus": 1}, 4),
        ({"num_cpus": 0, "num_gpus": 0.5}, 8),
        ({"num_cpus": 0}, 8),
        ({"resources": {"licence": 1}}, 3),
        ({"resources": None, "num_cpus": None}, 8),
        ({"num_cpus": 9}, 1),
    ],
)
def test_what_a_ray_task_needs_says_how_many_run_at_a_time(
    options: dict[str, Any], workers: int
) -> None:
    assert at_a_time({"CPU": 8.0, "GPU": 4.0, "licence": 3.0, "memory": 1e9}, options) == workers


@pytest.mark.parametrize(("name", "module"), [("dask", "distributed"), ("ray", "ray")])
def test_the_extra_is_named(name: str, module: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    spec = nw.executors.dask("tcp://127.0.0.1:1") if name == "dask" else nw.executors.ray()
    with pytest.raises(ImportError, match=rf"pip install '\.\[{name}\]'"):
        nw.minimize(support.bumpy, **_GOOD, executor=spec)


if __name__ == "__main__":
    check_ray(Path(sys.argv[1]))
    print("checked")
