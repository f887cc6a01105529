"""Parameters of any name, with values of any kind, as points of the unit cube."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, final

from noisewise._check import shown
from noisewise._types import FloatArray
from noisewise.parameters import Choice, Int, Parameter
from noisewise.space import Space


@final
@dataclass(frozen=True)
class Options(Parameter):
    """One of several values of any kind, without an order: one coordinate each, as in `Choice`."""

    values: tuple[Any, ...]
    _choice: Choice = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_choice", Choice(tuple(map(str, range(len(self.values))))))

    @property
    def width(self) -> int:
        return len(self.values)

    @property
    def text(self) -> str:
        return ",".join(map(str, self.values))

    def decode(self, u: FloatArray) -> Any:
        return self.values[int(self._choice.decode(u))]

    def encode(self, value: Any) -> FloatArray:
        for i, known in enumerate(self.values):
            if _same(known, value):
                return self._choice.encode(str(i))
        raise ValueError(f"must be one of {self.text}, got {shown(value)}")


def _same(a: Any, b: Any) -> bool:
    """Whether two options are the same: 1 and True are not, nan and nan are."""
    return a is b or (type(a) is type(b) and bool(a == b or (a != a and b != b)))


@final
@dataclass(frozen=True)
class Steps(Parameter):
    """The values low, low + step, ..., low + n step."""

    low: float
    step: float
    n: int
    _index: Int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", Int(0, self.n))

    @property
    def text(self) -> str:
        return f"{self.low}..{self._value(self.n)} in steps of {self.step}"

    def _value(self, k: int) -> float:
        if isinstance(self.low, int):
            return self.low + k * self.step
        # In decimals, as Optuna counts: 3 * 0.1 is above 0.3.
        return float(Decimal(str(self.low)) + k * Decimal(str(self.step)))

    def decode(self, u: FloatArray) -> float:
        return self._value(self._index.decode(u))

    def encode(self, value: Any) -> FloatArray:
        k = round((value - self.low) / self.step)
        if not 0 <= k <= self.n or abs(self._value(k) - value) > 1e-6 * self.step:
            raise ValueError(f"must be one of {self.text}, got {shown(value)}")
        return self._index.encode(k)


@final
class Named:
    """Parameters by name, in order. Unlike those of `Space`, names may be any text."""

    def __init__(self, parameters: Mapping[str, Parameter]) -> None:
        self.names: Sequence[str] = tuple(parameters)
        self._space = Space({str(i): p for i, p in enumerate(parameters.values())})

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self._space.dimension

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The unit cube."""
        return self._space.bounds

    def decode(self, x: FloatArray) -> dict[str, Any]:
        """Values by name at the point ``x``."""
        return dict(zip(self.names, self._space.decode(x).values(), strict=True))

    def encode(self, values: Mapping[str, Any]) -> FloatArray:
        """A point that is decoded to ``values``; parameters left out are in the middle."""
        index = {name: str(i) for i, name in enumerate(self.names)}
        for name in values:
            if name not in index:
                raise ValueError(f"must be of {', '.join(self.names)}, got {shown(name)}")
        try:
            return self._space.encode({index[name]: value for name, value in values.items()})
        except ValueError as error:
            number, _, said = str(error).partition(" ")
            raise ValueError(f"{self.names[int(number)]!r} {said}") from None
