"""All state is data: registered dataclasses of numbers, words, arrays and generators.

`encode` turns such an object into plain JSON values and `decode` builds it again, bit for bit.
Nothing else can be built from a file: no code, no pickle, no class that is not registered.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import inspect
import math
from collections.abc import Mapping
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

_T = TypeVar("_T", bound=type)
_CLASSES: dict[str, type] = {}
_LIBRARY = __name__.partition(".")[0]
_DTYPES = ("float64", "int64", "bool")


class DataError(ValueError):
    """A value that is not a faithful encoding of registered data."""


def data(cls: _T) -> _T:
    """Class decorator: instances of this dataclass may be saved and loaded.

    A class of the library is known by its own name and its version (the class attribute
    ``_version``, 1 without one), so that its file may move; one of a plugin by its full name, so
    that it never clashes with others.
    """
    known = _CLASSES.setdefault(_name(cls), cls)
    if known.__module__ != cls.__module__:
        raise TypeError(f"{cls.__qualname__} is saved by {known.__module__} under the same name")
    _CLASSES[_name(cls)] = cls
    return cls


def _name(cls: type) -> str:
    if cls.__module__.partition(".")[0] == _LIBRARY:
        return f"{cls.__qualname__}/{cls.__dict__.get('_version', 1)}"
    return f"{cls.__module__}.{cls.__qualname__}"


def encode(value: Any) -> Any:
    """Plain JSON values that `decode` turns back into an equal ``value``."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if math.isfinite(value) else {"~float": repr(float(value))}
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, np.random.Generator):
        return {"~generator": encode(value.bit_generator.state)}
    if isinstance(value, (list, tuple)):
        items = [encode(v) for v in value]
        return items if isinstance(value, list) else {"~tuple": items}
    if isinstance(value, dict):
        return {"~dict": [[encode(k), encode(v)] for k, v in value.items()]}
    name = _name(type(value))
    if _CLASSES.get(name) is type(value):
        return {"~" + name: {n: encode(getattr(value, n)) for n in _fields(type(value))}}
    raise DataError(f"{type(value).__name__} cannot be saved: it is not plain data")


def decode(value: Any) -> Any:
    """The object that `encode` was given; `DataError` if ``value`` is anything else."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, list):
        return [decode(v) for v in value]
    if not isinstance(value, dict) or len(value) != 1:
        raise DataError(f"expected a tagged value, got {str(value)[:60]!r}")
    [(tag, body)] = value.items()
    try:
        return _decode_tagged(tag, body)
    except DataError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
        raise DataError(f"a {tag[:40]!r} cannot be built: {str(error)[:100]}") from error


def _decode_tagged(tag: str, body: Any) -> Any:
    if tag == "~float":
        if body not in ("nan", "inf", "-inf"):
            raise DataError(f"not a number: {str(body)[:60]!r}")
        return float(body)
    if tag == "~array":
        return _decode_array(body)
    if tag == "~tuple":
        return tuple(decode(v) for v in body)
    if tag == "~dict":
        return {decode(k): decode(v) for k, v in body}
    if tag == "~generator":
        return _decode_generator(decode(body))
    cls = _CLASSES.get(tag[1:]) if tag.startswith("~") else None
    if cls is None:
        raise DataError(f"unknown kind of data {tag[:60]!r}")
    names = _fields(cls)
    if not isinstance(body, dict) or set(body) != set(names):
        raise DataError(f"{cls.__name__} has the fields {names}, the file gives others")
    return cls(**{name: _typed(cls, name, decode(body[name])) for name in names})


def _decode_generator(state: Any) -> np.random.Generator:
    words = [*state["state"].values(), state["has_uint32"], state["uinteger"]]
    if not all(type(word) is int and 0 <= word < 2**128 for word in words):
        raise DataError("a generator's state must be whole numbers")
    generator = np.random.Generator(np.random.PCG64(0))
    generator.bit_generator.state = state
    return generator


def _fields(cls: type) -> list[str]:
    return [f.name for f in dataclasses.fields(cls) if f.init]


def _typed(cls: type, name: str, value: Any) -> Any:
    """``value``, if it is what the field's annotation says."""
    if not fits(value, _hints(cls)[name]):
        raise DataError(f"{cls.__name__}.{name} cannot be {str(value)[:60]!r}")
    return value


@cache
def _hints(cls: type) -> dict[str, Any]:
    """The annotations of the fields that are saved. Not of anything else: those of an ``InitVar``
    cannot be evaluated on Python 3.10."""
    hints: dict[str, Any] = {}
    for base in reversed(cls.__mro__):
        saved = {n: a for n, a in inspect.get_annotations(base).items() if n in _fields(cls)}
        fields = type(base.__name__, (), {"__annotations__": saved, "__module__": base.__module__})
        hints |= get_type_hints(fields)
    return hints


def fits(value: Any, hint: Any) -> bool:
    """Whether ``value`` is of the annotated kind. A whole number that a float can hold fits
    float; arrays must have the annotated kind of numbers."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin is np.ndarray:
        wanted = get_args(inner[1])[0]
        return isinstance(value, np.ndarray) and np.issubdtype(value.dtype, wanted)
    if origin is list:
        return isinstance(value, list) and all(fits(v, inner[0]) for v in value)
    if origin in (dict, Mapping):
        return isinstance(value, dict) and all(
            fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items()
        )
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        kinds = inner[:1] * len(value) if inner[1:] == (...,) else inner
        return len(value) == len(kinds) and all(map(fits, value, kinds))
    if hint in (int, float) and isinstance(value, bool):
        return False
    if hint is float and isinstance(value, int):
        return abs(value) < 2**1000
    return isinstance(value, hint)


def same(one: Any, other: Any) -> bool:
    """Whether two values are equal as they would be saved; nan equals nan."""
    if isinstance(one, dict) and isinstance(other, dict):  # whatever their order
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    try:
        return bool(encode(one) == encode(other))
    except DataError:  # they cannot be saved
        return bool(one == other)


def _encode_array(array: np.ndarray[Any, Any]) -> Any:
    dtype = "int64" if array.dtype.kind == "i" else array.dtype.name
    if dtype not in _DTYPES:
        raise DataError(f"arrays of {array.dtype} cannot be saved")
    # The layout is kept, because products with an array round differently in another one.
    flat = array.astype(dtype, copy=False)
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        order, raw = "F", flat.tobytes("F")
    else:
        order, raw = "C", flat.tobytes()
    return {"~array": [dtype, list(array.shape), order, base64.b64encode(raw).decode("ascii")]}


def _decode_array(body: Any) -> np.ndarray[Any, Any]:
    dtype, shape, order, text = body
    if dtype not in _DTYPES:
        raise DataError(f"arrays of {str(dtype)[:40]!r} are not known")
    if not all(isinstance(s, int) and s >= 0 for s in shape) or len(shape) > 4:
        raise DataError("an array's shape must be a few non-negative whole numbers")
    if order not in ("C", "F"):
        raise DataError("an array's order must be C or F")
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise DataError("an array's bytes are damaged") from error
    # The bytes are there before anything is allocated for the shape they claim.
    if len(raw) != math.prod(shape) * np.dtype(dtype).itemsize:
        raise DataError("an array's bytes do not fit its shape")
    return np.asarray(np.frombuffer(raw, dtype=dtype).reshape(shape, order=order).copy(order="K"))
