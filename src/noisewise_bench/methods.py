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
import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import noisewise
from noisewise_bench import names
from noisewise_bench.names import BenchError, Spec
from noisewise_bench.problem import Method, Oracle

#: Prefix of a name -> the module whose ``get`` knows what follows it.
FAMILIES = {
    "nw": "noisewise.methods",
    "peer": "noisewise_bench.peers",
    "as-run": "noisewise_bench.as_run",
}


@dataclass(frozen=True)
class Resolved:
    """A method ready to run, and the options that decide what it does (plain values)."""

    run: Method
    options: dict[str, Any]


def get(name: str) -> Method:
    """The method of that name; an unknown name says what is known."""
    return resolve(name).run


def known() -> list[str]:
    """Every name `get` takes without an import path."""
    found = []
    for prefix, module_name in FAMILIES.items():
        module = importlib.import_module(module_name)
        found += [name if prefix == "nw" else f"{prefix}/{name}" for name in module.names()]
    return found


def resolve(name: str) -> Resolved:
    """The method of that name with the options it will run with."""
    spec = names.parse(name)
    if ":" in spec.base:
        function = names.load(spec.base)
        if not callable(function):
            raise BenchError(f"{spec.base!r} is not a function run(oracle, budget, seed)")
        return Resolved(functools.partial(function, **spec.options), spec.options)
    prefix, _, rest = spec.base.rpartition("/")
    if prefix not in ("", *FAMILIES):
        raise _unknown(name)
    module = importlib.import_module(FAMILIES[prefix or "nw"])
    if rest not in module.names():
        raise _unknown(name)
    if module.__name__ == FAMILIES["nw"]:
        return _library(Spec(rest, spec.options))
    return _other(module, name, Spec(rest, spec.options))


def _unknown(name: str) -> BenchError:
    return BenchError(
        f"there is no method {name!r}; known are {names.one_of(known())}, "
        "and module:function for your own"
    )


def _other(module: ModuleType, name: str, spec: Spec) -> Resolved:
    try:
        return Resolved(module.get(spec.base, **spec.options), spec.options)
    except TypeError as error:
        raise BenchError(f"{name!r} does not take these options: {error}") from None


def _library(spec: Spec) -> Resolved:
    run = LibraryMethod(spec.base, spec.options)
    options = dict(spec.options)
    if spec.base != "pem":  # which cannot be built before there is something to draw from
        method = run.build()
        if dataclasses.is_dataclass(method):
            options = {f.name: getattr(method, f.name) for f in dataclasses.fields(method)}
    return Resolved(run, options)


@dataclass(frozen=True)
class LibraryMethod:
    """`noisewise.minimize` on the oracle, with its recommendation reported every generation."""

    name: str
    options: dict[str, Any]

    def build(self, **extra: Any) -> Any:
        try:
            return noisewise.methods.get(self.name, **self.options, **extra)
        except (TypeError, ValueError) as error:
            raise BenchError(str(error)) from None

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Any:
        # Exact PEM is a study: it may draw from the noise law without paying.
        extra = {"draws": oracle.draws} if self.name == "pem" else {}

        def report(intermediate_result: Any) -> None:
            oracle.report(intermediate_result.x)

        return noisewise.minimize(
            oracle,
            oracle.x0,
            budget=budget,
            bounds=oracle.bounds,
            sigma0=oracle.sigma0,
            method=self.build(**extra),
            rng=seed,
            vectorized=True,
            callback=report,
        )
