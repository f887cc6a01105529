"""Measured constraints of a run: what is learnt from them, and what methods get to see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from noisewise._check import shown
from noisewise._types import FloatArray
from noisewise.gp.limits import Limits
from noisewise.measured.population import Population
from noisewise.measured.samples import Samples
from noisewise.methods.method import Method, Setup
from noisewise.problem.values import Measured
from noisewise.run.run import Run

#: Where a side of the box is open, its width is taken for so many initial step sizes.
_OPEN = 1.0 / 0.3


def begin(setup: Setup, n: int) -> Limits:
    """What is known about ``n`` constraints before the first value."""
    box = setup.box
    low, high = box.low / box.scale, box.high / box.scale
    closed = np.isfinite(low) & np.isfinite(high)
    with np.errstate(invalid="ignore"):
        unit = np.where(closed, high - low, _OPEN * setup.sigma)
        origin = np.where(closed, low, setup.mean - 0.5 * unit)
    return Limits.start(origin, unit, n)


def learn(run: Run, population: Population) -> None:
    """Take note of the constraints that were measured with a population."""
    samples = population.samples
    if run.limits is None or samples.limits is None:
        return
    i, slot = np.nonzero(~np.isnan(samples.limits).any(axis=2))
    values = samples.values[i, slot]
    run.limits = run.limits.learn(population.X[i], samples.limits[i, slot], values)


def seen_by(method: Method, run: Run, population: Population) -> Population:
    """The population that the method shall learn from. One that knows what to do with constraints
    is told about them; for others, candidates that are probably infeasible rank behind all that
    were seen so far, by how far they are beyond the limits."""
    limits = run.limits
    if limits is None or population.failed:
        return population
    if method.learns_limits:
        return replace(population, limits=limits)
    centre = population.samples.mean()
    over = limits.violation(population.X)
    bad = np.flatnonzero((over > 0.0) & np.isfinite(centre))
    if len(bad) == 0:
        return population
    values = population.samples.values
    seen = values[np.isfinite(values)]
    step = float(np.ptp(seen)) or 1.0
    rank = np.empty(len(bad))
    rank[np.argsort(over[bad], kind="stable")] = np.arange(1.0, len(bad) + 1.0)
    moved = values.copy()
    # All values of a candidate move by the same amount, so that their noise is what it was.
    moved[bad] += (limits.worst + step * rank - centre[bad])[:, None]
    ranked = Samples(moved, population.samples.errors)
    return replace(population, samples=ranked, told=population.samples)


def safe(run: Run, points: FloatArray) -> FloatArray:
    """Points to return, moved to where the constraints are almost certainly met."""
    if run.limits is None or run.setup.options is not None:  # there is nothing between options
        return points
    return np.array([run.limits.safe(x) for x in points])


def check(constraints: Any, method: Method, vectorized: Any) -> None:
    """Raise ValueError unless ``constraints`` are a function for this method."""
    if not callable(constraints):
        raise ValueError(f"constraints must be callable or None, got {shown(constraints)}")
    check_method(method)
    if vectorized:
        raise ValueError(
            "constraints cannot be combined with vectorized=True: leave it out, or use workers"
        )


def check_method(method: Method) -> None:
    """Raise ValueError unless the method takes constraints."""
    if not method.constrained:
        raise ValueError(
            "constraints need method 'auto', 'gp', 'watchful', 'select' or 'cma-es', got "
            f"{shown(method.name)}"
        )


@dataclass(frozen=True)
class Both:
    """An objective and its constraints as one function; goes to worker processes if both do."""

    fun: Callable[..., Any]
    constraints: Callable[..., Any]

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        """The user's objective, as for decorators."""
        return self.fun

    def __call__(self, x: FloatArray, *args: Any, **more: Any) -> Measured:
        found = self.constraints(x.copy(), *args, **more)
        return Measured(self.fun(x, *args, **more), found)
