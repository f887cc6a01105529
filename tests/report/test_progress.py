"""The progress bar."""

from __future__ import annotations

import io
import logging
from typing import Any

import pytest

import noisewise as nw
import support
from noisewise.methods import CMAES
from noisewise.report.progress import Progress
from noisewise.report.words import clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(stream: Any, monkeypatch: pytest.MonkeyPatch, shown: bool = True) -> str:
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr("noisewise.report.progress._EVERY", 0.0)
    nw.minimize(
        support.bumpy,
        [2.0] * 3,
        sigma0=1.0,
        budget=100,
        rng=0,
        method=CMAES(population=5),
        progress=shown,
    )
    return str(stream.getvalue())


def test_nothing_unless_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(Terminal(), monkeypatch, shown=False) == ""


def test_on_a_terminal_one_line_rewrites_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    text = run(Terminal(), monkeypatch)
    states = [line for line in text.rstrip("\n").split("\r") if line]
    # Generations (five evaluations measure the answer), the end of the last phase, and of the run.
    assert len(states) == 19 + 2
    assert "10/100" in states[1]
    assert "100/100" in states[-1]
    assert "█" * 20 in states[-1]
    assert "f ≈" in states[0]
    assert "left" in states[0]
    assert text.count("\n") == 1


def test_elsewhere_a_line_per_tenth(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = run(io.StringIO(), monkeypatch).splitlines()
    assert len(lines) == 10
    assert "10/100" in lines[0]
    assert "100/100" in lines[-1]


def test_elsewhere_the_logger_gets_the_lines(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="noisewise"):
        assert run(io.StringIO(), monkeypatch) == ""
    assert [(r.name, r.levelname) for r in caplog.records] == [("noisewise", "INFO")] * 10
    assert caplog.messages[0].startswith("10/100  f ≈ ")
    assert caplog.messages[-1].startswith("100/100  f ≈ ")


def test_a_terminal_is_not_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, logger="noisewise"):
        assert "100/100" in run(Terminal(), monkeypatch)
        assert run(io.StringIO(), monkeypatch, shown=False) == ""
    assert caplog.records == []


def test_who_does_not_listen_to_info_gets_the_lines_on_stderr(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, logger="noisewise"):
        assert len(run(io.StringIO(), monkeypatch).splitlines()) == 10
    assert caplog.records == []


def test_terminals_without_unicode(monkeypatch: pytest.MonkeyPatch) -> None:
    class Plain(io.StringIO):
        def write(self, text: str) -> int:
            text.encode("ascii")
            return super().write(text)

    text = run(Plain(), monkeypatch)
    assert "#" in text
    assert "f ~" in text


def test_a_resumed_run_estimates_from_its_own_speed() -> None:
    opt = support.start(CMAES(population=5), budget=100)
    for _ in range(10):
        for trial in opt.ask():
            opt.tell(trial.id, 1.0)
    stream = Terminal()
    bar = Progress(opt, True, stream)
    bar.finish()
    assert "50/100" in stream.getvalue()
    assert "--:-- left" in stream.getvalue()


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "00:00"), (61, "01:01"), (3600, "1:00:00"), (1e9, "--:--"), (float("nan"), "--:--")],
)
def test_clock(seconds: float, text: str) -> None:
    assert clock(seconds) == text
