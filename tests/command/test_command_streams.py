"""Closed outputs, plain terminals, interrupts that come twice, reports that cannot be written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from noisewise.command.main import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
TUNE = "tune --param x=0..1 --budget 12 --seed 1 --method cma-es"
PROGRAM = ["awk", "BEGIN { print ({x}-0.3)^2 }"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def shell(line: str, **env: str) -> subprocess.CompletedProcess[str]:
    command = f"{sys.executable} -m noisewise {line}"
    return subprocess.run(
        command, shell=True, capture_output=True, text=True, env=os.environ | env, errors="replace"
    )


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams(closed: str) -> None:
    """What is opened first must not take their place, either."""
    done = shell(f"{TUNE} {closed} -- awk 'BEGIN {{ print ({{x}}-0.3)^2 }}'")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert ("Recommended" in done.stdout) == (closed == "2>&-")
    assert shell("show run.nw").returncode == 0


def test_a_terminal_that_knows_ascii_only() -> None:
    plain = {"PYTHONIOENCODING": "ascii"}
    program = "-- awk 'BEGIN { print ({größe}-0.3)^2 }'"
    done = shell(f"tune --param größe=0..1 --budget 12 --seed 1 --method cma-es {program}", **plain)
    assert done.returncode == 0, done.stderr
    assert "#" * 20 + " 12/12  f ~ 0." in done.stderr
    assert done.stdout.startswith("Recommended:\n  gr\\xf6\\xdfe  0.")
    shown = shell("show run.nw", **plain)
    assert shown.returncode == 0
    assert "gr\\xf6\\xdfe" in shown.stdout
    older = shell("show run.nw", LC_ALL="C", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0", **plain)
    assert older.returncode == 0
    missing = shell(f"tune --param größe=0..1 --budget 12 --out ünder/run {program}", **plain)
    assert missing.returncode == 2
    assert missing.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["a;b", "a:b", "a'b", 'a"b', "a,b"])
def test_names_that_cannot_be_placeholders(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["tune", "--param", f"{name}=0..1", "--budget", "9", "--", "echo", f"{{{name}}}"]
    assert main(given) == 2
    said = capsys.readouterr().err
    assert "the name of a parameter on the command line must not contain quotes" in said
    assert said.count("\n") == 1


def test_a_report_that_fails_leaves_the_old_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main([*TUNE.split(), "--", *PROGRAM]) == 0
    assert main(["report", "run.nw"]) == 0
    before = Path("run.html").read_bytes()

    def full(fd: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("os.fsync", full)
        assert main(["report", "run.nw"]) == 2
    assert "No space left on device" in capsys.readouterr().err
    assert Path("run.html").read_bytes() == before
    assert sorted(p.name for p in Path().iterdir()) == ["run.html", "run.nw"]


def test_a_report_goes_to_what_is_no_file() -> None:
    assert main([*TUNE.split(), "--", *PROGRAM]) == 0
    done = shell("report run.nw --out /dev/stdout")
    assert done.returncode == 0
    assert done.stdout.startswith("<!doctype html>")
    os.symlink("elsewhere.html", "link.html")
    assert main(["report", "run.nw", "--out", "link.html"]) == 0
    assert Path("link.html").is_symlink()
    assert Path("elsewhere.html").exists()


def test_a_report_about_a_command_that_is_not_text() -> None:
    """Arguments are bytes; some of them are no UTF-8."""
    odd = "sh -c 'awk \"BEGIN { print ({x}-0.3)^2 }\"' $(printf '\\377')"
    assert shell(f"{TUNE} -- {odd}").returncode == 0
    done = shell("report run.nw")
    assert done.returncode == 0, done.stderr
    assert "\\udcff" in Path("run.html").read_text(encoding="utf-8")


@pytest.mark.untraced  # a signal can leave coverage waiting for its own lock
@pytest.mark.parametrize("pause", [0.0, 0.05, 0.3])
def test_a_second_interrupt(pause: float, tmp_path: Path) -> None:
    """A program that does not listen, and a user who presses Ctrl-C again."""
    stubborn = "trap '' TERM INT; touch started; sleep 600 & wait; sleep 600"
    argv = [sys.executable, "-m", "noisewise", *TUNE.split(), "--workers", "2", "--"]
    process = subprocess.Popen(
        [*argv, "sh", "-c", stubborn, "{x}"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    while not (tmp_path / "started").exists():
        assert process.poll() is None
        time.sleep(0.01)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(pause)
    _, err = process.communicate()
    assert process.returncode == 130
    assert "Traceback" not in err
    assert "the same command goes on" in err


def test_an_interrupt_while_the_answer_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    calls: list[str] = []

    def interrupted(text: str) -> None:
        calls.append(text)
        if len(calls) == 1:
            raise KeyboardInterrupt

    def refuse(args: Any) -> int:
        raise ValueError("no")

    monkeypatch.setattr("noisewise.command.looking.list_methods", refuse)
    monkeypatch.setattr("noisewise.command.main.say", interrupted)
    assert main(["methods"]) == 130
    assert calls == ["no", "interrupted"]
