"""Workers are started so that they cannot hang on a lock which a thread of this process holds."""

from __future__ import annotations

import contextlib
import multiprocessing as mp
import os
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import noisewise as nw
from noisewise.executors import _starting, processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked on Linux only")
_GOOD: dict[str, Any] = {"x0": [2.0, 2.0], "sigma0": 1.0, "budget": 12, "rng": 0, "workers": 2}
SOURCE = Path(nw.__file__).parents[1]


@contextlib.contextmanager
def a_thread() -> Iterator[None]:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()


def forked(x: Any, driver: int, expected: bool) -> float:
    """A value, if the worker is, or is not, a fork of the driver."""
    if (os.getppid() == driver) is not expected:
        raise AssertionError(f"parent {os.getppid()}, driver {driver}")
    return float(x @ x)


def run(code: str, *flags: str, name: str = "script.py", folder: Path) -> Any:
    """A script of its own, which has this library and ``GOOD``."""
    head = f"import numpy as np, noisewise as nw, threading, time\nGOOD = {_GOOD!r}\n"
    (folder / name).write_text(head + textwrap.dedent(code), encoding="utf-8")
    path = os.pathsep.join([str(SOURCE), *sys.path])
    return subprocess.run(
        [sys.executable, *flags, name],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_process_is_forked_only_while_it_has_no_threads() -> None:
    usual = (mp.get_start_method(allow_none=True) or mp.get_all_start_methods()[0]) == "fork"
    alone = _starting.may_fork() and usual
    nw.minimize(forked, **_GOOD, args=(os.getpid(), alone))
    with a_thread():
        assert not _starting.may_fork()
        nw.minimize(forked, **_GOOD, args=(os.getpid(), False))


def test_threads_of_other_languages_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    monkeypatch.setattr(_starting, "_native", lambda: 1 + _starting._of_openblas())
    assert _starting.may_fork()
    monkeypatch.setattr(_starting, "_native", lambda: 2 + _starting._of_openblas())
    assert not _starting.may_fork()


def test_a_matrix_product_leaves_the_process_to_be_forked(tmp_path: Path) -> None:
    """OpenBLAS has threads from its import on, and ends them itself before a fork."""
    done = run(
        """
        from noisewise.executors import _starting
        a = np.ones((500, 500)) @ np.ones((500, 500))
        import scipy.linalg
        scipy.linalg.cholesky(a / 1e4 + np.eye(500))
        print(_starting.may_fork())
        """,
        folder=tmp_path,
    )
    assert done.stdout == "True\n", done.stderr


def test_a_lock_that_a_thread_holds_stops_no_worker(tmp_path: Path) -> None:
    """What a fork would hang on: its child finds the lock taken, and nobody gives it back."""
    done = run(
        """
        LOCK = threading.Lock()

        def fun(x):
            with LOCK:
                return float(x @ x)

        def hold():
            while True:
                with LOCK:
                    time.sleep(0.5)

        if __name__ == "__main__":
            threading.Thread(target=hold, daemon=True).start()
            time.sleep(0.1)
            print(nw.minimize(fun, **GOOD).nfev)
        """,
        "-W",
        "error::DeprecationWarning",
        folder=tmp_path,
    )
    assert (done.stdout, done.stderr) == ("12\n", "")


def test_what_cannot_be_sent_is_refused_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with (
        a_thread(),
        pytest.raises(
            ValueError,
            match=r"^fun must be picklable \(a function at the top level of a module\) for workers "
            r"> 1 .*, got <function .*: put it in a module, install cloudpickle, or use "
            r"executor=noisewise.executors.threads\(...\)$",
        ),
    ):
        nw.minimize(lambda x: float(x @ x), **_GOOD)


def test_cloudpickle_sends_what_pickle_cannot() -> None:
    pytest.importorskip("cloudpickle")
    by = 3.0
    with a_thread():
        r = nw.minimize(lambda x: float(x @ x) + by, **_GOOD)
    assert r.fun_best_observed >= 3.0


def test_a_function_of_a_prompt_or_notebook_is_not_sent_by_name() -> None:
    """Workers could not import it from there."""
    code = (
        "import sys; sys.modules['cloudpickle'] = None\n"
        "from noisewise.executors import _starting\n"
        "def fun(x): return 0.0\n"
        "print(_starting.sent(fun, ()), _starting.sent(abs, ()) is not None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "None True\n", done.stderr


def test_a_script_that_would_start_itself_again_is_told_what_to_do(tmp_path: Path) -> None:
    done = run(
        """
        def fun(x):
            return float(x @ x)

        threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
        nw.minimize(fun, **GOOD)
        """,
        folder=tmp_path,
    )
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert 'put what it runs under if __name__ == "__main__":' in last


def test_an_objective_that_a_worker_cannot_load_is_named(tmp_path: Path) -> None:
    done = run(
        """
        import os, sys
        if __name__ == "__main__":
            open("there.py", "w").write("def fun(x): return 0.0")
            import there
            os.remove("there.py")
            threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
            nw.minimize(there.fun, **GOOD)
        """,
        "-B",
        folder=tmp_path,
    )
    last = done.stderr.strip().splitlines()[-1]
    assert "a worker process cannot load the objective: ModuleNotFoundError" in last


def test_a_worker_that_dies_is_replaced_after_threads_came_up(tmp_path: Path) -> None:
    """The first workers are forked; those that follow need not be."""
    done = run(
        """
        import os

        def fun(x):
            if not os.path.exists("died"):
                open("died", "w").close()
                os._exit(1)
            return float(x @ x)

        def begin(intermediate_result):
            if threading.active_count() == 1:
                threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
                os.remove("died")

        if __name__ == "__main__":
            print(nw.minimize(fun, **(GOOD | {"budget": 40}), callback=begin).nfev)
        """,
        "-W",
        "error::DeprecationWarning",
        folder=tmp_path,
    )
    assert (done.stdout, done.stderr) == ("40\n", "")


class SlowToLoad:
    """An objective that takes longer to load than an evaluation may take."""

    def __reduce__(self) -> Any:
        return _loaded_slowly, ()

    def __call__(self, x: Any) -> float:
        return float(x @ x)


def _loaded_slowly() -> SlowToLoad:
    time.sleep(1.0)
    return SlowToLoad()


def test_a_time_out_begins_when_the_worker_has_loaded_the_objective() -> None:
    over = threading.Event()
    beside = threading.Thread(target=over.wait, daemon=True)
    beside.start()  # so that workers are not forked
    try:
        spec = processes(2, timeout=0.5)
        r = nw.minimize(SlowToLoad(), [2.0, 2.0], sigma0=1.0, budget=8, rng=0, executor=spec)
        assert (r.nfev, r.n_failures) == (8, 0)
    finally:
        over.set()
