"""Which parameters mattered, from how candidates of one generation were ranked, or from the model.

A model proposes one candidate at a time, so there are no ranks to explain; it is asked itself.
Otherwise ranks are looked at. Over a whole run everything changes at once: the search closes in and
values fall, so any parameter that drifts seems to matter. Within a generation candidates differ by
chance only. So ranks are explained generation by generation, and what is explained is averaged.

| symbol | meaning | shape |
|---|---|---|
| k | candidates of a generation | |
| z | normal scores of their ranks, mean zero | (k,) |
| A | a parameter: its value and the square of it, or one column per word of a choice, mean zero | |
| p | independent columns of A in this generation | |
| R² | part of the variation of z that A explains; p / (k - 1) on average by chance | |
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.measured.samples import midranks
from noisewise.methods.method import Method
from noisewise.problem.space import Choice, Space
from noisewise.problem.values import LARGEST
from noisewise.run.run import Run

#: Newest candidates among which parameters are compared, and most parameters.
_COMPARED, _COMPARED_UP_TO = 400, 50
#: Fewer candidates than this, in generations large enough to count, tell nothing.
_LEAST = 20
#: A parameter counts as told apart from chance below this (Holm-corrected) probability.
_LEVEL = 0.05


@dataclass(frozen=True)
class Importance:
    """A parameter: the part of the ranks within a generation that it explains alone, less what
    chance explains, and whether chance would explain it all. From a model: the part of the
    variance of its values in which the parameter takes part, and whether it is sure of that."""

    name: str
    share: float
    clear: bool


def importances(
    X: FloatArray, values: FloatArray, generation: IntArray, space: Space | None
) -> list[Importance]:
    """The parameters, most important first, from candidates (user coordinates), their values
    (+inf: failed) and the generation of each; empty if they are too few to tell."""
    columns = _columns(X, space)
    rows = [np.flatnonzero(generation == g) for g in np.unique(generation)]
    # A mean and two columns must leave something over.
    rows = [at for at in rows if len(at) >= 4 and np.ptp(_scores(values[at])) > 0.0]
    if sum(map(len, rows)) < _LEAST:
        return []
    found = {
        name: _explained([(A[at], _scores(values[at])) for at in rows])
        for name, A in columns.items()
    }
    clear = _holm(np.array([chance for _, chance in found.values()]))
    out = [
        Importance(name, share, bool(sure))
        for (name, (share, _)), sure in zip(found.items(), clear, strict=True)
    ]
    return sorted(out, key=lambda i: -i.share)


def among_newest(run: Run, space: Space | None) -> list[Importance]:
    """The parameters by how much they mattered among the newest candidates."""
    if not compared(run):
        return []
    X, values, generation = run.evidence.recent.points(_COMPARED)
    return importances(run.setup.box.outer(X), values, generation, space)


def compared(run: Run) -> int:
    """Candidates that are compared; in many dimensions they would be too few."""
    recent = run.evidence.recent
    if not recent.size or run.setup.dimension > _COMPARED_UP_TO:
        return 0
    return len(recent.points(_COMPARED)[1])


def modelled(method: Method, run: Run, space: Space | None) -> list[Importance]:
    """The parameters by how much they matter to the model in charge; empty if there is none."""
    box = run.setup.box
    free = np.less(*box.bounds)
    place = np.cumsum(free) - 1
    every = blocks(box.dimension, space).items()
    found = {name: place[at][free[at]] for name, at in every}
    varying = {name: block for name, block in found.items() if len(block)}
    model = method.explain(run.memory).predictions
    told = [] if model is None else model.sensitivities(list(varying.values()))
    out = [Importance(name, *one) for name, one in zip(varying, told, strict=True)] if told else []
    return sorted(out, key=lambda i: -i.share)


def table(method: Method, run: Run, space: Space | None) -> dict[str, list[Any]]:
    """The parameters as columns by name, the most important first: the name, its share, whether
    that is clear, and of what it is a share, "variance" of a model or "ranks"."""
    found, of = modelled(method, run, space), "variance"
    if not found:
        found, of = among_newest(run, space), "ranks"
    return {
        "parameter": [one.name for one in found],
        "share": [float(one.share) for one in found],
        "clear": [bool(one.clear) for one in found],
        "of": [of] * len(found),
    }


def blocks(dimension: int, space: Space | None) -> dict[str, slice]:
    """Coordinates of each parameter; x1, x2, ... where they have no names."""
    unnamed = {f"x{j + 1}": slice(j, j + 1) for j in range(dimension)}
    return unnamed if space is None else space.blocks


def _explained(blocks: list[tuple[FloatArray, FloatArray]]) -> tuple[float, float]:
    """Share of the ranks that is explained beyond chance, and the probability of as much by
    chance: R² of columns that say nothing has a Beta law; the weighted sum of several of them is
    taken for a gamma law with the same mean and variance."""
    from scipy.special import gammaincc  # takes long to import

    share = weight = total = mean = variance = 0.0
    for A, z in blocks:
        left, p = _left_over(A - A.mean(axis=0), z)
        k, free = len(z), len(z) - 1 - p
        if free == 0:
            continue
        r2, chance = 1.0 - left / float(z @ z), p / (k - 1.0)
        share += k * (r2 - chance) / (1.0 - chance)
        weight += k
        total += k * r2
        mean += k * chance
        variance += k * k * 2.0 * p * free / ((k - 1.0) ** 2 * (k + 1.0))
    if variance == 0.0:  # it had one value only
        return 0.0, 1.0
    return max(0.0, share / weight), float(gammaincc(mean**2 / variance, total * mean / variance))


def _left_over(A: FloatArray, z: FloatArray) -> tuple[float, int]:
    """What least squares leave of the sum of squares, and how many columns count."""
    coefficients, _, p, _ = np.linalg.lstsq(A, z, rcond=1e-6)
    rest = z - A @ coefficients
    return float(rest @ rest), int(p)


def _scores(values: FloatArray) -> FloatArray:
    """Normal scores of the ranks; equal values, all failures among them, share one."""
    from scipy.special import ndtri  # takes long to import

    z = ndtri(midranks(values) / len(values))
    return np.asarray(z - z.mean())


def _columns(X: FloatArray, space: Space | None) -> dict[str, FloatArray]:
    """The columns that stand for each parameter."""
    parameters = {} if space is None else space.parameters
    if space is not None:
        X = np.array([space.encode(space.decode(x)) for x in X]).reshape(len(X), space.dimension)
    return {
        name: X[:, at] if isinstance(parameters.get(name), Choice) else _number(X[:, at.start])
        for name, at in blocks(X.shape[1], space).items()
        if at.start < at.stop  # it has more than one value
    }


def _number(u: FloatArray) -> FloatArray:
    u = u / max(1.0, float(np.abs(u).max()) / LARGEST)  # its square must be finite
    return np.column_stack((u, u * u))


def _holm(chances: FloatArray) -> FloatArray:
    """Which hypotheses are rejected, by Holm's rule."""
    order = chances.argsort()
    steps = chances[order] * np.arange(len(chances), 0, -1)
    rejected = np.empty(len(chances), dtype=bool)
    rejected[order] = np.maximum.accumulate(steps) < _LEVEL
    return rejected
