"""A model of all measurements: transformation, hyperparameters, posterior.

A `Fit` is what is remembered; a `Model` is a pure function of measurements and a `Fit`.
Hyperparameters are fitted again as the number of values grows by a fixed fraction, and the
transformation is chosen again on a coarser schedule, so the cost per value stays bounded.

Where evaluations succeed is learnt from those that did and those that failed (`Success`).
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
from functools import cache, cached_property
from itertools import product

import numpy as np

from noisewise._data import data
from noisewise._types import BoolArray, FloatArray
from noisewise.gp.focus import Focus
from noisewise.gp.kernel import Hyper
from noisewise.gp.prior import Prior
from noisewise.gp.process import Posterior, fit
from noisewise.gp.values import FAMILY, Measurements, Merged, Warp, merge

#: Points in one regression; of more, half are the nearest to the best.
MOST = 220
#: Log predictive density per value by which a transformation must beat the identity.
_MARGIN = 0.02
#: Log predictive density per value by which a logarithm must beat the identity, and share of noise
#: in the variance of the transformed values, before the model gets a `Focus`.
_FALLING, _NOISY = 0.3, 0.03
#: Standard deviations of a leave-one-out residual beyond which values are replaced by ranks.
_IMPOSSIBLE = 8.0
#: Growth of the number of values after which hyperparameters are fitted again, and the
#: transformation chosen again; and the number of new values after which they are in any case.
_REFIT, _CHOOSE, _AT_LEAST = 1.2, 1.6, 50
#: Length scales, over the root of the dimension, and standard deviations of the noise.
_LENGTHS, _NOISES = (0.1, 0.25, 0.6, 1.5), (0.2, 0.7)
#: Log likelihood by which the share of the whole run must foretell better than the places.
_CLEARLY = 1.0
#: Least chance of a point that may be tried after failures or recommended after a success, and of
#: one that is recommended although nothing was measured there.
OFTEN, _LIKELY = 0.5, 0.8


@data
@dataclass(frozen=True, eq=False)
class Fit:
    """Name of the transformation, hyperparameters, the numbers of values at which they were last
    fitted and the transformation last chosen, and whether the model has a `Focus` and may have
    one."""

    name: str
    hyper: Hyper
    fitted: int = 0
    chosen: int = 0
    focused: bool = False
    closer: bool = True

    @classmethod
    def start(cls, dimension: int, options: tuple[int, ...] = ()) -> Fit:
        """Before the first value at points whose last columns are choices between so many
        ``options``."""
        hyper = Prior.standard(dimension, options=options).start()
        return cls("none", hyper, closer=not options)

    def anew(self) -> Fit:
        """Before the first value of the same kind."""
        return Fit.start(len(self.hyper.scales()), self.hyper.options)

    def prior(self, measured: Measurements) -> Prior:
        """The prior of the hyperparameters."""
        return Prior.standard(measured.X.shape[1], measured.seed is not None, self.hyper.options)


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


@dataclass(frozen=True)
class Model:
    """The posterior on the transformed scale, the transformation, and where values are missing."""

    warp: Warp
    posterior: Posterior
    success: Success

    @classmethod
    def of(cls, measured: Measurements, fit: Fit) -> Model:
        """The model of measurements, of which at least one succeeded."""
        warp, groups = prepared(measured, fit.name)
        return cls(warp, posterior(measured, groups, fit), Success.of(measured, fit.hyper.options))

    @cached_property
    def noise_share(self) -> float:
        """Share of the noise in the variance of the transformed values."""
        process = self.posterior
        noise, signal = process.noise(), float(np.var(process.mean(process.groups.X)))
        return noise / (noise + signal) if noise + signal > 0.0 else 0.0

    def raw(self, mean: float, var: float) -> tuple[float, float]:
        """Median and half the width of the central 68 % interval of a normal transformed value,
        in the user's units."""
        ends = self.warp.backward(mean + np.sqrt(var) * np.array([-1.0, 0.0, 1.0]))
        return float(ends[1]), float(0.5 * (ends[2] - ends[0]))

    def expected(self, mean: float, var: float) -> tuple[float, float]:
        """Expected measurement at a point, in the user's units, and its standard deviation, from
        posterior mean and variance of the transformed noise-free value. The noise is averaged
        before the transformation is undone: the mean of a logarithm is not that of the value."""
        nodes, weights = normal_nodes()
        noise = np.sqrt(self.posterior.noise()) * nodes
        levels = mean + np.sqrt(var) * np.array([-1.0, 0.0, 1.0])
        low, middle, high = self.warp.backward(levels[:, None] + noise) @ weights
        return float(middle), float(0.5 * (high - low))


@cache
def normal_nodes() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights of E f(N) for a standard normal N."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(9)
    return nodes, weights / weights.sum()


def prepared(measured: Measurements, name: str) -> tuple[Warp, Merged]:
    """The transformation of this name for these values, and the transformed values as groups."""
    ok = measured.ok
    y, at = measured.y[ok], measured.at[ok]
    warp = Warp.of(name, y)
    var = measured.var[ok]
    if var.any():
        # Replicates share the slope at their mean, so that they stay one group.
        centre = (np.bincount(at, y) / np.maximum(np.bincount(at), 1))[at]
        var = var * warp.slope(centre) ** 2
    seed = None if measured.seed is None else measured.seed[ok]
    return warp, merge(measured.X, warp.forward(y), at, var, seed)


def posterior(measured: Measurements, groups: Merged, fit: Fit) -> Posterior:
    """The posterior of the groups of measurements."""
    return Posterior.of(groups, fit.hyper, _focus(measured) if fit.focused else None)


