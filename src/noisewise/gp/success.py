"""Where evaluations succeed, from those that did and those that failed.

Successes are 1 and failures -1, and a Gaussian process with mean m and variance v of the next
outcome gives the chance of a success, Phi(m / sqrt v). Its length scale (the same along every
coordinate) and its noise are those of a few under which every point is foretold best by the
others.

Evaluations may also fail anywhere, like those of a simulator that crashes now and then. Then a
failure says nothing about its place. So where the share of successes in the whole run foretells
the points clearly better than their places do, the chance is the same everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from noisewise._types import BoolArray, FloatArray
from noisewise.gp.kernel import Hyper
from noisewise.gp.process import Posterior
from noisewise.gp.values import Measurements, Merged

#: Length scales, over the root of the dimension, and standard deviations of the noise.
_LENGTHS, _NOISES = (0.1, 0.25, 0.6, 1.5), (0.2, 0.7)
#: Log likelihood by which the share of the whole run must foretell better than the places.
_CLEARLY = 1.0
#: Least chance of a point that may be tried after failures or recommended after a success, and of
#: one that is recommended although nothing was measured there.
OFTEN, _LIKELY = 0.5, 0.8


@dataclass(frozen=True)
class Success:
    """The chance of a success; ``places`` is None where it is the same everywhere."""

    places: Posterior | None

    @classmethod
    def of(cls, measured: Measurements, options: tuple[int, ...] = ()) -> Success:
        """From these measurements; the last columns of points are choices between so many
        ``options``."""
        if measured.ok.all() or not measured.ok.any():
            return cls(None)
        n, d = measured.X.shape
        count = np.bincount(measured.at, minlength=n).astype(float)
        s = np.bincount(measured.at, measured.ok.astype(float), minlength=n) / count
        groups = Merged(measured.X, 2.0 * s - 1.0, count, np.zeros(n), np.zeros(n))
        share = (s.sum() - s + 1.0) / (n + 1.0)
        best, most = None, _likelihood(s, share) - _CLEARLY
        for length, noise in product(_LENGTHS, _NOISES):
            log = float(np.log(length * np.sqrt(d)))
            lengths = np.full(d - len(options), log)
            hyper = Hyper(lengths, 0.0, -12.0, float(np.log(noise)))
            if options:  # another option counts as much as the whole range of a number
                hyper = replace(hyper, options=options, same=-12.0, apart=-2.0 * log)
            process = Posterior.of(groups, hyper)
            found = _likelihood(s, _chance(*process.leave_one_out()))
            if found > most:
                best, most = process, found
        return cls(best)

    def chance(self, X: FloatArray) -> FloatArray:
        """Probability of a success at each row of ``X``, up to a factor; 1 where it is the same
        everywhere."""
        if self.places is None:
            return np.ones(len(X))
        mean, var = self.places.predict(X)
        return _chance(mean, var + self.places.noise())

    def likely(self, X: FloatArray) -> BoolArray:
        """Whether a success is likely at each row of ``X``, as far as its place tells."""
        return np.asarray(self.chance(X) >= _LIKELY)


def _chance(mean: FloatArray, var: FloatArray) -> FloatArray:
    from scipy.special import ndtr  # takes long to import

    return np.asarray(ndtr(mean / np.sqrt(var)))


def _likelihood(s: FloatArray, p: FloatArray) -> float:
    p = np.clip(p, 0.01, 0.99)  # one surprise must not decide alone
    return float(s @ np.log(p) + (1.0 - s) @ np.log1p(-p))
