"""Earlier data beside the measurements of a run: used by its model while they help.

| symbol | meaning |
|---|---|
| own | what the run has measured itself |
| a, b | shift and scale: the model gets a + b y for an earlier value y |
| L | log density of the run's own values, each foretold from all others |

The data may be about another function, in other units, or worthless. So a run begins without
them, and from its first few values on they are used only while these do not contradict them, that
is, while they hardly lower L: as they are, or with a and b from a regression of the own values on
what a model of the data foretells. While they are not used, everything is as it would be without
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.gp.model import Fit, Model, posterior, prepared, refit
from noisewise.gp.values import Measurements

#: Points farther away than this, in unit coordinates, are left out.
_FARTHEST = 1e6
#: Earlier values that are kept; of more, half of these are the smallest.
_KEPT = 150
#: Values from which on the data are looked at, and the growth of their number until the next look.
_FIRST, _AGAIN = 3, 1.2
#: By how much L must grow, in nats, before data are used as they are (negative: they are used
#: unless new values contradict them by so much), or rescaled, and to go on using them.
_GAIN, _GAIN_RESCALED, _STAY = -1.0, 2.0, -2.0
#: Error variances, of standardised values, that a fit to the data may lack.
_MORE_NOISE = (0.0, 1e-4, 1e-3, 1e-2, 1e-1)
#: How the data are used.
UNUSED, PLAIN, RESCALED = "unused", "plain", "rescaled"


@data
@dataclass(frozen=True)
class Past:
    """Earlier data, unit coordinates, and how the model uses them."""

    data: Measurements
    #: A model of the data alone.
    theirs: Fit
    #: The run's own values, and a model of them alone.
    own: Measurements
    alone: Fit
    #: Rows that the user gave.
    rows: int
    use: str = UNUSED
    shift: float = 0.0
    scale: float = 1.0
    #: Own values when the data were last looked at.
    looked: int = 0

    def seen(self) -> Measurements:
        """What the model sees: the own values, then the earlier ones if they are used."""
        if self.use == UNUSED:
            return self.own
        their = self.data
        y = self.shift + self.scale * their.y
        return self.own.add(their.X[their.at], y, self.scale**2 * their.var)

    def said(self) -> str:
        """What came of the data, in plain words."""
        if self.looked == 0:
            return f"{self.rows} rows of earlier data are being checked"
        kept = len(self.data.y)
        which = f"{self.rows} rows" if kept == self.rows else f"{kept} of {self.rows} rows"
        return {
            UNUSED: f"{self.rows} rows of earlier data were dropped: new values disagree",
            PLAIN: f"the model uses {which} of earlier data",
            RESCALED: f"the model uses {which} of earlier data, rescaled",
        }[self.use]


def first_look(start: int) -> int:
    """Own values from which on the data are looked at: part of a start design of ``start``."""
    return min(start, _FIRST)


def absorb(
    old: Past | None,
    own: Measurements,
    alone: Fit,
    X: FloatArray,
    y: FloatArray,
    var: FloatArray,
) -> Past | None:
    """Earlier values ``y`` at the rows of ``X`` with their error variances (nan: not known),
    beside the ``old`` data; None where they say nothing. They are not used until they are looked
    at, after the next values."""
    good = np.isfinite(y) & (np.abs(X) < _FARTHEST).all(axis=1)
    if not good.any():
        return None
    # Errors beyond this say as little, and would overflow.
    var = np.minimum(var, 1e6 * (float(np.ptp(y[good])) + 1e-100) ** 2)
    seen = Measurements.empty(X.shape[1]) if old is None else old.data
    seen = _thinned(seen.add(X[good], y[good], var[good]))
    if len(seen.y) < 2 or seen.y.min() == seen.y.max():
        return None
    rows = len(y) + (0 if old is None else old.rows)
    return Past(seen, refit(seen, alone.anew()), own, alone, rows)


def learn(past: Past, fit: Fit, own: Measurements, start: int) -> tuple[Past, Fit]:
    """The data after the run's ``own`` values have grown, and the model of what is used; ``fit``
    is the model so far. Alone, the own values have a model when they are ``start``."""
    alone = refit(own, past.alone) if len(own.y) >= start else past.alone
    past = replace(past, own=own, alone=alone)
    m = int(own.ok.sum())
    due = max(first_look(start), past.looked + 1, _AGAIN * past.looked)
    if m >= due:
        past, fit = _look(past, fit)
    return past, past.alone if past.use == UNUSED else fit


def _look(past: Past, fit: Fit) -> tuple[Past, Fit]:
    """The best use of the data, and the model of what is used then."""
    own, m = past.own, int(past.own.ok.sum())
    past = replace(past, looked=m)
    begin = past.alone if past.alone.fitted else refit(own, past.alone)
    least = own_density(own, own, begin)
    best, best_fit = replace(past, use=UNUSED), past.alone
    # A model of the data is the better start of a fit that has not been made yet.
    old = replace(past.theirs if past.use == UNUSED else fit, fitted=0, chosen=m + len(past.data.y))
    for other in (replace(past, use=PLAIN, shift=0.0, scale=1.0), _rescaled(past)):
        if other is None:
            continue
        pool = other.seen()
        found, density = _noisier(pool, own, refit(pool, old))
        gain = _GAIN if other.use == PLAIN else _GAIN_RESCALED
        density -= _STAY if other.use == past.use else gain
        if density > least:
            best, best_fit, least = other, found, density
    return best, best_fit


def _noisier(measured: Measurements, own: Measurements, fit: Fit) -> tuple[Fit, float]:
    """The fit with as much more noise as raises L most, and L: the data may have less noise than
    the run's own values."""
    found = []
    for more in _MORE_NOISE:
        noise = 0.5 * float(np.log(np.exp(2.0 * fit.hyper.noise) + more))
        wider = replace(fit, hyper=replace(fit.hyper, noise=noise))
        found.append((wider, own_density(measured, own, wider)))
    return max(found, key=lambda pair: pair[1])


