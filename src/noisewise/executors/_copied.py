"""Random generators that worker processes would copy, and so repeat each other's numbers."""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import itertools
import random
import types
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

_KINDS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random)
#: Generators that are told by their names, so that their libraries need not be imported.
_NAMED = {"torch.Generator", "torch._C.Generator"}
#: Named in the warning at most.
_SHOWN = 3
#: Objects that are looked at, entries of each, and steps from the function to an object.
_MOST, _ENTRIES, _FARTHEST = 2000, 50, 5
_PLAIN = (bool, int, float, complex, str, bytes, type, type(None), types.ModuleType)


def generators(fun: Callable[..., Any], args: tuple[Any, ...] = ()) -> list[str]:
    """Names of the random generators that ``fun`` reaches, without those that workers seed: the
    global ones of numpy and `random`."""
    seeded = (np.random.mtrand._rand, getattr(random, "_inst", None))
    found = [name for name, held in reached(fun, args) if _is_generator(held, seeded)]
    return list(dict.fromkeys(found))


def warn(fun: Callable[..., Any], args: tuple[Any, ...], stacklevel: int) -> None:
    """Warn if workers would copy a generator that ``fun`` uses."""
    names = generators(fun, args)
    if not names:
        return
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    warnings.warn(
        f"the objective reaches a random generator outside of it ({shown}): each worker process "
        "has a copy, so workers repeat each other's random numbers unless every call seeds it; "
        "make the generator within the objective, from a seed that noisewise hands out "
        '(seeds="independent", np.random.default_rng(seed))',
        UserWarning,
        stacklevel=stacklevel,
    )


def _is_generator(held: Any, seeded: tuple[Any, ...]) -> bool:
    if isinstance(held, _KINDS):  # one of the system has no state to copy
        return not isinstance(held, random.SystemRandom) and all(held is not s for s in seeded)
    return f"{type(held).__module__}.{type(held).__qualname__}" in _NAMED


def reached(fun: Any, args: tuple[Any, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Objects that a call ``fun(x, *args)`` can reach, each with the name by which the code knows
    it. Nothing is called, and only so many are looked at."""
    seen: set[int] = set()
    waiting = [("self", fun, 0), *((f"args[{i}]", arg, 0) for i, arg in enumerate(args))]
    for name, held, far in waiting:  # which grows meanwhile
        if id(held) in seen or isinstance(held, _PLAIN) or len(seen) >= _MOST:
            continue
        seen.add(id(held))
        yield name, held
        if far < _FARTHEST:
            waiting += [(inner, one, far + 1) for inner, one in _inside(name, held)]


def _inside(name: str, held: Any) -> Iterator[tuple[str, Any]]:
    """What an object holds: what the code of a function reaches, entries or attributes."""
    if isinstance(held, types.FunctionType):
        yield from _of_function(held)
    elif isinstance(held, functools.partial):
        yield from ((f"argument {i} of partial", arg) for i, arg in enumerate(held.args))
        yield from held.keywords.items()
        yield "", held.func
    elif isinstance(held, (types.MethodType, types.BuiltinMethodType)):  # such as rng.normal
        yield name, held.__self__
        yield "", getattr(held, "__func__", None)
    elif isinstance(held, dict):
        some = itertools.islice(held.items(), _ENTRIES)
        yield from ((f"{name}[{key!r:.30}]", value) for key, value in some)
    elif isinstance(held, (list, tuple)):
        yield from ((f"{name}[{i}]", value) for i, value in enumerate(held[:_ENTRIES]))
    else:
        some = itertools.islice(getattr(held, "__dict__", {}).items(), _ENTRIES)
        yield from ((f"{name}.{key}", value) for key, value in some)
        yield "", getattr(type(held), "__call__", None)  # noqa: B004


def _of_function(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Defaults, closure, the globals that the code loads, and what a decorator wraps."""
    parameters = inspect.signature(function, follow_wrapped=False).parameters
    yield from ((name, parameter.default) for name, parameter in parameters.items())
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with contextlib.suppress(ValueError):  # not assigned yet
            yield name, cell.cell_contents
    for name in dict.fromkeys(_loaded(function.__code__)):
        yield name, function.__globals__.get(name)
    yield "", getattr(function, "__wrapped__", None)


def _loaded(code: types.CodeType) -> Iterator[str]:
    """Names of the globals that code loads, functions inside of it included."""
    yield from (i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _loaded(constant)
