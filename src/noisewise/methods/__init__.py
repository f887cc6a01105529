"""The named methods: each a small composition of parts, with its defaults.

>>> import noisewise as nw
>>> nw.methods.get("cma-es").covariance
'full'
"""

from __future__ import annotations

from typing import Any

from noisewise.methods.base import Method
from noisewise.methods.cmaes import CMAES
from noisewise.methods.pem import PEM
from noisewise.methods.probe_switch import ProbeSwitch
from noisewise.methods.rbpem import RBPEM

_NAMES: dict[str, tuple[type[Method], dict[str, Any]]] = {
    "auto": (CMAES, {"covariance": "diagonal"}),
    "cma-es": (CMAES, {}),
    "sep-cma-es": (CMAES, {"covariance": "diagonal"}),
    "pem": (PEM, {}),
    "rb-pem": (RBPEM, {}),
    "probe-switch": (ProbeSwitch, {}),
}

__all__ = ["CMAES", "PEM", "RBPEM", "Method", "ProbeSwitch", "get", "names"]


def names() -> list[str]:
    """The names that ``method=`` takes."""
    return list(_NAMES)


def get(name: str, **options: Any) -> Method:
    """The method of that name, with options that differ from its defaults."""
    if name not in _NAMES:
        known = ", ".join(_NAMES)
        raise ValueError(f"method must be one of {known} or a method object, got {name!r}")
    cls, defaults = _NAMES[name]
    try:
        return cls(**(defaults | options))
    except TypeError as error:
        raise ValueError(f"method {name!r} does not take these options: {error}") from None
