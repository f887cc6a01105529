"""What a function is made of: the functions it wraps, and the objects that its code reaches."""

from __future__ import annotations

import contextlib
import dis
import functools
import itertools
import types
from collections.abc import Iterator
from typing import Any

#: Wrappers around a function that are looked through.
_MOST_WRAPPERS = 20
#: Objects that are looked at, entries of one container, and steps from a name to an object.
_MOST_OBJECTS, _MOST_ENTRIES, _FARTHEST = 2000, 50, 3
_PLAIN = (bool, int, float, complex, str, bytes, type, type(None), types.ModuleType)


def layers(fun: Any) -> Iterator[Any]:
    """``fun`` and what it wraps, from the outside to the inside."""
    for _ in range(_MOST_WRAPPERS):
        yield fun
        if isinstance(fun, functools.partial):
            fun = fun.func
        elif isinstance(fun, types.MethodType):
            fun = fun.__func__
        elif hasattr(fun, "__wrapped__"):
            fun = fun.__wrapped__
        elif isinstance(fun, types.FunctionType):
            return
        elif isinstance(getattr(type(fun), "__call__", None), types.FunctionType):  # noqa: B004
            fun = type(fun).__call__
        else:
            return


def reached(fun: Any, args: tuple[Any, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Objects that a call ``fun(x, *args)`` can reach, each with the name by which the code knows
    it: closures, globals in use, default and `functools.partial` arguments, attributes of
    ``self``, and what these hold. Nothing is called, and only so many are looked at."""
    seen: set[int] = set()
    waiting = [(f"args[{i}]", arg, 0) for i, arg in enumerate(args)]
    waiting += [(name, held, 0) for name, held in _held(fun)]
    while waiting and len(seen) < _MOST_OBJECTS:
        name, held, far = waiting.pop(0)
        if id(held) in seen or isinstance(held, _PLAIN):
            continue
        seen.add(id(held))
        yield name, held
        if far < _FARTHEST:
            waiting += [(inner, one, far + 1) for inner, one in _inside(name, held)]


def _held(fun: Any) -> Iterator[tuple[str, Any]]:
    """What a function and the layers inside of it hold, by name."""
    for layer in layers(fun):
        if isinstance(layer, types.FunctionType):
            yield from _of_code(layer)
        elif isinstance(layer, functools.partial):
            yield from ((f"argument {i} of partial", arg) for i, arg in enumerate(layer.args))
            yield from layer.keywords.items()
        elif isinstance(layer, types.MethodType):
            yield "self", layer.__self__
        else:
            yield from _inside("self", layer)


def _of_code(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Closure, default arguments and the globals that the code loads; of modules among them,
    what the code may use of them."""
    code = function.__code__
    loaded, names = _names(code)
    held = {name: function.__globals__[name] for name in loaded if name in function.__globals__}
    for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not assigned yet
            held[name] = cell.cell_contents
    named, defaults = code.co_varnames[: code.co_argcount], function.__defaults__ or ()
    yield from zip(named[len(named) - len(defaults) :], defaults, strict=True)
    yield from (function.__kwdefaults__ or {}).items()
    yield from held.items()
    for name, module in held.items():
        if isinstance(module, types.ModuleType):
            inside = vars(module)
            yield from ((f"{name}.{part}", inside[part]) for part in names if part in inside)


def _names(code: types.CodeType) -> tuple[list[str], list[str]]:
    """Names of the globals that code loads, and all names in it, functions inside included."""
    loads = ("LOAD_GLOBAL", "LOAD_NAME")
    loaded = [i.argval for i in dis.get_instructions(code) if i.opname in loads]
    names = list(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _names(constant)
            loaded += inner[0]
            names += inner[1]
    return list(dict.fromkeys(loaded)), list(dict.fromkeys(names))


def _inside(name: str, held: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds: entries, attributes, or what a function of the user's reaches."""
    if isinstance(held, dict):
        some = itertools.islice(held.items(), _MOST_ENTRIES)
        yield from ((f"{name}[{key!r:.30}]", value) for key, value in some)
    elif isinstance(held, (list, tuple)):
        yield from ((f"{name}[{i}]", value) for i, value in enumerate(held[:_MOST_ENTRIES]))
    elif isinstance(held, (types.MethodType, types.BuiltinMethodType)):  # such as rng.normal
        yield f"{name}.__self__", held.__self__
        yield from _held(getattr(held, "__func__", None))
    elif isinstance(held, (types.FunctionType, functools.partial)):
        yield from _held(held)
    else:
        attributes = getattr(held, "__dict__", None)
        if isinstance(attributes, dict):
            some = itertools.islice(attributes.items(), _MOST_ENTRIES)
            yield from ((f"{name}.{key}", value) for key, value in some)
