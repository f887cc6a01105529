"""What several test files share: the methods under test, noise tied to a trial, ways to drive."""

from __future__ import annotations

import dataclasses
import importlib
import json
import os
import sys
import time
import zlib
from collections.abc import Callable
from multiprocessing import forkserver, resource_tracker
from typing import Any

import numpy as np
import psutil  # type: ignore[import-untyped]
import pytest

import noisewise as nw
from contracts.toy import Toy
from noisewise import _data, methods
from noisewise._types import FloatArray
from noisewise.cma.weights import Log, PowerLift, Uniform
from noisewise.measured.intervals import Estimate
from noisewise.measured.population import Population
from noisewise.measured.samples import Samples
from noisewise.methods import CMAES, PEM, RBPEM, Method, NoiseModel, Resample
from noisewise.methods.method import Setup
from noisewise.problem.box import Box
from noisewise_bench import arithmetic
from noisewise_bench.reliability.resume import same_result as same_result

Value = Callable[[nw.Trial], float]

#: For tests that compare with digests in the repository.
same_arithmetic = pytest.mark.skipif(
    not arithmetic.fixed(), reason="numpy rounds otherwise on this processor"
)


def noisy(trial: nw.Trial) -> float:
    """A sphere with noise that belongs to the trial, whenever and wherever it is evaluated."""
    noise = 0.2 * np.random.default_rng(trial.id).normal()
    return float(trial.x @ trial.x + noise)


def draws(X: Any, n: int, rng: np.random.Generator) -> Any:
    """Fresh values of that sphere, as exact PEM wants them."""
    return (X * X).sum(axis=1) + 0.2 * rng.normal(size=(n, len(X)))


def _registered() -> dict[str, Method]:
    needs = {"pem": {"draws": draws, "n_draws": 16}}
    return {name: methods.get(name, **needs.get(name, {})) for name in nw.list_methods()}


def _foreign() -> dict[str, Method]:
    """The method that the environment names as ``module:Class``, to hold it to the contracts."""
    module, _, name = os.environ.get("NOISEWISE_METHOD", "").partition(":")
    if not name:
        return {}
    sys.path.insert(0, os.getcwd())
    return {module: getattr(importlib.import_module(module), name)()}


METHODS: dict[str, Method] = (
    _registered()
    | _foreign()
    | {
        "cma-es, active": CMAES(profile=Log(active=True)),
        "cma-es, fixed rates, small steps": CMAES(rates="fixed", c_mean=0.5, profile=Uniform()),
        "sep-cma-es, power lift, weiszfeld": CMAES(
            covariance="diagonal", profile=PowerLift(), recombination="weiszfeld"
        ),
        "rb-pem, ridge, active": RBPEM(
            noise=NoiseModel(centre="ridge"), k_max=3, profile=Log(active=True)
        ),
        "rb-pem, power lift": RBPEM(profile=PowerLift(), noise=NoiseModel(scale="variance")),
        "rb-pem, archive": RBPEM(noise=NoiseModel(centre="archive"), fallback=("pool_size",)),
        "resample, median": Resample(k=3, aggregate="median", covariance="diagonal"),
        "pem, model": PEM(draws="model", n_draws=16),
        "toy": Toy(),
    }
)


def start(method: Method | str, d: int = 3, budget: int = 60, **options: Any) -> nw.Optimizer:
    """An optimizer two steps away from the optimum of the sphere; one that has a list of ``d``
    options for a method that needs a list."""
    given: dict[str, Any] = {"x0": np.full(d, 2.0), "sigma0": 1.0, "rng": 0} | options
    method = METHODS[method] if isinstance(method, str) else method
    if method.lists == "all":
        given = {k: v for k, v in given.items() if k not in ("x0", "sigma0", "bounds")}
        given["space"] = {"option": list(range(max(2, d)))}
    return nw.Optimizer(budget=budget, method=method, **given)


def setup(d: int = 2, budget: int = 1000) -> Setup:
    """A problem without bounds, to start a method on N(0, I)."""
    return Setup(Box.of(np.full(d, -np.inf), np.full(d, np.inf)), np.zeros(d), 1.0, budget)


def population(values: Any, X: FloatArray | None = None) -> Population:
    """Candidates with these values, (k,) or (k, repeats); at the origin of the plane without X."""
    table = np.atleast_2d(np.asarray(values, dtype=float).T).T.copy()
    X = np.zeros((len(table), 2)) if X is None else X
    return Population(X, X, Samples(table), wave=1)


def four(found: Estimate) -> tuple[float, float, float, float]:
    """Value, standard error and the ends of the interval."""
    return found.value, found.se, found.low, found.high


def handed_over(opt: nw.Optimizer) -> int:
    """Evaluations after which another method went on; 0: none did."""
    found: list[int] = [handed.evaluations for handed in opt._run.handovers]
    return found[-1] if found else 0


def affordable(method: Method, budget: int, most: int = 40) -> int:
    """The budget, but not more than ``most`` where a model is fitted again and again: enough for
    the start design, proposals of the model, a few fits and the last phase."""
    return min(budget, most) if "noise_share" in method.columns else budget


def with_population(method: Method, population: int | None) -> Method:
    return dataclasses.replace(method, population=population)


def drive(
    opt: nw.Optimizer,
    value: Value = noisy,
    rng: np.random.Generator | None = None,
    after_tell: Callable[[nw.Optimizer], nw.Optimizer] = lambda opt: opt,
) -> dict[int, bytes]:
    """Run to the end; returns the bytes of every point by trial id.

    With ``rng``, trials are asked for in random portions and told in random order.
    """
    asked: dict[int, bytes] = {}
    waiting: list[nw.Trial] = []
    while not opt.done:
        more = opt.ask(None if rng is None else int(rng.integers(1, 8)))
        asked.update({t.id: t.x.tobytes() for t in more})
        waiting += more
        if rng is not None:
            rng.shuffle(waiting)
        tells = len(waiting) if rng is None else int(rng.integers(0, len(waiting) + 1))
        for trial in waiting[:tells]:
            opt.tell(trial.id, value(trial))
            opt = after_tell(opt)
        waiting = waiting[tells:]
    return asked


def drive_on(opt: nw.Optimizer, held: list[nw.Trial], value: Value = noisy) -> None:
    """Run to the end with as many trials under way as there are workers, ``held`` ones first."""
    while not opt.done:
        held += opt.ask()
        trial = held.pop(0)
        opt.tell(trial.id, value(trial))


def children() -> set[psutil.Process]:
    """Processes that this one has started, but for the two that Python keeps for all others."""
    kept = {resource_tracker._resource_tracker._pid, forkserver._forkserver._forkserver_pid}  # type: ignore[attr-defined]
    found = psutil.Process().children(recursive=True)
    return {process for process in found if process.pid not in kept}


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for what is bound to come, however busy the machine is. What never comes is ended by
    the timeout of the test, which is there for that and not to measure speed."""
    while not condition():
        time.sleep(0.005)


def data_of(opt: nw.Optimizer) -> str:
    """Everything that makes up the run, to the bit."""
    return json.dumps(_data.encode(opt._run))


def bumpy(x: Any) -> float:
    """A sphere with noise that belongs to the point: the same wherever it is evaluated."""
    noise = np.random.default_rng(zlib.crc32(np.asarray(x).tobytes())).normal()
    return float(x @ x + 0.2 * noise)
