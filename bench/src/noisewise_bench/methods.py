"""Methods by name: the library's own, its peers, the published variants, and anyone's.

auto, rb-pem, nw/auto          a method of the library
cma-es(population=60)          the same with options
peer/NAME                      another library behind the same call
as-run/NAME                    a variant that produced published numbers
module:function                your own, by import path
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import noisewise
from noisewise_bench import as_run, names, peers
from noisewise_bench.names import BenchError
from noisewise_bench.problem import Method, Oracle


@dataclass(frozen=True)
class Resolved:
    """A method ready to run, and the options that decide what it does."""

    run: Method
    options: dict[str, Any]


def get(name: str) -> Method:
    """The method of that name; an unknown name says what is known."""
    return resolve(name).run


def known() -> list[str]:
    """Every name `get` takes without an import path."""
    return [
        *noisewise.methods.names(),
        *(f"peer/{name}" for name in peers.PEERS),
        *(f"as-run/{name}" for name in as_run.NAMES),
    ]


def resolve(name: str) -> Resolved:
    """The method of that name with the options it will run with."""
    prefix, slash, rest = name.partition("/")
    others: dict[str, Callable[[str], Method]] = {"peer": peers.get, "as-run": as_run.get}
    if slash and prefix in others:
        try:
            run = others[prefix](rest)
        except (TypeError, ValueError, SyntaxError) as error:
            raise BenchError(f"there is no method {name!r}: {error}") from None
        return Resolved(run, _fields(run))
    spec = names.parse(rest if prefix == "nw" else name)
    if ":" in spec.base:
        return _anyones(spec)
    if spec.base not in noisewise.methods.names():
        raise BenchError(
            f"there is no method {name!r}; known are {', '.join(known())}, "
            "and module:function for your own"
        )
    method = LibraryMethod(spec.base, spec.options)
    # Exact PEM cannot be built before there is something to draw from.
    return Resolved(method, spec.options if spec.base == "pem" else _fields(method.build()))


def _anyones(spec: names.Spec) -> Resolved:
    function = names.load(spec.base)
    if not callable(function):
        raise BenchError(f"{spec.base!r} is not a function run(oracle, budget, seed)")
    return Resolved(functools.partial(function, **spec.options), spec.options)


def _fields(method: Any) -> dict[str, Any]:
    if not dataclasses.is_dataclass(method):
        return {}
    return {field.name: getattr(method, field.name) for field in dataclasses.fields(method)}


@dataclass(frozen=True)
class LibraryMethod:
    """`noisewise.minimize` on the oracle, with its recommendation reported every generation."""

    name: str
    options: dict[str, Any]

    def build(self, **extra: Any) -> Any:
        model = [f.name for f in dataclasses.fields(noisewise.methods.NoiseModel)]
        options = {n: v for n, v in self.options.items() if n not in (*model, "confirm")}
        noise = {name: value for name, value in self.options.items() if name in model}
        try:
            method: Any = noisewise.methods.get(self.name, **options, **extra)
            if noise:  # names of rows are flat: rb-pem(centre='ridge')
                if not isinstance(method, noisewise.methods.RBPEM):
                    raise ValueError(f"method {self.name!r} has no noise model: {noise}")
                model_ = dataclasses.replace(method.noise, **noise)
                method = dataclasses.replace(method, noise=model_)
            return method
        except (TypeError, ValueError) as error:
            raise BenchError(str(error)) from None

    def __call__(
        self,
        oracle: Oracle,
        budget: int,
        seed: int,
        enough: Callable[[noisewise.Result], bool] | None = None,
    ) -> Any:
        # Exact PEM is a study: it may draw from the noise law without paying.
        extra = {"draws": oracle.draws} if self.name == "pem" else {}
        confirm = self.options.get("confirm", 0)
        return search(oracle, budget, seed, self.build(**extra), confirm, enough)


def search(
    oracle: Oracle,
    budget: int,
    seed: int,
    method: Any,
    confirm: int | str = 0,
    enough: Callable[[noisewise.Result], bool] | None = None,
) -> Any:
    """A run of the library on the oracle with a method that is built.

    Studies of methods compare searches, hence ``confirm=0``; users get ``'auto'``. What the method
    would recommend after each generation is asked for the bench's curves, aside from its time.
    ``enough``: whether to stop after a generation.
    """
    opt = noisewise.Optimizer(
        oracle.x0,
        budget=budget,
        bounds=oracle.bounds,
        sigma0=oracle.sigma0,
        method=method,
        rng=seed,
        confirm=confirm,
    )
    generation = 0
    while not opt.done:
        trials = opt.ask()
        opt.tell([trial.id for trial in trials], oracle(np.array([trial.x for trial in trials])))
        if opt.generation > generation:
            generation = opt.generation
            with oracle.aside():
                oracle.report(opt.recommend().x)
            if enough is not None and enough(opt.result()):
                opt.stop()
    return opt.result()
