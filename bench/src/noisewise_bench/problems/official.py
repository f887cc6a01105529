"""Problems of COCO's own bbob-noisy suite, with COCO's own noise."""

from __future__ import annotations

from typing import Any, Final, final

import numpy as np

from ..problem import FloatArray
from ._optional import optional
from .bbob_noisy import BBOBNoisy

DIMENSIONS: Final = (2, 3, 5, 10, 20, 40)  # those the suite has
SKIPPED: Final = 997  # values between the beginnings of two instances


@final
class OfficialProblem:
    """A problem of the suite behind the bench's interface; the truth is its seeded twin's."""

    def __init__(self, problem: Any) -> None:
        self._problem = problem
        self._twin = BBOBNoisy(problem.id_function, problem.id_instance, problem.dimension)
        self.name = f"official-{self._twin.name}"
        self.x0: FloatArray = np.array(problem.initial_solution, dtype=float)
        self.bounds: tuple[FloatArray, FloatArray] | None = (
            np.array(problem.lower_bounds, dtype=float),
            np.array(problem.upper_bounds, dtype=float),
        )

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """COCO's value of every row; the noise is COCO's, the generator is not used."""
        return np.array([float(self._problem(x)) for x in X])

    def regret(self, X: FloatArray) -> FloatArray:
        """Noise-free value above the optimum."""
        return self._twin.regret(X)


@final
class LoneProblem:
    """One problem of the suite, whose noise begins anew with every run.

    COCO's noise is a counter of the process that only a new suite sets back, so a new generator,
    which is a new run, gets a new suite. Every instance begins elsewhere in COCO's sequence.

    >>> problem = LoneProblem(110, 3, 10)
    >>> problem.name
    'official-bbob-noisy/f110/i3/d10'
    >>> X = np.zeros((3, 10))
    >>> first, second = (problem.noisy(X, np.random.default_rng(i)) for i in range(2))
    >>> bool(np.all(first == second))
    True
    """

    def __init__(self, function: int, instance: int, dimension: int) -> None:
        if dimension not in DIMENSIONS:
            known = ", ".join(map(str, DIMENSIONS))
            raise ValueError(f"dimension is {dimension}, the suite takes {known}")
        self._options = (
            f"dimensions:{dimension} function_indices:{function - 100} instance_indices:{instance}"
        )
        self._skipped = SKIPPED * instance
        self._rng: np.random.Generator | None = None
        self._start()
        self.name, self.x0, self.bounds = self._run.name, self._run.x0, self._run.bounds

    def _start(self) -> None:
        self._suite = optional("cocoex").Suite("bbob-noisy", "", self._options)
        self._run = OfficialProblem(self._suite[0])
        for _ in range(self._skipped):
            self._suite[0](self._run.x0)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """COCO's value of every row; a new generator starts COCO's noise again."""
        if rng is not self._rng:
            self._start()
            self._rng = rng
        return self._run.noisy(X, rng)

    def regret(self, X: FloatArray) -> FloatArray:
        """Noise-free value above the optimum."""
        return self._run.regret(X)
