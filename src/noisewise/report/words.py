"""Numbers as people read them."""

from __future__ import annotations

import math
from typing import Any, TextIO

from noisewise.outlook import rounded


def number(value: float, digits: int = 4) -> str:
    """A number with a few digits; an unknown one is "unknown"."""
    return "unknown" if math.isnan(value) else f"{value:.{digits}g}"


def valued(value: Any, digits: int = 6) -> str:
    """A parameter's value, floats with a few digits."""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def brief(value: float, interval: tuple[float, float]) -> str:
    """An estimate on a line of progress, with its interval once there is one."""
    if not interval[1] > interval[0]:
        return f"f ≈ {value:.4g}"
    said, low, high = rounded(value, interval)
    return f"f ≈ {said} ({low} to {high})"


def sentence(text: str) -> str:
    """``text`` with a capital at its beginning."""
    return text[:1].upper() + text[1:]


def counted(n: int, thing: str) -> str:
    """A number of things: 1 failure, 2 failures."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


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
        plain = text.replace("█", "#").replace("·", ".").replace("≈", "~")
        return plain.encode(encoding, "backslashreplace").decode(encoding)
    return text
