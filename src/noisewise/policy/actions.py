"""From the outputs of a network to actions.

| symbol | meaning | shape |
|---|---|---|
| z | outputs of the network | (m,) or (n, m) |
| V | corners of a regular simplex around 0, one per action | (k, k - 1) |
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._check import integer, shown
from noisewise._types import FloatArray


class Actions(ABC):
    """The actions of an environment, as functions of a network's outputs."""

    @property
    @abstractmethod
    def outputs(self) -> int:
        """Outputs that the network needs."""

    @abstractmethod
    def action(self, z: FloatArray) -> Any:
        """The action for one vector of outputs, as the environment takes it."""

    @abstractmethod
    def actions(self, Z: FloatArray) -> Any:
        """Actions for rows of outputs, as an array with one row (or number) per row of ``Z``."""

    @abstractmethod
    def as_dict(self) -> dict[str, Any]:
        """Plain data from which `from_dict` makes the same actions."""


@dataclass(frozen=True)
class Numbered(Actions):
    """Actions ``start`` to ``start + k - 1``, one output fewer than actions.

    The outputs are a point, and the action is the nearest corner of a regular simplex: with two
    actions their sign, with more the same for every action. One output per action would leave
    a direction in which nothing changes.

    >>> import numpy as np
    >>> Numbered(2).action(np.array([0.3])), Numbered(3).outputs
    (1, 2)
    """

    k: int
    start: int = 0

    @property
    def outputs(self) -> int:
        return self.k - 1

    def action(self, z: FloatArray) -> int:
        if self.k == 2:
            return self.start + int(z[0] > 0.0)
        return self.start + int((_corners(self.k) @ z).argmax())

    def actions(self, Z: FloatArray) -> Any:
        if self.k == 2:
            return self.start + (Z[:, 0] > 0.0)
        return self.start + (Z @ _corners(self.k).T).argmax(axis=1)

    def as_dict(self) -> dict[str, Any]:
        return {"kind": "numbered", "k": self.k, "start": self.start}


@dataclass(frozen=True)
class Bounded(Actions):
    """Actions in a box: outputs from -1 to 1 span it, and what is beyond is clipped. Where a side
    is open, the output is the action.

    >>> import numpy as np
    >>> Bounded((0.0,), (4.0,)).action(np.array([0.5]))
    array([3.])
    """

    low: tuple[float, ...]
    high: tuple[float, ...]
    shape: tuple[int, ...] = ()
    dtype: str = "float64"

    def __post_init__(self) -> None:
        low, high = np.array(self.low), np.array(self.high)
        closed = np.isfinite(low) & np.isfinite(high)
        a, b = np.where(closed, low, -1.0), np.where(closed, high, 1.0)
        middle, half = 0.5 * (a + b), 0.5 * (b - a)
        object.__setattr__(self, "shape", self.shape or low.shape)
        object.__setattr__(self, "_scale", (low, high, middle, half))

    @property
    def outputs(self) -> int:
        return len(self.low)

    def action(self, z: FloatArray) -> Any:
        return self.actions(z[None])[0].reshape(self.shape)

    def actions(self, Z: FloatArray) -> Any:
        low, high, middle, half = self._scale  # type: ignore[attr-defined]
        # numpy's clip takes longer than both
        return np.minimum(np.maximum(middle + half * Z, low), high).astype(self.dtype)

    def as_dict(self) -> dict[str, Any]:
        return {
            "kind": "bounded",
            "low": [_or_none(v) for v in self.low],
            "high": [_or_none(v) for v in self.high],
            "shape": list(self.shape),
            "dtype": self.dtype,
        }


def _corners(k: int) -> FloatArray:
    if k not in _CORNERS:
        # Rows of an orthonormal basis of the vectors that sum to zero: Helmert's matrix.
        lower = np.tril(np.ones((k - 1, k)))
        lower[np.arange(k - 1), np.arange(1, k)] = -np.arange(1.0, k)
        _CORNERS[k] = (lower / np.linalg.norm(lower, axis=1, keepdims=True)).T
    return _CORNERS[k]


_CORNERS: dict[int, FloatArray] = {}


def of_space(space: Any) -> Actions:
    """The actions of a gymnasium action space, or of anything with its attributes."""
    if hasattr(space, "n"):
        k = integer("the number of actions", space.n, least=2)
        return Numbered(k, int(getattr(space, "start", 0)))
    if hasattr(space, "low") and hasattr(space, "high"):
        low, high = (np.asarray(side, dtype=float) for side in (space.low, space.high))
        kind = np.dtype(getattr(space, "dtype", float)).str
        flat = [tuple(side.ravel().tolist()) for side in (low, high)]
        return Bounded(flat[0], flat[1], low.shape, kind)
    raise ValueError(
        "the environment's actions must be Discrete or Box, or policy= must be given; "
        f"got {shown(space)}"
    )


def from_dict(content: dict[str, Any]) -> Actions:
    """The inverse of `Actions.as_dict`."""
    if content["kind"] == "numbered":
        return Numbered(int(content["k"]), int(content["start"]))
    low = tuple(-math.inf if v is None else float(v) for v in content["low"])
    high = tuple(math.inf if v is None else float(v) for v in content["high"])
    return Bounded(low, high, tuple(int(n) for n in content["shape"]), str(content["dtype"]))


def _or_none(value: float) -> float | None:
    """JSON has no infinity."""
    return value if math.isfinite(value) else None
