"""Kills, interrupts and rivals: a run goes on where it was, and leaves nobody behind."""

from __future__ import annotations

import concurrent.futures as cf
import json
import multiprocessing as mp
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]
import pytest

import noisewise as nw
import support
from noisewise.checkpoint import Journal
from noisewise.methods import CMAES

fork = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and signals")
_GOOD: dict[str, Any] = {
    "x0": [2.0, 2.0, 2.0],
    "sigma0": 1.0,
    "budget": 150,
    "rng": 0,
    "method": CMAES(population=6),
}


def in_a_process(work: Callable[[], Any]) -> Any:
    process = mp.get_context("fork").Process(target=work)
    process.start()
    return process


@fork
@pytest.mark.parametrize("workers", [1, 2])
def test_killed_again_and_again(tmp_path: Path, workers: int) -> None:
    """At moments nobody chose; every kind of interruption ends in the same result."""
    expected = nw.minimize(support.bumpy, **_GOOD)
    path, log = tmp_path / "run", tmp_path / "calls"
    log.touch()

    def fun(x: Any) -> float:
        with open(log, "ab") as file:
            file.write(b".")
        time.sleep(0.001)
        return support.bumpy(x)

    def work() -> None:
        nw.minimize(fun, **_GOOD, workers=workers, checkpoint=path)

    rng = np.random.default_rng(workers)
    kills = 0
    while kills < 8 and log.stat().st_size < 120:
        before = log.stat().st_size
        process = in_a_process(work)
        support.wait_until(lambda n=before: log.stat().st_size > n)  # type: ignore[misc]
        time.sleep(rng.uniform(0.0, 0.02))
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        kills += 1
    assert kills >= 3
    again = nw.minimize(fun, **_GOOD, workers=workers, checkpoint=path)
    assert support.same_result(again, expected)
    # What was in flight is evaluated again, nothing else.
    assert log.stat().st_size <= 150 + workers * kills


@fork
def test_killed_while_the_file_is_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = nw.minimize(support.bumpy, **_GOOD)
    path = tmp_path / "run"
    monkeypatch.setattr("noisewise.checkpoint._FRESHEN", 0.0)  # after every generation
    renewed = os.replace

    for kill_at in (1, 5, 9):
        count = [0]

        def replace(a: Any, b: Any, count: Any = count, kill_at: int = kill_at) -> None:
            count[0] += 1
            if count[0] == kill_at:
                os.kill(os.getpid(), signal.SIGKILL)
            renewed(a, b)

        def work(replace: Any = replace) -> None:
            os.replace = replace
            nw.minimize(support.bumpy, **_GOOD, checkpoint=path)

        process = in_a_process(work)
        process.join()
        assert process.exitcode == -signal.SIGKILL
    again = nw.minimize(support.bumpy, **_GOOD, checkpoint=path)
    assert support.same_result(again, expected)


@fork
def test_workers_of_a_killed_run_do_not_stand_in_the_way(tmp_path: Path) -> None:
    """They finish their evaluation and go; the run can be resumed at once."""
    path, log = tmp_path / "run", tmp_path / "pids"
    log.touch()

    def slow(x: Any) -> float:
        with open(log, "a") as file:
            file.write(f"{os.getpid()}\n")
        time.sleep(1.0)
        return 0.0

    def work() -> None:
        nw.minimize(slow, **_GOOD, workers=2, checkpoint=path)

    process = in_a_process(work)
    support.wait_until(lambda: len(log.read_text().split()) >= 2)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    orphans = [int(pid) for pid in set(log.read_text().split())]
    assert any(psutil.pid_exists(pid) for pid in orphans)
    r = nw.minimize(support.bumpy, **_GOOD, checkpoint=path)
    assert r.nfev == 150
    support.wait_until(lambda: not any(alive(pid) for pid in orphans))


def alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@fork
def test_two_processes_on_one_checkpoint(tmp_path: Path) -> None:
    path, started = tmp_path / "run", tmp_path / "started"

    def patient(x: Any) -> float:
        started.touch()
        support.wait_until((tmp_path / "go").exists)
        return support.bumpy(x)

    process = in_a_process(lambda: nw.minimize(patient, **_GOOD, checkpoint=path))
    support.wait_until(started.exists)
    with pytest.raises(nw.CheckpointError, match="in use by another process"):
        nw.minimize(support.bumpy, **_GOOD, checkpoint=path)
    (tmp_path / "go").touch()
    process.join()
    assert process.exitcode == 0
    r = nw.minimize(support.bumpy, **_GOOD, checkpoint=path)
    assert support.same_result(r, nw.minimize(support.bumpy, **_GOOD))


def test_two_runs_of_one_process_on_one_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "run"

    def nested(x: Any) -> float:
        return float(nw.minimize(support.bumpy, **_GOOD, checkpoint=path).fun)

    with pytest.raises(nw.EvaluationError, match="in use by another process"):
        nw.minimize(nested, **_GOOD, checkpoint=path)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_lock_that_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: Any) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("noisewise._files.lock", refuse)
    with pytest.raises(nw.CheckpointError, match="cannot be used: No locks available"):
        nw.minimize(support.bumpy, **_GOOD, checkpoint=tmp_path / "run")


def test_a_lock_whose_file_goes_away_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last owner may remove it between our opening and our locking it."""
    from noisewise import _files

    original, calls = _files.lock, []
    opened: list[Path] = []
    open_lock = _files.open_lock

    def meanwhile(file: Any) -> None:
        original(file)
        calls.append(file)
        if len(calls) == 1:
            (tmp_path / "run.lock").unlink()
        elif len(calls) == 2:
            (tmp_path / "run.lock").unlink()
            (tmp_path / "run.lock").touch()

    monkeypatch.setattr(_files, "lock", meanwhile)
    monkeypatch.setattr(_files, "open_lock", lambda path: opened.append(path) or open_lock(path))
    nw.minimize(support.bumpy, **_GOOD, checkpoint=tmp_path / "run")
    assert opened == [tmp_path / "run.lock"] * 3


_SCRIPT = r"""
import json, os, sys, time
import psutil
import noisewise as nw
from noisewise.methods import CMAES
import support

def fun(x):
    os.write(1, b"call\n")  # in one piece
    time.sleep(0.02)
    return support.bumpy(x)

try:
    r = nw.minimize(fun, [2.0] * 3, sigma0=1.0, budget=150, rng=0, method=CMAES(population=6),
                    workers=int(sys.argv[1]), checkpoint=sys.argv[2], interrupt=sys.argv[3])
    assert sys.argv[3] == "return"
except KeyboardInterrupt as error:
    assert sys.argv[3] == "raise"
    r = error.result
