"""Where evaluations run does not change what comes out; what goes wrong there is contained."""

from __future__ import annotations

import concurrent.futures as cf
import contextlib
import math
import multiprocessing as mp
import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest

import noisewise as nw
import support
from noisewise.executors import pool as limited
from noisewise.executors import processes, start
from noisewise.executors._worker import serve
from noisewise.executors.base import Limits, WorkerDied, enqueue
from noisewise.executors.processes import Processes
from noisewise.methods import CMAES, Method
from noisewise.run.run import BUDGET_SPENT

pytestmark = pytest.mark.boxes

_GOOD: dict[str, Any] = {
    "x0": [2.0, 2.0, 2.0],
    "sigma0": 1.0,
    "budget": 60,
    "rng": 0,
    "method": CMAES(population=8),
}


@pytest.fixture(autouse=True)
def _nobody_is_left_behind() -> Any:
    before = support.children()
    yield
    support.wait_until(lambda: support.children() <= before)


def trial(id: int, x: float = 0.0) -> nw.Trial:
    import numpy as np

    return nw.Trial(id, np.array([x]), "candidate")


def outcomes(evaluator: Any, trials: list[nw.Trial]) -> dict[int, Any]:
    found: dict[int, Any] = {}
    evaluator.submit(trials)
    while len(found) < len(trials):
        while not evaluator.finished:
            evaluator.receive(block=True)
        outcome = evaluator.finished[0]
        found[outcome.id] = evaluator.finished.popleft()
    return found


def slow_and_out_of_order(x: Any) -> float:
    time.sleep(0.002 * (abs(x[0]) % 1.0))
    return support.bumpy(x)


@pytest.mark.parametrize("where", ["workers", "spec", "threads", "processes"])
def test_same_result_everywhere_in_batches(where: str) -> None:
    given = _GOOD | {"batch": 8, "confirm": 5}
    here = nw.minimize(support.bumpy, **given)
    if where == "workers":
        there = nw.minimize(slow_and_out_of_order, **given, workers=3)
    elif where == "spec":
        spec = processes(2, timeout=60.0)
        there = nw.minimize(slow_and_out_of_order, **given, executor=spec)
    else:
        kind = cf.ThreadPoolExecutor if where == "threads" else cf.ProcessPoolExecutor
        with kind(2) as pool:
            there = nw.minimize(slow_and_out_of_order, **given, executor=pool)
            assert pool.submit(abs, -1).result() == 1  # it stays the user's
    assert support.same_result(here, there)


@pytest.mark.parametrize("kind", [cf.ThreadPoolExecutor, cf.ProcessPoolExecutor])
def test_one_worker_elsewhere_gives_the_same_as_here(kind: Any) -> None:
    with kind(1) as pool:
        there = nw.minimize(support.bumpy, **_GOOD, executor=pool)
    assert support.same_result(nw.minimize(support.bumpy, **_GOOD), there)


def test_same_result_for_every_method_in_batches(named_method: Method) -> None:
    options = _GOOD | {"method": support.with_population(named_method, 6), "budget": 80, "batch": 6}
    opt = nw.Optimizer(**options)
    support.drive(opt, lambda t: support.bumpy(t.x))
    with cf.ThreadPoolExecutor(4) as pool:
        there = nw.minimize(slow_and_out_of_order, **options, executor=pool)
    assert support.same_result(opt.result(), there)


def test_with_workers_every_method_spends_its_budget(named_method: Method) -> None:
    """In whatever order values come: each trial is evaluated once, and nobody idles."""
    lock, busy, most, calls = threading.Lock(), 0, 0, []

    def fun(x: Any) -> float:
        nonlocal busy, most
        with lock:
            busy += 1
            most = max(most, busy)
            calls.append(x.tobytes())
        value = slow_and_out_of_order(x)
        with lock:
            busy -= 1
        return value

    options = _GOOD | {"method": support.with_population(named_method, 6), "budget": 80}
    with cf.ThreadPoolExecutor(4) as pool:
        r = nw.minimize(fun, **options, executor=pool)
    assert r.nfev == len(calls) == 80
    assert r.status == BUDGET_SPENT
    assert most == 4


@pytest.mark.parametrize("workers", [1, 3, 20])
def test_as_many_trials_as_there_are_workers(workers: int) -> None:
    """With one worker a whole generation; whoever is free asks for more."""
    opt = nw.Optimizer([0.0] * 3, sigma0=1.0, budget=200, method=CMAES(), workers=workers)
    first = opt.ask()
    assert len(first) == (7 if workers == 1 else workers)
    assert opt.ask() == []
    opt.tell(first[-1].id, 1.0)
    assert len(opt.ask()) == (0 if workers == 1 else 1)
    assert len(opt.ask(5)) == (0 if workers == 1 else 5)  # these are asked for by number


