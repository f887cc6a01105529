"""What the bench notes about a run, and the method never sees: the truth behind every value."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noisewise_bench.problem import FloatArray, Problem

#: Where the truth is costly it is asked for so many points: those of the smallest noisy values.
N_PROMISING = 5
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
    best_evaluated_regret: float  # where the truth is costly: among `N_PROMISING` points only
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
        self._passed: list[int] = []  # checkpoints already behind
        self._best_at: dict[int, float] = {}
        self._reported: FloatArray | None = None
        self._reported_at: dict[int, FloatArray] = {}
        self._best_regret = NAN
        self._noisy_best = NAN
        self._x_noisy_best: FloatArray | None = None
        self._promising: list[tuple[float, FloatArray]] = []  # value and point, smallest first
        self.spent = 0
        self.uncharged = 0
        self.seconds_problem = 0.0
        self.seconds_truth = 0.0
        self.seconds_aside = 0.0

    @property
    def x_fallback(self) -> FloatArray | None:
        """The last reported point, else the point of the smallest noisy value, else None."""
        return self._reported if self._reported is not None else self._x_noisy_best

    def report(self, x: FloatArray) -> None:
        """Note ``x`` as the recommendation from now on."""
        self._reported = np.array(x, dtype=float)

    def note(self, rows: FloatArray, values: FloatArray) -> None:
        """Note charged evaluations: ``rows`` (n, d), n >= 1, and their noisy ``values`` (n,)."""
        # Asked at once, because a problem may still know the truth of the rows it just drew.
        regrets = None if self._costly else self._truth(rows)
        before, self.spent = self.spent, self.spent + len(rows)
        while len(self._passed) < len(self._checkpoints):
            at = self._checkpoints[len(self._passed)]
            if at > self.spent:
                break
            self._passed.append(at)
            if regrets is not None:
                upto = np.fmin.reduce(regrets[: at - before])
                self._best_at[at] = float(np.fmin(self._best_regret, upto))
            if self._reported is not None:
                self._reported_at[at] = self._reported
        if regrets is not None:
            self._best_regret = float(np.fmin(self._best_regret, np.fmin.reduce(regrets)))
        low = np.fmin.reduce(values)
        if low < self._noisy_best or (np.isnan(self._noisy_best) and not np.isnan(low)):
            self._noisy_best = float(low)
            self._x_noisy_best = rows[int(np.nanargmin(values))].copy()
        if self._costly:
            self._keep_promising(rows, values)

    def _keep_promising(self, rows: FloatArray, values: FloatArray) -> None:
        """Keep the points of the smallest values, each point once."""
        for i in np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]:
            kept = self._promising
            if len(kept) == N_PROMISING and values[i] >= kept[-1][0]:
                return
            same = [j for j, (_, x) in enumerate(kept) if np.array_equal(x, rows[i])]
            if same and kept[same[0]][0] <= values[i]:
                continue
            others = [pair for j, pair in enumerate(kept) if j not in same]
            both = [*others, (float(values[i]), rows[i].copy())]
            self._promising = sorted(both, key=lambda pair: pair[0])[:N_PROMISING]

    def finish(self, x: FloatArray) -> Record:
        """The record of a run that recommends ``x``."""
        snapshots = {} if self._costly else self._reported_at
        points = [x] if self._x_noisy_best is None else [x, self._x_noisy_best]
        promising = [point for _, point in self._promising[1:]]  # the first is there already
        regrets = self._truth(np.array([*points, *promising, *snapshots.values()]))
        first = len(points) + len(promising)
        reported = dict(zip(snapshots, regrets[first:], strict=True))
        if self._costly and len(points) > 1:
            self._best_regret = float(np.fmin.reduce(regrets[1:]))
        marks = list(self._passed)
        if self.spent:
            # At the end the returned point is what counts, whatever was reported before.
            reported[self.spent] = regrets[0]
            self._best_at[self.spent] = self._best_regret
            marks = sorted({*marks, self.spent})
        return Record(
            recommended_regret=float(regrets[0]),
            best_evaluated_regret=self._best_regret,
            noisy_best=self._noisy_best,
            noisy_best_regret=float(regrets[1]) if len(points) > 1 else NAN,
            curve=tuple((n, self._best_at.get(n, NAN), float(reported.get(n, NAN))) for n in marks),
            spent=self.spent,
            uncharged=self.uncharged,
            seconds_problem=self.seconds_problem,
            seconds_truth=self.seconds_truth,
        )

    def _truth(self, rows: FloatArray) -> FloatArray:
        start = time.perf_counter()
        regrets = np.asarray(self._problem.regret(rows), dtype=float)
        self.seconds_truth += time.perf_counter() - start
        return regrets
