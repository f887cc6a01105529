"""Many parameters: time and memory of a generation, and what each covariance model finds.

The task is the minibatch network of `problems.tasks.mlp_digits` (is this digit a zero?) with more
hidden units.
"""

from __future__ import annotations

import time
import tracemalloc
from typing import Final

import numpy as np

from noisewise_bench import methods
from noisewise_bench.problem import FloatArray, Oracle
from noisewise_bench.problems.tasks._data import N_ROWS, log_loss, sample_rows
from noisewise_bench.problems.tasks._task import tanh_network
from noisewise_bench.tables import Column, Table, fixed

_INPUTS: Final = 64
#: Hidden units; the network has 66 parameters for each, and one more.
HIDDEN: Final = (4, 15, 45, 151)
METHODS: Final = ("auto", "sep-cma-es", "cma-es", "rb-pem", "peer/pgpe", "peer/ars-large")
#: A full matrix is learned up to this dimension.
_FULL_UP_TO: Final = 1000
_EVALUATIONS: Final = 4000


class Digits:
    """Logistic loss of a minibatch of 16; the truth is the loss over all rows."""

    truth_is_costly = True
    bounds: tuple[FloatArray, FloatArray] | None = None
    sigma0 = 0.3

    def __init__(self, hidden: int) -> None:
        self._hidden = hidden
        self.x0: FloatArray = np.zeros(_INPUTS * hidden + 2 * hidden + 1)
        self._features, self._labels = sample_rows("digits", 1)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Loss of one minibatch per row."""
        rows = rng.integers(N_ROWS, size=(len(X), 16))
        logit = tanh_network(X, _INPUTS, self._hidden, self._features[rows])
        return np.asarray(log_loss(logit, self._labels[rows]).mean(axis=1))

    def regret(self, X: FloatArray) -> FloatArray:
        """Loss over all rows."""
        logit = tanh_network(X, _INPUTS, self._hidden, self._features[None])
        return np.asarray(log_loss(logit, self._labels).mean(axis=1))


def solve(hidden: int, method: str, evaluations: int, seed: int) -> tuple[float, float, float]:
    """Loss of the returned network, generations, and seconds in the method."""
    problem = Digits(hidden)
    oracle = Oracle(problem, evaluations, np.random.default_rng([seed, 5]))
    began = time.perf_counter()
    r = methods.get(method)(oracle, evaluations, seed)
    seconds = time.perf_counter() - began - oracle._recorder.seconds_problem
    return float(problem.regret(np.asarray(r.x)[None])[0]), float(r.nit), seconds


def _megabytes(hidden: int, method: str) -> float:
    """Largest memory of a short run, without the network's own."""
    tracemalloc.start()
    try:
        solve(hidden, method, 100, 1)
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()


def size_table(quick: bool) -> Table:
    """Time, memory and loss by number of parameters and method."""
    body = []
    evaluations, seeds = (200, 1) if quick else (_EVALUATIONS, 3)
    for hidden in HIDDEN[:2] if quick else HIDDEN:
        d = 66 * hidden + 1
        for method in METHODS:
            if method == "cma-es" and d > _FULL_UP_TO:
                continue
            found = [solve(hidden, method, evaluations, s) for s in range(1, seeds + 1)]
            loss = float(np.median([one[0] for one in found]))
            each = float(np.median([one[2] / max(one[1], 1.0) for one in found]))
            name, memory = method.removeprefix("peer/"), _megabytes(hidden, method)
            body.append((d, name, 1000.0 * each, memory, loss))
    columns = (
        *(Column("parameters"), Column("method")),
        Column("ms per generation", fixed, "median, the network's own time left out"),
        Column("MB", fixed, "largest memory while it runs"),
        Column("loss", fixed, "of the returned network over all rows, median"),
    )
    notes = (
        f"{evaluations} minibatches of 16, {seeds} seeds; the loss at the start is 0.69. Times "
        "depend on the machine and on what else it was doing.",
    )
    return Table("Many parameters: the minibatch network", columns, tuple(body), notes)
