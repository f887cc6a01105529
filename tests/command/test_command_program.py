"""Running programs."""

from __future__ import annotations

import os
import threading
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from noisewise.command.program import Evaluation, EvaluationFailed, Program
from noisewise.command.reading import Reader
from noisewise.command.template import Template
from noisewise.space import Space

SPACE = Space.parse(["x=0..1"])
HALF = {"x": 0.5}


def program(script: str, **options: Any) -> Program:
    """A shell script that knows the parameter as $1."""
    return Program(SPACE, Template(("sh", "-c", script, "sh", "{x}")), Reader(), **options)


def failure(script: str, **options: Any) -> str:
    with program(script, **options) as run, pytest.raises(EvaluationFailed) as caught:
        run(HALF)
    return str(caught.value)


def gone(pid: int) -> bool:
    """Whether the process ends soon (or is a zombie that nobody waits for)."""
    end = time.monotonic() + 10.0
    while time.monotonic() < end:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except FileNotFoundError:
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


def test_values_and_what_is_heard_of_them() -> None:
    heard: list[Evaluation] = []
    with program("echo loss $1", listen=heard.append) as run:
        assert run(HALF) == 0.5
    assert [(e.parameters, e.value, e.failure) for e in heard] == [({"x": 0.5}, 0.5, "")]
    assert all(0.0 < e.seconds < 60.0 for e in heard)


def test_failures_say_why() -> None:
    assert failure("echo one >&2; echo two >&2; echo 0.5; exit 3") == "exit code 3: two"
    assert failure("exit 4") == "exit code 4"
    assert failure("kill -9 $$") == "ended by signal 9"
    assert failure("echo nothing") == "there is no number on stdout"
    missing = Program(SPACE, Template(("./not/there", "{x}")), Reader())
    with pytest.raises(EvaluationFailed, match="not/there cannot be started: No such file"):
        missing(HALF)
    with pytest.raises(EvaluationFailed, match=r"cannot be started: embedded null byte"):
        Program(SPACE, Template(("sh", "\0{x}")), Reader())(HALF)


def test_retries(tmp_path: Path) -> None:
    count = tmp_path / "count"
    script = f"echo >> {count}; [ $(wc -l < {count}) -ge 3 ] || exit 1; echo 7"
    heard: list[Evaluation] = []
    with program(script, retries=2, listen=heard.append) as run:
        assert run(HALF) == 7.0
    assert count.read_text() == "\n" * 3
    assert [e.value for e in heard] == [7.0]
    count.unlink()
    assert failure(script, retries=1, listen=heard.append) == "exit code 1"
    assert heard[-1].value is None
    assert heard[-1].failure == "exit code 1"


