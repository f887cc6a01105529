"""Time per generation, against pycma and cmaes in one run, and time to import the library.

``python -m noisewise_bench.speed`` prints the tables of docs/performance.md. Times are CPU times of
this process (of the child process for imports), lower quartiles of interleaved blocks: whatever
else the machine does only ever adds to them. The ratios are what to look at.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import noisewise as nw
from noisewise.methods.method import default_population
from noisewise.methods.watchful import Watchful
from noisewise_bench import bare
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
            start = time.process_time()
            trials = opt.ask()
            seconds += time.process_time() - start
            values = [_value(t.x) * noise.lognormal() for t in trials]
            ids = [t.id for t in trials]
            start = time.process_time()
            opt.tell(ids, values)
            seconds += time.process_time() - start
        return seconds

    return generation


def cmaes(d: int, diagonal: bool) -> Generation:
    """CyberAgent's cmaes."""
    module = optional("cmaes")
    kind = module.SepCMA if diagonal else module.CMA
    opt = kind(mean=np.full(d, 3.0), sigma=1.0, seed=1)

    def generation() -> float:
        start = time.process_time()
        X = [opt.ask() for _ in range(opt.population_size)]
        seconds = time.process_time() - start
        told = [(x, _value(x)) for x in X]
        start = time.process_time()
        opt.tell(told)
        return seconds + time.process_time() - start

    return generation


def pycma(d: int, diagonal: bool) -> Generation:
    """Hansen's pycma."""
    options = {"CMA_diagonal": diagonal, "verbose": -9, "seed": 1}
    opt = optional("cma").CMAEvolutionStrategy(np.full(d, 3.0), 1.0, options)

    def generation() -> float:
        start = time.process_time()
        X = opt.ask()
        seconds = time.process_time() - start
        values = [_value(x) for x in X]
        start = time.process_time()
        opt.tell(X, values)
        return seconds + time.process_time() - start

    return generation


def _values(X: Any) -> Any:
    return np.einsum("ij,ij->i", X, X)


def whole_runs(d: int, diagonal: bool, generations: int) -> dict[str, Generation]:
    """Runs with an objective that evaluates a whole population in one call, through
    ``minimize(vectorized=True)`` and through the loops that users of the others write. Each
    returns seconds per generation, evaluations included."""
    method = nw.methods.CMAES(covariance="diagonal" if diagonal else "full")
    x0, k = np.full(d, 3.0), default_population(d)
    module, options = optional("cmaes"), {"CMA_diagonal": diagonal, "verbose": -9, "seed": 1}
    kind, hansen = module.SepCMA if diagonal else module.CMA, optional("cma")

    def timed(run: Callable[[], object]) -> Generation:
        def generation() -> float:
            start = time.process_time()
            run()
            return (time.process_time() - start) / generations

        return generation

    def ours() -> None:
        budget = generations * k
        nw.minimize(
            _values, x0, sigma0=1.0, budget=budget, method=method, rng=1, vectorized=True, confirm=0
        )

    def theirs() -> None:
        opt = kind(mean=x0, sigma=1.0, seed=1)
        for _ in range(generations):
            X = [opt.ask() for _ in range(k)]
            opt.tell(list(zip(X, _values(np.array(X)).tolist(), strict=True)))

    def hansens() -> None:
        opt = hansen.CMAEvolutionStrategy(x0, 1.0, dict(options))
        for _ in range(generations):
            X = opt.ask()
            opt.tell(X, _values(np.array(X)).tolist())

    def loop() -> None:
        bare.run(_values, x0, generations, k, np.random.default_rng(1), diagonal)

    contenders = {"ours": ours, "cmaes": theirs, "pycma": hansens, "loop": loop}
    return {name: timed(run) for name, run in contenders.items()}


def imports(blocks: int) -> None:
    """CPU time of a Python process that imports the library, over one that imports numpy."""
    seen: dict[str, list[float]] = {"numpy": [], "noisewise": []}
    # With compiled files, as an installed package has them.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(blocks + 1):
        for name, times in seen.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", f"import {name}"], check=True, env=environment)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
            times.append(used)
    # Without the first of each, which may have to compile.
    ours, numpy = (_quartile(seen[name][1:]) for name in ("noisewise", "numpy"))
    print(f"\nimport noisewise / import numpy: {ours / numpy:.1f} ({1e3 * ours:.0f} ms)")


