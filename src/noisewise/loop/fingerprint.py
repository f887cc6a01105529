"""A fingerprint of the objective, so that a checkpoint notices when it was edited.

Taken from the compiled function, which is never called: the bytes of its code with the names and
the constants in it, those of functions inside of it included. Comments, docstrings, line numbers
and the function's own name do not count, nor do values that it finds elsewhere at run time.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
#: Wrappers around a function that are looked through.
_MOST_WRAPPERS = 20


def of(fun: Any) -> dict[str, str] | None:
    """Name of the function, a digest of its code, and the version of Python, whose code looks
    different in another one; None for functions that are not written in Python, and for our own."""
    found = list(_layers(fun))
    functions = [layer for layer in found if isinstance(layer, types.FunctionType)]
    if not functions or str(functions[0].__module__).split(".")[0] == "noisewise":
        return None
    innermost, text = functions[-1], "\n".join(part for layer in found for part in _texts(layer))
    return {
        "name": f"{innermost.__module__}.{innermost.__qualname__}",
        "code": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16],
        "python": f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}",
    }


def differ(kept: Any, given: Any) -> bool:
    """Whether two fingerprints are of different functions; not if one of them is unknown."""
    if not isinstance(kept, dict) or not isinstance(given, dict):
        return False
    return bool(kept.get("python") == given["python"] and kept.get("code") != given["code"])


def compare(
    where: str, old: dict[str, str] | None, new: dict[str, str] | None
) -> dict[str, str] | None:
    """Warn if the run that is kept there began with another objective than the one that is given;
    returns the one to keep. A run that kept none keeps the new one from now on."""
    if old is None:
        return new
    if new is not None and differ(old, new):
        warnings.warn(
            f"{where} holds values of another objective: the code or the constants of "
            f"{new['name']} differ from those of {old.get('name')}, with which the run began; if "
            "its values no longer hold, begin a new run",
            stacklevel=5,
        )
    return old


def _layers(fun: Any) -> Iterator[Any]:
    """``fun`` and what it wraps, from the outside to the inside."""
    for _ in range(_MOST_WRAPPERS):
        yield fun
        call = getattr(type(fun), "__call__", None)  # noqa: B004
        if isinstance(fun, functools.partial):
            fun = fun.func
        elif isinstance(fun, types.MethodType):
            fun = fun.__func__
        elif hasattr(fun, "__wrapped__"):
            fun = fun.__wrapped__
        elif isinstance(call, types.FunctionType):
            fun = call
        else:
            return


def _texts(layer: Any) -> Iterator[str]:
    """What counts of a function or of a `functools.partial`, as texts."""
    if isinstance(layer, functools.partial):
        yield _plain([layer.args, layer.keywords])
    elif isinstance(layer, types.FunctionType):
        yield _plain([layer.__defaults__, layer.__kwdefaults__])
        yield from _of_code(layer.__code__, layer.__doc__)


def _of_code(code: types.CodeType, doc: str | None = None) -> Iterator[str]:
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    # Higher flags are imports from __future__.
    yield f"{code.co_code.hex()} {names!r} {code.co_argcount} {code.co_flags & 0xFF}"
    for i, value in enumerate(code.co_consts):
        if isinstance(value, types.CodeType):
            yield from _of_code(value)
        else:
            yield _plain(None if i == 0 and value == doc else value)


def _plain(value: Any) -> str:
    """Plain data as text, the same in every process; of other objects, only their type."""
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_plain, value)))}}}"
    if isinstance(value, dict):
        value = list(value.items())
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_plain, value))}]"
    return repr(value) if isinstance(value, _PLAIN) else type(value).__name__
