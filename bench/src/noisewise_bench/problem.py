"""What a problem is to the bench, and what a method is allowed to see of it.

A *problem* has four attributes: ``x0``, ``bounds``, ``noisy(X, rng)`` and ``regret(X)``.
A *method* is any ``run(oracle, budget, seed)`` that returns the point it recommends. It is
handed an `Oracle`, which counts evaluations, refuses to give more than the budget, and keeps
the truth to itself.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from noisewise_bench.record import Recorder

FloatArray = npt.NDArray[np.float64]
#: Regret below this counts as solved: two methods under it tie.
FLOOR = 1e-8


@runtime_checkable
class Problem(Protocol):
    """A noisy problem with a known truth. ``X`` has shape (n, d); both calls return (n,).

    Optional attributes: ``name`` (else the class name), ``sigma0`` (else 0.3 of the smallest
    box width) and ``truth_is_costly`` (else False; if True the truth is computed only for the
    recommended point and for the five points of the smallest noisy values).
    """

    x0: FloatArray
    bounds: tuple[FloatArray, FloatArray] | None

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """One independent noisy evaluation of every row, drawn from ``rng``."""

    def regret(self, X: FloatArray) -> FloatArray:
        """Noise-free value above the optimum (or the noise-free value where none is known)."""


def name_of(problem: Problem) -> str:
    """The problem's ``name``, or its class name where it has none."""
    return str(getattr(problem, "name", type(problem).__name__))


class BudgetExceeded(RuntimeError):
    """The method asked for an evaluation it no longer has."""


class Oracle:
    """The method's view of a problem: noisy values under a budget, never the truth.

    Call it with one point (d,) for a float or with rows (n, d) for an array. `report` lets a
    method say what it would recommend now; it costs nothing and feeds the convergence curve.

    >>> from noisewise_bench.problems import make
    >>> oracle = Oracle(make("bbob-noisy/f110/i1/d10"), 100, np.random.default_rng(1))
    >>> values = oracle(np.zeros((5, 10)))
    >>> values.shape, oracle.remaining
    ((5,), 95)
    """

    def __init__(
        self,
        problem: Problem,
        budget: int,
        rng: np.random.Generator,
        recorder: Recorder | None = None,
    ) -> None:
        self._problem = problem
        self._rng = rng
        self._recorder = Recorder(problem) if recorder is None else recorder
        self.budget = budget

    def __repr__(self) -> str:
        return (
            f"Oracle(dimension={self.dimension}, budget={self.budget}, remaining={self.remaining})"
        )

    @property
    def x0(self) -> FloatArray:
        return np.array(self._problem.x0, dtype=float)

    @property
    def bounds(self) -> tuple[FloatArray, FloatArray] | None:
        return self._problem.bounds

    @property
    def dimension(self) -> int:
        return len(self._problem.x0)

    @property
    def sigma0(self) -> float:
        """Initial standard deviation: the problem's own, else 0.3 of the smallest box width."""
        given = getattr(self._problem, "sigma0", None)
        if given is not None:
            return float(given)
        if self._problem.bounds is None:
            raise ValueError("a problem without bounds must have the attribute sigma0")
        low, high = self._problem.bounds
        return 0.3 * float(np.min(np.asarray(high) - np.asarray(low)))

    @property
    def spent(self) -> int:
        return self._recorder.spent

    @property
    def remaining(self) -> int:
        return self.budget - self._recorder.spent

    def __call__(self, x: FloatArray) -> Any:
        """Noisy value(s) of one point or of rows; raises `BudgetExceeded` past the budget."""
        X = np.asarray(x, dtype=float)
        rows = X if X.ndim == 2 else X[None]
        if rows.shape[1:] != (self.dimension,):
            raise ValueError(
                f"points have shape {X.shape}, but ({self.dimension},) or (n, {self.dimension}) "
                "was expected"
            )
        if len(rows) > self.remaining:
            raise BudgetExceeded(
                f"{len(rows)} more evaluations were asked for, {self.remaining} are left"
            )
        values = self._draw(rows, self._rng)
        if len(rows):
            self._recorder.note(rows, values)
        return values if X.ndim == 2 else float(values[0])

    def report(self, x: FloatArray) -> None:
        """The point the method would return if it had to stop now."""
        self._recorder.report(x)

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What happens within is for the bench and does not count as time of the method."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self._recorder.seconds_aside += time.perf_counter() - start

    def draws(self, X: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
        """``n`` fresh noisy values of every row, shape (n, len(X)), that are not charged.

        For studies of what exact knowledge of the noise would be worth. The row of such a run
        tells how many were drawn, and tables mark the method.
        """
        self._recorder.uncharged += n * len(X)
        rows = np.repeat(np.asarray(X, dtype=float), n, axis=0)
        values: FloatArray = self._draw(rows, rng).reshape(len(X), n).T
        return values

    def _truth(self, X: FloatArray) -> FloatArray:
        """Noise-free values, for studies of this package; they count as not charged."""
        self._recorder.uncharged += len(X)
        return np.asarray(self._problem.regret(X), dtype=float)

    def _draw(self, rows: FloatArray, rng: np.random.Generator) -> FloatArray:
        start = time.perf_counter()
        values = np.asarray(self._problem.noisy(rows, rng), dtype=float)
        self._recorder.seconds_problem += time.perf_counter() - start
        if values.shape != (len(rows),):
            raise ValueError(
                f"noisy(X, rng) of {name_of(self._problem)} returned shape {values.shape} for "
                f"{len(rows)} rows, but ({len(rows)},) was expected"
            )
        return values


#: ``run(oracle, budget, seed)`` returns the recommended point, or an object with ``.x`` and,
#: where it knows them, ``.nit`` (generations) and ``.n_reevaluations``.
Method = Callable[[Oracle, int, int], Any]
