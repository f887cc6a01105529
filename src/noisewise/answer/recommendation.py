"""A point with an estimate of its value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from noisewise._types import FloatArray


@dataclass(frozen=True)
class Recommendation:
    """A point with an estimate of f there (``fun``), its standard error and a 95 % interval (nan
    if unknown). ``kind`` is what ``fun`` estimates, see `Result`.

    >>> import noisewise as nw
    >>> opt = nw.Optimizer([1.0, 2.0], sigma0=0.5, budget=100)
    >>> best = opt.recommend()  # before anything was told: where the search starts
    >>> best.x.tolist(), best.fun
    ([1.0, 2.0], nan)
    """

    x: FloatArray
    fun: float
    fun_se: float
    interval: tuple[float, float] = (math.nan, math.nan)
    kind: str = "unknown"
    #: Values by name, where the problem has a space.
    params: dict[str, Any] | None = None