def test_workers_are_processes_that_work_at_the_same_time(tmp_path: Path) -> None:
    def fun(x: Any) -> float:
        (tmp_path / f"{os.getpid()}").touch()
        support.wait_until(lambda: len(list(tmp_path.iterdir())) >= 3)
        return support.bumpy(x)

    nw.minimize(fun, **_GOOD, workers=3)
    pids = {int(p.name) for p in tmp_path.iterdir()}
    assert len(pids) == 3
    assert os.getpid() not in pids


def test_closures_and_args_reach_the_workers() -> None:
    offset = 1.5
    given = _GOOD | {"batch": 8}
    r = nw.minimize(lambda x, a: support.bumpy(x) + offset + a, **given, args=(2.0,), workers=2)
    here = nw.minimize(lambda x: support.bumpy(x) + offset + 2.0, **given)
    assert support.same_result(r, here)


def test_errors_come_back_with_their_type() -> None:
    def fun(x: Any) -> float:
        raise KeyError("lost")

    with pytest.raises(nw.EvaluationError, match="KeyError: 'lost'") as caught:
        nw.minimize(fun, **_GOOD, workers=2)
    assert isinstance(caught.value.__cause__, KeyError)
    assert caught.value.result.nfev == 0
    r = nw.minimize(fun, **_GOOD, workers=2, on_error="worst")
    assert not r.success


