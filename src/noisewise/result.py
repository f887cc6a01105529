"""What a run returns."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult

#: ``status`` of a result, and what it means.
BUDGET_SPENT, STOPPED, ALL_FAILED, INTERRUPTED, RUNNING = 0, 1, 2, 3, 4


class Result(OptimizeResult):  # type: ignore[misc]
    """Result of a run: a ``scipy.optimize.OptimizeResult`` with these entries.

    x
        The recommended point.
    fun, fun_se
        An honest estimate of f and its standard error (nan if unknown). With ``confirm=n`` it is
        the mean of n evaluations of ``x`` itself; otherwise the mean of the last generation,
        which was sampled around ``x`` and not selected: on a valley it errs upwards.
    x_best_observed, fun_best_observed
        The luckiest draw. Under noise its value is too good to be true.
    nfev, nit, n_reevaluations, n_failures
        Evaluations, completed generations, repeated evaluations, failed evaluations.
    misranking
        Disagreement of the ranks of repeated evaluations, 0 (none) to 1/2; nan if not measured.
    history, diagnostics
        Dictionaries of arrays, one entry per generation.
    warnings
        Sentences about what the method could not rely on; empty if all is well.
    method, success, status, message
        What ran and how it ended.

    >>> import noisewise as nw
    >>> r = nw.minimize(lambda x: x @ x, [3.0] * 4, sigma0=1.0, budget=200, rng=0)
    >>> r.nfev, r.success, r.method
    (200, True, 'auto')
    >>> len(r.history["sigma"]) == r.nit
    True
    """

    def __repr__(self) -> str:
        rows = [
            ("x", _array(self.x)),
            ("fun", _with_error(self.fun, self.fun_se)),
            ("best observed", f"{self.fun_best_observed:.6g} (the luckiest draw)"),
            ("nfev", f"{self.nfev} ({self.n_reevaluations} repeated, {self.n_failures} failed)"),
            ("nit", str(self.nit)),
            ("method", str(self.method)),
            ("message", str(self.message)),
        ]
        if not math.isnan(self.misranking):
            rows.insert(5, ("misranking", f"{self.misranking:.3f} (0 none, 0.33 pure noise)"))
        rows += [("warning", text) for text in self.get("warnings", [])]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:>{width}}: {text}" for name, text in rows)

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from noisewise.report.card import card

        return card(self)

    def plot(self) -> Any:
        """Values, misranking, step size and population over the run: a 2 x 2 array of matplotlib
        axes. Needs the extra ``plot``."""
        from noisewise.report.plot import plot

        return plot(self)


def _array(x: Any) -> str:
    return np.array2string(np.asarray(x), precision=5, threshold=12, max_line_width=88)


def _with_error(value: float, se: float) -> str:
    return f"{value:.6g}" if math.isnan(se) else f"{value:.6g} +- {se:.2g}"
