"""What scikit-learn's users write for a space and for scores known before, as parameters and
points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from noisewise._check import shown
from noisewise._types import FloatArray
from noisewise.problem.foreign import understood
from noisewise.problem.parameters import Choice, Parameter, parameter
from noisewise.problem.space import Space

#: Name of the choice between spaces. Estimators have no parameter of that name: it is no word.
_WHICH = "#"


@final
class Branches:
    """Spaces of which one holds at a time, as one space: a choice between them, and the
    parameters of all. A parameter that is the same in several spaces is one of this space."""

    def __init__(self, spaces: Sequence[Space]) -> None:
        self.spaces = list(spaces)
        inner: dict[str, Any] = {_WHICH: Choice(tuple(range(len(spaces))))}
        of: dict[str, list[int]] = {}
        #: Inner names of the parameters of each space.
        self._inner_names: list[dict[str, str]] = []
        for i, space in enumerate(spaces):
            known: dict[str, str] = {}
            for name, p in space.parameters.items():
                p = p.under({known[other]: v for other, v in p.conditions})
                shared = inner.get(name, p) == p
                known[name] = name if shared else f"{name}{_WHICH}{i}"
                inner[known[name]] = p
                of.setdefault(known[name], []).append(i)
            self._inner_names.append(known)
        for name, spaces_of in of.items():
            when = {_WHICH: spaces_of, **dict(inner[name].conditions)}
            inner[name] = inner[name].under(when)
        #: All of it as one space, whose other parameters apply with the choices of their spaces.
        self.inner = Space(inner)

    @property
    def names(self) -> list[str]:
        """Names of the parameters of all spaces."""
        return list(dict.fromkeys(name for space in self.spaces for name in space.names))

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self.inner.dimension

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The unit cube."""
        return self.inner.bounds

    def decode(self, x: FloatArray) -> dict[str, Any]:
        """Values by name, of the space that holds at ``x``."""
        found = self.inner.decode(x)
        names = self._inner_names[found[_WHICH]]
        return {name: found[inner] for name, inner in names.items() if inner in found}

    def encode(self, values: Mapping[str, Any]) -> FloatArray:
        """A point that is decoded to ``values``, which must be those of one of the spaces."""
        said = f"values must be those of one of the spaces, got {shown(values)}"
        for i, names in enumerate(self._inner_names):
            if names.keys() == values.keys():
                given = {inner: values[name] for name, inner in names.items()}
                try:
                    return self.inner.encode({_WHICH: i, **given})
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
        if (other := understood(given)) is not None:
            return other
    except ValueError as error:
        raise ValueError(f"space: {name} {error}") from None
    raise ValueError(
        f"space: {name} must be text such as '1e-4..1:log', an object of noisewise.space, a list "
        f"of options or a scipy.stats distribution, got {shown(given)}"
    )


def current(incumbent: Any, estimator: Any, space: Space | Branches) -> FloatArray | None:
    """The point of today's parameters: those of the estimator, or those that are given."""
    if incumbent is None or incumbent is False:
        return None
    if incumbent is True:
        if isinstance(space, Branches):
            raise ValueError("incumbent must be a dictionary where there are several spaces")
        known = estimator.get_params()
        incumbent = {name: known[name] for name in space.names}
    if not isinstance(incumbent, Mapping):
        raise ValueError(
            f"incumbent must be True, a dictionary of parameters or None, got {shown(incumbent)}"
        )
    try:
        x = space.encode(incumbent)
        missing = space.missing(incumbent) if isinstance(space, Space) else []
    except ValueError as error:
        raise ValueError(f"incumbent: {error}") from None
    if missing:
        raise ValueError(f"incumbent must have a value of {missing[0]}, got {shown(incumbent)}")
    return x


def earlier_points(data: Any, space: Space | Branches, metric: str) -> tuple[Any, ...] | None:
    """``data`` as points and scores, perhaps with standard errors. Rows of a table ``cv_results_``
    without a score are left out."""
    if data is None:
        return None
    if isinstance(data, Mapping):
        column = f"mean_test_{metric}"
        missing = {"params", column} - data.keys()
        if missing:
            raise ValueError(
                f"data must be (params, scores) or a table cv_results_, got one without "
                f"{shown(min(missing))}"
            )
        scores = np.asarray(data[column], dtype=float)
        known = [i for i in range(len(scores)) if np.isfinite(scores[i])]
        rows, more = [data["params"][i] for i in known], (scores[known],)
    elif isinstance(data, (tuple, list)) and len(data) in (2, 3):
        rows, more = list(data[0]), tuple(data[1:])
    else:
        raise ValueError(
            "data must be (params, scores), (params, scores, standard errors) or a table "
            f"cv_results_, got {shown(data)}"
        )
    X = [_point(i, row, space) for i, row in enumerate(rows)]
    return (np.array(X).reshape(len(X), space.dimension), *more)


def _point(i: int, row: Any, space: Space | Branches) -> Any:
    try:
        if not isinstance(row, Mapping):
            raise ValueError(f"must be parameters by name, got {shown(row)}")
        if isinstance(space, Branches):
            return space.encode(row)
        known = {name: row[name] for name in space.names if name in row}
        missing = space.missing(known)
        if missing:
            raise ValueError(f"must have a value of {missing[0]}, got {shown(row)}")
        return space.encode(known)
    except ValueError as error:
        raise ValueError(f"data: row {i}: {error}") from None
