"""Model-based peers that run in this process: PyBADS, Py-BOBYQA and lq-CMA-ES.

PyBADS and Py-BOBYQA may decide to stop before the budget is gone; the rest is then spent on the
point they return, which changes nothing, so that all peers are charged alike.
"""

from __future__ import annotations

import logging
import warnings
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..problem import BudgetExceeded, FloatArray, Oracle
from ._common import Outcome, box, global_random_state, inside, library

PEERS_EXTRA = "peers"


def _spend_rest(oracle: Oracle, x: FloatArray) -> Outcome:
    oracle.report(x)
    if oracle.remaining:
        oracle(np.tile(x, (oracle.remaining, 1)))
    return Outcome(x)


@dataclass(frozen=True)
class PyBADS:
    """BADS told that the function is noisy; its ten final samples come out of the budget.

    The plausible box, in which it starts its design, leaves out a twentieth of the box on each
    side, because nothing is known about where the optimum lies.
    """

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        pybads = library("pybads", PEERS_EXTRA)
        low, high = box(oracle)
        margin = 0.05 * (high - low)
        x0 = np.clip(oracle.x0, low, high)
        plausible = np.minimum(low + margin, x0), np.maximum(high - margin, x0)
        options = {
            "uncertainty_handling": True,
            "max_fun_evals": oracle.remaining,
            "display": "off",
            "show_tips": False,
            "random_seed": seed,
        }
        evaluated: list[tuple[float, FloatArray]] = []

        def fun(x: Any) -> float:
            point = inside(oracle, np.ravel(x))
            evaluated.append((float(oracle(point)), point))
            return evaluated[-1][0]

        level = logging.getLogger("BADS").level
        with warnings.catch_warnings(), global_random_state(seed):
            warnings.simplefilter("ignore")
            try:
                found = pybads.BADS(fun, x0, low, high, *plausible, options=options).optimize()
                x = inside(oracle, np.ravel(found["x"]))
            except BudgetExceeded:
                x = min(evaluated, key=lambda pair: pair[0])[1]
            finally:
                logging.getLogger("BADS").setLevel(level)
        return _spend_rest(oracle, x)


@dataclass(frozen=True)
class PyBOBYQA:
    """Py-BOBYQA in its noisy mode, scaled to the box; it restarts where noise stops progress.

    With few evaluations the full quadratic, its default under noise, would take them all: the
    interpolation set is then limited to half the budget, but not below the 2d + 1 points of its
    noise-free mode.
    """

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        pybobyqa = library("pybobyqa", PEERS_EXTRA)
        low, high = box(oracle)
        d = oracle.dimension
        full, lean = (d + 1) * (d + 2) // 2, 2 * d + 1
        evaluated: list[tuple[float, FloatArray]] = []

        def fun(x: Any) -> float:
            point = inside(oracle, np.asarray(x))
            evaluated.append((float(oracle(point)), point))
            return evaluated[-1][0]

        x: FloatArray | None = None
        with warnings.catch_warnings(), global_random_state(seed), suppress(BudgetExceeded):
            warnings.simplefilter("ignore")
            found = pybobyqa.solve(
                fun,
                np.clip(oracle.x0, low, high),
                bounds=(low, high),
                npt=min(full, max(lean, oracle.remaining // 2)),
                maxfun=oracle.remaining,
                objfun_has_noise=True,
                scaling_within_bounds=True,
                do_logging=False,
            )
            if found.x is not None:
                x = inside(oracle, found.x)
        if x is None:  # the budget did not last for the first model
            x = min(evaluated, key=lambda pair: pair[0])[1]
        return _spend_rest(oracle, x)


#: pycma's criteria read a noisy plateau as convergence; none of them may end the run.
NEVER_STOP = {
    "tolfun": 0,
    "tolfunhist": 0,
    "tolfunrel": 0,
    "tolx": 0,
    "tolxstagnation": False,
    "tolstagnation": np.inf,
    "tolflatfitness": np.inf,
    "tolconditioncov": np.inf,
    "tolfacupx": np.inf,
    "tolupsigma": np.inf,
    "maxiter": np.inf,
}


@dataclass(frozen=True)
class LqCMA:
    """``cma.fmin_lq_surr2``, stopped by the budget alone; recommends the distribution's mean."""

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        cma = library("cma")
        rng = np.random.default_rng([seed, 1])
        options: dict[str, Any] = NEVER_STOP | {
            # "randn" instead of "seed": pycma's seed is that of numpy's global generator
            "randn": lambda *shape: rng.standard_normal(shape),
            "seed": np.nan,
            "verbose": -9,
        }
        if oracle.bounds is not None:
            options["bounds"] = [list(side) for side in oracle.bounds]
        best, generations = oracle.x0, 0

        def note(es: Any) -> None:
            nonlocal best, generations
            best, generations = inside(oracle, es.result.xfavorite), es.countiter
            oracle.report(best)

        def fun(x: Any) -> float:
            return float(oracle(inside(oracle, x)))

        with warnings.catch_warnings(), global_random_state(seed), suppress(BudgetExceeded):
            warnings.simplefilter("ignore")
            while oracle.remaining:  # a start where it gives up nevertheless
                cma.fmin_lq_surr2(fun, best, oracle.sigma0, dict(options), callback=note)
        return Outcome(best, generations)
