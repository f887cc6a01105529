"""Outliers: values that a model of all the others declares impossible.

One rule, applied in one place (`search.learn`): a value is set aside if it is far outside the
range of most values and more than `IMPOSSIBLE` standard deviations from what a model of the values
that are not set aside predicts at its point. The transformation of that model is chosen anew
without them, so values that a logarithm explains (steep slopes, noise that grows with the values)
are no outliers, and neither are those of a law with heavy tails, for which the model takes ranks.
The search treats a value that is set aside as a failure: at random places it says nothing, and a
region full of them, such as the far side of a cliff, is avoided.

    symbol  meaning                                                             unit, shape
    z       distance of a value from what the others predict                    sd of that
                                                                                prediction, noise
                                                                                included, (m,)
    u       median of |z|: about 0.7 under normal noise; far smaller where      the same
            a few outliers have inflated the learned noise

The search for them starts when a value is suspicious. First the `TRIMMED` share of the values that
is farthest from a model of the ranks is left out: no outlier can ruin that model. Then model and
outliers are found in turn until the latter stay the same.

A low value may be a deep and narrow minimum. So the point of one that is set aside is measured
again (`doubtful`). Where `CERTAIN` values of a point are impossibly low, and none there is not,
the function has such minima and no low value is an outlier; the same holds for high values.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from noisewise._types import BoolArray, FloatArray, IntArray
from noisewise.gp.model import Fit, posterior, prepared, ranked, refit, used
from noisewise.gp.process import Posterior
from noisewise.gp.values import MOST_OUTLIERS, Measurements

#: z from which on a value is set aside, in standard deviations.
IMPOSSIBLE = 10.0
#: A value is suspicious if its |z| is above both this, in standard deviations, and a multiple of u.
UNUSUAL, TIMES_USUAL = 3.0, 8.0
#: Share of the values that is left out at first.
TRIMMED = 0.1
#: Successful values, at least and beyond two per coordinate, without which nothing is set aside.
LEAST, LEAST_MORE = 10, 4
#: Values of one point that confirm each other.
CERTAIN = 3
#: Decimals of unit coordinates in which points of one place agree.
_DECIMALS = 9
#: Models that are made in search of the outliers.
ROUNDS = 4


def possible(measured: Measurements) -> bool:
    """Whether there can be outliers: enough values, most of which differ. Of few distinct values,
    such as wins or small counts, none is an outlier."""
    good = measured.y[np.isfinite(measured.y)]
    least = max(LEAST, 2 * measured.X.shape[1] + LEAST_MORE)
    return len(good) >= least and 2 * len(np.unique(good)) > len(good)


def suspects(measured: Measurements, process: Posterior) -> FloatArray:
    """The points with huge values that are suspicious to the model that has learnt from them."""
    far = measured.X[measured.at[measured.huge & measured.ok]]
    if len(far) == 0:
        return far
    z = process.surprises()
    strange = process.groups.X[z > max(UNUSUAL, TIMES_USUAL * float(np.median(z)))]
    return np.asarray(far[(far[:, None] == strange[None]).all(axis=2).any(axis=1)])


def set_aside(measured: Measurements, fit: Fit) -> tuple[Measurements, Fit]:
    """The measurements with the outliers among them set aside, and the model of the others; both
    as they are where this changes nothing."""
    chosen = used(measured, fit)
    near, before = measured.part(chosen), _aside(measured)
    start = replace(fit.anew(), closer=fit.closer)
    found, new = _outliers(near, start)
    aside = before.copy()
    aside[chosen] = found
    if (aside == before).all():
        return measured, fit
    rest = replace(measured, aside=aside if aside.any() else None)
    return rest, refit(rest, start) if new is None else new


def doubtful(measured: Measurements) -> FloatArray:
    """The points to measure again: all their values were set aside and are lower than others."""
    aside, ok = _aside(measured), measured.ok
    if not aside.any() or not ok.any():
        return measured.X[:0]
    at, first = _places(measured)
    lower = np.bincount(at[aside & (measured.y < measured.y[ok].min())], minlength=len(first))
    count = np.bincount(at, minlength=len(first))
    return np.asarray(measured.X[first[(lower == count) & (count < CERTAIN)]])


def said(measured: Measurements) -> list[str]:
    """A sentence about the values that are set aside; empty without any."""
    k, m = int(_aside(measured).sum()), int(np.isfinite(measured.y).sum())
    if k == 0:
        return []
    which = "1 value is" if k == 1 else f"{k} values are"
    return [
        f"{which} impossibly far from what all others predict and {'was' if k == 1 else 'were'} "
        f"set aside ({k / m:.1%} of {m}): the search is about the others"
    ]


def _outliers(measured: Measurements, start: Fit) -> tuple[BoolArray, Fit | None]:
    """The outliers among the measurements, and the model of the others; None: there are none."""
    good, every = np.isfinite(measured.y), replace(measured, aside=None)
    by_rank = np.abs(_distances(every, ranked(every, start)))
    aside = np.zeros(len(good), dtype=bool)
    aside[np.argsort(-by_rank, kind="stable")[: math.ceil(TRIMMED * good.sum())]] = True
    fit = start
    for _ in range(ROUNDS):
        rest = replace(measured, aside=aside)
        fit = refit(rest, start)
        found = _one_of_a_kind(measured, _distances(rest, fit))
        if (found == aside).all():
            break
        if not 0 < found.sum() <= MOST_OUTLIERS * good.sum():
            return np.zeros(len(good), dtype=bool), None
        aside = found
    return aside, fit


def _one_of_a_kind(measured: Measurements, z: FloatArray) -> BoolArray:
    """The values at these distances that are impossible, but not those on a side on which a point
    gave impossible values every time: there the function itself is like that."""
    at, first = _places(measured)
    count = np.bincount(at, minlength=len(first))
    found, huge = np.zeros(len(z), dtype=bool), measured.huge
    for impossible in (huge & (z > IMPOSSIBLE), huge & (z < -IMPOSSIBLE)):
        each = np.bincount(at[impossible], minlength=len(first))
        if not ((each == count) & (count >= CERTAIN)).any():
            found |= impossible
    return found


def _places(measured: Measurements) -> tuple[IntArray, IntArray]:
    """Number of the place of each value, and the first point of every place. A point that is
    measured again comes back with rounded coordinates."""
    rounded = np.round(measured.X, _DECIMALS)
    _, first, of = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    return of.reshape(-1)[measured.at], first


def _distances(measured: Measurements, fit: Fit) -> FloatArray:
    """z of every value, those that are set aside included; 0 for failures. Replicates count one by
    one: they predict each other."""
    apart = replace(measured, X=measured.X[measured.at], at=np.arange(len(measured.y)))
    ok = apart.ok
    warp, groups = prepared(apart, fit.name)
    process = posterior(apart, groups, fit)
    z = np.zeros(len(ok))
    mean, var = process.leave_one_out()
    z[ok] = (groups.mean - mean) / np.sqrt(var)
    out = np.isfinite(apart.y) & ~ok
    if out.any():
        mean, var = process.predict(apart.X[out])
        known = apart.var[out] * warp.slope(warp.backward(mean)) ** 2
        z[out] = (warp.forward(apart.y[out]) - mean) / np.sqrt(var + process.noise() + known)
    return z


def _aside(measured: Measurements) -> BoolArray:
    none = np.zeros(len(measured.y), dtype=bool)
    return none if measured.aside is None else measured.aside
