"""A fingerprint of the objective, so that a checkpoint notices when it was edited.

Taken from the compiled function, which is never called: the bytes of its code with the names in
it, and its constants, those of functions inside of it included. Comments, the text of docstrings,
line numbers and the function's own name do not count, nor do values that it finds elsewhere at run
time.
"""

from __future__ import annotations

import functools
import hashlib
import sys
import types
import warnings
from typing import Any

from noisewise._functions import layers

_PLAIN = (type(None), bool, int, float, complex, str, bytes)


def of(fun: Any) -> dict[str, str] | None:
    """Name of the function, digests of its code and its constants, and the version of Python,
    whose code looks different in another one; None for functions that are not written in Python,
    and for our own."""
    found = list(layers(fun))
    functions = [layer for layer in found if isinstance(layer, types.FunctionType)]
    if not functions or str(functions[0].__module__).split(".")[0] == "noisewise":
        return None
    codes: list[str] = []
    constants: list[str] = []
    for layer in found:
        if isinstance(layer, types.FunctionType):
            _collect(layer.__code__, layer.__doc__, codes, constants)
            constants.append(_plain([layer.__defaults__, layer.__kwdefaults__]))
        elif isinstance(layer, functools.partial):
            constants.append(_plain([layer.args, layer.keywords]))
    innermost = functions[-1]
    return {
        "name": f"{innermost.__module__}.{innermost.__qualname__}",
        "code": _digest(codes),
        "constants": _digest(constants),
        "python": f"{sys.implementation.name} {sys.version_info[0]}.{sys.version_info[1]}",
    }


def difference(kept: Any, given: Any) -> str:
    """What differs between two fingerprints, in words; empty if nothing does or one is unknown."""
    if not isinstance(kept, dict) or not isinstance(given, dict):
        return ""
    if not {"name", "code", "constants", "python"} <= kept.keys():
        return ""
    if kept["python"] != given["python"]:
        return ""
    return " and ".join(part for part in ("code", "constants") if kept[part] != given[part])


def compare(path: Any, kept: dict[str, Any], given: dict[str, Any]) -> None:
    """Warn if the run in ``path`` began with another objective than the one that is given. Both
    are what a run keeps about itself; one that keeps no objective keeps this one from now on."""
    old: Any = kept.get("objective")
    new: Any = given.get("objective")
    if old is None:
        kept["objective"] = new
    elif differs := difference(old, new):
        warnings.warn(
            f"checkpoint {path} holds values of another objective: the {differs} of "
            f"{new['name']} differ from those of {old['name']}, with which the run began; if "
            "its values no longer hold, use another path",
            stacklevel=4,
        )


def _collect(code: types.CodeType, doc: str | None, codes: list[str], constants: list[str]) -> None:
    """Add what the fingerprint is made of, functions inside of ``code`` included."""
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    # Higher flags are imports from __future__.
    codes.append(f"{code.co_code.hex()} {names!r} {code.co_argcount} {code.co_flags & 0xFF}")
    for i, value in enumerate(code.co_consts):
        if isinstance(value, types.CodeType):
            _collect(value, None, codes, constants)
        else:
            docstring = i == 0 and isinstance(value, str) and value == doc
            constants.append(_plain(None if docstring else value))


def _plain(value: Any) -> str:
    """Plain data as text, the same in every process; of other objects, only their type."""
    if isinstance(value, _PLAIN):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_plain, value))}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(map(_plain, value)))}}}"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_plain(k)}: {_plain(v)}' for k, v in value.items())}}}"
    return type(value).__name__


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:16]
