"""Other people's optimizers behind one call: ``get(name)(oracle, budget, seed)``.

Each runs as its documentation advises for noise, spends the whole budget, and recommends what
the library itself would, see `Peer.recommends`. A library is imported when its peer is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from ..problem import Method, Oracle
from ._common import Outcome
from .cmaes import CMAES, CatCMAwM
from .isolated import Isolated
from .models import LqCMA, PyBADS, PyBOBYQA
from .optuna import Optuna
from .plain import XNES, PlainGP, RandomSearch
from .policy_gradients import ARS, PGPE, OpenAIES, PGPEClipUp
from .pycma import CMA, UncertaintyHandling
from .scipy import DifferentialEvolution

__all__ = ["PEERS", "Outcome", "Peer", "get"]

MEAN: Final = "mean of the distribution"
OWN: Final = "the library's own estimate"
LUCKY: Final = "luckiest draw"


@dataclass(frozen=True)
class Peer:
    """A named method of another library, and what kind of point it recommends."""

    name: str
    method: Method
    recommends: Literal["mean of the distribution", "the library's own estimate", "luckiest draw"]

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        outcome: Outcome = self.method(oracle, budget, seed)
        return outcome


PEERS: Final[Mapping[str, Peer]] = {
    peer.name: peer
    for peer in (
        Peer("pycma", CMA(), MEAN),
        Peer("pycma-sep", CMA(diagonal=True), MEAN),
        Peer("pycma-uh", UncertaintyHandling(), MEAN),
        Peer("cmaes", CMAES("full"), MEAN),
        Peer("cmaes-sep", CMAES("separable"), MEAN),
        Peer("cmaes-lra", CMAES("learning-rate adaptation"), MEAN),
        Peer("cmaes-cat", CatCMAwM(), MEAN),
        Peer("nevergrad-tbpsa", Isolated("nevergrad", "TBPSA"), OWN),
        Peer("nevergrad-oneplusone", Isolated("nevergrad", "OptimisticNoisyOnePlusOne"), OWN),
        Peer("nevergrad-ngopt", Isolated("nevergrad", "NGOpt"), OWN),
        Peer("optuna-random", Optuna("random"), LUCKY),
        Peer("optuna-tpe", Optuna("tpe"), LUCKY),
        Peer("optuna-tpe-smoothed", Optuna("tpe", smoothed=True), OWN),
        Peer("optuna-cmaes", Optuna("cmaes"), LUCKY),
        Peer("optuna-gp", Optuna("gp"), LUCKY),
        Peer("scipy-de", DifferentialEvolution(), LUCKY),
        Peer("random", RandomSearch(), LUCKY),
        Peer("random-and-middle", RandomSearch(middle=True), LUCKY),
        Peer("plain-gp", PlainGP(), OWN),
        Peer("xnes", XNES(), MEAN),
        Peer("ars", ARS(), MEAN),
        Peer("ars-large", ARS(step=0.3, length=0.5), MEAN),
        Peer("pgpe", PGPE(), MEAN),
        Peer("pgpe-clipup", PGPEClipUp(), MEAN),
        Peer("openai-es", OpenAIES(), MEAN),
        Peer("lq-cma", LqCMA(), MEAN),
        Peer("pybads", PyBADS(), OWN),
        Peer("py-bobyqa", PyBOBYQA(), OWN),
        Peer("botorch", Isolated("botorch", "botorch"), OWN),
        Peer("smac", Isolated("smac", "smac"), OWN),
        Peer("noisewise-0.2", Isolated("noisewise-0.2", "auto"), OWN),
        Peer("noisewise-0.2-confirmed", Isolated("noisewise-0.2", "auto/auto"), OWN),
    )
}


def get(name: str) -> Peer:
    """The peer of that name."""
    if name not in PEERS:
        raise ValueError(f"the peer {name!r} is unknown; known are {', '.join(PEERS)}")
    return PEERS[name]
