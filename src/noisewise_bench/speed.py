"""Time of ask and tell per generation, against pycma and cmaes in one run.

``python -m noisewise_bench.speed`` prints the tables of docs/performance.md. Times are medians of
interleaved blocks, so that whatever else the machine does hits everyone alike; the ratios are
what to look at.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import noisewise as nw
from noisewise_bench.problems._optional import optional

#: Runs one generation and returns the seconds spent in ask and tell.
Generation = Callable[[], float]
FULL, DIAGONAL = (2, 10, 40, 200), (10, 40, 200, 1000)


def _value(x: Any) -> float:
    return float(x.dot(x))


def library(d: int, method: nw.methods.Method) -> Generation:
    """Ours, through the public `noisewise.Optimizer`."""
    opt = nw.Optimizer(np.full(d, 3.0), sigma0=1.0, budget=10**9, method=method, rng=1)
    noise = np.random.default_rng(1)

    def generation() -> float:
        seconds, before = 0.0, opt.generation
        while opt.generation == before:
            start = time.perf_counter()
            trials = opt.ask()
            seconds += time.perf_counter() - start
            values = [_value(t.x) * noise.lognormal() for t in trials]
            ids = [t.id for t in trials]
            start = time.perf_counter()
            opt.tell(ids, values)
            seconds += time.perf_counter() - start
        return seconds

    return generation


def cmaes(d: int, diagonal: bool) -> Generation:
    """CyberAgent's cmaes."""
    module = optional("cmaes")
    kind = module.SepCMA if diagonal else module.CMA
    opt = kind(mean=np.full(d, 3.0), sigma=1.0, seed=1)

    def generation() -> float:
        start = time.perf_counter()
        X = [opt.ask() for _ in range(opt.population_size)]
        seconds = time.perf_counter() - start
        told = [(x, _value(x)) for x in X]
        start = time.perf_counter()
        opt.tell(told)
        return seconds + time.perf_counter() - start

    return generation


def pycma(d: int, diagonal: bool) -> Generation:
    """Hansen's pycma."""
    options = {"CMA_diagonal": diagonal, "verbose": -9, "seed": 1}
    opt = optional("cma").CMAEvolutionStrategy(np.full(d, 3.0), 1.0, options)

    def generation() -> float:
        start = time.perf_counter()
        X = opt.ask()
        seconds = time.perf_counter() - start
        values = [_value(x) for x in X]
        start = time.perf_counter()
        opt.tell(X, values)
        return seconds + time.perf_counter() - start

    return generation


def interleaved(contenders: dict[str, Generation], blocks: int, size: int) -> dict[str, float]:
    """Median over blocks of the mean seconds per generation, blocks taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(blocks):
        for name, generation in contenders.items():
            times[name].append(sum(generation() for _ in range(size)) / size)
    return {name: statistics.median(seen) for name, seen in times.items()}


def peers(blocks: int) -> None:
    print("| covariance | d | noisewise, us | cmaes / noisewise | pycma / noisewise |")
    print("|---|---|---|---|---|")
    for diagonal, dimensions in ((True, DIAGONAL), (False, FULL)):
        covariance = "diagonal" if diagonal else "full"
        for d in dimensions:
            method = nw.methods.CMAES(covariance=covariance)
            seen = interleaved(
                {
                    "ours": library(d, method),
                    "cmaes": cmaes(d, diagonal),
                    "pycma": pycma(d, diagonal),
                },
                blocks,
                size=20 if d < 200 else 6,
            )
            ours = seen["ours"]
            ratios = [f"{seen[name] / ours:.1f}" for name in ("cmaes", "pycma")]
            print(f"| {covariance} | {d} | {1e6 * ours:.0f} | {' | '.join(ratios)} |", flush=True)


def methods(blocks: int, d: int = 40) -> None:
    """Cost of a generation of each method over plain CMA-ES with the same covariance model and
    population."""
    print(f"\n| method, d = {d} | covariance | generation / that of CMA-ES |")
    print("|---|---|---|")
    for covariance in ("diagonal", "full"):
        contenders: dict[str, nw.methods.Method] = {
            "cma-es": nw.methods.CMAES(covariance=covariance),
            "rb-pem": nw.methods.RBPEM(covariance=covariance),
            "probe-switch": nw.methods.ProbeSwitch(covariance=covariance),
            "auto, population fixed": nw.methods.Auto(covariance=covariance, grow=False),
        }
        seen = interleaved({n: library(d, m) for n, m in contenders.items()}, blocks, size=20)
        for name in list(contenders)[1:]:
            print(f"| {name} | {covariance} | {seen[name] / seen['cma-es']:.2f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--blocks", type=int, default=21, help="blocks per contender (21)")
    blocks = parser.parse_args().blocks
    peers(blocks)
    methods(blocks)


if __name__ == "__main__":
    main()
