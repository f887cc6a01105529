"""What every peer needs: an outcome, a box, and an import that says what to install."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise.errors import install

from ..problem import FloatArray, Oracle
from ..randomness import global_random_state as global_random_state


@dataclass(frozen=True)
class Outcome:
    """The recommended point; completed generations and re-evaluations where they are known."""

    x: FloatArray
    nit: int | None = None
    n_reevaluations: int | None = None


def library(module: str, extra: str = "all") -> Any:
    """The imported module, or an error that names what to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package, how = module.partition(".")[0], install(extra, bench=True)
        raise ImportError(f"this peer needs the package {package!r}: {how}") from error


def box(oracle: Oracle) -> tuple[FloatArray, FloatArray]:
    """The problem's bounds; for a peer that cannot do without, five ``sigma0`` around ``x0``."""
    low, high = oracle.bounds or (-np.inf, np.inf)
    reach = 5.0 * oracle.sigma0
    return (
        np.where(np.isfinite(low), low, oracle.x0 - reach),
        np.where(np.isfinite(high), high, oracle.x0 + reach),
    )


def inside(oracle: Oracle, x: Any) -> FloatArray:
    """The point moved to the nearest one in the problem's box."""
    low, high = oracle.bounds or (-np.inf, np.inf)
    return np.asarray(np.clip(x, low, high), dtype=float)