class Stubborn(Exception):
    """Cannot be built again from its message."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def test_errors_that_cannot_travel_come_as_their_message() -> None:
    def fun(x: Any) -> float:
        raise Stubborn(1, 2)

    with pytest.raises(nw.EvaluationError, match="Stubborn: 1 and 2"):
        nw.minimize(fun, **_GOOD, workers=2)


class Explosive:
    """Can be sent, but not received."""

    def __reduce__(self) -> Any:
        return (_explode, ())


class Sticky:
    """Cannot even be sent."""

    def __getstate__(self) -> Any:
        raise RuntimeError("no way")


def _explode() -> None:
    raise RuntimeError("boom")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (lambda: threading.Lock(), "got a lock"),
        (lambda: sys.stdout, "got a "),
        (lambda: Sticky(), "got a Sticky"),
        (lambda: Explosive(), "got what cannot be received: RuntimeError: boom"),
        (lambda: "text", "got 'text'"),
    ],
)
@pytest.mark.parametrize("on_error", ["raise", "worst"])
def test_values_that_are_no_numbers(value: Any, shown: str, on_error: str) -> None:
    with pytest.raises(nw.EvaluationError, match=f"must return one real number, {shown}"):
        nw.minimize(lambda x: value(), **_GOOD, workers=2, on_error=on_error)


def test_a_worker_that_dies_is_replaced_and_its_trial_tried_again(tmp_path: Path) -> None:
    """A few deaths at different places cost time, nothing else."""

    def fun(x: Any) -> float:
        value = support.bumpy(x)
        mark = tmp_path / f"{value!r}"
        if value > 8.0 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    given = _GOOD | {"batch": 8}
    r = nw.minimize(fun, **given, workers=2)
    assert len(list(tmp_path.iterdir())) > 3
    assert support.same_result(r, nw.minimize(support.bumpy, **given))


def test_a_worker_that_exits_is_a_worker_that_died(tmp_path: Path) -> None:
    def fun(x: Any) -> float:
        raise SystemExit(3)

    with pytest.raises(nw.EvaluationError, match="the worker process died 1 times on trial"):
        nw.minimize(fun, **_GOOD, executor=processes(2, retries=0))


def test_a_trial_that_kills_every_worker_is_given_up(tmp_path: Path) -> None:
    def fun(x: Any) -> float:
        with open(tmp_path / "calls", "a") as file:
            file.write("x")
        if x[0] > 2.0:
            os.kill(os.getpid(), signal.SIGKILL)
        return support.bumpy(x)

    with pytest.raises(nw.EvaluationError, match=r"WorkerDied: .* died 3 times") as caught:
        nw.minimize(fun, **_GOOD, workers=2)
    assert isinstance(caught.value.__cause__, WorkerDied)
    (tmp_path / "calls").unlink()
    r = nw.minimize(fun, **_GOOD, executor=processes(2, retries=1), on_error="worst")
    assert r.success
    assert r.nfev == 60
    # One retry for every trial that failed, at no charge.
    assert (tmp_path / "calls").stat().st_size == 60 + r.n_failures
    assert r.n_failures > 0


def test_a_worker_that_dies_while_idle_costs_nothing() -> None:
    evaluator = processes(1, retries=0).start(support.bumpy, (), Limits())
    with evaluator:
        assert outcomes(evaluator, [trial(0)])[0].error is None
        [worker] = evaluator._pool
        worker.process.kill()
        worker.process.join()
        assert outcomes(evaluator, [trial(1)])[1].error is None


def test_timeout_counts_as_a_failure() -> None:
    def fun(x: Any) -> float:
        if x[0] > 2.5:
            time.sleep(6000.0)
        return support.bumpy(x)

    spec = processes(4, timeout=0.2)
    options = _GOOD | {"budget": 24}
    for given in ({"executor": spec}, {"executor": spec, "on_error": "worst"}):
        r = nw.minimize(fun, **options, **given)
        assert r.n_failures > 0
        assert r.nfev == 24


def test_timeout_needs_no_further_worker() -> None:
    def fun(x: Any) -> float:
        if x[0] > 2.5:
            time.sleep(60.0)
        return support.bumpy(x) + (os.getpid() == driver)

    driver = os.getpid()
    r = nw.minimize(fun, **(_GOOD | {"budget": 12}), executor=processes(1, timeout=0.5))
    assert 0 < r.n_failures < 12
    assert r.nfev == 12


def test_bad_limits() -> None:
    with pytest.raises(ValueError, match=r"neither workers nor executor, got workers=2"):
        nw.minimize(support.bumpy, **_GOOD, vectorized=True, workers=2)
    for wrong in (0.0, -1.0, math.inf, "a"):
        with pytest.raises(ValueError, match=r"^timeout must be"):
            processes(1, timeout=wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^retries must be"):
        processes(1, retries=-1)


def test_a_pool_is_left_to_its_stragglers() -> None:
    """A thread cannot be stopped: its evaluation is given up, the others go on meanwhile."""
    release, third = threading.Event(), threading.Semaphore(2)

    def fun(x: Any) -> float:
        if not (third.acquire(blocking=False) or stuck):
            stuck.append(x)
            release.wait()
        return support.bumpy(x)

    stuck: list[Any] = []

    with cf.ThreadPoolExecutor(3) as pool:
        r = nw.minimize(fun, **(_GOOD | {"budget": 16}), executor=limited(pool, timeout=3.0))
        release.set()
    assert r.n_failures == 1
    assert r.nfev == 16


def test_a_pool_whose_workers_all_hang_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("noisewise.executors.futures._GRACE", 2.0)
    release = threading.Event()

    def fun(x: Any) -> float:
        release.wait(20.0)
        return 0.0

    with cf.ThreadPoolExecutor(2) as pool:
        with pytest.raises(nw.EvaluationError, match="all 2 workers hang in evaluations that"):
            nw.minimize(fun, **_GOOD, executor=limited(pool, timeout=0.1))
        release.set()


def test_workers_that_hang_may_come_back() -> None:
    def fun(x: Any) -> float:
        time.sleep(0.5)
        return support.bumpy(x)

    with cf.ThreadPoolExecutor(2) as pool:
        r = nw.minimize(fun, **(_GOOD | {"budget": 4}), executor=limited(pool, timeout=0.2))
    assert r.n_failures == 4


@pytest.mark.parametrize("kind", ["processes", "threads"])
def test_what_is_there_can_be_had_without_waiting(kind: str, tmp_path: Path) -> None:
    """When a run is over: nothing new is begun."""

    def fun(x: Any) -> float:
        (tmp_path / f"{x[0]}").touch()
        return float(x[0])

    with cf.ThreadPoolExecutor(2) as pool:
        where = {"processes": processes(2), "threads": pool}[kind]
        with start(fun, (), False, 1, where, limits=Limits(timeout=60.0)) as evaluator:
            evaluator.submit([trial(i, float(i)) for i in range(3)])
            while len(evaluator.finished) < 2:
                evaluator.receive(block=False)
            assert sorted(outcome.value for outcome in evaluator.finished) == [0.0, 1.0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["0.0", "1.0"]


@pytest.mark.parametrize("timeout", [30 * 86400.0, 1e300])
def test_a_timeout_may_be_longer_than_the_system_can_wait(timeout: float) -> None:
    options = _GOOD | {"budget": 8}
    two = processes(2, timeout=timeout)
    assert nw.minimize(support.bumpy, **options, executor=two).nfev == 8
    with cf.ThreadPoolExecutor(2) as pool:
        two_threads = limited(pool, timeout=timeout)
        assert nw.minimize(support.bumpy, **options, executor=two_threads).nfev == 8


def test_workers_are_said_once() -> None:
    with pytest.raises(ValueError, match=r"^set workers on the executor itself.*ProcessSpec"):
        nw.minimize(support.bumpy, **_GOOD, executor=processes(2), workers=3)


def test_second_looks_come_first() -> None:
    """Their generation waits for them; candidates may belong to the next one."""
    queue = deque([trial(0), trial(1)])
    again = [nw.Trial(i, trial(0).x, "reevaluation") for i in (3, 4)]
    enqueue(queue, [trial(2), *again])
    assert [t.id for t in queue] == [3, 4, 0, 1, 2]


def test_timeout_is_per_evaluation() -> None:
    def fun(x: Any) -> float:
        time.sleep(0.1)
        return support.bumpy(x)

    spec = processes(1, timeout=2.5)
    r = nw.minimize(fun, **(_GOOD | {"budget": 30}), executor=spec)
    assert r.n_failures == 0


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
def test_programs_that_workers_started_end_with_them(tmp_path: Path) -> None:
    """Else every timeout would leave one that runs beside its successor."""

    def fun(x: Any) -> float:
        program = subprocess.Popen(["sleep", "6000"])
        (tmp_path / str(program.pid)).touch()
        return float(program.wait())

    r = nw.minimize(fun, **(_GOOD | {"budget": 2}), executor=processes(2, timeout=1.0))
    assert r.n_failures == 2
    before = len(list(tmp_path.iterdir()))  # on a busy machine not all workers come so far
    with start(
        fun, (), False, 2, None, limits=Limits()
    ) as evaluator:  # what Ctrl-C leaves in the middle
        evaluator.submit([trial(0)])
        support.wait_until(lambda: len(list(tmp_path.iterdir())) > before)
    programs = [int(file.name) for file in tmp_path.iterdir()]
    assert len(programs) == before + 1
    support.wait_until(lambda: not any(map(runs, programs)))


def runs(pid: int) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    return False


@pytest.mark.untraced  # a signal can leave coverage waiting for its own lock
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_workers_end_though_ctrl_c_is_pressed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    end = Processes._end

    def interrupted(self: Processes, worker: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        end(self, worker)

    monkeypatch.setattr(Processes, "_end", interrupted)
    evaluator = start(lambda x: time.sleep(60.0), (), False, 2, None, limits=Limits())
    evaluator.submit([trial(0), trial(1)])
    with pytest.raises(KeyboardInterrupt):
        evaluator.close()


def test_a_run_in_a_thread_has_workers_and_ends_them() -> None:
    """Only the main thread may say what Ctrl-C does."""
    before, found = support.children(), []

    def run() -> None:
        found.append(nw.minimize(support.bumpy, [1.0], sigma0=1.0, budget=8, workers=2, rng=0))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert [r.nfev for r in found] == [8]
    assert support.children() == before


@pytest.mark.untraced  # a signal can leave coverage waiting for its own lock
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_workers_end_where_ctrl_c_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in programs that a shell has started in the background."""
    end, before = Processes._end, support.children()

    def interrupted(self: Processes, worker: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        end(self, worker)

    monkeypatch.setattr(Processes, "_end", interrupted)
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        evaluator = start(lambda x: time.sleep(60.0), (), False, 2, None, limits=Limits())
        evaluator.submit([trial(0), trial(1)])
        evaluator.close()
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, usual)
    assert support.children() == before