def own_density(measured: Measurements, own: Measurements, fit: Fit) -> float:
    """L: log density of the run's ``own`` values, which are the first of ``measured``, each point
    foretold from all others."""
    name = "tails-2" if fit.name == "ranks" else fit.name  # ranks have no density
    warp, groups = prepared(measured, name)
    ok = own.ok
    first = len(set(zip(own.at[ok].tolist(), own.var[ok].tolist(), strict=True)))
    density = posterior(measured, groups, fit).loo_density()[:first]
    return float(density.sum() + warp.log_slope(own.y[ok]).sum())


def _rescaled(past: Past) -> Past | None:
    """The data with shift and scale from a regression of the own values on what they foretell;
    None if they foretell the opposite, or nothing."""
    own = past.own
    ok = own.ok
    model = Model.of(past.data, past.theirs)
    told = model.warp.backward(model.posterior.mean(own.X[own.at[ok]]))
    y = own.y[ok]
    spread = float(np.var(told))
    scale = float(np.mean((told - told.mean()) * (y - y.mean()))) / spread if spread > 0.0 else 0.0
    shift = float(y.mean()) - scale * float(told.mean())
    if not (scale > 0.0 and np.isfinite(shift) and np.isfinite(scale)):
        return None
    return replace(past, use=RESCALED, shift=shift, scale=scale)


def _thinned(seen: Measurements) -> Measurements:
    """At most `_KEPT` values: the smallest, and others evenly spread over the rest of the ranks."""
    m = len(seen.y)
    if m <= _KEPT:
        return seen
    order = np.argsort(seen.y, kind="stable")
    half = _KEPT // 2
    others = order[half:][np.linspace(0, m - half - 1, _KEPT - half).astype(np.intp)]
    return seen.part(np.sort(np.concatenate((order[:half], others))))
