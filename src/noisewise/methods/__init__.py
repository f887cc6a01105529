"""The named methods: one file per algorithm.

>>> import noisewise as nw
>>> nw.methods.get("cma-es").covariance
'full'
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from noisewise._check import meant, shown
from noisewise.measured.noise import NoiseModel
from noisewise.methods.auto import Auto
from noisewise.methods.cmaes import CMAES
from noisewise.methods.gp import GP
from noisewise.methods.lracmaes import LRACMAES
from noisewise.methods.method import Method
from noisewise.methods.pairs import Pairs
from noisewise.methods.pem import PEM
from noisewise.methods.probe_switch import ProbeSwitch
from noisewise.methods.psacmaes import PSACMAES
from noisewise.methods.racing import Racing
from noisewise.methods.racmaes import RACMAES
from noisewise.methods.rbpem import RBPEM
from noisewise.methods.resample import Resample
from noisewise.methods.select import Select
from noisewise.methods.uhcmaes import UHCMAES
from noisewise.methods.watchful import Watchful

#: What builds the method of a name, and options that differ from its defaults.
#: The group of entry points in which other packages name their methods.
GROUP = "noisewise.methods"
_NAMES: dict[str, tuple[Callable[..., Method], dict[str, Any]]] = {
    "auto": (Auto, {}),
    "gp": (GP, {}),
    "watchful": (Watchful, {}),
    "select": (Select, {}),
    "cma-es": (CMAES, {}),
    "sep-cma-es": (CMAES, {"covariance": "diagonal"}),
    "resample": (Resample, {}),
    "racing": (Racing, {}),
    "uh-cma-es": (UHCMAES, {}),
    "lra-cma-es": (LRACMAES, {}),
    "psa-cma-es": (PSACMAES, {}),
    "ra-cma-es": (RACMAES, {}),
    "pairs": (Pairs, {}),
    "pem": (PEM, {}),
    "rb-pem": (RBPEM, {}),
    "rb-pem-printed": (RBPEM.printed, {}),
    "rb-pem-published": (RBPEM.published, {}),
    "probe-switch": (ProbeSwitch, {}),
    "probe-switch-printed": (ProbeSwitch.printed, {}),
}

__all__ = [
    "CMAES",
    "GP",
    "LRACMAES",
    "PEM",
    "PSACMAES",
    "RACMAES",
    "RBPEM",
    "UHCMAES",
    "Auto",
    "Method",
    "NoiseModel",
    "Pairs",
    "ProbeSwitch",
    "Racing",
    "Resample",
    "Select",
    "Watchful",
    "get",
    "names",
]


def names() -> list[str]:
    """The names that ``method=`` takes.

    >>> import noisewise as nw
    >>> nw.list_methods()[:3]
    ['auto', 'gp', 'watchful']
    """
    return [*_NAMES, *_others()]


def _others() -> dict[str, Any]:
    """Entry points of installed packages that bring methods of their own, by name. A name of ours
    is never replaced."""
    from importlib.metadata import entry_points  # takes long to import

    found = entry_points(group=GROUP)
    return {point.name: point for point in found if point.name not in _NAMES}


def _loaded(name: str) -> Callable[..., Method]:
    """What makes the method of that name of another package."""
    try:
        found = _others()[name].load()
    except Exception as error:  # whatever that package does
        raise ValueError(f"method {name!r} cannot be loaded: {error}") from error
    made: Callable[..., Method] = found
    return made


def get(name: str, **options: Any) -> Method:
    """The method of that name, with options that differ from its defaults.

    >>> import noisewise as nw
    >>> nw.methods.get("resample", k=10).k
    10
    """
    if name in _NAMES:
        build, defaults = _NAMES[name]
    elif isinstance(name, str) and name in _others():
        build, defaults = _loaded(name), {}
    else:
        known = ", ".join(_NAMES)
        raise ValueError(
            f"method must be one of {known} or a method object, got {shown(name)}{_suggested(name)}"
        )
    try:
        found = build(**(defaults | options))
    except TypeError as error:
        raise ValueError(f"method {name!r} does not take these options: {error}") from None
    if not isinstance(found, Method):
        raise ValueError(f"method {name!r} must be a noisewise Method, got {shown(found)}")
    return found


#: What is near to methods of other libraries.
_ELSEWHERE = {
    **dict.fromkeys(("tpe", "bo", "bayes", "bayesian", "gaussian-process", "botorch"), "gp"),
    **dict.fromkeys(("cma", "cmaes", "es"), "cma-es"),
    **dict.fromkeys(("pso", "de", "ga", "random", "default"), "auto"),
}


def _suggested(name: object) -> str:
    near = _ELSEWHERE.get(str(name).lower())
    return meant(name, _NAMES) if near is None else f", did you mean {near}?"


def described(name: str) -> str:
    """The first sentence about the method of that name.

    >>> described("resample")
    'CMA-ES on an aggregate of k evaluations of every candidate'
    """
    build = _NAMES[name][0] if name in _NAMES else _loaded(name)
    diagonal = getattr(get(name), "covariance", "") == "diagonal"
    paragraph = " ".join((build.__doc__ or "").split("\n\n")[0].split())
    sentence = paragraph.split(". ")[0].rstrip(".").replace("``", "")
    return sentence + " (diagonal covariance)" * diagonal


def resolve(method: str | Method) -> Method:
    """A method object from a name or an object."""
    if isinstance(method, str):
        return get(method)
    if isinstance(method, Method):
        return method
    if isinstance(method, type) and issubclass(method, Method):
        name = method.__name__
        raise ValueError(f"method must be a method object, such as {name}(), got the class {name}")
    known = ", ".join(names())
    raise ValueError(f"method must be one of {known} or a method object, got {shown(method)}")