def _focus(measured: Measurements) -> Focus:
    ok = measured.ok
    return Focus.of(measured.X[measured.at[ok]], measured.y[ok])


def local(measured: Measurements, fit: Fit, most: int = MOST) -> Measurements:
    """At most ``most`` points, half of them around the best; see `Measurements.nearby`."""
    return measured if len(measured.X) <= most else measured.part(used(measured, fit, most))


def used(measured: Measurements, fit: Fit, most: int = MOST) -> BoolArray:
    """Which values are those of the points that `local` takes."""
    return measured.nearby(*_best(measured, fit), most, len(fit.hyper.options))


def _best(measured: Measurements, fit: Fit) -> tuple[FloatArray, FloatArray]:
    """The point around which the best ones lie, and the length scales there."""
    lengths = fit.hyper.scales()
    if fit.focused:
        focus = _focus(measured)
        lengths = lengths / focus.slope(focus.centre)
    ok = measured.ok
    count = np.bincount(measured.at[ok], minlength=len(measured.X))
    total = np.bincount(measured.at[ok], measured.y[ok], minlength=len(measured.X))
    mean = np.where(count > 0, total / np.maximum(count, 1), np.inf)
    # Of the best few the one with the others around it: neither a lucky value nor a place between
    # two valleys.
    few = measured.X[np.argsort(mean, kind="stable")[: 3 + len(lengths)]] / lengths
    gaps = np.sqrt(np.sum((few[:, None] - few[None]) ** 2, axis=2))
    best = few[int(np.argmin(np.sum(gaps, axis=1)))] * lengths
    return best, lengths


def refit(measured: Measurements, old: Fit) -> Fit:
    """The `Fit` for these measurements; ``old`` itself where it is recent enough."""
    m = int(measured.ok.sum())
    if m < 2 or m < min(max(old.fitted + 1, _REFIT * old.fitted), old.fitted + _AT_LEAST):
        return old
    near, new = local(measured, old), replace(old, fitted=m)
    prior = old.prior(measured)
    if m >= _CHOOSE * old.chosen and not two_valued(near.y[near.ok]):
        return replace(_choose(near, new, prior), chosen=m)
    return _fitted(near, new, prior, [old.hyper])


def two_valued(y: FloatArray) -> bool:
    """Whether there are at most two values, such as won and lost: every increasing
    transformation of them is a straight line. Their regression has a learned noise variance,
    the average of p (1 - p); a logistic link and variances per point were worse."""
    return len(np.unique(y)) <= 2


def score(measured: Measurements, fit: Fit) -> float:
    """Log predictive density per raw value, every point left out in turn."""
    warp, groups = prepared(measured, fit.name)
    jacobian = warp.log_slope(measured.y[measured.ok]).sum()
    density = posterior(measured, groups, fit).loo_density().sum()
    return float((density + jacobian) / measured.ok.sum())


def _choose(measured: Measurements, old: Fit, prior: Prior) -> Fit:
    """The transformation that predicts best, with its hyperparameters; ranks where even the best
    leaves values that it declares impossible. Where it shows that noise falls with the values, the
    model looks more closely at the region of the best."""
    start = prior.start() if old.focused else old.hyper
    found: dict[str, tuple[float, Fit]] = {}
    for name in _promising(measured, old):
        # A second start, so that a fit to pure noise is not kept for ever.
        starts = [start, prior.start()] if name == old.name and not old.focused else [start]
        fitted = _fitted(measured, replace(old, name=name, focused=False), prior, starts)
        found[name] = score(measured, fitted) - (0.0 if name == "none" else _MARGIN), fitted
    gain, best = max(found.values(), key=lambda pair: -np.inf if np.isnan(pair[0]) else pair[0])
    falls = best.name.startswith("log") and gain > found["none"][0] + _FALLING
    # Values that a logarithm predicts better although there is no noise are only steep.
    if old.closer and falls and np.exp(2.0 * best.hyper.noise) > _NOISY:
        starts = [old.hyper if old.focused else best.hyper, prior.start()]
        best = _fitted(measured, replace(best, focused=True), prior, starts)
    if _surprise(measured, best) > _IMPOSSIBLE:
        best = ranked(measured, best)
    return best


def ranked(measured: Measurements, old: Fit) -> Fit:
    """The `Fit` to the ranks of the values, from the hyperparameters of ``old`` on."""
    prior = old.prior(measured)
    return _fitted(measured, replace(old, name="ranks", focused=False), prior, [old.hyper])


def _promising(measured: Measurements, old: Fit) -> list[str]:
    """Transformations worth a fit: all of them the first time; later the identity, the present
    one, and the one of the others that predicts best with the present hyperparameters."""
    names = ["none", *FAMILY]
    if not old.chosen:
        return names
    others = [name for name in names if name not in ("none", old.name)]
    rival = max(
        others,
        key=lambda name: score(measured, replace(old, name=name, focused=False)),
        default="none",
    )
    return [name for name in names if name in ("none", old.name, rival)]


def _fitted(measured: Measurements, old: Fit, prior: Prior, starts: list[Hyper]) -> Fit:
    _, groups = prepared(measured, old.name)
    if old.focused:
        groups = replace(groups, X=_focus(measured).forward(groups.X))
    return replace(old, hyper=fit(groups, prior, starts, iterations=10)[0])


def _surprise(measured: Measurements, fit: Fit) -> float:
    """Largest distance of a group from what the others predict, in standard deviations."""
    process = posterior(measured, prepared(measured, fit.name)[1], fit)
    return float(np.max(process.surprises()))
