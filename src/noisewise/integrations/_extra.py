"""Libraries that an extra brings."""

from __future__ import annotations

import importlib
from typing import Any

from noisewise.errors import install


def extra(name: str) -> Any:
    """The library ``name``, or an error that says which extra brings it."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"noisewise.integrations.{name} needs the extra {name!r}: {install(name)}",
            name=error.name,
        ) from None
