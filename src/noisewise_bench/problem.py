"""What a problem is to the bench, and what a method is allowed to see of it.

A *problem* has four attributes: ``x0``, ``bounds``, ``noisy(X, rng)`` and ``regret(X)``.
A *method* is any ``run(oracle, budget, seed)`` that returns the point it recommends. It is
handed an `Oracle`, which counts evaluations, refuses to give more than the budget, and keeps
the truth to itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
#: Regret below this counts as solved: two methods under it tie.
FLOOR = 1e-8


@runtime_checkable
class Problem(Protocol):
    """A noisy problem with a known truth. ``X`` has shape (n, d); both calls return (n,).

    Optional attributes: ``name`` (else the class name) and ``sigma0`` (else 0.3 of the smallest
    box width).
    """

    x0: FloatArray
    bounds: tuple[FloatArray, FloatArray] | None

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One independent noisy evaluation of every row, drawn from ``rng``."""

    def regret(self, X: FloatArray) -> FloatArray:
        """Noise-free value above the optimum (or the noise-free value where none is known)."""


class BudgetExceeded(RuntimeError):
    """The method asked for an evaluation it no longer has."""


@dataclass
class Oracle:
    """The method's view of a problem: noisy values under a budget, never the truth.

    Call it with one point (d,) for a float or with rows (n, d) for an array. `report` lets a
    method say what it would recommend now; it costs nothing and feeds the convergence curve.
    """

    problem: Problem = field(repr=False)
    budget: int
    rng: np.random.Generator = field(repr=False)
    checkpoints: tuple[int, ...] = ()
    spent: int = field(default=0, init=False)
    seconds: float = field(default=0.0, init=False)  # in the problem, truth included
    best_regret: float = field(default=np.inf, init=False)
    best_noisy: float = field(default=np.inf, init=False)
    x_best_noisy: FloatArray | None = field(default=None, init=False, repr=False)
    #: (evaluations, best evaluated regret, recommended regret or nan) at each checkpoint
    curve: list[tuple[int, float, float]] = field(default_factory=list, init=False, repr=False)
    _recommended: FloatArray | None = field(default=None, init=False, repr=False)

    @property
    def x0(self) -> FloatArray:
        return np.array(self.problem.x0, dtype=float)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray] | None:
        return self.problem.bounds

    @property
    def dimension(self) -> int:
        return len(self.problem.x0)

    @property
    def sigma0(self) -> float:
        given = getattr(self.problem, "sigma0", None)
        if given is not None:
            return float(given)
        if self.problem.bounds is None:
            raise ValueError("a problem without bounds must have the attribute sigma0")
        low, high = self.problem.bounds
        return 0.3 * float(np.min(np.asarray(high) - np.asarray(low)))

    @property
    def remaining(self) -> int:
        return self.budget - self.spent

    def __call__(self, x: FloatArray) -> Any:
        """Noisy value(s) of one point or of rows; raises `BudgetExceeded` past the budget."""
        X = np.asarray(x, dtype=float)
        rows = X if X.ndim == 2 else X[None]
        if self.spent + len(rows) > self.budget:
            raise BudgetExceeded(
                f"{len(rows)} more evaluations were asked for, {self.remaining} are left"
            )
        start = time.perf_counter()
        values = self.problem.noisy(rows, self.rng)
        regrets = self.problem.regret(rows)
        self._note(rows, values, regrets)
        self.seconds += time.perf_counter() - start
        return values if X.ndim == 2 else float(values[0])

    def report(self, x: FloatArray) -> None:
        """The point the method would return if it had to stop now."""
        self._recommended = np.array(x, dtype=float)

    def _note(self, rows: FloatArray, values: FloatArray, regrets: FloatArray) -> None:
        before, self.spent = self.spent, self.spent + len(rows)
        for at in self.checkpoints:
            if before < at <= self.spent:
                upto = min(self.best_regret, float(np.min(regrets[: at - before])))
                self.curve.append((at, upto, self._recommended_regret()))
        self.best_regret = min(self.best_regret, float(np.min(regrets)))
        best = int(np.argmin(values))
        if values[best] < self.best_noisy:
            self.best_noisy, self.x_best_noisy = float(values[best]), rows[best].copy()

    def _recommended_regret(self) -> float:
        if self._recommended is None:
            return float("nan")
        return float(self.problem.regret(self._recommended[None])[0])


#: ``run(oracle, budget, seed)`` returns the recommended point, or an object with ``.x`` and,
#: where it knows them, ``.nit`` (generations) and ``.n_reevaluations``.
Method = Callable[[Oracle, int, int], Any]
