"""Measured constraints: values that must be at most 0, each with a Gaussian process of its own.

    symbol  meaning                                                             shape
    X       points in inner coordinates                                         (n, d)
    g, s    expected constraints and their standard deviations                  (q, n)

The chance that a point is feasible is the product of Phi(-g / s) over its constraints. Noise is
learnt; values are not transformed, so that g estimates the mean of the measured values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from noisewise._data import data
from noisewise._threads import single
from noisewise._types import BoolArray, FloatArray, IntArray
from noisewise.gp.kernel import Hyper
from noisewise.gp.model import Fit, Model, prepared
from noisewise.gp.prior import Prior
from noisewise.gp.process import fit
from noisewise.gp.values import Measurements

#: A point counts as feasible from this chance on, and as worth considering from that one on.
SURE, LIKELY = 0.95, 0.5
#: The newest evaluations are remembered, and so many of the older ones, the older the fewer: the
#: former say where the search is, the latter how constraints change on the way there.
_NEWEST, _OLDER = 120, 80
#: Growth of the number of values after which the models are fitted again, and the number of new
#: values after which they are in any case.
_REFIT, _AT_LEAST = 1.2, 50
#: Safe points that are looked at in the search for one nearby, and steps on the way to each.
_ANCHORS, _STEPS = 30, 32


@data
@dataclass(frozen=True, eq=False)
class Limits:
    """What is known about the constraints. The models work on (x - origin) / unit."""

    origin: FloatArray
    unit: FloatArray
    measured: list[Measurements]
    hypers: list[Hyper]
    #: Number of each evaluation that is remembered.
    index: IntArray
    #: Evaluations learnt from, and how many of them when the models were last fitted.
    seen: int = 0
    fitted: int = 0
    #: Largest value of the objective so far.
    worst: float = -np.inf

    @classmethod
    def start(cls, origin: FloatArray, unit: FloatArray, n: int) -> Limits:
        """Before the first value of ``n`` constraints."""
        d = len(origin)
        hypers = [Prior.standard(d).start() for _ in range(n)]
        measured = [Measurements.empty(d) for _ in range(n)]
        return cls(origin, unit, measured, hypers, np.zeros(0, dtype=np.intp))

    def learn(self, X: FloatArray, values: FloatArray, objective: FloatArray) -> Limits:
        """With more values, (m, q) at the rows of ``X``, and those of the objective, (m,)."""
        U = (X - self.origin) / self.unit
        index = np.concatenate((self.index, self.seen + np.arange(len(X))))
        kept = _kept(index, self.seen + len(X))
        pairs = zip(self.measured, values.T, strict=True)
        measured = [known.add(U, g).part(kept) for known, g in pairs]
        finite = objective[np.isfinite(objective)]
        worst = max(self.worst, float(finite.max(initial=-np.inf)))
        seen = self.seen + len(X)
        new = replace(self, measured=measured, index=index[kept], seen=seen, worst=worst)
        due = min(max(_REFIT * self.fitted, self.fitted + 1), self.fitted + _AT_LEAST)
        if new.seen < max(due, 3):
            return new
        with single():
            hypers = [_fitted(m, h) for m, h in zip(measured, self.hypers, strict=True)]
        return replace(new, hypers=hypers, fitted=new.seen)

    def predict(self, X: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Expected constraints at the rows of ``X`` and their standard deviations."""
        U, g, s = (X - self.origin) / self.unit, [], []
        with single():
            for model in _models(self):
                if model is None:  # nothing is known
                    g.append(np.zeros(len(X)))
                    s.append(np.ones(len(X)))
                    continue
                mean, var = model.posterior.predict(U)
                zero, one = model.warp.backward(np.array([0.0, 1.0]))
                g.append(zero + (one - zero) * mean)
                s.append((one - zero) * np.sqrt(var))
        return np.array(g), np.maximum(np.array(s), np.finfo(float).tiny)

    def log_chance(self, X: FloatArray) -> FloatArray:
        """Logarithm of the chance that each row of ``X`` is feasible."""
        from scipy.special import log_ndtr  # takes long to import

        g, s = self.predict(X)
        return np.asarray(log_ndtr(-g / s).sum(axis=0))

    def chance(self, X: FloatArray) -> FloatArray:
        """Chance that each row of ``X`` is feasible."""
        return np.asarray(np.exp(self.log_chance(X)))

    def sure(self, X: FloatArray) -> BoolArray:
        """Whether each row of ``X`` is almost certainly feasible."""
        return np.asarray(self.chance(X) >= SURE)

    def violation(self, X: FloatArray) -> FloatArray:
        """Sum of the expected constraints above 0, in units of the spread of each."""
        g, _ = self.predict(X)
        spread = [float(np.nanstd(m.y)) if m.ok.any() else 0.0 for m in self.measured]
        unit = np.array([one if one > 0.0 else 1.0 for one in spread])
        return np.asarray((np.maximum(g, 0.0) / unit[:, None]).sum(axis=0))

    def most_feasible(self, X: FloatArray) -> FloatArray:
        """The row of ``X`` with the best chance or, where all have hardly any, the one least beyond
        the limits."""
        chances = self.log_chance(X)
        best = int(np.argmax(chances))
        if chances[best] < np.log(LIKELY):
            best = int(np.argmin(self.violation(X)))
        return np.asarray(X[best])

    def safe(self, x: FloatArray) -> FloatArray:
        """``x`` if it is almost certainly feasible, else the nearest such point on a line to one
        that was measured; if there is none, the most feasible measured point."""
        known = self.measured[0].X if self.measured else np.empty((0, len(x)))
        if len(known) == 0 or self.sure(x[None])[0]:
            return x
        X = self.origin + self.unit * known
        chances = self.log_chance(X)
        sure = chances >= np.log(SURE)
        if not sure.any():
            return self.most_feasible(np.vstack([x, X]))
        way = (X[sure] - x) / self.unit
        near = np.argsort((way**2).sum(axis=1), kind="stable")[:_ANCHORS]
        parts = np.linspace(0.0, 1.0, _STEPS + 1)[1:]
        steps = (parts[:, None, None] * way[near]).reshape(-1, len(x))
        points = x + self.unit * steps
        fine = np.flatnonzero(self.sure(points))
        if len(fine) == 0:  # rounding: the end of a way is a safe point
            return np.asarray(X[int(np.argmax(chances))])
        return np.asarray(points[fine[np.argmin((steps[fine] ** 2).sum(axis=1))]])


@lru_cache(maxsize=1)
def _models(limits: Limits) -> list[Model | None]:
    """The model of each constraint, None where nothing was measured."""
    pairs = zip(limits.measured, limits.hypers, strict=True)
    return [Model.of(m, Fit("none", h)) if m.ok.any() else None for m, h in pairs]


def _fitted(measured: Measurements, old: Hyper) -> Hyper:
    if not measured.ok.any():
        return old
    prior, (_, groups) = Prior.standard(measured.X.shape[1]), prepared(measured, "none")
    return fit(groups, prior, [old, prior.start()], iterations=15)[0]


def _kept(index: IntArray, seen: int) -> BoolArray:
    """Which evaluations are remembered, of those with these numbers."""
    new = index >= seen - _NEWEST
    stride = 1
    while (kept := new | (index % stride == 0)).sum() > _NEWEST + _OLDER:
        stride *= 2
    return np.asarray(kept)
