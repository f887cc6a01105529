"""A parameter from what a user gives: text, lists, distributions of Optuna and of scipy."""

from __future__ import annotations

from typing import Any

from noisewise._check import shown
from noisewise.problem.parameters import Choice, Float, Int, Parameter, is_number, parameter

#: What stands after a range elsewhere.
_SCALES = ("log", "log-uniform", "uniform", "loguniform")


def understood(given: Any) -> Parameter | None:
    """The parameter that an object of another library means; None if it is no such object.
    ValueError if it means something that has no range."""
    package = type(given).__module__.partition(".")[0]
    if package == "optuna":
        return _optuna(given)
    if hasattr(given, "dist") and hasattr(given, "support"):
        return _scipy(given)
    if isinstance(given, range) and len(given):
        return Int(given[0], given[-1], step=given.step)
    return None


def _optuna(given: Any) -> Parameter | None:
    if hasattr(given, "choices"):
        return Choice(tuple(given.choices))
    kind = type(given).__name__
    if kind == "IntDistribution":
        return Int(given.low, given.high, given.log, given.step)
    if kind == "FloatDistribution":
        return Float(given.low, given.high, given.log, given.step)
    return None


def _scipy(given: Any) -> Parameter:
    """A frozen distribution: what it is uniform in, between the ends of its support."""
    low, high = (float(end) for end in given.support())
    name = given.dist.name
    if name == "randint":
        return Int(int(low), int(high))
    if name == "uniform":
        return Float(low, high)
    if name in ("loguniform", "reciprocal"):
        return Float(low, high, log=True)
    raise ValueError(
        f"must be uniform, loguniform or randint of scipy.stats, got {name}: write a range such as "
        "'0..1' or '1e-4..1:log'"
    )


def given_as(name: str, given: Any) -> Parameter:
    """The parameter that the user means by ``given``."""
    if isinstance(given, Parameter):
        return given
    try:
        other = understood(given)
    except ValueError as error:
        raise ValueError(f"{name} {error}") from None
    if other is not None:
        return other
    if not isinstance(given, (str, list, tuple)):
        raise ValueError(
            f"{name} must be a Float, an Int, a Choice, text such as '0..1' or '1e-4..1:log', or a "
            f"list of values, got {shown(given)}"
        )
    if isinstance(given, tuple) and len(given) == 3 and given[2] in _SCALES:
        low, high = (f"{v:g}" if is_number(v) else str(v) for v in given[:2])
        log = ":log" if "log" in given[2] else ""
        raise ValueError(f"{name} must be text, got {shown(given)}: write '{low}..{high}{log}'")
    if isinstance(given, tuple) and len(given) == 2 and all(map(is_number, given)):
        low, high = (f"{v:g}" for v in given)
        raise ValueError(
            f"{name} could be a range or two values, got {shown(given)}: write '{low}..{high}' or "
            f"[{low}, {high}]"
        )
    try:
        return parameter(given) if isinstance(given, str) else Choice(tuple(given))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
