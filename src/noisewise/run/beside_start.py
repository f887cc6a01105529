"""The answer of a run with two outcomes, such as won and lost, that began where the user said.

A search that compares single outcomes walks away from a good start. So the answer is the start, or
a point that is better according to all values together (`noisewise.methods.gain`), unless
the method's own answer beats that point in a race with a tenth of the budget.
"""

from __future__ import annotations

import numpy as np

from noisewise._types import FloatArray
from noisewise.measured.samples import evaluations
from noisewise.methods import gain
from noisewise.methods.method import Method
from noisewise.run.reserve import Reserve
from noisewise.run.run import Run

#: Part of the budget for the race.
_PART = 0.1


def applies(run: Run) -> bool:
    """Whether the run is of this kind, as far as is known."""
    return run.setup.given and run.limits is None and run.evidence.two_outcomes


def kept(run: Run, wanted: Reserve) -> Reserve:
    """What to keep for the last phase, ``wanted`` if the run is of another kind. In batches and
    with several workers there is no race, and today's setting is measured by itself."""
    if run.flows or run.comparison is not None or not applies(run):
        return wanted
    return Reserve(max(wanted.race, int(_PART * run.ledger.budget)), wanted.confirm)


def due(run: Run) -> bool:
    """Whether evaluations must be kept for the race that are not yet."""
    now = Reserve(run.setup.race, run.setup.confirm)
    return kept(run, now) != now


def finalists(method: Method, run: Run) -> FloatArray | None:
    """The answer beside the start, then that of the method; None where the run is of another
    kind."""
    if not applies(run):
        return None
    other = method.recommend(run.memory).x
    first = answer(run, other)
    if first is None:
        return None
    return np.array([first] if np.array_equal(first, other) else [first, other])


def said(run: Run) -> str:
    """What became of the start, in a few words; nothing where the run is of another kind, or where
    the verdict about today's setting says it."""
    if run.final is None or run.comparison is not None or not applies(run):
        return ""
    if np.array_equal(run.final.chosen, run.setup.mean):
        return "of two outcomes: no point is surely better than the start"
    return "of two outcomes: the answer seems better than the start"


def answer(run: Run, other: FloatArray) -> FloatArray | None:
    """The point to return, inner coordinates, ``other`` being that of the method; None where too
    little is known."""
    setup, box = run.setup, run.setup.box
    rounds = [evaluations(*one) for one in run.evidence.recent.rounds]
    if not rounds:
        return None
    low, high = box.low / box.scale, box.high / box.scale
    with np.errstate(invalid="ignore"):
        closed = np.isfinite(high - low)
        unit = np.where(closed, gain.WIDTH * (high - low), gain.STEPS * setup.sigma)
    X, y = np.concatenate([X for X, _ in rounds]), np.concatenate([y for _, y in rounds])
    start = setup.mean
    model = gain.fit((X - start) / unit, y)
    if model is None:
        return None
    also = ((other - start) / unit)[None]
    sure = gain.SURE if run.comparison is None else gain.BOLD
    z = gain.best(model, (low - start) / unit, (high - start) / unit, also, sure)
    return np.asarray(box.repaired((start + unit * z)[None])[0]) if z.any() else start
