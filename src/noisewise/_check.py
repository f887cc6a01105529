"""Argument checks: one sentence that names the argument, what it got and what it takes."""

from __future__ import annotations

import math
import numbers
from typing import Any

import numpy as np

from noisewise._types import FloatArray


def shown(value: Any, most: int = 200) -> str:
    """``value`` as it stands in a sentence: on one line, cut to ``most`` characters."""
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a class of the user's may do anything
        text = f"<{type(value).__name__} that cannot be shown>"
    return text if len(text) <= most else f"{text[:most]}..."


def told(error: BaseException) -> str:
    """An exception as it stands in a sentence: its type, and its message if it has one."""
    try:
        said = str(error)
    except Exception:  # a class of the user's may do anything
        said = "its message cannot be shown"
    name = type(error).__name__
    return f"{name}: {said}" if said else name


def real_array(value: Any) -> FloatArray:
    """``value`` as an array of floats; ValueError if it is anything but real numbers."""
    if np.ma.is_masked(value):  # an array would turn what is missing into any number
        raise ValueError("some of them are masked")
    array = np.asarray(value)
    real = array.dtype.kind in "fiub"
    if array.dtype.kind == "O":
        real = all(isinstance(v, numbers.Real) for v in array.flat)
    if not real:
        raise ValueError("not real numbers")
    return np.array(array, dtype=float)


def integer(name: str, value: Any, least: int) -> int:
    """``value`` as an int, if it is a whole number (not a bool) of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {shown(value)}")
    return int(value)


def positive_real(name: str, value: Any, most: float = math.inf) -> float:
    """``value`` as a float, if it is a finite number in (0, ``most``]."""
    ok = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not ok or not 0.0 < float(value) <= most or math.isinf(value):
        upper = "" if math.isinf(most) else f" of at most {most:g}"
        raise ValueError(f"{name} must be a positive finite number{upper}, got {shown(value)}")
    return float(value)


def fraction(name: str, value: Any) -> float:
    """``value`` as a float, if it is a number in [0, 1]."""
    ok = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not ok or not 0.0 <= float(value) <= 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1, got {shown(value)}")
    return float(value)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """``value``, if it is one of the words in ``choices``."""
    if value not in choices:
        known = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {known}, got {shown(value)}")
    return str(value)
