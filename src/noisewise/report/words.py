"""Numbers as people read them."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from typing import Any, TextIO

from noisewise.answer.sentences import counted as counted
from noisewise.answer.written import rounded


def number(value: float, digits: int = 4) -> str:
    """A number with a few digits; an unknown one is "unknown"."""
    return "unknown" if math.isnan(value) else f"{value:.{digits}g}"


def valued(value: Any, digits: int = 6) -> str:
    """A parameter's value, floats with a few digits."""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def brief(value: float, interval: tuple[float, float], error: float = math.nan) -> str:
    """An estimate on a line of progress, with its interval once there is one; before, with the
    standard error that the method expects.

    >>> brief(1.23456, (math.nan, math.nan), 0.0312)
    'f ≈ 1.235 ± 0.031'
    """
    if not interval[1] > interval[0] and error > 0.0:
        said, _, _ = rounded(value, (value - error, value + error))
        return f"f ≈ {said} ± {error:.2g}"
    if not interval[1] > interval[0]:
        return f"f ≈ {value:.4g}"
    said, low, high = rounded(value, interval)
    return f"f ≈ {said} ({low} to {high})"


def gains(smallest: float) -> str:
    """What the comparison with today's setting can show, on a line of progress."""
    return f"shows gains from {smallest:.2g}"


def settings(params: Mapping[str, Any]) -> str:
    """Values by name on a line of progress.

    >>> settings({"rate": 0.0123456, "kind": "a"})
    'rate=0.01235 kind=a'
    """
    return " ".join(f"{name}={valued(value, 4)}" for name, value in params.items())


def sentence(text: str) -> str:
    """``text`` with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def ended(text: str) -> str:
    """``text`` with a full stop, unless it is a question."""
    return text if text.endswith("?") else f"{text}."


def ranged(text: str) -> str:
    """A range as the command line writes it, for people.

    >>> ranged("0.1..1.0:log"), ranged("1..8:int"), ranged("a,b,c"), ranged("[true, null]")
    ('0.1 to 1, log', '1 to 8, whole', 'a, b or c', 'True or None')
    """
    text, when, said = text.partition(" when ")
    if when:
        return f"{ranged(text)} (when {said})"
    ends, *more = text.split(":")
    if ".." not in ends or ends[:1] in "[{":
        return _listed(text)
    ends = " to ".join(end.removesuffix(".0") for end in ends.split(".."))
    kinds = ("whole" if part == "int" else part.replace("=", " ") for part in more)
    return ", ".join([ends, *kinds])


def _listed(text: str) -> str:
    """Choices for people; a long list is left as it is written."""
    try:
        values = list(map(str, json.loads(text))) if text[:1] == "[" else text.split(",")
    except ValueError:
        return text
    short = len(values) >= 2 and len(text) <= 60
    return f"{', '.join(values[:-1])} or {values[-1]}" if short else text


def day(moment: float) -> str:
    """A time in seconds since 1970 as 16 Nov 2026, 12:03 UTC."""
    return time.strftime("%d %b %Y, %H:%M UTC", time.gmtime(moment)).lstrip("0")


def lasting(seconds: float) -> str:
    """A duration in words: 1.2 s, 45 s, 12 min, 3 h 20 min."""
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} days"


def printable(text: str) -> str:
    """``text`` on one line, without characters that steer a terminal."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def clock(seconds: float) -> str:
    """A duration as 1:02:03."""
    if not seconds < 360000:
        return "--:--"
    minutes, secs = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{secs:02}" if hours else f"{minutes:02}:{secs:02}"


def put(text: str, stream: TextIO) -> None:
    """Write ``text`` at once, without characters that the stream does not know."""
    try:
        stream.write(_fitting(text, getattr(stream, "encoding", None) or "utf-8"))
    except UnicodeEncodeError:
        stream.write(_fitting(text, "ascii"))
    stream.flush()


def _fitting(text: str, encoding: str) -> str:
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        plain = text.replace("█", "#").replace("·", ".").replace("≈", "~").replace("±", "+-")
        return plain.encode(encoding, "backslashreplace").decode(encoding)
    return text
