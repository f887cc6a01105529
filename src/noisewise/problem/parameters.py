"""What a parameter can be, and how it is written as text."""

from __future__ import annotations

import json
from typing import Any

from noisewise.problem.parameter import Choice, Conditions, Parameter, is_number
from noisewise.problem.ranges import Float, Int

__all__ = ["FORM", "Choice", "Float", "Int", "Parameter", "is_number", "parameter"]

#: What a parameter looks like as text.
FORM = (
    "low..high, low..high:log, low..high:int, low..high:int:log, low..high:step=0.5 or "
    "one,other,third, and may end in ' when name=value'"
)

_WHEN, _AND = " when ", " and "


def parameter(text: str) -> Parameter:
    """The parameter that ``text`` describes.

    >>> parameter("8..256:int:log")
    Int(low=8, high=256, log=True, step=1)
    >>> parameter("0..1:step=0.25").decode([1.0])
    1.0
    >>> parameter("adam,sgd,lion").width
    3
    >>> parameter("[16, 32, true]").values
    (16, 32, True)
    >>> parameter("0.1..10:log when model=svm,linear and scaled=true").conditions
    (('model', ('svm', 'linear')), ('scaled', ('true',)))
    """
    text, said = _apart(text)
    return _unconditional(text).under(_conditions(said)) if said else _unconditional(text)


def _apart(text: str) -> tuple[str, str]:
    """The values of a parameter and its conditions, both as text."""
    if not text.startswith("["):
        values, _, said = text.partition(_WHEN)
        return values, said
    try:
        _, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return text, ""
    if not text[end:].startswith(_WHEN):
        return text, ""
    return text[:end], text[end + len(_WHEN) :]


def _conditions(said: str) -> Conditions:
    """What `Parameter.text` writes after " when "."""
    found: dict[str, tuple[Any, ...]] = {}
    rest: str = said
    while rest:
        name, rest = _quoted(rest) if rest.startswith('"') else _until("=", rest)
        values, rest = _quoted(rest) if rest.startswith("[") else _until(_AND, rest)
        if not name or not values or name in found:
            raise ValueError(f"conditions must look like when name=one,other, got {said!r}")
        words = [word.strip() for word in values.split(",")] if isinstance(values, str) else values
        found[name] = tuple(words)
    return tuple(found.items())


def _until(end: str, text: str) -> tuple[str, str]:
    word, _, rest = text.partition(end)
    return word.strip(), rest


def _quoted(text: str) -> tuple[Any, str]:
    """A value in JSON at the beginning of the text, and what follows behind "=" or " and "."""
    try:
        value, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        raise ValueError(f"conditions must look like when name=one,other, got {text!r}") from None
    rest = text[end:]
    return value, rest.removeprefix("=").removeprefix(_AND)


def _unconditional(text: str) -> Parameter:
    listed = _read_list(text)
    if listed is not None:
        return Choice(tuple(listed))
    head, *options = text.split(":")
    low, dots, high = head.partition("..")
    if not dots:
        if "," in text:
            return _words([word.strip() for word in text.split(",")])
        raise ValueError(f"must look like {FORM}, got {text!r}")
    given = dict(option.partition("=")[::2] for option in options)
    wrong = any(bool(value) != (name == "step") for name, value in given.items())
    if wrong or not given.keys() <= {"log", "int", "step"} or len(given) < len(options):
        raise ValueError(f"must look like {FORM}, got {text!r}")
    log, step = "log" in given, given.get("step")
    if "int" in given:
        return Int(_read_int(low), _read_int(high), log, _read_int(step or "1"))
    return Float(_read_float(low), _read_float(high), log, None if not step else _read_float(step))


def _words(words: list[str]) -> Choice:
    if not all(words) or len(set(words)) < len(words):
        raise ValueError(f"a choice must be between different words, got {','.join(words)!r}")
    return Choice(tuple(words))


def _read_list(text: str) -> list[Any] | None:
    """The values of a list in JSON; None if ``text`` is none."""
    if not text.startswith("["):
        return None
    try:
        found: list[Any] = json.loads(text)
    except ValueError:
        return None
    if not all(v is None or isinstance(v, (str, int, float)) for v in found):
        raise ValueError(f"a choice must be between texts, numbers and booleans, got {text!r}")
    return found


def _read_float(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"the ends of a range must be numbers, got {text!r}") from None


def _read_int(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"the ends of an int range must be whole numbers, got {text!r}") from None
