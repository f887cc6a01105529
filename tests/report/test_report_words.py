"""Numbers, ranges and times as people read them."""

from __future__ import annotations

import io
import math
from typing import Any

import pytest

from noisewise.report import words

LONG = ",".join(["abcdefghi"] * 6)


@pytest.mark.parametrize(
    ("value", "said"),
    [(1.23456789, "1.235"), (1234567.0, "1.235e+06"), (math.nan, "unknown"), (2.0, "2")],
)
def test_numbers_have_four_digits(value: float, said: str) -> None:
    assert words.number(value) == said
    assert words.number(1.23456789, 2) == "1.2"


@pytest.mark.parametrize(
    ("value", "said"), [(0.123456789, "0.123457"), (7, "7"), ("adam", "adam"), (True, "True")]
)
def test_parameters_have_six_digits(value: Any, said: str) -> None:
    assert words.valued(value) == said


@pytest.mark.parametrize(
    ("value", "interval", "said"),
    [
        (1.23456, (math.nan, math.nan), "f ≈ 1.235"),
        (1.23456, (1.23456, 1.23456), "f ≈ 1.235"),
        (1.23456, (1.1, 1.4), "f ≈ 1.23 (1.1 to 1.4)"),
    ],
)
def test_an_estimate_on_a_line(value: float, interval: tuple[float, float], said: str) -> None:
    assert words.brief(value, interval) == said


def test_sentences() -> None:
    assert words.sentence("a model of it") == "A model of it"
    assert words.sentence("") == ""
    assert [words.ended(text) for text in ("so it is", "is it?")] == ["so it is.", "is it?"]
    assert [words.counted(n, "failure") for n in (0, 1, 2)] == [
        "0 failures",
        "1 failure",
        "2 failures",
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.1..1.0:log", "0.1 to 1, log"),
        ("10.0..20.0", "10 to 20"),
        ("1..8:int:step=2", "1 to 8, whole, step 2"),
        ("a..b,c", "a to b,c"),
        ("a,b", "a or b"),
        ("a,b,c", "a, b or c"),
        ("a", "a"),
        ('["a..b", "c"]', "a..b or c"),
        ("[1", "[1"),
        ("[1]", "[1]"),
        (LONG, LONG.replace(",", ", ", 4).replace("i,a", "i or a")),  # 59 letters
        ("x" + LONG, "x" + LONG.replace(",", ", ", 4).replace("i,a", "i or a")),
        ("xy" + LONG, "xy" + LONG),  # a list of more than 60 is left as it is written
    ],
)
def test_ranges(text: str, said: str) -> None:
    assert words.ranged(text) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "0.0 s"),
        (9.94, "9.9 s"),
        (10.0, "10 s"),
        (59.4, "59 s"),
        (59.5, "1 min"),
        (89.0, "1 min"),
        (91.0, "2 min"),
        (3569.0, "59 min"),
        (3571.0, "1 h 0 min"),
        (12_000.0, "3 h 20 min"),
        (172_700.0, "47 h 58 min"),
        (172_800.0, "2 days"),
        (300_000.0, "3 days"),
    ],
)
def test_durations(seconds: float, said: str) -> None:
    assert words.lasting(seconds) == said


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.0, "00:00"),
        (59.9, "00:59"),
        (60.0, "01:00"),
        (3599.0, "59:59"),
        (3723.0, "1:02:03"),
        (359_999.0, "99:59:59"),
        (360_000.0, "--:--"),
        (math.nan, "--:--"),
    ],
)
def test_a_clock(seconds: float, said: str) -> None:
    assert words.clock(seconds) == said


def test_days_have_no_leading_zero() -> None:
    assert words.day(0.0) == "1 Jan 1970, 00:00 UTC"
    assert words.day(1794830580.0) == "16 Nov 2026, 12:03 UTC"


def test_what_would_steer_a_terminal_becomes_a_space() -> None:
    assert words.printable("a\x1b[31m\nb\u202e  c") == "a [31m b c"


class Stream(io.StringIO):
    """Knows the characters of its encoding; claims to know ``claimed``."""

    def __init__(self, encoding: str, claimed: str | None) -> None:
        super().__init__()
        self._encoding, self._claimed, self.flushed = encoding, claimed, 0

    @property
    def encoding(self) -> Any:
        return self._claimed

    def write(self, text: str) -> int:
        text.encode(self._encoding)
        return super().write(text)

    def flush(self) -> None:
        self.flushed += 1


@pytest.mark.parametrize(
    ("encoding", "claimed", "text", "shown"),
    [
        ("utf-8", "utf-8", "█· f ≈ 1 é", "█· f ≈ 1 é"),
        ("utf-8", None, "█·", "█·"),
        ("latin-1", "latin-1", "█· f ≈ 1 é", "#. f ~ 1 é"),
        ("ascii", "ascii", "é█", "\\xe9#"),
        ("ascii", "utf-8", "é█", "\\xe9#"),  # it knows less than it claims
    ],
)
def test_characters_that_a_stream_does_not_know(
    encoding: str, claimed: str | None, text: str, shown: str
) -> None:
    stream = Stream(encoding, claimed)
    words.put(text, stream)
    assert stream.getvalue() == shown
    assert stream.flushed == 1
