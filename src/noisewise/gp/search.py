"""Searching with a Gaussian process: memory, start design, proposals, what is learnt.

Pure functions on a `Memory`; every random draw comes from the generator handed in. Points are in
unit coordinates (see `Frame`). Finalists, recommendation and search distribution are in
`answer`.

    start -> (propose -> learn)* -> finalists -> recommend
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.gp import outliers, proposals
from noisewise.gp import past as earlier
from noisewise.gp.limits import LIKELY, Limits
from noisewise.gp.model import OFTEN, Fit, Model, local, refit, two_valued
from noisewise.gp.past import Past
from noisewise.gp.process import Posterior
from noisewise.gp.tuning import GPTuning
from noisewise.gp.values import Measurements
from noisewise.problem.box import SPREAD, Frame
from noisewise.problem.layout import Layout

#: Evaluations whose prediction is remembered, to tell whether the model predicts.
WINDOW = 40
#: Best measured points at which a candidate's measurement may lower the posterior mean.
_ALTERNATIVES = 30
#: Share of noise in the variance of the values above which the model sees nothing. Of two values,
#: such as won and lost, noise has such a share whatever the function.
_BLIND = 0.9
#: Power of the chance of a success in the worth of a measurement: where the best lies beside a
#: region of failures, most evaluations would fail otherwise.
_CAUTION = 6
#: After so many failures in a row only points that are likely to succeed are tried.
_PATIENCE = 3
#: What a measurement must be worth at least, on the scale of the model.
_NOTHING = 1e-9
#: Values that are remembered; of more, the oldest are dropped. The model uses the nearest of them.
_REMEMBERED = 1000
#: Sets of candidates for one answer to `ask`. Of more points, several are of the same set.
_SETS = 25
#: Candidates of a set, those worth most, among which the next points of it are.
_KEPT = 40


@data
@dataclass(frozen=True, eq=False)
class Memory:
    """All that is remembered. ``told`` has one row (predicted value, its standard deviation with
    noise, measured value) for each of the last `WINDOW` evaluations that the model predicted."""

    frame: Frame
    x0: FloatArray
    spread: FloatArray
    measured: Measurements
    fit: Fit
    told: FloatArray
    #: Earlier data; without any, all that was measured is the run's own.
    past: Past | None = None
    #: Measured constraints, in the caller's coordinates.
    limits: Limits | None = None
    #: Points of the start design.
    design: int = 3
    tuning: GPTuning = GPTuning()  # noqa: RUF009 - frozen
    #: Whether, at the end of the search, values need a logarithm to be predicted.
    misfit: bool = False

    @property
    def own(self) -> Measurements:
        """What the run has measured itself."""
        return self.measured if self.past is None else self.past.own


def start(
    low: FloatArray,
    high: FloatArray,
    x0: FloatArray,
    sigma0: float,
    layout: Layout | None = None,
    budget: int = 10**9,
    tuning: GPTuning = GPTuning(),  # noqa: B008 - frozen
) -> Memory:
    """The memory before the first of ``budget`` values; other arguments in the caller's
    coordinates."""
    frame = Frame.of(low, high, x0, sigma0, layout)
    d, at, none = len(frame.unit), frame.inner(x0), np.zeros((0, 3))
    spread, design = np.minimum(sigma0 / frame.unit, SPREAD), tuning.design(d, budget)
    first, fit = Measurements.empty(d), Fit.start(d, frame.options)
    return Memory(frame, at, spread, first, fit, none, design=design, tuning=tuning)


def propose(memory: Memory, n: int, pending: FloatArray, rng: np.random.Generator) -> FloatArray:
    """``n`` points to evaluate next, shape (n, d); ``pending`` are under way, shape (p, d)."""
    d = len(memory.x0)
    known = np.vstack([memory.measured.X, np.reshape(pending, (-1, d))])
    missing = memory.design - len(memory.measured.y) - (len(known) - len(memory.measured.X))
    if not memory.measured.ok.any():
        missing = n
    fresh: list[FloatArray] = []
    for _ in range(min(n, max(missing, 0))):
        fresh.append(_spaced(memory, known, rng) if len(known) else memory.x0)
        known = np.vstack([known, fresh[-1]])
    for x in [] if memory.own.aside is None else outliers.doubtful(memory.own):
        if len(fresh) < n and not (known[len(memory.measured.X) :] == x).all(axis=1).any():
            fresh.append(x)
            known = np.vstack([known, x])
    if len(fresh) < n:
        process = modelled(memory).posterior
        under_way = known[len(memory.measured.X) :]
        if len(under_way):
            process = process.given(under_way)
        each, rest = -(-(n - len(fresh)) // _SETS), None
        while True:
            x, rest = _valuable(memory, process, rng, rest if len(fresh) % each else None)
            fresh.append(x)
            if len(fresh) == n:
                break
            process = process.given(x[None])
    return np.array(fresh)


def learn(
    memory: Memory,
    X: FloatArray,
    y: FloatArray,
    var: FloatArray | None = None,
    seed: IntArray | None = None,
) -> Memory:
    """The memory with one more value per row of ``X``: measured, failed (nan or infinite), or
    with a known error variance; ``seed``: where values share seeds."""
    own, start = memory.own.add(X, y, var, seed).newest(_REMEMBERED), memory.design
    told, fit = _foretold(memory, X, y, seed), memory.fit
    if memory.past is None:
        fit = refit(own, fit) if len(own.y) >= start else fit
        return _without_outliers(memory, replace(memory, measured=own, fit=fit, told=told), X)
    past, fit = earlier.learn(memory.past, fit, own, start)
    if past.use != memory.past.use:  # another model has foretold them
        told = told[:0]
    new = replace(memory, measured=past.seen(), fit=fit, told=told, past=past)
    return _without_outliers(memory, new, X)


def _without_outliers(old: Memory, new: Memory, X: FloatArray) -> Memory:
    """``new`` with outliers among its own values set aside, after those at the rows of ``X``. They
    are looked for when one of these is suspicious and, where any value is, at every fit."""
    own, past = new.own, new.past
    if own.aside is None and not own.huge.any():
        return new
    if not outliers.possible(own):
        return new
    strange = {row.tobytes() for row in outliers.suspects(own, modelled(new).posterior)}
    fresh = any(row.tobytes() in strange for row in X + 0.0)
    fitted = new.fit is not old.fit and (bool(strange) or own.aside is not None)
    if not (fresh or fitted):
        return new
    rest, fit = outliers.set_aside(own, new.fit if past is None else past.alone)
    if rest is own:
        return new
    if past is None:
        return replace(new, measured=rest, fit=fit)
    past = replace(past, own=rest, alone=fit)
    fit = fit if past.use == earlier.UNUSED else refit(past.seen(), replace(new.fit, fitted=0))
    return replace(new, measured=past.seen(), fit=fit, past=past)


def absorb(memory: Memory, X: FloatArray, y: FloatArray, var: FloatArray) -> Memory | None:
    """The memory with earlier values; None where they say nothing."""
    alone = memory.fit if memory.past is None else memory.past.alone
    past = earlier.absorb(memory.past, memory.own, alone, X, y, var)
    if past is None:
        return None
    return replace(memory, measured=past.own, fit=past.alone, past=past)


def modelled(memory: Memory) -> Model:
    """The model of the points around the best."""
    return _model(memory.measured, memory.fit)


@lru_cache(maxsize=1)  # learning and proposing ask for the same
def _model(measured: Measurements, fit: Fit) -> Model:
    return Model.of(local(measured, fit), fit)


def _spaced(memory: Memory, known: FloatArray, rng: np.random.Generator) -> FloatArray:
    """The point of a few random ones that is farthest from those known, on the torus, so that
    corners and faces are not preferred; uniform in the box, or normal around x0 where a
    coordinate is open or the start is narrow."""
    from scipy.special import ndtr, ndtri  # takes long to import

    frame = memory.frame
    wide = np.isfinite(frame.low) & np.isfinite(frame.high) & (memory.spread > 0.8 * SPREAD)
    u = rng.random((64, len(memory.x0)))
    v = np.where(wide, known, ndtr((known - memory.x0) / memory.spread))
    gap = np.abs(u[:, None] - v[None])
    gap = np.minimum(gap, 1.0 - gap)
    best = u[np.argmax(np.min(np.sum(gap * gap, axis=2), axis=1))]
    normal = memory.x0 + memory.spread * ndtri(np.clip(best, 1e-6, 1.0 - 1e-6))
    x = np.clip(np.where(wide, best, normal), frame.low, frame.high)
    if frame.options:
        x[-len(frame.options) :] = proposals.balanced(known, frame.options, rng)
    return np.asarray(frame.settled(x))


def _valuable(
    memory: Memory, process: Posterior, rng: np.random.Generator, among: FloatArray | None = None
) -> tuple[FloatArray, FloatArray | None]:
    """The candidate, ``among`` these or new ones, whose measurement should lower the smallest
    posterior mean most, and the next best. A point far from others where all seems to be noise."""
    X = process.groups.X
    order = np.argsort(process.smoothed(), kind="stable")
    best = X[order[:_ALTERNATIVES]]
    if memory.limits is not None:
        return _feasible(memory, memory.limits, process, X[order], rng), None
    success = modelled(memory).success
    if blind(memory) and success.places is None:
        return _spaced(memory, np.vstack([memory.measured.X, X]), rng), None
    C = candidates(memory, process, best[0], rng) if among is None else among
    chance = success.chance(C)
    value = proposals.knowledge(process, C, best, chance >= OFTEN)
    if memory.frame.layout is not None and not value.max() > _NOTHING:  # all is known
        value = -process.mean(C)
    first, *rest = np.argsort(-_discounted(memory, value, chance), kind="stable")[: _KEPT + 1]
    return C[first], C[rest]


def _discounted(memory: Memory, value: FloatArray, chance: FloatArray) -> FloatArray:
    """The worth of measurements that succeed with this chance. After failures in a row, those that
    probably fail come last, whatever they would be worth."""
    worth = value * chance**_CAUTION
    if memory.own.ok[-_PATIENCE:].any():
        return worth
    return np.where(chance >= OFTEN, worth, chance - 1.0)


def _feasible(
    memory: Memory, limits: Limits, process: Posterior, X: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """The same under constraints, from points sorted by smoothed value: only what is probably
    feasible can be the answer, and a measurement counts by its chance to be feasible. Before
    anything is, the candidate with the best chance."""
    known = limits.log_chance(memory.frame.outer(X))
    best = X[known >= np.log(LIKELY)][:_ALTERNATIVES]
    centre = best[0] if len(best) else X[int(np.argmax(known))]
    C = candidates(memory, process, centre, rng)
    chance = limits.log_chance(memory.frame.outer(C))
    if len(best) == 0:
        return np.asarray(C[int(np.argmax(chance))])
    success = modelled(memory).success.chance(C)
    allowed = (chance >= np.log(LIKELY)) & (success >= OFTEN)
    value = np.exp(chance) * proposals.knowledge(process, C, best, allowed)
    return np.asarray(C[int(np.argmax(_discounted(memory, value, success)))])


def candidates(
    memory: Memory, process: Posterior, centre: FloatArray, rng: np.random.Generator
) -> FloatArray:
    """Points that may be worth a measurement: anywhere, and around ``centre``."""
    frame = memory.frame
    if frame.layout is not None:
        return proposals.mixed(frame.layout, process.hyper, centre, rng)
    return proposals.plain(frame, *reach(memory), process, centre, rng)


def reach(memory: Memory) -> tuple[FloatArray, FloatArray]:
    """The box that global candidates fill: the bounds, and in open coordinates the range of the
    better points so far, widened by half of it on both sides."""
    seen = memory.measured
    order = np.argsort(np.where(seen.ok, seen.y, np.inf), kind="stable")
    better = order[: max(5, len(order) // 4)]
    X = np.vstack([seen.X[seen.at[better]], memory.x0])
    return proposals.around(memory.frame, X, memory.spread)


def _foretold(
    memory: Memory, X: FloatArray, y: FloatArray, seed: IntArray | None = None
) -> FloatArray:
    """``Memory.told`` with what the model said about the new values before it saw them."""
    if len(memory.measured.y) < memory.design or not memory.measured.ok.any():
        return memory.told
    ok = np.isfinite(y)
    model = modelled(memory)
    mean, var = model.posterior.predict(X[ok])
    if seed is not None:
        mean = mean + model.posterior.added(seed[ok], len(mean))
    rows = [model.raw(m, v + model.posterior.noise()) for m, v in zip(mean, var, strict=True)]
    told = np.column_stack([np.reshape(rows, (-1, 2)), y[ok]])
    return np.vstack([memory.told, told])[-WINDOW:]


@lru_cache(maxsize=1)  # after learning and before proposing
def noise_share(memory: Memory) -> float:
    """Share of the noise in the variance of the (transformed) values; nan before there is a
    model."""
    seen = memory.measured
    if len(seen.y) < memory.design or not seen.ok.any():
        return np.nan
    return modelled(memory).noise_share


def blind(memory: Memory) -> bool:
    """Whether the model has found nothing but noise."""
    good = memory.measured.y[memory.measured.ok]
    return noise_share(memory) > _BLIND and not two_valued(good)


def usual_surprise(memory: Memory) -> float:
    """Median distance of a value from what the others predict, in standard deviations: about 0.7
    under normal noise, near 0 where most values are exact and a few are far off."""
    return float(np.median(modelled(memory).posterior.surprises()))


def agreement(memory: Memory) -> tuple[float, float]:
    """How well the model foretold the order of the values that followed: concordant minus
    discordant pairs, as a share of what it expected from its own predictions and noise; and
    that expected number. Pairs of equal values, such as two wins, have no order. About 1: the
    model predicts; about 0: it does not. The second number says how much the first is worth."""
    from scipy.special import ndtr  # takes long to import

    m, s, y = memory.told.T
    i, j = np.triu_indices(len(m), 1)
    differ = y[i] != y[j]
    i, j = i[differ], j[differ]
    apart = (m[i] - m[j]) / np.maximum(np.hypot(s[i], s[j]), 1e-300)
    expected = float(np.sum(2.0 * ndtr(np.abs(apart)) - 1.0))
    seen = float(np.sum(np.sign(m[i] - m[j]) * np.sign(y[i] - y[j])))
    return (seen + 1.0) / (expected + 1.0), expected
