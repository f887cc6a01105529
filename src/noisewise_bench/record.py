"""What the bench notes about a run, and the method never sees: the truth behind every value.

The truth is computed in large batches after the fact, because a vectorised problem charges
almost the same for a thousand rows as for fifteen.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noisewise_bench.problem import FloatArray, Problem

#: Rows kept back before their truth is computed in one call.
BATCH = 1024
#: Checkpoints of a convergence curve, the last one at the budget itself.
N_CHECKPOINTS = 30

NAN = float("nan")


def checkpoints(budget: int) -> tuple[int, ...]:
    """Numbers of evaluations at which every curve is read: geometric, from 4 to ``budget``."""
    at = np.geomspace(min(4, budget), budget, N_CHECKPOINTS).round().astype(int)
    return tuple(int(n) for n in np.unique(at))


@dataclass(frozen=True)
class Record:
    """One finished run in numbers. Regrets are noise-free; seconds are wall-clock."""

    recommended_regret: float
    best_evaluated_regret: float  # nan where the truth is too costly to know for every row
    noisy_best: float
    noisy_best_regret: float  # truth at the point of the smallest noisy value
    #: (evaluations, best evaluated regret, regret of the recommendation reported by then)
    curve: tuple[tuple[int, float, float], ...]
    spent: int
    uncharged: int
    seconds_problem: float
    seconds_truth: float


class Recorder:
    """Collects what was evaluated and reported, and turns it into a `Record` at the end."""

    def __init__(self, problem: Problem, checkpoints: tuple[int, ...] = ()) -> None:
        self._problem = problem
        self._costly = bool(getattr(problem, "truth_is_costly", False))
        self._checkpoints = checkpoints
        self._reported: FloatArray | None = None
        self._reported_at: dict[int, FloatArray] = {}
        self._best_at: dict[int, float] = {}
        self._passed = 0  # checkpoints already passed
        self._pending: list[FloatArray] = []
        self._pending_rows = 0
        self._judged = 0  # rows whose truth is known
        self._best_regret = float("inf")
        self._noisy_best = float("inf")
        self._x_noisy_best: FloatArray | None = None
        self.spent = 0
        self.uncharged = 0
        self.seconds_problem = 0.0
        self.seconds_truth = 0.0

    @property
    def x_fallback(self) -> FloatArray | None:
        """The last reported point, else the point of the smallest noisy value, else None."""
        return self._reported if self._reported is not None else self._x_noisy_best

    def report(self, x: FloatArray) -> None:
        """Note ``x`` as the recommendation from now on."""
        self._reported = np.array(x, dtype=float)

    def note(self, rows: FloatArray, values: FloatArray) -> None:
        """Note charged evaluations: ``rows`` (n, d) and their noisy ``values`` (n,)."""
        self.spent += len(rows)
        while self._passed < len(self._checkpoints):
            at = self._checkpoints[self._passed]
            if at > self.spent:
                break
            if self._reported is not None:
                self._reported_at[at] = self._reported
            self._passed += 1
        if not np.all(np.isnan(values)):
            best = int(np.nanargmin(values))
            if values[best] < self._noisy_best:
                self._noisy_best, self._x_noisy_best = float(values[best]), rows[best].copy()
        if not self._costly:
            self._pending.append(rows.copy())
            self._pending_rows += len(rows)
            if self._pending_rows >= BATCH:
                self._judge()

    def finish(self, x: FloatArray) -> Record:
        """The record of a run that recommends ``x``."""
        self._judge()
        snapshots = {} if self._costly else self._reported_at
        points = [x, *([] if self._x_noisy_best is None else [self._x_noisy_best])]
        regrets = self._truth(np.array([*points, *snapshots.values()]))
        reported = dict(zip(snapshots, regrets[len(points) :], strict=True))
        recommended = float(regrets[0])
        if self.spent:
            reported[self.spent] = recommended  # at the end the returned point is what counts
            self._best_at[self.spent] = self._best_regret
        marks = sorted({*self._checkpoints[: self._passed], *([self.spent] if self.spent else [])})
        known = self._judged > 0
        return Record(
            recommended_regret=recommended,
            best_evaluated_regret=self._best_regret if known else NAN,
            noisy_best=self._noisy_best if self._x_noisy_best is not None else NAN,
            noisy_best_regret=float(regrets[1]) if len(points) > 1 else NAN,
            curve=tuple(
                (n, self._best_at[n] if known else NAN, float(reported.get(n, NAN))) for n in marks
            ),
            spent=self.spent,
            uncharged=self.uncharged,
            seconds_problem=self.seconds_problem,
            seconds_truth=self.seconds_truth,
        )

    def _judge(self) -> None:
        """Compute the truth of the rows kept back, and read the checkpoints among them."""
        if not self._pending:
            return
        regrets = self._truth(np.concatenate(self._pending))
        best = np.fmin.accumulate(np.append(self._best_regret, regrets))
        for at in self._checkpoints:
            if self._judged < at <= self._judged + len(regrets):
                self._best_at[at] = float(best[at - self._judged])
        self._judged += len(regrets)
        self._best_regret = float(best[-1])
        self._pending, self._pending_rows = [], 0

    def _truth(self, rows: FloatArray) -> FloatArray:
        start = time.perf_counter()
        regrets = np.asarray(self._problem.regret(rows), dtype=float)
        self.seconds_truth += time.perf_counter() - start
        return regrets