children = len(psutil.Process().children())
print(json.dumps({"status": r.status, "nfev": r.nfev, "message": r.message, "left": children}))
"""


@pytest.mark.untraced  # a signal can leave coverage waiting for its own lock
@fork
@pytest.mark.parametrize(("workers", "how"), [(1, "raise"), (2, "raise"), (2, "return")])
def test_ctrl_c_leaves_what_is_there(tmp_path: Path, workers: int, how: str) -> None:
    """The signal goes to the whole process group, as from a terminal."""
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    process = subprocess.Popen(
        [sys.executable, "-c", _SCRIPT, str(workers), str(tmp_path / "run"), how],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=env,
        start_new_session=True,
    )
    assert process.stdout is not None
    for _ in range(12):
        assert process.stdout.readline() == "call\n"
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 0, err
    told = json.loads(out.strip().splitlines()[-1])
    assert told["status"] == 3
    assert 0 < told["nfev"] < 150
    assert told["message"].startswith("interrupted; ")
    assert told["left"] == 0
    assert "Traceback" not in err
    loaded = nw.Optimizer.load(tmp_path / "run")
    # A value may be in the file already when the interrupt comes while it is told, and then also
    # those that came at the same time.
    assert 0 <= loaded.spent - told["nfev"] <= workers
    again = nw.minimize(support.bumpy, **_GOOD, checkpoint=tmp_path / "run")
    assert support.same_result(again, nw.minimize(support.bumpy, **_GOOD))


class Immediate(cf.Executor):
    """Has every value at once, before anybody asks for it."""

    def submit(self, fun: Any, /, *args: Any, **kwargs: Any) -> Any:
        future: Any = cf.Future()
        try:
            future.set_result(fun(*args))
        except Exception as error:
            future.set_exception(error)
        return future


def test_values_that_are_there_are_kept_when_a_run_is_interrupted(tmp_path: Path) -> None:
    """The next generation's candidates were evaluated, too, and nobody has looked at them yet."""
    calls: list[bytes] = []

    def fun(x: Any) -> float:
        calls.append(x.tobytes())
        return support.bumpy(x)

    def interrupt(intermediate_result: nw.Result) -> None:
        if intermediate_result.nit == 2:
            raise KeyboardInterrupt

    path, given = tmp_path / "run", {**_GOOD, "executor": Immediate(), "lookahead": 4, "confirm": 0}
    r = nw.minimize(fun, **given, callback=interrupt, checkpoint=path, interrupt="return")
    assert len(calls) == 2 * 6 + 4
    assert r.nfev == len(calls)
    assert nw.Optimizer.load(path).spent == len(calls)
    again = nw.minimize(fun, **given, checkpoint=path)
    assert len(calls) == len(set(calls)) == 150
    assert support.same_result(again, nw.minimize(support.bumpy, **given))


@fork
def test_values_that_wait_in_the_pipe_of_a_worker_are_kept(tmp_path: Path) -> None:
    path, log = tmp_path / "run", tmp_path / "done"

    def fun(x: Any) -> float:
        value = support.bumpy(x)
        with open(log, "ab") as file:
            file.write(b".")
        return value

    def interrupt(intermediate_result: nw.Result) -> None:
        time.sleep(0.5)  # meanwhile workers are done with what they have
        raise KeyboardInterrupt

    given = {**_GOOD, "lookahead": 4, "interrupt": "return"}
    r = nw.minimize(fun, **given, workers=3, callback=interrupt, checkpoint=path)
    assert nw.Optimizer.load(path).spent == r.nfev == log.stat().st_size >= 6
    again = nw.minimize(fun, **given, workers=3, checkpoint=path)
    assert log.stat().st_size == 150
    assert support.same_result(again, nw.minimize(support.bumpy, **given))


def test_failures_that_come_with_an_interrupt_are_not_kept(tmp_path: Path) -> None:
    """Ctrl-C may have reached the program that was the evaluation."""
    ended: list[int] = []

    def fun(x: Any) -> float:
        if ended:
            raise RuntimeError("ended by signal 2")
        return support.bumpy(x)

    class Lazy(Immediate):
        """Evaluates when the interrupt is there."""

        def submit(self, fun: Any, /, *args: Any, **kwargs: Any) -> Any:
            if len(waiting) < 8:
                waiting.append(1)
                return super().submit(fun, *args)
            ended.append(1)
            return super().submit(fun, *args)

    def interrupt(intermediate_result: nw.Result) -> None:
        raise KeyboardInterrupt

    waiting: list[int] = []
    path, given = (
        tmp_path / "run",
        {**_GOOD, "lookahead": 4, "on_error": "worst", "interrupt": "return"},
    )
    r = nw.minimize(fun, **given, executor=Lazy(), callback=interrupt, checkpoint=path)
    assert len(ended) == 2
    assert (r.nfev, r.n_failures) == (8, 0)
    again = nw.minimize(support.bumpy, **given, executor=Immediate(), checkpoint=path)
    assert support.same_result(again, nw.minimize(support.bumpy, **given))