def test_workers_end_when_the_driver_fails() -> None:
    def fun(x: Any) -> float:
        time.sleep(30.0)
        return 0.0

    evaluator = Processes(fun, (), 3, Limits())
    before = support.children()
    evaluator.submit([trial(i) for i in range(5)])
    assert len(support.children() - before) == 3
    with evaluator, contextlib.suppress(RuntimeError):
        raise RuntimeError("driver")
    assert support.children() == before


def test_a_pool_that_breaks_ends_the_run_in_any_case() -> None:
    """It is not the objective that failed, and every further evaluation would fail, too."""

    def results(pool: cf.ProcessPoolExecutor) -> nw.EvaluationError:
        with pytest.raises(nw.EvaluationError, match="BrokenProcessPool") as caught:
            nw.minimize(_suicide, **_GOOD, executor=pool, on_error="worst")
        return caught.value

    with cf.ProcessPoolExecutor(2) as pool:
        assert results(pool).result.nfev == 0
        assert results(pool).result.nfev == 0  # broken before the first trial


def _suicide(x: Any) -> float:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0.0


@pytest.mark.parametrize("on_error", ["raise", "worst"])
def test_a_pool_that_was_shut_down(on_error: str) -> None:
    pool = cf.ThreadPoolExecutor(2)
    pool.shutdown()
    with pytest.raises(nw.EvaluationError, match="cannot schedule new futures after shutdown"):
        nw.minimize(support.bumpy, **_GOOD, executor=pool, on_error=on_error)


