"""What the author of a method needs, in one place; see docs/guides/add-a-method.md.

>>> from noisewise.plugin import EvolutionStrategy, Method
>>> issubclass(EvolutionStrategy, Method)
True
"""

from noisewise._check import fraction, integer, one_of, positive_real
from noisewise._data import data
from noisewise.cma.evolution import CMAOptions, EvolutionMemory, EvolutionStrategy, Weights
from noisewise.cma.weights import expected_weights, rank_weights
from noisewise.measured.population import Population
from noisewise.measured.samples import Samples, ranks
from noisewise.methods.method import (
    NOTHING,
    Distribution,
    Explanation,
    Handover,
    Info,
    Method,
    Now,
    Recommended,
    Setup,
    Size,
    default_population,
    everyone,
)
from noisewise.problem.earlier import Earlier

__all__ = [
    "NOTHING",
    "CMAOptions",
    "Distribution",
    "Earlier",
    "EvolutionMemory",
    "EvolutionStrategy",
    "Explanation",
    "Handover",
    "Info",
    "Method",
    "Now",
    "Population",
    "Recommended",
    "Samples",
    "Setup",
    "Size",
    "Weights",
    "data",
    "default_population",
    "everyone",
    "expected_weights",
    "fraction",
    "integer",
    "one_of",
    "positive_real",
    "rank_weights",
    "ranks",
]
