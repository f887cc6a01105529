"""The value of an evaluation, from what a program printed."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from noisewise._check import one_of, shown

_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
#: What stands between separators: spaces, commas, brackets, quotes, frames of tables.
_TOKEN = re.compile(r"[^\s,;=()\[\]{}<>|\"'`→\u2500-\u257f]+")
#: No part of it can match the same characters in two ways: that keeps it linear.
_NUMBER = re.compile(
    r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[+-]?[0-9]+)?|[+-]?(?:nan|inf(?:inity)?)", re.I
)
#: What may stand around a number without being a part of it.
_BEFORE, _AFTER = "*#$€£¥~≈@", "*.:!?%°"
#: A minus sign as typesetters write it.
_MINUS = "\u2212"
#: Digits of the longest whole number that is read as such; longer ones become floats.
_MOST_DIGITS = 300


class NoValue(ValueError):
    """A program's output holds no value."""


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
        find = {"last": _last, "regex": self._regex, "json": self._json}[self.kind]
        value = find(_COLOUR.sub("", output))
        if not math.isfinite(value):
            raise NoValue(f"the value is {value}")
        return value

    def _regex(self, output: str) -> float:
        found = None
        for found in re.finditer(self.key, output, re.MULTILINE):  # noqa: B007 - the last one
            pass
        if found is None:
            raise NoValue(f"nothing on stdout matches {self.key!r}")
        text = found[1] if found.re.groups else found[0]
        try:
            return float(text.replace(_MINUS, "-"))
        except (AttributeError, ValueError):
            raise NoValue(f"{shown(text, 60)}, matched by {self.key!r}, is not a number") from None

    def _json(self, output: str) -> float:
        for text in (output, *reversed(output.splitlines())):
            try:
                value = _at(json.loads(text, parse_int=_whole), self.key)
            except (ValueError, LookupError, TypeError, RecursionError):
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise NoValue(f"{self.key!r} is {shown(value, 60)} and not a number")
            return float(value)
        raise NoValue(f"no JSON with the key {self.key!r} on stdout")


def _last(output: str) -> float:
    for line in reversed(output.splitlines()):
        found = None
        for token in _TOKEN.finditer(line):
            found = _number(token[0]) or found
        if found is not None:
            return float(found)
    raise NoValue("there is no number on stdout")


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
