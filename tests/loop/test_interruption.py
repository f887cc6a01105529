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
from noisewise.executors import pool
from noisewise.executors.base import Evaluator, Limits, Outcome, Spec
from noisewise.loop.checkpoint import Journal
from noisewise.methods import CMAES
from noisewise.problem.values import Value

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
    """At moments nobody chose. With one worker the result is the same; with several, nothing is
    lost and nothing counts twice."""
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
    assert again.nfev == nw.Optimizer.load(path).spent == 150
    if workers == 1:
        assert support.same_result(again, nw.minimize(support.bumpy, **_GOOD))
    # What was in flight is evaluated again, nothing else.
    assert log.stat().st_size <= 150 + workers * kills


@fork
def test_killed_while_the_file_is_renewed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = nw.minimize(support.bumpy, **_GOOD)
    path = tmp_path / "run"
    monkeypatch.setattr("noisewise.loop.checkpoint._FRESHEN", 0.0)  # after every generation
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

    monkeypatch.setattr("noisewise.loop.files.lock", refuse)
    with pytest.raises(nw.CheckpointError, match="cannot be used: No locks available"):
        nw.minimize(support.bumpy, **_GOOD, checkpoint=tmp_path / "run")


def test_a_lock_whose_file_goes_away_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last owner may remove it between our opening and our locking it."""
    from noisewise.loop import files

    original, calls = files.lock, []
    opened: list[Path] = []
    open_lock = files.open_lock

    def meanwhile(file: Any) -> None:
        original(file)
        calls.append(file)
        if len(calls) == 1:
            (tmp_path / "run.lock").unlink()
        elif len(calls) == 2:
            (tmp_path / "run.lock").unlink()
            (tmp_path / "run.lock").touch()

    monkeypatch.setattr(files, "lock", meanwhile)
    monkeypatch.setattr(files, "open_lock", lambda path: opened.append(path) or open_lock(path))
    nw.minimize(support.bumpy, **_GOOD, checkpoint=tmp_path / "run")
    assert opened == [tmp_path / "run.lock"] * 3


_SCRIPT = r"""
import json, os, sys, time
import psutil
import noisewise as nw
from noisewise.methods import CMAES
from noisewise.problem.values import Value
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
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
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
    assert again.nfev == 150
    if workers == 1:
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


class OneByOne(Spec):
    """Four workers that are done at the same time; the first is told before the others are looked
    at."""

    def start(self, fun: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> Evaluator:
        return _OneByOne(fun)


class _OneByOne(Evaluator):
    workers = 4

    def __init__(self, fun: Callable[..., Any]) -> None:
        super().__init__()
        self._fun, self._queue = fun, list[nw.Trial]()

    def submit(self, trials: list[nw.Trial]) -> None:
        self._queue += trials

    def receive(self, block: bool) -> None:
        for _ in range(1 if block else len(self._queue)):
            trial = self._queue.pop(0)
            try:
                self.finished.append(Outcome(trial.id, self._fun(trial.x)))
            except RuntimeError as error:
                self.finished.append(Outcome(trial.id, error=error))


def test_values_that_are_there_are_kept_when_a_run_is_interrupted(tmp_path: Path) -> None:
    """Those of other workers, which came meanwhile, and nobody has looked at them yet."""
    calls: list[bytes] = []
    seen: list[int] = []

    def fun(x: Any) -> float:
        calls.append(x.tobytes())
        return support.bumpy(x)

    def interrupt(intermediate_result: nw.Result) -> None:
        if intermediate_result.nit == 2:
            seen.append(intermediate_result.nfev)
            raise KeyboardInterrupt

    path, given = tmp_path / "run", {**_GOOD, "executor": OneByOne(), "confirm": 0}
    r = nw.minimize(fun, **given, callback=interrupt, checkpoint=path, interrupt="return")
    assert r.nfev == len(calls) == seen[0] + 3
    assert nw.Optimizer.load(path).spent == len(calls)
    again = nw.minimize(fun, **given, checkpoint=path)
    assert len(calls) == len(set(calls)) == again.nfev == 150


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

    given = {**_GOOD, "interrupt": "return"}
    r = nw.minimize(fun, **given, workers=3, callback=interrupt, checkpoint=path)
    assert nw.Optimizer.load(path).spent == r.nfev == log.stat().st_size >= 6
    again = nw.minimize(fun, **given, workers=3, checkpoint=path)
    assert log.stat().st_size == again.nfev == 150


def test_failures_that_come_with_an_interrupt_are_not_kept(tmp_path: Path) -> None:
    """Ctrl-C may have reached the program that was the evaluation."""
    ended: list[int] = []

    def fun(x: Any) -> float:
        if ended:
            ended.append(1)
            if len(ended) > 2:
                raise RuntimeError("ended by signal 2")
        return support.bumpy(x)

    def interrupt(intermediate_result: nw.Result) -> None:
        ended.append(intermediate_result.nfev)
        raise KeyboardInterrupt

    path = tmp_path / "run"
    given = {**_GOOD, "on_error": "worst", "interrupt": "return", "checkpoint": path}
    r = nw.minimize(fun, **given, executor=OneByOne(), callback=interrupt)
    assert len(ended) == 1 + 3  # one good value and two failures
    assert (r.nfev, r.n_failures) == (ended[0] + 1, 0)
    ended.clear()
    again = nw.minimize(fun, **given, executor=OneByOne())
    assert (again.nfev, again.n_failures) == (150, 0)


def test_values_that_are_there_are_kept_when_another_one_fails(tmp_path: Path) -> None:
    calls: list[bytes] = []

    def fun(x: Any) -> float:
        calls.append(x.tobytes())
        if len(calls) == 2:
            raise ValueError("once")
        return support.bumpy(x)

    path, given = (
        tmp_path / "run",
        {**_GOOD, "executor": pool(Immediate(), workers=6), "confirm": 0},
    )
    with pytest.raises(nw.EvaluationError, match="once"):
        nw.minimize(fun, **given, checkpoint=path)
    assert len(calls) == 6
    assert nw.Optimizer.load(path).spent == 5
    again = nw.minimize(fun, **given, checkpoint=path)
    assert len(calls) == 150 + 1
    assert len(set(calls)) == again.nfev == 150
    assert again.n_failures == 0


def test_a_value_that_is_written_twice_counts_once(tmp_path: Path) -> None:
    """An interrupt may come after it is written and before that is noted."""
    path = tmp_path / "run"
    opt = support.start(CMAES(population=6), d=3)
    journal = Journal(path)
    journal.open(opt.method, opt._run)
    trials = opt.ask()
    journal.asked(len(trials), opt._run.handed)
    for trial in trials[:2]:
        journal.append([Value(trial.id, 0.5)])
        journal.append([Value(trial.id, 0.5)])
    journal.append([Value(0, 0.5)])  # not next to each other if another one came in meanwhile
    journal.close()
    assert nw.Optimizer.load(path).spent == 2


def test_values_that_came_when_the_run_had_given_up_are_no_damage(tmp_path: Path) -> None:
    """Those of other workers may come back with the interrupt that ends the run."""
    path = tmp_path / "run"
    opt = support.start(CMAES(population=6), d=3, budget=100, workers=8)
    journal = Journal(path)
    journal.open(opt.method, opt._run)
    while not opt.done:
        trials = opt.ask()
        journal.asked(len(trials), opt._run.handed)
        for trial in trials:
            journal.append([Value(trial.id, np.inf)])
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
    trials = opt.ask()
    journal.asked(len(trials), opt._run.handed)
    journal.append([Value(trials[0].id, 0.5)])
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
