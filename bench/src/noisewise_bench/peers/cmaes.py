"""cmaes (CyberAgent): full, separable, with learning-rate adaptation, and CatCMA with margin.

``should_stop`` is never asked, so the whole budget is spent. A last population that the
budget cannot complete is evaluated but not told. The recommendation is the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from ..problem import Oracle
from ._common import Outcome, box, inside, library


@dataclass(frozen=True)
class CMAES:
    """One of the package's optimizers with its default settings."""

    variant: Literal["full", "separable", "learning-rate adaptation"] = "full"

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        optimizer = self._optimizer(oracle, seed)
        while oracle.remaining:
            X = np.array([optimizer.ask() for _ in range(optimizer.population_size)])
            values = oracle(X[: oracle.remaining])
            if len(values) == len(X):
                optimizer.tell(list(zip(X, values, strict=True)))
                oracle.report(inside(oracle, optimizer.mean))
        return Outcome(inside(oracle, optimizer.mean), optimizer.generation, 0)

    def _optimizer(self, oracle: Oracle, seed: int) -> Any:
        cmaes = library("cmaes")
        bounds = None if oracle.bounds is None else np.column_stack(oracle.bounds)
        common = {
            "mean": oracle.x0,
            "sigma": oracle.sigma0,
            "bounds": bounds,
            "seed": seed % 2**32,  # the range of numpy's RandomState
        }
        if self.variant == "separable":
            return cmaes.SepCMA(**common)
        return cmaes.CMA(**common, lr_adapt=self.variant == "learning-rate adaptation")


@dataclass(frozen=True)
class CatCMAwM:
    """CatCMA with margin in the box, with its default settings; recommends its mean."""

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        ranges = np.column_stack(box(oracle))
        optimizer = library("cmaes").CatCMAwM(x_space=ranges, mean=oracle.x0, seed=seed % 2**32)
        n = optimizer.population_size
        while oracle.remaining >= n:
            asked = [optimizer.ask() for _ in range(n)]
            values = oracle(inside(oracle, [one.x for one in asked]))
            optimizer.tell(list(zip(asked, values, strict=True)))
            oracle.report(inside(oracle, optimizer._mean))
        mean = inside(oracle, optimizer._mean)
        if oracle.remaining:
            oracle(np.tile(mean, (oracle.remaining, 1)))
        return Outcome(mean, optimizer.generation, 0)
