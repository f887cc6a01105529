"""All state is data: registered dataclasses of numbers, words, arrays and generators.

`encode` turns such an object into plain JSON values and `decode` builds it again, bit for bit.
Nothing else can be built from a file: no code, no pickle, no class that is not registered.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import math
from typing import Any, TypeVar

import numpy as np

_T = TypeVar("_T", bound=type)
_CLASSES: dict[str, type] = {}
_DTYPES = ("float64", "int64", "bool")


class DataError(ValueError):
    """A value that is not a faithful encoding of registered data."""


def data(cls: _T) -> _T:
    """Class decorator: instances of this dataclass may be saved and loaded."""
    _CLASSES[cls.__name__] = cls
    return cls


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
    name = type(value).__name__
    if _CLASSES.get(name) is type(value):
        return {"~" + name: {n: encode(getattr(value, n)) for n in _fields(type(value))}}
    raise DataError(f"{name} cannot be saved: it is not plain data")


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
        generator = np.random.Generator(np.random.PCG64(0))
        generator.bit_generator.state = decode(body)
        return generator
    cls = _CLASSES.get(tag[1:]) if tag.startswith("~") else None
    if cls is None:
        raise DataError(f"unknown kind of data {tag[:60]!r}")
    names = _fields(cls)
    if not isinstance(body, dict) or set(body) != set(names):
        raise DataError(f"{tag[1:]} has the fields {names}, the file gives others")
    return cls(**{k: decode(v) for k, v in body.items()})


def _fields(cls: type) -> list[str]:
    return [f.name for f in dataclasses.fields(cls) if f.init]


def _encode_array(array: np.ndarray[Any, Any]) -> Any:
    dtype = "int64" if array.dtype.kind == "i" else array.dtype.name
    if dtype not in _DTYPES:
        raise DataError(f"arrays of {array.dtype} cannot be saved")
    raw = np.ascontiguousarray(array, dtype=dtype).tobytes()
    return {"~array": [dtype, list(array.shape), base64.b64encode(raw).decode("ascii")]}


def _decode_array(body: Any) -> np.ndarray[Any, Any]:
    dtype, shape, text = body
    if dtype not in _DTYPES:
        raise DataError(f"arrays of {str(dtype)[:40]!r} are not known")
    if not all(isinstance(s, int) and s >= 0 for s in shape) or len(shape) > 4:
        raise DataError("an array's shape must be a few non-negative whole numbers")
    try:
        raw = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise DataError("an array's bytes are damaged") from error
    # The bytes are there before anything is allocated for the shape they claim.
    if len(raw) != math.prod(shape) * np.dtype(dtype).itemsize:
        raise DataError("an array's bytes do not fit its shape")
    array: np.ndarray[Any, Any] = np.frombuffer(raw, dtype=dtype).reshape(shape).copy()
    return array
