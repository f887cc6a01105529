"""Optuna's samplers: random, TPE, CMA-ES and a Gaussian process.

The last needs torch. Where that is not installed, it runs in the environment of ``botorch``.

Optuna has one idea of what to recommend, ``study.best_trial``: the luckiest draw. ``smoothed``
gives its trials a fairer answer.
"""

from __future__ import annotations

import importlib.util
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..problem import Oracle
from ._common import Outcome, box, library
from .isolated import Isolated
from .plain import least_mean

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Optuna:
    """Ask and tell one trial after the other; the first is ``x0``."""

    sampler: Literal["random", "tpe", "cmaes", "gp"]
    #: Recommend the trial with the smallest posterior mean of a Gaussian process, not the best one.
    smoothed: bool = False

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        if self.sampler == "gp" and importlib.util.find_spec("torch") is None:
            return Isolated("botorch", "optuna-gp")(oracle, budget, seed)
        optuna = library("optuna")
        low, high = box(oracle)
        names = [f"x{i}" for i in range(oracle.dimension)]
        ranges = {
            name: optuna.distributions.FloatDistribution(a, b)
            for name, a, b in zip(names, low.tolist(), high.tolist(), strict=True)
        }
        start = dict(zip(names, np.clip(oracle.x0, low, high).tolist(), strict=True))
        width = float(np.min(high - low))
        with quiet(optuna):
            sampler = self._sampler(optuna, seed % 2**32, start, oracle.sigma0 / width)
            study = optuna.create_study(sampler=sampler)
            study.enqueue_trial(start)
            best, x_best = np.inf, oracle.x0
            X, y = [], []
            while oracle.remaining:
                trial = study.ask(ranges)
                x = np.array([trial.params[name] for name in names])
                value = oracle(x)
                study.tell(trial, value)
                X.append(x)
                y.append(value)
                if value < best:  # what study.best_trial says, without its search
                    best, x_best = value, x
                    oracle.report(x_best)
        if self.smoothed:
            U = (np.array(X) - low) / (high - low)
            x_best = X[least_mean(U, np.array(y))]
        return Outcome(x_best)

    def _sampler(self, optuna: Any, seed: int, x0: dict[str, float], sigma0: float) -> Any:
        samplers = optuna.samplers
        if self.sampler == "random":
            return samplers.RandomSampler(seed=seed)
        if self.sampler == "tpe":
            return samplers.TPESampler(seed=seed, multivariate=True)
        if self.sampler == "cmaes":  # sigma0 is a share of the box, which Optuna scales to one
            return samplers.CmaEsSampler(seed=seed, x0=x0, sigma0=sigma0, lr_adapt=True)
        return samplers.GPSampler(seed=seed, deterministic_objective=False)


@contextmanager
def quiet(optuna: Any) -> Iterator[None]:
    """Only errors are logged; notes on experimental and deprecated arguments are dropped."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        optuna.logging.set_verbosity(before)
