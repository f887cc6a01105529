"""Array types used everywhere, and types of arguments. Spelled without numpy.typing, which takes
long to import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    import scipy.optimize

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
IntArray = np.ndarray[Any, np.dtype[np.intp]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]

#: Points and numbers as users write them.
Numbers: TypeAlias = "Sequence[float] | np.ndarray[Any, Any]"
#: A point, or values by name where there is a space.
Start: TypeAlias = "Numbers | Mapping[str, Any] | None"
#: Pairs (low, high), low and high, or bounds of scipy.
Bounds: TypeAlias = (
    "Sequence[tuple[float | None, float | None]] | Sequence[Sequence[float | None]] "
    "| tuple[Any, Any] | np.ndarray[Any, Any] | scipy.optimize.Bounds | None"
)
#: (X, y), (X, y, se), or a table with a column named value: a dictionary or a data frame.
Data: TypeAlias = "tuple[Any, Any] | tuple[Any, Any, Any] | list[Any] | Mapping[str, Any] | Any"
#: A seed, or what makes random numbers.
Rng: TypeAlias = "int | np.integer[Any] | np.random.SeedSequence | np.random.Generator | None"
