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
    return list(_NAMES)


def get(name: str, **options: Any) -> Method:
    """The method of that name, with options that differ from its defaults.

    >>> import noisewise as nw
    >>> nw.methods.get("resample", k=10).k
    10
    """
    if name not in _NAMES:
        known = ", ".join(_NAMES)
        raise ValueError(
            f"method must be one of {known} or a method object, got {shown(name)}"
            f"{meant(name, _NAMES)}"
        )
    build, defaults = _NAMES[name]
    try:
        return build(**(defaults | options))
    except TypeError as error:
        raise ValueError(f"method {name!r} does not take these options: {error}") from None


def described(name: str) -> str:
    """The first sentence about the method of that name.

    >>> described("resample")
    'CMA-ES on an aggregate of k evaluations of every candidate'
    """
    build, _ = _NAMES[name]
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
