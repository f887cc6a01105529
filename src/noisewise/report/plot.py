"""A run as a matplotlib figure."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise.errors import install

if TYPE_CHECKING:
    from noisewise.answer.result import Result


def plot(result: Result) -> Any:
    """Four panels over the evaluations: values, misranking, step size, population. Returns the
    array of matplotlib axes; ``axes[0, 0].figure`` is the figure."""
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"plot() needs the extra 'plot': {install('plot')}", name=error.name
        ) from None
    figure, axes = pyplot.subplots(2, 2, sharex=True, figsize=(9.0, 5.5), layout="constrained")
    figure.suptitle(f"{result.method}: {result.nfev} evaluations, {result.nit} generations")
    _values(axes[0, 0], result)
    h = result.history
    x = h["evaluations"]
    axes[0, 1].plot(x, h["misranking"], ".")
    axes[0, 1].axhline(1 / 3, linestyle=":", color="C2", label="pure noise")
    axes[0, 1].set(ylabel="misranking", ylim=(0.0, None))
    axes[0, 1].legend()
    if "sigma" in h:
        axes[1, 0].plot(x, h["sigma"])
        axes[1, 0].set(ylabel="step size", yscale="log")
    else:  # a method without a search distribution
        axes[1, 0].plot(x, h["reevaluations"])
        axes[1, 0].set(ylabel="re-evaluations so far", ylim=(0.0, None))
    axes[1, 0].set(xlabel="evaluations")
    axes[1, 1].step(x, h["population"], where="post")
    axes[1, 1].set(ylabel="population", xlabel="evaluations", ylim=(0.0, None))
    return axes


def _values(ax: Any, result: Result) -> None:
    h = result.history
    x = h["evaluations"]
    ax.plot(x, h["mean_value"], label="mean of a generation")
    best = np.fmax if result.maximize else np.fmin
    ax.plot(x, best.accumulate(h["best_value"]), "--", label="luckiest draw so far")
    if not math.isnan(result.fun):
        ax.axhline(result.fun, linestyle=":", color="C2", label="estimate")
    seen = np.concatenate((h["mean_value"], h["best_value"]))
    seen = seen[np.isfinite(seen)]
    if len(seen) and seen.min() > 0.0 and seen.max() > 20.0 * seen.min():
        ax.set_yscale("log")
    ax.set(ylabel="value")
    ax.legend()
