"""SciPy's differential evolution.

``polish`` is off, because a gradient estimated from noisy differences is worth nothing, and so
are the tolerances. What it returns is the luckiest draw; it knows nothing better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import differential_evolution

from ..problem import FloatArray, Oracle
from ._common import Outcome, box


@dataclass(frozen=True)
class DifferentialEvolution:
    """``differential_evolution`` with default settings, stopped by the budget alone."""

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        low, high = box(oracle)

        def values(X: FloatArray) -> FloatArray:
            """Noisy values of the columns of X; those past the budget lose every comparison."""
            paid = X.T[: oracle.remaining]
            result = np.full(X.shape[1], np.inf)
            if len(paid):
                result[: len(paid)] = oracle(paid)
            return result

        def stop(xk: FloatArray, convergence: float) -> bool:
            oracle.report(xk)
            return oracle.remaining == 0

        result = differential_evolution(
            values,
            list(zip(low, high, strict=True)),
            x0=np.clip(oracle.x0, low, high),
            seed=np.random.default_rng([seed, 1]),
            maxiter=budget,
            tol=0.0,
            atol=0.0,
            polish=False,
            updating="deferred",
            vectorized=True,
            callback=stop,
        )
        return Outcome(np.asarray(result.x, dtype=float), int(result.nit))
