"""Packages that only some problems need."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from noisewise.errors import install


def require(package: str) -> None:
    """Raise an error that names the extra to install if the package is missing."""
    if importlib.util.find_spec(package) is None:
        raise ImportError(
            f"this needs the package {package!r}: {install('all', bench=True)}", name=package
        )


def optional(module: str) -> Any:
    """The imported module; if its package is missing, an error that names the extra."""
    require(module.partition(".")[0])
    return importlib.import_module(module)