def test_a_pool_that_cancels() -> None:
    class Moody(cf.ThreadPoolExecutor):
        def submit(self, *args: Any, **kwargs: Any) -> Any:
            future: Any = cf.Future()
            future.cancel()
            future.set_running_or_notify_cancel()
            return future

    for on_error in ("raise", "worst"):  # nobody evaluated anything: no failure of the objective
        with Moody(1) as pool, pytest.raises(nw.EvaluationError, match="CancelledError") as caught:
            nw.minimize(support.bumpy, **_GOOD, executor=pool, on_error=on_error)
        assert caught.value.result.nfev == 0


def test_trials_that_wait_are_cancelled_when_the_run_ends() -> None:
    seen: list[Any] = []

    def fun(x: Any) -> float:
        seen.append(x)
        time.sleep(0.01)
        raise ValueError

    with cf.ThreadPoolExecutor(1) as pool:
        with pytest.raises(nw.EvaluationError):
            nw.minimize(fun, **_GOOD, executor=pool)
        time.sleep(0.05)
    assert len(seen) <= 3


def test_error_in_a_thread_leaves_the_checkpoint_whole(tmp_path: Path) -> None:
    calls: list[int] = []

    def fun(x: Any) -> float:
        calls.append(1)
        if len(calls) == 30:
            raise ValueError("once")
        return support.bumpy(x)

    given = _GOOD | {"batch": 8}
    with cf.ThreadPoolExecutor(3) as pool:
        with pytest.raises(nw.EvaluationError):
            nw.minimize(fun, **given, executor=pool, checkpoint=tmp_path / "run")
        again = nw.minimize(fun, **given, executor=pool, checkpoint=tmp_path / "run")
    assert support.same_result(again, nw.minimize(support.bumpy, **given))


def test_vectorized_error() -> None:
    def fun(X: Any) -> Any:
        raise ValueError("all of them")

    with pytest.raises(nw.EvaluationError, match="all of them"):
        nw.minimize(fun, **_GOOD, vectorized=True)
    r = nw.minimize(fun, **_GOOD, vectorized=True, on_error="worst")
    assert not r.success
    search = _GOOD | {"confirm": 0}
    r = nw.minimize(lambda X: [math.nan, *(X[1:, 0] ** 2)], **search, vectorized=True)
    assert r.n_failures == r.nit


def test_a_worker_from_inside() -> None:
    """What a worker process does, here, where it can be watched."""
    ours, theirs = mp.Pipe()
    before = signal.getsignal(signal.SIGINT)
    answers: list[Any] = []

    def drive() -> None:
        for id, x in enumerate((1.0, 2.0, 3.0)):
            ours.send((x, id, {}))
            answers.append(ours.recv())
        ours.close()

    def fun(x: float, scale: float) -> Any:
        if x == 2.0:
            raise Stubborn(1, 2)
        return threading.Lock() if x == 3.0 else scale * x

    driver = threading.Thread(target=drive)
    driver.start()
    try:
        serve(theirs, fun, (10.0,), (1,))
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # the driver decides
    finally:
        signal.signal(signal.SIGINT, before)
        driver.join()
    assert answers[0] == (10.0, None)
    error = answers[1][1]  # as it is, if some library has taught pickle how
    assert "Stubborn: 1 and 2" in f"{type(error).__name__}: {error}"
    assert "got a lock" in str(answers[2][1])


def test_a_worker_ends_when_nobody_listens() -> None:
    ours, theirs = mp.Pipe()
    before = signal.getsignal(signal.SIGINT)
    ours.send((1.0, 0, {}))
    try:
        serve(theirs, lambda x: ours.close(), (), (1,))
    finally:
        signal.signal(signal.SIGINT, before)
    assert ours.closed


def test_evaluators_can_be_told_to_start_with_nothing_to_do() -> None:
    for workers in (1, 2):
        with start(support.bumpy, (), False, workers, None, Limits()) as evaluator:
            evaluator.submit([])
            assert evaluator.workers == workers
