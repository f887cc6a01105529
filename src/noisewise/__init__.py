"""Minimise functions that can only be measured with noise, under a fixed budget."""

# isort: off
from noisewise.loop import interrupt  # first: everything else takes its time

# isort: on
from noisewise import executors, methods, policy, space
from noisewise import report as report  # registers how results are drawn
from noisewise.answer.recommendation import Recommendation
from noisewise.answer.result import Result
from noisewise.auditing.audit import Audit, audit
from noisewise.errors import CheckpointError, EvaluationError
from noisewise.loop.minimize import minimize
from noisewise.loop.optimizer import Optimizer
from noisewise.loop.probe import ProbeReport, probe
from noisewise.methods import names as list_methods
from noisewise.problem.space import Space
from noisewise.problem.trial import Trial

__version__ = "0.3.0.dev0"
__all__ = [
    "Audit",
    "CheckpointError",
    "EvaluationError",
    "Optimizer",
    "ProbeReport",
    "Recommendation",
    "Result",
    "Space",
    "Trial",
    "audit",
    "executors",
    "list_methods",
    "methods",
    "minimize",
    "policy",
    "probe",
    "space",
]

del interrupt


def __dir__() -> list[str]:
    """What is public."""
    return [*__all__, "__version__"]
