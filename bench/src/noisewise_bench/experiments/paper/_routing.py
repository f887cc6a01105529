"""How well a statistic measured beforehand says which of two methods will win.

| symbol | meaning | shape |
|---|---|---|
| s | statistic of a problem, large if noise decides the ranks | (n,) |
| gain | log10 regret of CMA-ES minus RB-PEM's: positive if RB-PEM wins | (n,) |
| tau | threshold: RB-PEM is chosen where s >= tau | |
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Scale
from noisewise_bench.experiments.paper._duel import of
from noisewise_bench.experiments.paper._methods import CMA, RB, SIDES, named
from noisewise_bench.experiments.paper._problems import noisy
from noisewise_bench.experiments.paper._problems import probe as probe_many
from noisewise_bench.problem import FloatArray
from noisewise_bench.problems import make
from noisewise_bench.sheets import value
from noisewise_bench.task import Row, stream

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]
#: Thresholds of P that are tried.
TAUS = np.arange(0.0, 0.3001, 0.005)
#: Instances on which a threshold is chosen; the others test it.
TRAIN = 5
METRICS = ("best-evaluated", "recommended")


def title(side: str, budget: str, metric: str) -> str:
    """A heading short enough for a panel."""
    point = {"best-evaluated": "evaluated", "recommended": "returned"}[metric]
    return f"{side}: {budget} {point}"


@dataclass(frozen=True)
class Cases:
    """Problems on which both methods were run and did not tie."""

    problems: tuple[str, ...]
    gain: FloatArray

    @property
    def won(self) -> BoolArray:
        return np.asarray(self.gain > 0.0)

    @property
    def train(self) -> BoolArray:
        instances = [re.findall(r"/i(\d+)", name)[0] for name in self.problems]
        return np.array([int(i) <= TRAIN for i in instances], dtype=bool)

    def measured(self, statistic: Callable[[str], float]) -> FloatArray:
        return np.array([statistic(name) for name in self.problems])


def grids(scale: Scale, budgets: Sequence[str] = ("200d", "500d")) -> list[Grid]:
    """Both methods, as run and on one engine, on all noisy functions at d = 40."""

    def grid(side: str, budget: str, instances: range) -> Grid:
        problems = noisy(scale, "bbob-noisy", (40,), instances)
        return Grid.of(problems, named(side, CMA, RB), [budget], [1])

    short = {"200d": 15, "500d": 8}
    found = [grid("as run", budget, scale.instances(short[budget])) for budget in budgets]
    return [*found, grid("one engine", "200d", scale.instances())]


def cases(rows: Sequence[Row], side: str, budget: str, metric: str) -> Cases:
    """What both methods of a side were run on, ties left out."""
    base, ours = SIDES[side][CMA], SIDES[side][RB]
    blocks: dict[str, dict[str, float]] = {}
    for row in of(rows, budget=budget, method=(base, ours)):
        blocks.setdefault(row.problem, {})[row.method] = np.log10(value(row, metric))
    both = {p: b for p, b in sorted(blocks.items()) if len(b) == 2 and b[base] != b[ours]}
    return Cases(tuple(both), np.array([b[base] - b[ours] for b in both.values()], dtype=float))


@lru_cache(maxsize=4096)
def rank_probe(problem: str, population: int = 15) -> float:
    """P of one population of the initial distribution; 2 ``population`` evaluations."""
    return float(probe_many(problem, population)[0])


@lru_cache(maxsize=4096)
def variance_probe(problem: str, evaluations: int = 30) -> float:
    """Standard deviation of evaluations at the start, relative to their mean."""
    task = make(problem)
    rng = np.random.default_rng(stream("variance probe", problem, evaluations))
    values = task.noisy(np.tile(task.x0, (evaluations, 1)), rng)
    return float(values.std(ddof=1) / max(abs(values.mean()), 1e-300))


def accuracy(s: FloatArray, won: BoolArray, tau: float) -> float:
    """Share of problems that the threshold routes to the winner."""
    return float(np.mean((s >= tau) == won)) if len(s) else float("nan")


def decision_regret(s: FloatArray, gain: FloatArray, tau: float) -> float:
    """Mean log10 regret lost to an oracle that always picks the winner."""
    lost = np.where(s >= tau, np.maximum(-gain, 0.0), np.maximum(gain, 0.0))
    return float(lost.mean()) if len(s) else float("nan")


def best_threshold(s: FloatArray, won: BoolArray, taus: FloatArray) -> float:
    """The lowest of the thresholds of highest accuracy."""
    scores = [accuracy(s, won, tau) for tau in taus]
    return float(taus[int(np.argmax(scores))]) if len(s) else float("nan")


def roc(s: FloatArray, won: BoolArray) -> tuple[FloatArray, FloatArray]:
    """False and true positive rates over all thresholds, both rising from 0 to 1."""
    taus = np.concatenate([[np.inf], np.unique(s)[::-1]])
    chosen = s >= taus[:, None]
    return chosen[:, ~won].mean(axis=1), chosen[:, won].mean(axis=1)


def auc(s: FloatArray, won: BoolArray) -> float:
    """Chance that a problem RB-PEM wins has a larger statistic than one it loses."""
    if won.all() or not won.any():
        return float("nan")
    gap = s[won][:, None] - s[~won]
    return float(np.mean((gap > 0.0) + 0.5 * (gap == 0.0)))


def resampled(
    statistic: Callable[[IntArray], float], n: int, repeats: int = 500
) -> tuple[float, float]:
    """95 % percentile interval of a statistic of row numbers, over resampled rows."""
    rng = np.random.default_rng(0)
    found = [statistic(rng.integers(n, size=n)) for _ in range(repeats)] if n else [np.nan]
    low, high = np.nanquantile(found, (0.025, 0.975))
    return float(low), float(high)
