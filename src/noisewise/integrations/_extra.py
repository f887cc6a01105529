"""Libraries that an extra brings."""

from __future__ import annotations

import importlib
from typing import Any


def extra(name: str) -> Any:
    """The library ``name``, or an error that says which extra brings it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"noisewise.integrations.{name} needs the extra {name!r}: "
            f"pip install 'noisewise[{name}]'",
            name=error.name,
        ) from None
