"""Are the workers busy? Evaluations that sleep, on real worker processes."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from noisewise_bench.reliability import virtual
from noisewise_bench.reliability.objective import Sleeping, lines, seconds

#: Standard deviation of the logarithm of the evaluation times.
TIMES = {"equal": 0.0, "log-normal, sd 0.5": 0.5}
WORKERS = 8
METHODS = ("auto", "cma-es")


@dataclass(frozen=True)
class Measured:
    """One run: method, evaluation times, utilisation."""

    method: str
    times: str
    utilisation: float


def measure(methods: Sequence[str], d: int, budget: int, mean: float) -> Iterator[Measured]:
    """Utilisation of real processes: seconds in the objective over those of all workers, from the
    call of minimize to its return."""
    for method in methods:
        for times, sd in TIMES.items():
            with tempfile.TemporaryDirectory() as folder:
                log = Path(folder) / "seconds"
                began = time.monotonic()
                nw.minimize(
                    Sleeping(mean, sd, log),
                    np.full(d, 2.0),
                    sigma0=1.0,
                    budget=budget,
                    rng=1,
                    method=method,
                    workers=WORKERS,
                )
                wall = time.monotonic() - began
                busy = sum(map(float, lines(log)))
            yield Measured(method, times, busy / (WORKERS * wall))


def _ellipsoid(x: Any) -> float:
    return float((10.0 ** (4.0 * np.arange(len(x)) / (len(x) - 1))) @ (x * x))


def _rosenbrock(x: Any) -> float:
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


FUNCTIONS = {"sphere": lambda x: float(x @ x), "ellipsoid": _ellipsoid, "Rosenbrock": _rosenbrock}
NOISES = {"no noise": 0.0, "log-normal noise, sd 1": 1.0}
#: Whom workers wait for: arguments of the optimizer.
WAYS: dict[str, dict[str, Any]] = {
    "for everyone (batches of 8)": {"batch": WORKERS},
    "for nobody (default)": {"workers": WORKERS},
}


@dataclass(frozen=True)
class Price:
    """What it costs and gives that workers wait."""

    method: str
    noise: str
    way: str
    #: Mean over functions and seeds of log10 of the noise-free regret, and its standard error
    #: after subtraction of that of the first way, seed by seed.
    regret: float
    error: float
    utilisation: float


def price(d: int, budget: int, seeds: int, sd: float = 0.5) -> Iterator[Price]:
    """Regret of the recommended point and utilisation on a virtual clock, by way."""
    for method in METHODS:
        for noise_name, noise in NOISES.items():
            base: list[float] = []
            for way, given in WAYS.items():
                found, used = [], []
                for fun in FUNCTIONS.values():
                    for seed in range(seeds):
                        shift = _shift(fun, noise, seed, d, budget, sd, method, given)
                        found.append(float(np.log10(max(fun(shift.result.x), 1e-8))))
                        used.append(shift.utilisation)
                base = base or found
                worse = np.subtract(found, base)
                error = float(worse.std(ddof=1)) / len(worse) ** 0.5
                yield Price(
                    method, noise_name, way, float(worse.mean()), error, float(np.mean(used))
                )


@dataclass(frozen=True)
class Scaled:
    """A run with very many workers on a virtual clock: seconds over those of greedy workers, how
    busy these were, the noise-free regret, and CPU milliseconds of the library per evaluation."""

    workers: int
    evaluations: int
    clock: float
    busy: float
    regret: float
    cost: float


def scaled(workers: int, waves: int) -> Scaled:
    """Sphere with strong noise, d = 10, `auto`; log-normal times, standard deviation 0.8 of the
    logarithm."""
    budget, rng = workers * waves, np.random.default_rng(0)
    opt = nw.Optimizer(np.full(10, 3.0), sigma0=1.0, budget=budget, rng=1, workers=workers)

    def noisy(x: Any) -> float:
        return float(x @ x * np.exp(rng.standard_normal()))

    began = time.process_time()
    shift = virtual.run(
        opt, noisy, lambda x, _: float(np.exp(0.8 * rng.standard_normal() - 0.32)), workers
    )
    cost = 1e3 * (time.process_time() - began) / budget
    regret = float(shift.result.x @ shift.result.x)
    return Scaled(workers, budget, shift.seconds / shift.greedy, shift.utilisation, regret, cost)


def _shift(
    fun: Any, noise: float, seed: int, d: int, budget: int, sd: float, method: str, given: Any
) -> virtual.Shift:
    opt = nw.Optimizer(
        np.full(d, 3.0),
        sigma0=1.0,
        budget=budget,
        rng=seed,
        method=method,
        **given,
    )
    rng = np.random.default_rng(1000 + seed)

    def noisy(x: Any) -> float:
        return float(fun(x) * np.exp(noise * rng.standard_normal()))

    return virtual.run(opt, noisy, lambda x, _: seconds(x, 1.0, sd), WORKERS)
