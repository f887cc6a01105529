"""Points to look at: an option for the start design, candidates for the next measurement, what
another evaluation at a point is worth, and descent on the mean of the model.

Those of a mixed space have one column per parameter (P of `noisewise.problem.layout`).
"""

from __future__ import annotations

import numpy as np

from noisewise._types import BoolArray, FloatArray
from noisewise.gp import kernel
from noisewise.gp.kernel import Hyper
from noisewise.gp.model import normal_nodes
from noisewise.gp.process import Posterior
from noisewise.problem.box import Frame
from noisewise.problem.layout import Layout

#: Candidates: uniform in the box, and around the best point.
GLOBAL, _LOCAL = 100, 200
#: Share of the steps that leave the box and are reflected; the others end on its face.
_REFLECTED = 0.8
#: Unit coordinates of open sides stay below this, so that nothing overflows.
_FARTHEST = 1e6


def plain(
    frame: Frame,
    low: FloatArray,
    high: FloatArray,
    process: Posterior,
    centre: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Uniform points from ``low`` to ``high``, and normal steps of many sizes from ``centre``,
    longer along coordinates with larger length scales; half of the steps change about three
    coordinates only. All of them in the coordinates in which the process is stationary."""
    d, focus = len(centre), process.focus
    if focus is not None:
        low, centre, high = (focus.forward(one) for one in (low, centre, high))
    uniform = low + rng.random((GLOBAL, d)) * (high - low)
    lengths = process.hyper.lengths
    shape = np.exp(np.minimum(lengths - lengths.mean(), 2.0))
    # In many dimensions long steps mostly end on the faces of the box.
    widest = min(0.5, 2.0 / d)
    size = np.exp(rng.uniform(np.log(0.005), np.log(widest), (_LOCAL, 1)))
    step = size * shape * rng.standard_normal((_LOCAL, d))
    share = np.where(rng.random((_LOCAL, 1)) < 0.5, 1.0, 3.0 / max(d, 3))
    kept = rng.random((_LOCAL, d)) < share
    kept[np.arange(_LOCAL), rng.integers(0, d, _LOCAL)] = True
    near = centre + step * kept
    if focus is None:  # with a focus, steps grow exponentially with the distance
        low = np.maximum(frame.low, -_FARTHEST)
        high = np.minimum(frame.high, _FARTHEST)
    back = rng.random((_LOCAL, 1)) < _REFLECTED
    near = np.where(back & (near < low), 2.0 * low - near, near)
    near = np.clip(np.where(back & (near > high), 2.0 * high - near, near), low, high)
    C = np.vstack([uniform, near])
    if focus is None:
        return C
    return focus.within(C, frame.low, frame.high)


def around(frame: Frame, X: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The bounds, and in open coordinates the range of ``X``, widened by half of it on both sides
    and at least by ``spread``."""
    low, high = X.min(axis=0), X.max(axis=0)
    margin = np.maximum(0.5 * (high - low), spread)
    low = np.where(np.isfinite(frame.low), frame.low, np.maximum(low - margin, -_FARTHEST))
    high = np.where(np.isfinite(frame.high), frame.high, np.minimum(high + margin, _FARTHEST))
    return low, high


def balanced(known: FloatArray, options: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """One option of each choice: of those that the ``known`` points have least often, any."""
    found = []
    for column, k in zip(known.T[-len(options) :], options, strict=True):
        count = np.bincount(column.astype(np.intp), minlength=k)
        found.append(rng.choice(np.flatnonzero(count == count.min())))
    return np.array(found, dtype=float)


def uniform(layout: Layout, n: int, rng: np.random.Generator) -> FloatArray:
    """Random points, not settled: numbers uniform, all options alike."""
    d = layout.numbers
    P = np.empty((n, layout.columns))
    P[:, :d] = rng.random((n, d))
    P[:, d:] = rng.integers(0, layout.options[d:], (n, layout.columns - d))
    return P


def mixed(layout: Layout, hyper: Hyper, centre: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Random points, ``centre`` and steps from it: numbers move by many sizes, longer along those
    with larger length scales, but at least by a step where they have steps; about one choice flips.
    Some steps change numbers only, some choices only."""
    d, q = layout.numbers, layout.columns - layout.numbers
    far = uniform(layout, GLOBAL, rng)
    near = np.repeat(centre[None], _LOCAL, axis=0)
    if layout.conditions:  # what begins to apply may have any value
        near = np.where(layout.applies(centre), near, uniform(layout, _LOCAL, rng))
    what = rng.integers(0, 3, (_LOCAL, 1))
    if d:
        moves = (what != 0) if q else np.ones((_LOCAL, 1), dtype=bool)
        lengths = hyper.lengths
        shape = np.exp(np.minimum(lengths - lengths.mean(), 2.0))
        size = np.exp(rng.uniform(np.log(0.005), np.log(min(0.5, 2.0 / d)), (_LOCAL, 1)))
        step = size * shape * rng.standard_normal((_LOCAL, d))
        share = np.where(rng.random((_LOCAL, 1)) < 0.5, 1.0, 3.0 / max(d, 3))
        kept = rng.random((_LOCAL, d)) < share
        kept[np.arange(_LOCAL), rng.integers(0, d, _LOCAL)] = True
        step *= kept & moves
        to = near[:, :d] + step
        back = rng.random((_LOCAL, 1)) < 0.8
        to = np.where(back & (to < 0.0), -to, to)
        near[:, :d] = np.clip(np.where(back & (to > 1.0), 2.0 - to, to), 0.0, 1.0)
        # A step that rounding would take back goes as far as the next value.
        one = np.hstack([np.sign(step), np.zeros((_LOCAL, q))])
        back = (one != 0.0) & (layout.moved(near, np.zeros(1)) == centre) & layout.stepped
        near = np.where(back, layout.moved(near, one), near)
    if q:
        flips = rng.random((_LOCAL, q)) < 1.0 / q
        flips[np.arange(_LOCAL), rng.integers(0, q, _LOCAL)] = True
        if d:
            flips &= what != 1
        other = (near[:, d:] + rng.integers(1, layout.options[d:], (_LOCAL, q))) % layout.options[
            d:
        ]
        near[:, d:] = np.where(flips, other, near[:, d:])
    return layout.settled(np.vstack([far, near, centre]))


# -- what a measurement is worth, and descent on the mean
#: Changes on the way to a minimum in a mixed space, at most.
_CHANGES = 30


def knowledge(
    process: Posterior, C: FloatArray, best: FloatArray, allowed: BoolArray | None = None
) -> FloatArray:
    """Knowledge gradient: by how much one noisy measurement at each row of ``C`` is expected to
    lower the smallest posterior mean among ``best``, the rows of ``C`` with the smallest means,
    and the row itself. Rows of ``C`` that are not ``allowed`` do not count among the smallest.

    A measurement at c moves the mean at a by cov(a, c) / sqrt(var(c) + noise) times a standard
    normal number (Frazier, Powell and Dayanik 2009); its expectation is a quadrature.
    """
    mean_c, V_c = process.project(C)
    Z_c = process.scaled(C)
    prior = kernel.variance(Z_c, process.hyper)
    var = np.maximum(prior - np.einsum("ij,ij->j", V_c, V_c), 1e-12 * prior)
    among = mean_c if allowed is None else np.where(allowed, mean_c, np.inf)
    most = len(best) if allowed is None else min(len(best), int(allowed.sum()))
    low = np.argsort(among, kind="stable")[:most]
    mean_b, V_b = process.project(best)
    mean = np.concatenate([mean_b, mean_c[low]])
    V = np.hstack([V_b, V_c[:, low]])
    Z = np.vstack([process.scaled(best), Z_c[low]])
    sd = np.sqrt(var + process.noise(seed_known=True))
    move = (kernel.covariance(Z, Z_c, process.hyper) - V.T @ V_c) / sd
    own = var / sd
    value = np.full(len(C), float(mean.min()))
    for node, weight in zip(*normal_nodes(), strict=True):
        after = np.min(mean[:, None] + node * move, axis=0)
        value -= weight * np.minimum(after, mean_c + node * own)
    return np.asarray(value)


def descend(
    process: Posterior, x: FloatArray, low: FloatArray, high: FloatArray, steps: int
) -> FloatArray:
    """A lower point of the posterior mean, by L-BFGS-B from ``x``; it stays in the box and
    within a length scale of ``x`` along every coordinate."""
    from scipy.optimize import minimize

    def mean(x: FloatArray) -> tuple[float, FloatArray]:
        return process.mean_slope(x)

    lengths, focus = process.lengths(x), process.focus
    low, high = np.maximum(low, x - lengths), np.minimum(high, x + lengths)
    box = low, high
    if focus is not None:
        process = process.flat()
        low, x, high = (focus.forward(one) for one in (low, x, high))
    bounds = list(zip(low, high, strict=True))
    found = minimize(
        mean, x, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps}
    )
    lowest = np.clip(found.x, low, high)
    return np.asarray(lowest if focus is None else focus.within(lowest, *box))


def descend_mixed(
    process: Posterior, layout: Layout, x: FloatArray, low: FloatArray, high: FloatArray
) -> FloatArray:
    """A lower point of the posterior mean than ``x``: numbers without steps by descent, all else
    by single changes, as long as one of them helps."""
    fixed = np.arange(layout.columns) >= layout.numbers
    value = float(process.mean(x[None])[0])
    for _ in range(_CHANGES):
        ends = np.where(fixed, x, low), np.where(fixed, x, high)
        found = [layout.settled(descend(process, x, *ends, 30))] if not fixed.all() else []
        X = np.vstack([*(y[None] for y in found), layout.neighbours(x)])
        if len(X) == 0:
            break
        means = process.mean(X)
        best = int(np.argmin(means))
        if not means[best] < value:
            break
        x, value = X[best], float(means[best])
    return x
