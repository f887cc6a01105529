"""Named parameters of a problem, as the unit cube in which the search works.

See `noisewise.problem.parameters` for what a single parameter can be.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from noisewise._check import real_array, shown
from noisewise._types import FloatArray
from noisewise.problem.foreign import given_as
from noisewise.problem.layout import Condition, Layout
from noisewise.problem.parameters import FORM, Choice, Float, Int, Parameter, parameter

__all__ = ["Choice", "Float", "Int", "Objective", "Parameter", "Space", "parameter"]

_NAME = re.compile(r"[^\s{}=\x00-\x1f\x7f]+")


class Space:
    """Parameters by name, in order.

    A parameter is a `Float`, an `Int`, a `Choice`, text such as ``"1e-4..1e-1:log"``, or a list
    of the values to choose from; or a distribution of Optuna, or ``uniform``, ``loguniform`` or
    ``randint`` of ``scipy.stats``. Names are any texts.

    >>> space = Space({"rate": "1e-4..1e-1:log", "units": Int(8, 256), "nesterov": [True, False]})
    >>> space.dimension, space.decode([0.0, 1.0, 0.7])
    (3, {'rate': 0.0001, 'units': 256, 'nesterov': False})

    A parameter may apply only ``when`` others, which come before it, have certain values. Where it
    does not apply, it is not among the values that ``fun`` gets, and no method looks at it.

    >>> space = Space({
    ...     "model": ["svm", "forest", "linear"],
    ...     "C": Float(1e-3, 1e3, log=True, when={"model": ["svm", "linear"]}),
    ...     "trees": "10..500:int:log when model=forest",
    ... })
    >>> space.decode(space.encode({"model": "forest", "trees": 100}))
    {'model': 'forest', 'trees': 100}

    With ``train`` a function of a dictionary of values::

        r = noisewise.minimize(train, space=space, budget=200)
        best = r.params
    """

    def __init__(self, parameters: Mapping[str, Parameter | str | Sequence[Any]]) -> None:
        if not isinstance(parameters, Mapping) or not parameters:
            raise ValueError(
                f"parameters must be a dictionary of at least one, got {shown(parameters)}"
            )
        self.parameters: dict[str, Parameter] = {}
        for name, given in parameters.items():
            if not isinstance(name, str) or not name:
                raise ValueError(f"a parameter's name must be a text, got {shown(name)}")
            self.parameters[name] = self._resolved(name, given_as(name, given))

    def _resolved(self, name: str, p: Parameter) -> Parameter:
        """The parameter, with the values in its conditions as values of those that they are about;
        these come before it."""
        if not p.conditions:
            return p
        found = []
        for other, values in p.conditions:
            on = self.parameters.get(other)
            if not isinstance(on, (Choice, Int)):
                raise ValueError(
                    f"{name}: when must name a choice or an Int that comes before it, got "
                    f"{shown(other)}"
                )
            try:
                found.append((other, tuple(_value(on, v) for v in values)))
            except ValueError as error:
                raise ValueError(f"{name}: when: {other} {error}") from None
        return p.under(tuple(found))

    @classmethod
    def parse(cls, texts: Iterable[str]) -> Space:
        """The space of texts such as ``rate=1e-4..1e-1:log``."""
        found: dict[str, str] = {}
        if isinstance(texts, str) or not isinstance(texts, Iterable):
            raise ValueError(f"texts must be a list of texts such as name=0..1, got {shown(texts)}")
        for text in texts:
            if not isinstance(text, str):
                raise ValueError(
                    f"texts must be a list of texts such as name=0..1, got {shown(text)} in it"
                )
            name, equals, rest = text.partition("=")
            if not equals:
                raise ValueError(f"a parameter must look like name={FORM}, got {text!r}")
            if not _NAME.fullmatch(name):
                raise ValueError(
                    "a parameter's name must be a word without spaces, braces or '=', got "
                    f"{shown(name)}"
                )
            if name in found:
                raise ValueError(f"a parameter must be given once, got {name!r} twice")
            found[name] = rest
        return cls(found)

    @property
    def names(self) -> list[str]:
        """The parameters' names."""
        return list(self.parameters)

    @property
    def texts(self) -> dict[str, str]:
        """Each parameter as text; ``Space(space.texts)`` equals ``space``."""
        return {name: p.text for name, p in self.parameters.items()}

    @property
    def coordinates(self) -> list[str]:
        """A name for each coordinate: the parameter's, or name=value for those of a choice."""
        return [
            f"{name}={p.values[j - p.width]}" if isinstance(p, Choice) else name
            for name, p in self.parameters.items()
            for j in range(p.width)
        ]

    @property
    def blocks(self) -> dict[str, slice]:
        """Which coordinates are those of each parameter."""
        ends = accumulate(p.width for p in self.parameters.values())
        pairs = zip(self.parameters.items(), ends, strict=True)
        return {name: slice(end - p.width, end) for (name, p), end in pairs}

    @property
    def layout(self) -> Layout | None:
        """How the coordinates make up parameters; None if each is a number without steps."""
        varying = [(at.start, self.parameters[name]) for name, at in self.blocks.items()]
        varying = [(at, p) for at, p in varying if p.width]
        if not any(p.options or p.steps for _, p in varying):
            return None
        varying.sort(key=lambda pair: pair[1].options > 0)  # numbers first
        nothing = (math.nan, math.nan, False)
        low, high, log = zip(*(p.steps or nothing for _, p in varying), strict=True)
        layout = Layout(
            first=np.array([at for at, _ in varying]),
            options=np.array([p.options for _, p in varying]),
            low=np.array(low),
            high=np.array(high),
            log=np.array(log),
            conditions=[],
        )
        return replace(layout, conditions=self._conditions(layout))

    def _conditions(self, layout: Layout) -> list[Condition]:
        """The conditions of all columns: each has those of the parameters that it depends on, too,
        because these must apply themselves."""
        blocks = self.blocks
        column = {at: j for j, at in enumerate(layout.first.tolist())}
        place = {n: column[at.start] for n, at in blocks.items() if self.parameters[n].width}
        found: list[Condition] = []
        of: dict[str, list[tuple[int, FloatArray]]] = {}
        for name, p in self.parameters.items():
            of[name] = [one for other, _ in p.conditions for one in of[other]]
            for other, values in p.conditions:
                if other in place:  # else it has one value only
                    X = np.tile(np.full(self.dimension, 0.5), (len(values), 1))
                    X[:, blocks[other]] = [self.parameters[other].encode(v) for v in values]
                    entries = layout.by_parameter(X)[:, place[other]]
                    of[name].append((place[other], entries))
            if name in place:
                found += [Condition(place[name], *one) for one in of[name]]
        return found

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return sum(p.width for p in self.parameters.values())

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray]:
        """The unit cube, as ``bounds`` of `noisewise.minimize`."""
        return np.zeros(self.dimension), np.ones(self.dimension)

    def decode(self, x: Any) -> dict[str, Any]:
        """Values by name, of the parameters that apply, at the point ``x`` of the unit cube."""
        try:
            u = real_array(x)
        except Exception:  # whatever its conversion to an array raises
            u = np.empty(0)
        if u.shape != (self.dimension,) or np.isnan(u).any():
            raise ValueError(f"x must be {self.dimension} numbers, got {shown(x)}")
        found: dict[str, Any] = {}
        for name, at in self.blocks.items():
            if self.applies(name, found):
                found[name] = self.parameters[name].decode(u[at])
        return found

    def encode(self, values: Mapping[str, Any]) -> FloatArray:
        """A point that is decoded to ``values``; parameters left out are in the middle, and those
        that do not apply are there whatever their values."""
        if not isinstance(values, Mapping):
            raise ValueError(f"values must be a dictionary by name, got {shown(values)}")
        for name in values:
            if name not in self.parameters:
                raise ValueError(f"values must be of {', '.join(self.names)}, got {shown(name)}")
        parts: list[FloatArray] = []
        found: dict[str, Any] = {}
        for name, p in self.parameters.items():
            u = np.full(p.width, 0.5)
            if self.applies(name, found):
                try:
                    u = p.encode(values[name]) if name in values else u
                except ValueError as error:
                    raise ValueError(f"{name} {error}") from None
                found[name] = p.decode(u)
            parts.append(u)
        return np.concatenate(parts)

    def applies(self, name: str, values: Mapping[str, Any]) -> bool:
        """Whether a parameter applies with these values of those before it, of which the ones that
        do not apply themselves have none."""
        return all(
            other in values and any(_is(values[other], v) for v in wanted)
            for other, wanted in self.parameters[name].conditions
        )

    def missing(self, values: Mapping[str, Any]) -> list[str]:
        """Names of the parameters that apply and have no value."""
        applying = self.decode(self.encode(values))
        return [name for name in applying if name not in values]

    def objective(self, fun: Callable[..., Any]) -> Objective:
        """``fun``, a function of values by name, as a function of points."""
        if not callable(fun):
            raise ValueError(f"fun must be callable, got {shown(fun)}")
        return Objective(self, fun)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and list(self.parameters.items()) == list(
            other.parameters.items()
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Space({self.texts!r})"


@dataclass(frozen=True)
class Objective:
    """``fun`` of values by name, as a function of points; goes to worker processes if ``fun``
    does.

    >>> import noisewise as nw
    >>> space = nw.Space({"lr": "1e-4..1e-1:log"})
    >>> space.objective(lambda p: p["lr"])([0.0])
    0.0001
    """

    space: Space
    fun: Callable[..., Any]

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The user's function, as for decorators."""
        return self.fun

    def __call__(self, x: FloatArray, *args: Any, **more: Any) -> Any:
        """The value at ``x``; of a matrix of points, ``fun`` gets a list of dictionaries."""
        if np.ndim(x) == 2:
            return self.fun([self.space.decode(row) for row in x], *args, **more)
        return self.fun(self.space.decode(x), *args, **more)


def name_problem(space: Any, x0: Any, bounds: Any) -> tuple[Space | None, Any, Any]:
    """The space, the start and the bounds of a problem that may be given by name."""
    if space is None:
        return None, x0, bounds
    if bounds is not None:
        raise ValueError(f"bounds must not be given with space, got {shown(bounds)}")
    if not isinstance(space, (Space, Mapping)):
        raise ValueError(f"space must be a Space or a dictionary, got {shown(space)}")
    argument = "space"
    try:
        space = space if isinstance(space, Space) else Space(space)
        argument = "x0"
        start = space.encode(x0) if isinstance(x0, Mapping) else x0
    except ValueError as error:
        raise ValueError(f"{argument}: {error}") from None
    if space.dimension == 0:
        raise ValueError(f"space must have a parameter with more than one value, got {space!r}")
    return space, start, space.bounds


def named(parameters: Mapping[str, Parameter] | None, dimension: int) -> Space | None:
    """The space that a checkpoint keeps, if it keeps one."""
    if parameters is None:
        return None
    space = Space(parameters)
    if space.dimension != dimension:
        raise ValueError("its space has another dimension")
    return space


def _is(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b or a is b)


def _value(p: Choice | Int, given: Any) -> Any:
    """The value of a parameter that a condition means; text may stand for any value."""
    if isinstance(given, str):
        try:
            return p.decode(p.encode(given))
        except ValueError:
            named = p.values if isinstance(p, Choice) else [int(given)] if given.isdigit() else []
            given = next((v for v in named if given in (str(v), _json(v))), given)
    return p.decode(p.encode(given))


def _json(value: Any) -> str:
    return json.dumps(value, default=str)
