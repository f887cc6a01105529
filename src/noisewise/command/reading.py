"""The value of an evaluation, from what a program printed, and limits of other numbers that it
prints: ``heat<=80``."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from noisewise._check import one_of, shown

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: What stands between separators: spaces, commas, brackets, quotes, frames of tables.
_TOKEN = re.compile(r"[^\s,;=()\[\]{}<>|\"'’`→\u2500-\u257f]+")
#: No part of it can match the same characters in two ways: that keeps it linear.
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:nan|inf(?:inity)?)", re.I
)
#: What may stand around a number without being a part of it.
_BEFORE, _AFTER = "*#$€£¥~≈@", "*.:!?%°"
#: What joins digits to a longer number, in one country or another: a part of it is another number.
_JOINED = re.compile("[0-9][,'’\u00a0\u2009\u202f][0-9]")
#: Words before a number that counts something, and is not the value.
_COUNTED = re.compile(
    r"\b(?:step|epoch|iter(?:ation)?|it|round|episode|batch|trial|run)s?\W*$", re.I
)
#: Characters to either side of a number in what is told about it.
_AROUND = 50
#: A minus sign as typesetters write it.
_MINUS = "\u2212"
#: Digits of the longest whole number that is read as such; longer ones become floats.
_MOST_DIGITS = 300


class NoValue(ValueError):
    """A program's output holds no value."""


class Found(NamedTuple):
    """A value, the part of the output around it, and whether nobody said where the value is and it
    could be the number of a step or an epoch."""

    value: float
    around: str
    counter: bool = False


@dataclass(frozen=True)
class Reader:
    """Where the value is: the ``"last"`` number, a ``"regex"``, or a key of ``"json"``."""

    kind: str = "last"
    key: str = ""

    def __post_init__(self) -> None:
        one_of("kind", self.kind, ("last", "regex", "json"))
        if self.kind == "regex":
            try:
                re.compile(self.key)
            except re.error as error:
                raise ValueError(
                    f"--regex must be a regular expression, got {self.key!r}: {error}"
                ) from None
        if self.kind == "json" and not self.key:
            raise ValueError("--json must be the key of the value, got ''")

    def read(self, output: str) -> float:
        """The finite value in ``output``; `NoValue` says why there is none."""
        return self.find(output).value

    def find(self, output: str) -> Found:
        """The value with what stands around it; `NoValue` says why there is none."""
        find = {"last": _last, "regex": self._regex, "json": self._json}[self.kind]
        found = find(_COLOUR.sub("", output))
        if not math.isfinite(found.value):
            raise NoValue(f"the value is {found.value}")
        return found

    def _regex(self, output: str) -> Found:
        found = None
        for found in re.finditer(self.key, output, re.MULTILINE):  # noqa: B007 - the last one
            pass
        if found is None:
            raise NoValue(f"nothing on stdout matches {self.key!r}")
        group = 1 if found.re.groups else 0
        try:
            value = float(found[group].replace(_MINUS, "-"))
        except (AttributeError, ValueError):
            text = shown(found[group], 60)
            raise NoValue(f"{text}, matched by {self.key!r}, is not a number") from None
        return Found(value, _around(output, *found.span(group)))

    def _json(self, output: str) -> Found:
        for text in (output, *reversed(output.splitlines())):
            try:
                value = _at(json.loads(text, parse_int=_whole), self.key)
            except (ValueError, LookupError, TypeError, RecursionError):
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise NoValue(f"{self.key!r} is {shown(value, 60)} and not a number")
            return Found(float(value), _around(text, 0, 0))
        raise NoValue(f"no JSON with the key {self.key!r} on stdout")


def _last(output: str) -> Found:
    for line in reversed(output.splitlines()):
        last, text = None, ""
        for token in _TOKEN.finditer(line):
            if number := _number(token[0]):
                last, text = token, number
        if last is None:
            continue
        start, end = last.span()
        around = _around(line, start, end)
        if any(_JOINED.fullmatch(line, i - 1, i + 2) for i in (start - 1, end) if i > 0):
            raise NoValue(
                f"{text} in {around!r} may be a part of a longer number: print the value without "
                "commas or the like between digits, or say where it is with --regex or --json"
            )
        whole = text.lstrip("+-").isdigit()
        before = line[max(0, start - _AROUND) : end - len(text)]
        return Found(float(text), around, whole or bool(_COUNTED.search(before)))
    raise NoValue("there is no number on stdout")


def _around(output: str, start: int, end: int) -> str:
    """The line of the output that holds these characters, or the nearest part of a long one."""
    first = max(output.rfind("\n", 0, start) + 1, start - _AROUND)
    last = output.find("\n", end)
    return output[first : min(len(output) if last < 0 else last, end + _AROUND)].strip()


def _number(token: str) -> str | None:
    """The number that a token is, or that follows the colon of a label; None if it is none: a
    date, a time, a version, a fraction, a value with a unit."""
    text = token.replace(_MINUS, "-").lstrip(_BEFORE).rstrip(_AFTER)
    label, colon, rest = text.partition(":")
    if colon and (label[:1].isalpha() or label[:1] == "_"):
        text = rest.lstrip(_BEFORE)
    return text if _NUMBER.fullmatch(text) else None


def _whole(digits: str) -> int | float:
    """A whole number of JSON; one that no float can hold is infinite."""
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _at(content: Any, key: str) -> Any:
    """The entry ``key``, or that at the end of a path with dots."""
    if isinstance(content, dict) and key in content:
        return content[key]
    for part in key.split("."):
        content = content[int(part)] if isinstance(content, list) else content[part]
    return content


@dataclass(frozen=True)
class Limit:
    """The mean of ``key`` must be at most ``bound``, or with ``least`` at least so much."""

    key: str
    bound: float
    least: bool = False

    @classmethod
    def parse(cls, text: str) -> Limit:
        """A limit as the command line writes it.

        >>> Limit.parse("eval.heat<=80")
        Limit(key='eval.heat', bound=80.0, least=False)
        """
        least = ">=" in text
        key, sign, bound = text.partition(">=" if least else "<=")
        try:
            number = float(bound)
        except ValueError:
            number = math.nan
        if not sign or not key.strip() or not math.isfinite(number):
            raise ValueError(f"--limit must be KEY<=NUMBER or KEY>=NUMBER, got {text!r}")
        return cls(key.strip(), number, least)

    @property
    def text(self) -> str:
        """The limit as `parse` takes it."""
        return f"{self.key}{'>=' if self.least else '<='}{self.bound!r}"

    def excess(self, value: float) -> float:
        """How far a value is beyond the limit; at most 0 if it is met."""
        return self.bound - value if self.least else value - self.bound

    def shown(self, excess: float, se: float) -> str:
        """The estimated mean with its standard error, and the limit, for people."""
        mean = self.bound - excess if self.least else self.bound + excess
        side = "at least" if self.least else "at most"
        return f"{self.key} {mean:.4g} ± {se:.2g} ({side} {self.bound:g})"


def named(texts: object, means: list[float], errors: list[float]) -> list[str]:
    """Estimates by name, if ``texts`` are as many limits; else nothing."""
    if not isinstance(texts, Iterable) or isinstance(texts, str):
        return []
    try:
        limits = [Limit.parse(str(text)) for text in texts]
    except ValueError:
        return []
    if len(limits) != len(means):
        return []
    return [one.shown(g, s) for one, g, s in zip(limits, means, errors, strict=True)]
