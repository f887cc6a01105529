"""What scikit-learn's users write for a space, as parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from noisewise._check import shown
from noisewise._types import FloatArray
from noisewise.parameters import Choice, Float, Int, Parameter, parameter
from noisewise.space import Space

#: Name of the choice between spaces. Estimators have no parameter of that name: it is no word.
_WHICH = "#"


@final
class Branches:
    """Spaces of which one holds at a time, as one space: a choice between them, and the
    parameters of all. A parameter that is the same in several spaces is one of this space."""

    def __init__(self, spaces: Sequence[Space]) -> None:
        self.spaces = list(spaces)
        inner: dict[str, Any] = {_WHICH: Choice(tuple(range(len(spaces))))}
        #: Inner names of the parameters of each space.
        self._inner_names: list[dict[str, str]] = []
        for i, space in enumerate(spaces):
            known = {}
            for name, p in space.parameters.items():
                shared = inner.get(name, p) == p
                known[name] = name if shared else f"{name}{_WHICH}{i}"
                inner[known[name]] = p
            self._inner_names.append(known)
        self._inner = Space(inner)

    @property
    def names(self) -> list[str]:
        """Names of the parameters of all spaces."""
        return list(dict.fromkeys(name for space in self.spaces for name in space.names))

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self._inner.dimension

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The unit cube."""
        return self._inner.bounds

    def decode(self, x: FloatArray) -> dict[str, Any]:
        """Values by name, of the space that holds at ``x``."""
        found = self._inner.decode(x)
        names = self._inner_names[found[_WHICH]]
        return {name: found[inner] for name, inner in names.items()}

    def encode(self, values: Mapping[str, Any]) -> FloatArray:
        """A point that is decoded to ``values``, which must be those of one of the spaces."""
        said = f"values must be those of one of the spaces, got {shown(values)}"
        for i, names in enumerate(self._inner_names):
            if names.keys() == values.keys():
                given = {inner: values[name] for name, inner in names.items()}
                try:
                    return self._inner.encode({_WHICH: i, **given})
                except ValueError as error:
                    said = str(error)
        raise ValueError(said)


def named(space: Any) -> Space | Branches:
    """The parameters that ``space`` describes."""
    found: Space | Branches
    if isinstance(space, (list, tuple)) and space:
        spaces = [_named(one) for one in space]
        found = Branches(spaces) if len(spaces) > 1 else spaces[0]
    else:
        found = _named(space)
    if found.dimension == 0:
        raise ValueError(
            f"space must have a parameter with more than one value, got {shown(space)}"
        )
    return found


def parts(space: Space | Branches) -> list[Space]:
    """The spaces of which one holds at a time."""
    return space.spaces if isinstance(space, Branches) else [space]


def _named(space: Any) -> Space:
    given = space.parameters if isinstance(space, Space) else space
    if not isinstance(given, Mapping) or not given:
        raise ValueError(
            "space must be a noisewise.Space, a dictionary of at least one parameter or a list of "
            f"such, got {shown(space)}"
        )
    return Space({name: _parameter(name, one) for name, one in given.items()})


def _parameter(name: str, given: Any) -> Parameter:
    try:
        if isinstance(given, Parameter):
            return given
        if isinstance(given, str):
            return parameter(given)
        if isinstance(given, (list, tuple, np.ndarray)) and len(given) >= 1:
            return Choice(tuple(given))
        if hasattr(given, "dist") and hasattr(given, "support"):
            return _distribution(given)
    except ValueError as error:
        raise ValueError(f"space: {name} {error}") from None
    raise ValueError(
        f"space: {name} must be text such as '1e-4..1:log', an object of noisewise.space, a list "
        f"of options or a scipy.stats distribution, got {shown(given)}"
    )


def _distribution(given: Any) -> Parameter:
    """The range of a frozen distribution of scipy.stats."""
    low, high = (float(end) for end in given.support())
    kind = given.dist.name
    if kind == "randint":
        return Int(int(low), int(high))
    if kind in ("uniform", "loguniform", "reciprocal"):
        return Float(low, high, log=kind != "uniform")
    raise ValueError(f"must be uniform, loguniform or randint of scipy.stats, got {kind}")
