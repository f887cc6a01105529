"""Packages that only some problems need."""

from __future__ import annotations

import importlib
from typing import Any


def optional(module: str) -> Any:
    """The imported module; if it is missing, an error that names the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"this problem needs the package {module.partition('.')[0]!r}: "
            "pip install 'noisewise[bench]'"
        ) from error
