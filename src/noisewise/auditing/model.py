"""A model of all trials of a finished study, the setting that it recommends, and how sure it is.

The trials were chosen by their values, so the best of them looks better than it is. A model of all
of them says what each is expected to give when it is measured again.

| symbol | meaning | shape |
|---|---|---|
| X | settings, as a model sees them (see `noisewise.problem.layout`) | (n, d) |
| best | the settings with the lowest expected values, and the same choices as the first of them | |
| x | the middle of these: each of them is lucky in its own way, and their mean less so | (d,) |

The values in this module are to be minimised; `audit` turns the sign.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from noisewise._threads import single
from noisewise._types import FloatArray
from noisewise.gp import answer, search
from noisewise.gp.model import Model, normal_nodes
from noisewise.measured.intervals import Estimate, Z
from noisewise.problem.space import Space

#: Settings whose middle is recommended. On studies of random search, TPE and CMA-ES it was better
#: than the best trial more often than the lowest point of the model, the lowest of the trials or an
#: average weighted by their chance to be the best; `noisewise_bench.experiments.audit`.
_BEST = 5
#: Standard deviations of the model to either side of its mean in a 95 % interval: with the normal
#: law's 1.96 it holds the truth too rarely, because the model does not know what it cannot see.
WIDTH = 3.5
#: Trials that succeeded without which nothing is said, in all and per parameter.
LEAST, LEAST_EACH = 8, 2


@dataclass(frozen=True)
class Expected:
    """What a setting gives when it is measured again and again."""

    mean: float
    deviation: float
    interval: Estimate


class Audited:
    """The model of a study: settings in rows of the unit cube, values, and standard errors (nan:
    not known)."""

    def __init__(self, space: Space, X: FloatArray, y: FloatArray, se: FloatArray) -> None:
        d = space.dimension
        zeros, ones = np.zeros(d), np.ones(d)
        memory = search.start(zeros, ones, np.full(d, 0.5), 0.3, space.layout)
        with single():
            self.memory = search.learn(memory, memory.frame.inner(X), y, se**2)
            self.model: Model = search.modelled(self.memory)
            self.x = self.memory.frame.outer(self._chosen()[None])[0]

    def _chosen(self) -> FloatArray:
        """The setting to use: the middle of the best, unless it is expected to be worse than the
        worst of them, as where they lie in several valleys; then the best."""
        frame, seen = self.memory.frame, self.memory.measured
        X = seen.X[np.unique(seen.at[seen.ok])]
        mean = self.model.posterior.mean(X)
        order = np.argsort(mean, kind="stable")
        choices = np.arange(X.shape[1]) >= X.shape[1] - len(frame.options)
        alike = order[(X[order][:, choices] == X[order[0], choices]).all(axis=1)][:_BEST]
        middle = frame.settled(np.where(choices, X[alike[0]], X[alike].mean(axis=0)))
        fine = float(self.model.posterior.mean(middle[None])[0]) <= float(mean[alike].max())
        return np.asarray(middle if fine else X[alike[0]])

    def expected(self, x: FloatArray) -> Expected:
        """What is expected at a point of the unit cube."""
        with single():
            mean, var = self._predicted(x)
            sides = mean + math.sqrt(var) * np.array([0.0, -1.0, -WIDTH, WIDTH])
            value, below, low, high = self._averaged(sides).tolist()
        return Expected(mean, math.sqrt(var), Estimate(value, abs(value - below), low, high))

    def _predicted(self, x: FloatArray) -> tuple[float, float]:
        mean, var = self.model.posterior.predict(self.memory.frame.inner(x[None]))
        return float(mean[0]), float(var[0])

    def _averaged(self, z: FloatArray) -> FloatArray:
        """Expected measurements where the model's values are ``z``: the noise is averaged before
        its transformation is undone."""
        nodes, weights = normal_nodes()
        noise = math.sqrt(self.model.posterior.noise()) * nodes
        return np.asarray(self.model.warp.backward(z[:, None] + noise) @ weights)

    def noise(self, x: FloatArray) -> float:
        """Standard deviation of a single value there."""
        mean, _ = self._predicted(x)
        return self.model.raw(mean, self.model.posterior.noise())[1]

    def width_after(self, x: FloatArray, more: int) -> float:
        """Length of the interval to expect when ``more`` evaluations have measured ``x``."""
        mean, var = self._predicted(x)
        noise = self.model.posterior.noise()
        left = 1.0 / (1.0 / var + more / noise) if noise > 0.0 else 0.0
        ends = mean + WIDTH * math.sqrt(left) * np.array([-1.0, 1.0])
        low, high = (float(v) for v in self._averaged(ends))
        return abs(high - low)

    def left(self, x: FloatArray) -> float:
        """By how much the best setting is expected to be better than ``x``."""
        with single():
            gain = answer.improvement(self.memory)
            best = self.memory.frame.outer(
                answer.favourite(self.memory, self.model.posterior)[None]
            )
        here, there = (self.expected(one).interval.value for one in (x, best[0]))
        return float(max(0.0, gain, gain + here - there))

    def better(self, x: FloatArray, other: FloatArray) -> float:
        """The chance that ``x`` is better than ``other``."""
        points = self.memory.frame.inner(np.array([x, other]))
        if np.array_equal(*points):
            return math.nan
        with single():
            mean, covariance = self.model.posterior.joint(points)
        size = math.sqrt(max(0.0, covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]))
        gain = float(mean[1] - mean[0])
        if not size > 0.0:
            return 0.5
        return 0.5 * math.erfc(-gain * Z / (size * WIDTH * math.sqrt(2.0)))

    @property
    def swapped(self) -> float:
        """How often noise puts two of the better half of the trials in the wrong order, each
        measured once."""
        process = self.model.posterior
        mean = np.sort(process.smoothed())
        half = mean[: max(2, len(mean) // 2)]
        return math.atan2(math.sqrt(process.noise()), float(half.std())) / math.pi