def test_a_timeout_ends_the_program_and_its_children(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 6000 & echo $$ $! > {pids}; wait"
    assert failure(script, timeout=2.0) == "took longer than 2 s"
    assert all(gone(int(pid)) for pid in pids.read_text().split())


def test_a_program_that_will_not_listen_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noisewise.command.program._GRACE", 0.1)
    pids = tmp_path / "pids"
    script = f"trap '' TERM; echo $$ > {pids}; while :; do sleep 0.05; done"
    assert failure(script, timeout=2.0).startswith("took longer")
    assert gone(int(pids.read_text()))


def test_closing_ends_what_runs_and_starts_nothing_more(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    heard: list[Evaluation] = []
    run = program(f"echo $$ > {pids}; sleep 6000", listen=heard.append, retries=5)
    caught: list[str] = []

    def work() -> None:
        try:
            run(HALF)
        except EvaluationFailed as error:
            caught.append(str(error))

    thread = threading.Thread(target=work)
    thread.start()
    while not (pids.exists() and pids.read_text()):
        time.sleep(0.01)
    run.close()
    thread.join()
    assert caught == ["ended by signal 15"]
    assert heard == []  # it did not fail: it was ended
    assert gone(int(pids.read_text()))
    with pytest.raises(EvaluationFailed, match="the run has ended"):
        run(HALF)


@pytest.mark.parametrize("ignored", ["", "trap '' TERM; "])
def test_children_left_behind_end_with_the_program(
    ignored: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise they would pile up, one per evaluation, and slow down those that follow."""
    monkeypatch.setattr("noisewise.command.program._GRACE", 0.2)
    pids = tmp_path / "pids"
    with program(f"{ignored}sleep 6000 & echo $! > {pids}; echo 1.5") as run:
        assert run(HALF) == 1.5
    assert gone(int(pids.read_text()))


def test_a_process_in_a_session_of_its_own_stays_and_does_not_keep_us_waiting(
    tmp_path: Path,
) -> None:
    """That is how a server is started on purpose."""
    pids = tmp_path / "pids"
    start = f"setsid sh -c 'echo $$ > {pids}; exec sleep 6000' & while [ ! -s {pids} ]; do :; done"
    with program(f"{start}; echo 1.5") as run:
        assert run(HALF) == 1.5
    assert "noisewise output" not in {thread.name for thread in threading.enumerate()}
    os.kill(int(pids.read_text()), 9)  # an error if it had ended


def test_what_children_write_just_after_the_program_counts() -> None:
    """As in `bash -c 'train > >(tee log)'`, where tee ends last."""
    with program("echo 9; (sleep 0.2; echo 1.5) &") as run:
        assert run(HALF) == 1.5


def test_a_line_that_is_not_finished_while_another_process_writes_is_no_value(
    tmp_path: Path,
) -> None:
    pids = tmp_path / "pids"
    writer = f"echo $$ > {pids}; printf 0.12; exec sleep 6000"
    said = failure(f'setsid sh -c "{writer.replace("$", chr(92) + "$")}" & sleep 0.3')
    assert said == (
        "there is no number on stdout (a process that the program left behind holds stdout open)"
    )
    os.kill(int(pids.read_text()), 9)


def test_no_disk_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A full one gave every evaluation the last number that had found room."""
    monkeypatch.setattr("tempfile.tempdir", "/not/there")
    monkeypatch.setenv("TMPDIR", "/not/there")
    with program("ulimit -f 0; yes 61898 | head -n 20000; echo 1") as run:
        assert run(HALF) == 1.0


def test_endless_output_takes_little_memory_and_ends_on_time(tmp_path: Path) -> None:
    pids, began = tmp_path / "pids", time.monotonic()
    tracemalloc.start()
    try:
        said = failure(f"echo $$ > {pids}; yes $1 & yes $1 >&2; wait", timeout=1.5)
        assert tracemalloc.get_traced_memory()[1] < 32e6
    finally:
        tracemalloc.stop()
    assert said == "took longer than 1.5 s"
    assert time.monotonic() - began < 10.0
    assert gone(int(pids.read_text()))


def test_half_a_line_is_not_read() -> None:
    """The number at which a long output was cut is not the one that was printed."""
    said = failure("yes 7 | head -c 12000000 | tr -d '\\n'")
    assert said == "there is no number on stdout (only the last 4 MiB of stdout are kept)"
    with program("yes 7 | head -c 12000000 | tr -d '\\n'; echo; printf 2.5") as run:
        assert run(HALF) == 2.5


def test_stdin_is_empty_and_output_may_be_long() -> None:
    with program("cat; yes 123456789 | head -c 5000000; echo; echo 2.5") as run:
        assert run(HALF) == 2.5


def test_seeds_differ() -> None:
    with Program(SPACE, Template(("echo", "{x}", "{seed}")), Reader()) as run:
        assert run(HALF) != run(HALF)


def test_bad_options() -> None:
    with pytest.raises(ValueError, match="--timeout must be a positive finite number, got 0"):
        program("", timeout=0)
    with pytest.raises(ValueError, match="--retries must be a whole number of at least 0, got -1"):
        program("", retries=-1)
