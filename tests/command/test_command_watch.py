"""The page of a run, served while the run goes on."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import noisewise as nw
from noisewise.command import watch
from noisewise.command.main import main
from noisewise.command.runs import Kept
from noisewise.command.watch import Watch


def saved(path: Path, evaluations: int) -> None:
    """A run of that many evaluations."""
    opt = nw.Optimizer(budget=60, bounds=[(0, 1)] * 2, rng=0)
    while opt.spent < evaluations:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x @ trial.x))
    opt.save(path)


@contextlib.contextmanager
def serving(path: Path) -> Iterator[Watch]:
    server = Watch(Kept(str(path)))
    server.start()
    try:
        yield server
    finally:
        server.stop()


def fetched(server: Watch, place: str = "") -> str:
    with urllib.request.urlopen(server.url + place, timeout=60) as answer:
        assert answer.headers["Cache-Control"] == "no-store"
        return str(answer.read().decode())


def test_the_page_follows_the_run(tmp_path: Path) -> None:
    path = tmp_path / "run.nw"
    with serving(path) as server:
        assert "Waiting for" in fetched(server)
        assert fetched(server, "stamp") == ""
        saved(path, 10)
        first = fetched(server)
        assert "The run has not ended yet." in first
        server._took = 0.0  # as if the page had been fast to make
        seen = fetched(server, "stamp")
        assert f'"stamp": "{seen}"' in first
        saved(path, 60)
        assert fetched(server, "stamp") not in ("", seen)
        assert "The run has not ended yet." not in fetched(server)
        content = path.read_bytes()
        path.write_text("damaged")
        assert "60 of 60" in fetched(server)  # the last one that could be made
        path.write_bytes(content)
        path.unlink()
        assert "60 of 60" in fetched(server)


def test_it_is_read_only_and_for_this_computer_alone(tmp_path: Path) -> None:
    with serving(tmp_path / "run.nw") as server:
        place = urlsplit(server.url)
        assert place.hostname == "127.0.0.1"
        for method, path, host in (
            ("GET", "/run.nw", "127.0.0.1"),
            ("GET", "/../run.nw", "127.0.0.1"),
            ("GET", "/", "elsewhere.example"),
            ("POST", "/", "127.0.0.1"),
            ("DELETE", "/", "127.0.0.1"),
        ):
            connection = http.client.HTTPConnection(place.netloc, timeout=60)
            connection.request(method, path, headers={"Host": host})
            assert connection.getresponse().status in (404, 501)
            connection.close()
        with pytest.raises(urllib.error.HTTPError):
            fetched(server, "other")


def test_a_page_that_is_slow_to_make_is_not_made_all_the_time(tmp_path: Path) -> None:
    path = tmp_path / "run.nw"
    saved(path, 10)
    with serving(path) as server:
        fetched(server)
        server._took = 100.0
        seen = fetched(server, "stamp")
        saved(path, 60)
        assert fetched(server, "stamp") == seen


def test_the_end_waits_for_a_browser_that_looks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_FAREWELL", 0.2)
    path = tmp_path / "run.nw"
    saved(path, 10)
    server = Watch(Kept(str(path)))
    server.start()
    fetched(server, "stamp")  # asks for news and never fetches the page
    server.stop()
    with pytest.raises(OSError, match=r"refused|closed"):
        fetched(server)


def test_connections_that_say_nothing_do_not_keep_others_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_CONNECTIONS", 5)
    descriptors = len(os.listdir("/proc/self/fd"))
    with serving(tmp_path / "run.nw") as server, contextlib.ExitStack() as stack:
        place = urlsplit(server.url)
        idle = []
        for _ in range(40):
            idle.append(socket.create_connection((place.hostname, place.port), timeout=60))
            stack.enter_context(idle[-1])
        assert "Waiting for" in fetched(server)
        for silent in idle[:35]:
            assert silent.recv(1) == b""  # ended, oldest first
        while len(os.listdir("/proc/self/fd")) > descriptors + len(idle) + 5 + 3:
            time.sleep(0.02)
        idle[-1].settimeout(0.1)
        with pytest.raises(TimeoutError):
            idle[-1].recv(1)


def test_a_connection_that_says_nothing_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(watch, "_SILENCE", 0.2)
    with serving(tmp_path / "run.nw") as server:
        place = urlsplit(server.url)
        for said in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127"):
            with socket.create_connection((place.hostname, place.port), timeout=60) as silent:
                silent.sendall(said)
                assert silent.recv(1) == b""
    assert capfd.readouterr().err == ""


@pytest.mark.untraced  # a signal can leave coverage waiting for its own lock
def test_the_command_ends_on_ctrl_c(tmp_path: Path) -> None:
    saved(tmp_path / "run.nw", 10)
    with subprocess.Popen(
        [sys.executable, "-m", "noisewise", "watch", str(tmp_path / "run.nw")],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(url, timeout=60) as answer:
            assert b"10 of 60" in answer.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


def test_what_cannot_be_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "other").write_text("no run")
    assert main(["watch", str(tmp_path / "other")]) == 2
    assert "not a noisewise checkpoint" in capsys.readouterr().err
    assert main(["watch", str(tmp_path / "none"), "--port", "99999"]) == 2
    assert "--port must be" in capsys.readouterr().err


def noting(method: Callable[[Watch], None], name: str, steps: list[str]) -> Any:
    """The method, which notes that it was called."""

    def call(self: Watch) -> None:
        steps.append(name)
        method(self)

    return call


def test_tuning_says_where_to_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--param", "x=0..1", "--budget", "6", "--quiet", "--seed", "0", "--watch"]
    steps: list[str] = []
    for name in ("start", "stop"):
        monkeypatch.setattr(Watch, name, noting(getattr(Watch, name), name, steps))
    assert main(["tune", *words, "--", "echo", "{x}"]) == 0
    assert "watch the run at http://127.0.0.1:" in capsys.readouterr().err
    assert steps == ["start", "stop"]  # it is served as long as the run goes on
