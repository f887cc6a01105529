"""Noisy problems whose truth is known to the score and hidden from the method.

Importing this package needs numpy only; making a problem imports what that problem needs.
"""

from .additive import AdditiveNoise, NoisySphere
from .bbob_noisy import BBOBNoisy
from .gym import Gym
from .registry import SMALL_TASKS, SUITES, TASKS, make, suite
from .small import Small

__all__ = [
    "SMALL_TASKS",
    "SUITES",
    "TASKS",
    "AdditiveNoise",
    "BBOBNoisy",
    "Gym",
    "NoisySphere",
    "Small",
    "make",
    "suite",
]
