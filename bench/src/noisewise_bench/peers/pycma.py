"""pycma (the package ``cma``): full, separable, and with its uncertainty handling.

The strategy is driven by ask and tell and never asked whether it would stop, so no tolerance
ends a run early and the whole budget is spent. A last population that the budget cannot
complete is evaluated but not told. The recommendation is the mean of the distribution.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..problem import BudgetExceeded, FloatArray, Oracle
from ._common import Outcome, inside, library


def strategy(oracle: Oracle, seed: int, *, diagonal: bool) -> Any:
    """A fresh ``CMAEvolutionStrategy`` at ``x0``, with a generator of its own."""
    rng = np.random.default_rng([seed, 1])
    options = {
        "CMA_diagonal": diagonal,
        # "randn" instead of "seed": pycma's seed is that of numpy's global generator
        "randn": lambda *shape: rng.standard_normal(shape),
        "seed": np.nan,
        "verbose": -9,
    }
    if oracle.bounds is not None:
        options["bounds"] = [list(side) for side in oracle.bounds]
    return library("cma").CMAEvolutionStrategy(oracle.x0, oracle.sigma0, options)


def mean_of(es: Any, oracle: Oracle) -> FloatArray:
    """The distribution mean in the problem's coordinates."""
    return inside(oracle, es.result.xfavorite)


def evaluate(oracle: Oracle, X: list[FloatArray], samples: int) -> FloatArray | None:
    """Values (n, samples) of the population, or None when the budget ended before that."""
    rows = np.repeat(np.array(X), samples, axis=0)[: oracle.remaining]
    values: FloatArray = oracle(rows)
    return values.reshape(len(X), samples) if len(rows) == len(X) * samples else None


def spend(es: Any, oracle: Oracle, samples: int = 1) -> Outcome:
    """Run the strategy until the budget is gone, each value a mean of ``samples`` draws."""
    while oracle.remaining:
        X = es.ask()
        values = evaluate(oracle, X, samples)
        if values is not None:
            es.tell(X, values.mean(axis=1))
            oracle.report(mean_of(es, oracle))
    reevaluations = es.countiter * es.popsize * (samples - 1)
    return Outcome(mean_of(es, oracle), es.countiter, reevaluations)


@dataclass(frozen=True)
class CMA:
    """CMA-ES with default settings; each candidate's value is a mean of ``samples`` draws."""

    diagonal: bool = False
    samples: int = 1

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        return spend(strategy(oracle, seed, diagonal=self.diagonal), oracle, self.samples)


@dataclass(frozen=True)
class UncertaintyHandling:
    """CMA-ES under pycma's ``NoiseHandler``: up to ``max_evaluations`` draws per candidate.

    ``epsilon`` is the size, in step sizes, by which a point is moved when it is re-evaluated.
    """

    max_evaluations: int = 30
    epsilon: float = 1e-7

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        es = strategy(oracle, seed, diagonal=False)
        handler = library("cma").NoiseHandler(
            oracle.dimension, [1, 1, self.max_evaluations], np.median, epsilon=self.epsilon
        )
        rng = np.random.default_rng([seed, 2])
        reevaluations = 0
        while oracle.remaining:
            X = es.ask()
            samples = int(handler.evaluations)
            values = evaluate(oracle, X, samples)
            if values is None:
                break
            fitness = np.median(values, axis=1)
            es.tell(X, fitness)
            # A whole number leaves the handler no reason to consult numpy's global generator.
            handler.lam_reeval = int(2 + len(X) / 20 + rng.random())
            before = oracle.spent
            # a last measurement that the budget cannot complete changes nothing
            with suppress(BudgetExceeded):
                es.sigma *= handler(X, fitness, oracle, es.ask)
            reevaluations += oracle.spent - before + len(X) * (samples - 1)
            oracle.report(mean_of(es, oracle))
        return Outcome(mean_of(es, oracle), es.countiter, reevaluations)
