"""Minimise functions that can only be measured with noise, under a fixed budget."""

from noisewise import executors, methods, policy
from noisewise.errors import CheckpointError, EvaluationError
from noisewise.methods import names as list_methods
from noisewise.minimize import minimize
from noisewise.optimizer import Optimizer, Recommendation
from noisewise.probe import ProbeReport, probe
from noisewise.result import Result
from noisewise.space import Space
from noisewise.trial import Trial

__version__ = "0.2.0"
__all__ = [
    "CheckpointError",
    "EvaluationError",
    "Optimizer",
    "ProbeReport",
    "Recommendation",
    "Result",
    "Space",
    "Trial",
    "executors",
    "list_methods",
    "methods",
    "minimize",
    "policy",
    "probe",
]
