"""What an objective may return."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from noisewise._check import real_array, shown
from noisewise._types import FloatArray
from noisewise.errors import BadValueError

#: Values beyond this count as this: penalties such as the largest float would overflow in powers.
LARGEST = 1e70
#: The smallest standard error but zero: values over it, and their squares, must not overflow.
_SMALLEST = 1.0 / LARGEST
#: Most constraints per point: a value and its constraints are one line of a checkpoint.
MOST_CONSTRAINTS = 10_000


def as_value(value: Any, maximize: bool = False) -> float:
    """An objective value as a float to minimise within ±`LARGEST`; failures (nan, and +inf, or
    -inf where the objective is maximised) as +inf.

    Values beyond count as ±`LARGEST`, and a UserWarning says so.
    """
    if type(value) is not float:
        value = _real(value)
    if maximize:
        value = -value
    if value == -math.inf:
        told = "+inf: there is nothing above it" if maximize else "-inf: there is nothing below it"
        raise BadValueError(f"the objective must not return {told}")
    if -LARGEST <= value <= LARGEST:
        return float(value)
    if not value < math.inf:
        return math.inf
    warnings.warn(
        f"values beyond {LARGEST:g} in size count as {LARGEST:g} and tie with each other: rescale "
        "the objective, or return nan where an evaluation failed",
        stacklevel=2,
    )
    return math.copysign(LARGEST, value)


def as_measured(value: Any, maximize: bool = False) -> tuple[float, float | None]:
    """What an objective returned: its value as of `as_value`, and the standard error (as of
    `within_range`; None if unknown, and for failures) of a tuple ``(value, se)``."""
    if not isinstance(value, tuple):
        return as_value(value, maximize), None
    if len(value) != 2:
        raise BadValueError(
            f"the objective must return a number or a tuple (value, se), got {shown(value, 60)}"
        )
    number = as_value(value[0], maximize)
    se = math.nan if value[1] is None else _real(value[1])
    if se < 0.0 or se == math.inf:
        raise BadValueError(
            "the standard error that the objective returns must be a non-negative finite number, "
            f"got {shown(value[1], 60)}"
        )
    return number, None if math.isnan(se) or number == math.inf else within_range(se)


class Value(NamedTuple):
    """One measurement on its way in: the trial, its value to minimise (+inf: it failed), standard
    error and constraints where known, and the exception that it raised, in words, if it did."""

    id: int
    y: float
    se: float | None = None
    constraints: FloatArray | None = None
    why: str | None = None

    def signed(self, maximize: bool) -> Value:
        """The value to maximise, or back."""
        return self._replace(y=-self.y) if maximize else self


@dataclass(frozen=True)
class Measured:
    """What an objective and its constraints returned for one point."""

    value: Any
    constraints: Any


def as_constraints(values: Any) -> FloatArray | None:
    """Measured constraints as an array, (q,), within ±`LARGEST`; None where one of them is nan or
    +inf: the evaluation failed."""
    try:
        array = np.atleast_1d(real_array(values))
        fine = array.ndim == 1 and len(array) > 0
    except Exception:  # whatever its conversion to an array raises
        fine = False
    if not fine:
        raise BadValueError(
            f"constraints must be one or several real numbers per point, got {shown(values, 60)}"
        )
    if len(array) > MOST_CONSTRAINTS:
        raise BadValueError(
            f"constraints must be at most {MOST_CONSTRAINTS} values, got {len(array)}"
        )
    return None if not (array < math.inf).all() else np.clip(array, -LARGEST, LARGEST)


def _real(value: Any) -> float:
    try:
        if isinstance(value, Real):
            return float(value)
        if np.ma.is_masked(value):  # a missing value, which an array would turn into any number
            raise TypeError
        array = np.asarray(value)
        if array.shape in ((), (1,)) and array.dtype.kind in "fiub":
            return float(array.reshape(()))
        said = f"an array of shape {array.shape}" if array.shape else shown(value, 60)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception:  # whatever its conversion to an array raises
        said = shown(value, 60)
    raise BadValueError(f"the objective must return one real number, got {said}")


def as_error(se: Any) -> float | None:
    """A standard error as a number as of `within_range`, None if unknown."""
    if se is None:
        return None
    if not isinstance(se, Real) or isinstance(se, bool) or not 0.0 <= float(se) < math.inf:
        raise ValueError(f"se must be a non-negative finite number or None, got {shown(se)}")
    return within_range(float(se))


def within_range(se: float) -> float:
    """A standard error moved into the range of those that can be computed with; zero stays."""
    return min(max(se, _SMALLEST), LARGEST) if se > 0.0 else se


def entries(name: str, values: Any, n: int) -> list[Any]:
    """``values`` as a list of ``n``."""
    try:
        found = list(values)
    except TypeError:
        raise ValueError(f"{name} must have one entry per id ({n}), got {shown(values)}") from None
    if len(found) != n:
        raise ValueError(f"{name} must have one entry per id ({n}), got {len(found)}")
    return found
