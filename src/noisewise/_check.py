"""Argument checks: one sentence that names the argument, what it got and what it takes."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

from noisewise._types import FloatArray

P = ParamSpec("P")
R = TypeVar("R")
#: What other libraries call an argument, and what it is called here.
_ELSEWHERE: Final = {
    "random_state": "rng",
    "seed": "rng",
    "max_evals": "budget",
    "maxfevals": "budget",
    "maxfun": "budget",
    "maxiter": "budget",
    "n_calls": "budget",
    "n_trials": "budget",
    "n_jobs": "workers",
    "n_iter": "budget",
    "n_workers": "workers",
    "parallel": "workers",
    "random_seed": "rng",
    "search_space": "space",
    "params": "space",
    "parameters": "space",
    "objective": "fun",
    "func": "fun",
    "direction": "maximize",
    "pool": "executor",
    "initial_guess": "x0",
    "sigma": "sigma0",
    "timeout": "executor=noisewise.executors.processes(n, timeout=...)",
    "retries": "executor=noisewise.executors.processes(n, retries=...)",
}
#: Whole numbers beyond this are not all floats, and nothing can be counted that far.
MOST = 2**53


def shown(value: Any, most: int = 200) -> str:
    """``value`` as it stands in a sentence: on one line, cut to ``most`` characters."""
    try:
        text = repr(value)
    except Exception:  # a class of the user's may do anything
        text = f"<{type(value).__name__} that cannot be shown>"
    return one_line(text, most)


def one_line(text: str, most: int = 200) -> str:
    """``text`` on one line, cut to ``most`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}..."


def told(error: BaseException) -> str:
    """An exception as it stands in a sentence: its type, and its message if it has one."""
    try:
        said = str(error)
    except Exception:  # a class of the user's may do anything
        said = "its message cannot be shown"
    name = type(error).__name__
    return f"{name}: {said}" if said else name


def meant(word: object, known: Iterable[str]) -> str:
    """ ", did you mean ...?" with the known word that is most like this one; empty if none is."""
    import difflib  # takes long to import

    near = difflib.get_close_matches(str(word).lower(), list(known), n=1)
    return f", did you mean {near[0]}?" if near else ""


def suggesting(fun: Callable[P, R]) -> Callable[P, R]:
    """The function; an argument that it does not have is refused with the name of one it has."""
    known = [name for name in inspect.signature(fun).parameters if name != "self"]
    name = fun.__qualname__.split(".")[0]

    @wraps(fun)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        for word in kwargs:
            if word not in known:
                other = _ELSEWHERE.get(word)
                said = meant(word, known) if other is None else f", did you mean {other}?"
                raise TypeError(f"{name} has no argument {word}{said}")
        return fun(*args, **kwargs)

    return checked


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
    try:
        return np.array(array, dtype=float)
    except OverflowError:
        raise ValueError("a whole number is too large") from None


def integer(name: str, value: Any, least: int, most: int | None = MOST) -> int:
    """``value`` as an int, if it is a whole number (not a bool) from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least}, got {shown(value)}")
    if most is not None and int(value) > most:
        raise ValueError(f"{name} must be a whole number of at most {most}, got {shown(value, 30)}")
    return int(value)


def integer_or_none(name: str, value: Any, least: int) -> int | None:
    """``value``, if it is None, else as of `integer`."""
    return None if value is None else integer(name, value, least)


def whole(name: str, value: Any, least: int) -> int:
    """``value`` as an int, like `integer`, but floats such as 1e3 count as well."""
    floating = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return integer(name, int(value) if floating else value, least)


def positive_real(name: str, value: Any, most: float = math.inf) -> float:
    """``value`` as a float, if it is a finite number in (0, ``most``]."""
    number = _float(value)
    if not 0.0 < number <= most or math.isinf(number):
        upper = "" if math.isinf(most) else f" of at most {most:g}"
        raise ValueError(f"{name} must be a positive finite number{upper}, got {shown(value)}")
    return number


def fraction(name: str, value: Any) -> float:
    """``value`` as a float, if it is a number in [0, 1]."""
    number = _float(value)
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must be a number between 0 and 1, got {shown(value)}")
    return number


def _float(value: Any) -> float:
    """``value`` as a float, nan if it is no real number (or a bool)."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def flag(name: str, value: Any) -> bool:
    """``value``, if it is True or False (or the number 1 or 0)."""
    if not isinstance(value, (bool, np.bool_, numbers.Integral)) or value not in (0, 1):
        raise ValueError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def arguments(name: str, value: Any) -> tuple[Any, ...]:
    """``value`` as a tuple, if it is a tuple or a list."""
    if not isinstance(value, (tuple, list)):
        raise ValueError(f"{name} must be a tuple of further arguments of fun, got {shown(value)}")
    return tuple(value)


def one_of(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """``value``, if it is one of the words in ``choices``."""
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(repr(c) for c in choices)
        raise ValueError(f"{name} must be one of {known}, got {shown(value)}")
    return str(value)


def check_seed(fun: Callable[..., Any], seeds: str) -> None:
    """Raise ValueError if it can be seen that ``fun`` takes no seed."""
    try:
        known = inspect.signature(fun).parameters
    except (TypeError, ValueError):  # a function that is not written in Python
        return
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = "seed" in known and known["seed"].kind in kinds
    if not named and all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in known.values()):
        raise ValueError(
            f"fun must take a keyword argument seed with seeds={seeds!r}, got {shown(fun)}"
        )