def interleaved(contenders: dict[str, Generation], blocks: int, size: int) -> dict[str, float]:
    """Lower quartile over blocks of the mean seconds per generation, blocks taken in turns."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(blocks):
        for name, generation in contenders.items():
            times[name].append(sum(generation() for _ in range(size)) / size)
    return {name: _quartile(seen) for name, seen in times.items()}


def _quartile(times: list[float]) -> float:
    return statistics.quantiles(times, n=4, method="inclusive")[0]


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
            _row(covariance, d, seen)


def _row(covariance: str, d: int, seen: dict[str, float]) -> None:
    ours = seen["ours"]
    ratios = [f"{seen[name] / ours:.1f}" for name in ("cmaes", "pycma")]
    ratios += [f"{ours / seen['loop']:.1f}"] if "loop" in seen else []
    print(f"| {covariance} | {d} | {1e6 * ours:.0f} | {' | '.join(ratios)} |", flush=True)


def vectorised(blocks: int, generations: int = 100) -> None:
    head = "minimize(vectorized=True), us | cmaes / it | pycma / it | it / a bare numpy loop"
    print(f"\n| covariance | d | {head} |")
    print("|---|---|---|---|---|---|")
    for diagonal in (True, False):
        for d in (10, 40):
            seen = interleaved(whole_runs(d, diagonal, generations), max(3, blocks // 3), size=1)
            _row("diagonal" if diagonal else "full", d, seen)


def methods(blocks: int, d: int) -> None:
    """Cost of a generation of each method over plain CMA-ES with the same covariance model and
    population; watchful is the evolution side of auto."""
    print(f"\n| method, d = {d} | covariance | generation / that of CMA-ES |")
    print("|---|---|---|")
    for covariance in ("diagonal", "full"):
        contenders: dict[str, nw.methods.Method] = {
            "cma-es": nw.methods.CMAES(covariance=covariance),
            "rb-pem": nw.methods.RBPEM(covariance=covariance),
            "probe-switch": nw.methods.ProbeSwitch(covariance=covariance),
            "watchful, population fixed": Watchful(covariance=covariance, grow=False),
        }
        seen = interleaved({n: library(d, m) for n, m in contenders.items()}, blocks, size=20)
        for name in list(contenders)[1:]:
            print(f"| {name} | {covariance} | {seen[name] / seen['cma-es']:.2f} |", flush=True)


def callbacks(blocks: int, generations: int = 100) -> None:
    """What a callback that does nothing costs, evaluations of a cheap objective included."""
    print("\n| method, d = 10 | generation with an empty callback / without |")
    print("|---|---|")
    x0, budget = np.full(10, 3.0), generations * default_population(10)

    def timed(method: str, callback: Callable[[nw.Result], None] | None) -> Generation:
        given: dict[str, Any] = {"budget": budget, "sigma0": 1.0, "rng": 1, "confirm": 0}

        def run() -> float:
            start = time.process_time()
            found = nw.minimize(
                _values, x0, method=method, vectorized=True, callback=callback, **given
            )
            return (time.process_time() - start) / found.nit

        return run

    for name in ("sep-cma-es", "cma-es", "watchful", "auto"):
        contenders = {"without": timed(name, None), "with": timed(name, _nothing)}
        seen = interleaved(contenders, blocks, size=1)
        print(f"| {name} | {seen['with'] / seen['without']:.2f} |", flush=True)


def _nothing(intermediate_result: nw.Result) -> None:
    """A callback that asks for nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--blocks", type=int, default=21, help="blocks per contender (21)")
    blocks = parser.parse_args().blocks
    peers(blocks)
    vectorised(blocks)
    for d in (10, 40):
        methods(blocks, d)
    callbacks(blocks)
    imports(blocks)


if __name__ == "__main__":
    main()