def test_values_that_are_there_are_kept_when_another_one_fails(tmp_path: Path) -> None:
    calls: list[bytes] = []

    def fun(x: Any) -> float:
        calls.append(x.tobytes())
        if len(calls) == 2:
            raise ValueError("once")
        return support.bumpy(x)

    path, given = tmp_path / "run", {**_GOOD, "executor": Immediate()}
    with pytest.raises(nw.EvaluationError, match="once"):
        nw.minimize(fun, **given, checkpoint=path)
    assert nw.Optimizer.load(path).spent == 5
    again = nw.minimize(fun, **given, checkpoint=path)
    assert len(calls) == 150 + 1
    assert support.same_result(again, nw.minimize(support.bumpy, **_GOOD))


def test_a_value_that_is_written_twice_counts_once(tmp_path: Path) -> None:
    """An interrupt may come after it is written and before that is noted."""
    path = tmp_path / "run"
    opt = support.start(CMAES(population=6), d=3)
    journal = Journal(path)
    journal.open(opt.method, opt._run)
    for trial in opt.ask()[:2]:
        journal.append([trial.id], [0.5])
        journal.append([trial.id], [0.5])
    journal.append([0], [0.5])  # not next to each other if another one came in meanwhile
    journal.close()
    assert nw.Optimizer.load(path).spent == 2


def test_values_that_came_when_the_run_had_given_up_are_no_damage(tmp_path: Path) -> None:
    """Candidates of the next generation may come back with the interrupt that ends the run."""
    path = tmp_path / "run"
    opt = support.start(CMAES(population=6), d=3, budget=100, lookahead=2)
    journal = Journal(path)
    journal.open(opt.method, opt._run)
    while not opt.done:
        trials = opt.ask()
        for trial in trials:
            journal.append([trial.id], [np.inf])
            opt.tell(trial.id, np.inf)
    journal.close()
    again = nw.Optimizer.load(path)
    assert again.done
    assert again.result().message.startswith("gave up")
    assert again.spent == opt.spent


def test_an_interrupt_while_the_file_is_renewed_loses_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file that is open has no name any more."""
    path, replace = tmp_path / "run", os.replace
    opt = support.start(CMAES(population=6), d=3)
    journal = Journal(path)
    journal.open(opt.method, opt._run)

    def interrupted(*args: Any) -> None:
        replace(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr("os.replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        journal.open(opt.method, opt._run)
    journal.append([opt.ask()[0].id], [0.5])
    journal.close()
    assert nw.Optimizer.load(path).spent == 1


@fork
def test_a_full_disk_ends_the_run_and_not_the_file(tmp_path: Path) -> None:
    """Writing stops in the middle of a line; when there is room again, the run goes on."""
    path = tmp_path / "run"
    nw.Optimizer(**_GOOD).save(path)
    room, expected = path.stat().st_size, nw.minimize(support.bumpy, **_GOOD)
    path.unlink()
    for more in (-100, 40, 500, 541, 900):
        said = in_a_squeezed_process(path, room + more)
        assert said == f"checkpoint {path} cannot be used: File too large"
        if path.exists():
            assert path.read_bytes().endswith(b"\n")
            assert nw.Optimizer.load(path).spent < 150
    assert support.same_result(nw.minimize(support.bumpy, **_GOOD, checkpoint=path), expected)


def in_a_squeezed_process(path: Path, room: int) -> str:
    """What a run says whose files cannot grow beyond ``room`` bytes."""
    import resource

    ours, theirs = mp.Pipe()

    def work() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        try:
            nw.minimize(support.bumpy, **_GOOD, checkpoint=path)
        except nw.CheckpointError as error:
            theirs.send(str(error))

    process = in_a_process(work)
    theirs.close()
    said = str(ours.recv())
    process.join()
    return said
