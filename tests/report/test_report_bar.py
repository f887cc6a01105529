"""The progress bar: what it shows, when, and how wide."""

from __future__ import annotations

import io
import os

import pytest

from noisewise.report.bar import Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True

    def fileno(self) -> int:
        return 99


class Clock:
    """A clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, columns: int = 80) -> None:
        self.now = 1000.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)
        monkeypatch.setattr("os.get_terminal_size", lambda fd: os.terminal_size((columns, 24)))


def rewritten(stream: io.StringIO) -> list[str]:
    """The lines that took each other's place."""
    return [part.removesuffix("\x1b[K") for part in stream.getvalue().split("\r")[1:]]


def test_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the evaluations of this start took, for each that is left."""
    clock, stream = Clock(monkeypatch), Terminal()
    bar = Bar(100, 40, True, stream)
    bar.show(40, lambda: "")
    clock.now += 30.0
    bar.show(50, lambda: "two words")
    assert rewritten(stream) == [
        "████████············ 40/100  --:-- left",
        "██████████·········· 50/100  two words  02:30 left",
    ]


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        # 26 characters: with 20 of the bar and a space they need 47, and the last column is free.
        (48, "█████··············· 25/100  " + 6 * "x" + "  00:30 left"),
        (47, "25/100  " + 6 * "x" + "  00:30 left"),
        (20, "25/100  " + 6 * "x" + "  00:"),
    ],
)
def test_a_line_never_wraps(columns: int, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stream = Clock(monkeypatch, columns), Terminal()
    bar = Bar(100, 0, True, stream)
    clock.now += 10.0
    bar.show(25, lambda: "xxxxxx")
    assert rewritten(stream) == [shown]
    assert len(shown) < columns


def test_on_a_terminal_at_most_once_in_so_many_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, stream = Clock(monkeypatch), Terminal()
    bar, asked = Bar(100, 0, True, stream), []
    for spent, after in ((1, 0.0), (2, 0.4), (3, 0.2), (4, 0.4), (5, 0.1)):
        clock.now += after
        bar.show(spent, lambda spent=spent: str(asked.append(spent) or ""), every=0.5)  # type: ignore[misc]
    assert asked == [1, 3, 5]


def test_elsewhere_a_line_per_tenth() -> None:
    stream = io.StringIO()
    bar = Bar(50, 7, True, stream)
    for spent in range(8, 51):
        bar.show(spent, lambda: "")
    shown = [line.split()[1] for line in stream.getvalue().splitlines()]
    assert shown == [f"{n}/50" for n in range(10, 51, 5)]
    bar.finish(50, lambda: "")
    assert len(stream.getvalue().splitlines()) == 9


def test_what_is_said_takes_the_place_of_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    Clock(monkeypatch)
    stream = Terminal()
    bar = Bar(10, 0, True, stream)
    bar.say("a\nb")
    assert stream.getvalue() == "\r\x1b[Ka b\n"
    bar.finish(10, lambda: "")
    assert stream.getvalue().endswith("\x1b[K\n")
    elsewhere = io.StringIO()
    Bar(10, 0, True, elsewhere).say("a")
    assert elsewhere.getvalue() == "a\n"


def test_a_hidden_bar_says_only_what_must_be_said() -> None:
    for stream in (io.StringIO(), Terminal()):
        bar = Bar(10, 0, False, stream)
        bar.show(10, lambda: "")
        bar.say("a")
        bar.finish(10, lambda: "")
        assert stream.getvalue() == ""
        bar.say("b", always=True)
        assert stream.getvalue().endswith("b\n")
