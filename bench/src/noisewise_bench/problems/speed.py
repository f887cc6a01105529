"""What a noisy evaluation costs: ``python -m noisewise_bench.problems.speed``."""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..problem import FloatArray
from ._optional import optional
from .bbob_noisy import BBOBNoisy
from .landscapes import NOISY, Landscape


@dataclass(frozen=True)
class Cost:
    """Microseconds for one batch of one function."""

    function: int
    pycma: float  # noise-free value, as pycma computes it
    noise_free: float  # noise-free value, as computed here
    noisy: float  # noisy values and the regret of the same batch


def measure(function: int, dimension: int = 40, rows: int = 15, repeats: int = 24) -> Cost:
    """Smallest of 30 short, interleaved timings of ``repeats`` batches, all new to the problem."""
    rng = np.random.default_rng(function)
    pool = list(rng.uniform(-5.0, 5.0, (8, rows, dimension)))
    reference: Any = optional("cma.bbobbenchmarks").dictbbob[function](1)
    reference.noise = np.copy
    problem, landscape = BBOBNoisy(function, 1, dimension), Landscape(function, 1, dimension)

    def noisy_and_regret(X: FloatArray) -> None:
        problem.noisy(X, rng)
        problem.regret(X)

    batches = list(itertools.islice(itertools.cycle(pool), repeats))
    calls = (reference._evalfull, landscape, noisy_and_regret)
    rounds = [[_microseconds(call, batches) for call in calls] for _ in range(30)]
    return Cost(function, *np.min(rounds, axis=0))


def _microseconds(call: Callable[[FloatArray], object], batches: list[FloatArray]) -> float:
    start = time.perf_counter()
    for X in batches:
        call(X)
    return 1e6 * (time.perf_counter() - start) / len(batches)


def table(costs: list[Cost]) -> str:
    """One line per function, and the sums."""
    total = Cost(0, *np.sum([[c.pycma, c.noise_free, c.noisy] for c in costs], axis=0))
    lines = ["function  pycma  noise-free  noisy+regret  /pycma  /noise-free   (microseconds)"]
    for c in [*costs, total]:
        label = f"f{c.function}" if c.function else "sum"
        lines.append(
            f"{label:8s} {c.pycma:6.1f} {c.noise_free:11.1f} {c.noisy:13.1f}"
            f" {c.noisy / c.pycma:7.2f} {c.noisy / c.noise_free:12.2f}"
        )
    return "\n".join(lines)


def main() -> None:
    """Print the table for all 30 functions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dimension", type=int, default=40)
    parser.add_argument("--rows", type=int, default=15)
    options = parser.parse_args()
    print(table([measure(f, options.dimension, options.rows) for f in NOISY]))


if __name__ == "__main__":
    main()
