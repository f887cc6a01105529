"""The line that tells how a tuning run goes."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import numpy as np
import pytest

from noisewise.answer.result import Result
from noisewise.command.program import Evaluation
from noisewise.command.reading import Found
from noisewise.report.live import Live


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Ascii(Terminal):
    def write(self, text: str) -> int:
        text.encode("ascii")
        return super().write(text)


class Gone(Terminal):
    def write(self, text: str) -> int:
        raise OSError("the terminal is gone")


def generation(fun: float, misranking: float) -> Any:
    history = {"population": np.array([6.0, 12.0])}
    n = 0 if math.isnan(misranking) else 8
    return Result(
        fun=fun,
        interval=(math.nan, math.nan),
        misranking=misranking,
        misranking_n=n,
        history=history,
    )


def good(value: float = 1.0) -> Evaluation:
    return Evaluation({"x": 0.123456789, "kind": "a"}, value, 0.1)


def bad(reason: str) -> Evaluation:
    return Evaluation({"x": 0.123456789, "kind": "a"}, None, 0.1, reason)


def test_on_a_terminal() -> None:
    stream = Terminal()
    live = Live(20, 4, True, stream)
    live.evaluation(good())
    live.generation(generation(2.5, 0.25))
    live.evaluation(bad("exit\x1b[31m code 1"))
    live.finish()
    states = stream.getvalue().split("\r")
    assert states[1].startswith("█████··············· 5/20  ")
    assert states[2] == "\x1b[Kan evaluation failed (x=0.123457, kind=a): exit [31m code 1\n"
    assert "6/20  f ≈ 2.5  population 12  misranking 0.25 (n=8)  1 failed" in states[3]
    assert states[-1].endswith("\x1b[K\n")
    assert all(len(state.replace("\x1b[K", "").strip()) < 80 for state in states)


def test_elsewhere_and_without_measurements() -> None:
    stream = io.StringIO()
    live = Live(30, 0, True, stream)
    live.generation(generation(math.nan, math.nan))
    for _ in range(30):
        live.evaluation(good())
    live.finish()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 10
    assert "3/30  population 12  00:00 left" in lines[0]


def test_few_reasons_are_told() -> None:
    stream = io.StringIO()
    live = Live(1000, 0, True, stream)
    for j in range(40):
        live.evaluation(bad(f"reason {j % 20}"))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 6
    assert lines[-1] == "further kinds of failures are counted, not shown"


def test_why_there_is_no_value_is_said_even_if_no_progress_is_shown() -> None:
    stream = io.StringIO()
    live = Live(10, 0, False, stream)
    for _ in range(10):
        live.evaluation(bad("exit code 1"))
    assert stream.getvalue() == ""
    live.finish()
    assert stream.getvalue() == "an evaluation failed (x=0.123457, kind=a): exit code 1\n"
    stream = io.StringIO()
    live = Live(10, 0, False, stream)
    live.evaluation(bad("exit code 1"))
    live.evaluation(good())
    live.finish()
    assert stream.getvalue() == ""


def read(x: float, value: float, counter: bool) -> Evaluation:
    found = Found(value, f"step {value}", counter)
    return Evaluation({"x": x}, value, 0.1, found=found)


@pytest.mark.parametrize("shown", [True, False])
def test_the_first_value_and_values_that_look_like_counters(shown: bool) -> None:
    stream = io.StringIO()
    live = Live(1000, 0, shown, stream)
    live.evaluation(read(0.1, 2.5, False))
    first = "the first value is 2.5, read from: step 2.5\n" if shown else ""
    assert stream.getvalue() == first
    live.evaluation(read(0.2, 2.5, False))  # the same value, but nothing that counts
    live.evaluation(read(0.2, 10.0, True))
    live.evaluation(read(0.2, 10.0, True))  # the same parameters: why should it differ?
    assert stream.getvalue() == first
    for _ in range(2):  # said once
        live.evaluation(read(0.3, 10.0, True))
        live.evaluation(read(0.4, 10.0, True))
    [said] = stream.getvalue().removeprefix(first).splitlines()
    assert said.startswith(
        "two evaluations in a row gave 10, read from: step 10.0 - if that counts"
    )
    assert said.endswith("say where it is with --regex or --json")


@pytest.mark.parametrize("shown", [True, False])
def test_no_terminal_can_stop_a_run(shown: bool) -> None:
    plain = Ascii()
    for stream in (plain, Gone()):
        live = Live(10, 0, shown, stream)
        live.generation(generation(1.0, math.nan))
        live.evaluation(good())
        live.evaluation(bad("日本"))
        live.note("something else")
        live.finish()
    if shown:
        assert "##.................. 1/10  f ~ 1" in plain.getvalue()
        assert re.search(r"\): (\\u[0-9a-f]{4}|\\x[0-9a-f]{2})+\n", plain.getvalue())
    else:
        assert plain.getvalue() == ""
