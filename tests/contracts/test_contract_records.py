"""Every class that may be saved comes back from a file as it was: options of methods, the setup,
the box, parameters, all that a run consists of. The classes are found, not listed: a new one is
tested from the day on which it is registered."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import math
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise import _data
from noisewise.loop import checkpoint
from noisewise.methods import CMAES

#: Values that are tried for each field; a record refuses those that make no sense for it.
TRIED: list[Any] = [
    None, True, False, 0, 1, 2, 7, -1, 2**62, 0.0, -0.0, 0.25, 1.5, -3.0, 1e-300, 1e300,
    math.nan, math.inf, -math.inf, "", "auto", "é\ud800\n", (), (0.5, 2.0), [], [1.0], {},
    np.empty(0), np.array([1.0, math.nan]), np.eye(2), np.array([3]), np.array([True, False]),
]  # fmt: skip
#: Runs that together have a record of every kind.
RUNS: list[dict[str, Any]] = [
    {},
    {"seeds": "auto"},
    {"seeds": "common", "batch": 5},
    {"data": (np.eye(6)[:, :2], np.arange(6.0))},
    {"workers": 3, "confirm": 0},
    {"bounds": [(-5.0, 5.0), (0.0, 9.0)], "sigma0": None},
]


def found() -> dict[str, type]:
    """The library's classes that may be saved."""
    for module in pkgutil.walk_packages(nw.__path__, "noisewise."):
        if not module.name.endswith("__main__"):
            with contextlib.suppress(ImportError):  # an integration whose package is not here
                importlib.import_module(module.name)
    return {name: cls for name, cls in _data._CLASSES.items() if "/" in name}


CLASSES = found()


def walk(value: Any) -> Iterator[Any]:
    """All records in there."""
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from walk(one)
    elif isinstance(value, dict):
        yield from walk(list(value.values()))
    elif _data._name(type(value)) in CLASSES:
        yield value
        yield from walk([getattr(value, name) for name in _data._fields(type(value))])


def whole_runs() -> Iterator[nw.Optimizer]:
    """Optimizers at the end of short runs of every method, and in the middle of it."""
    for method in support.METHODS.values():
        for options in RUNS:
            if options.get("batch") and "noise_share" in method.columns:
                continue
            if "data" in options and method.lists == "all":
                continue
            opt = support.start(method, d=2, budget=support.affordable(method, 60, 20), **options)
            for told in (7, math.inf):
                while not opt.done and opt.spent < told:
                    for trial in opt.ask(1):
                        opt.tell(trial.id, support.noisy(trial), 0.1 if trial.id % 2 else None)
                yield opt
    space = {"rate": "1e-4..1e-1:log", "units": "8..256:int", "kind": ["a", 1, None]}
    opt = nw.Optimizer(space=space, budget=30, rng=0)
    for trial in opt.ask():
        opt.tell(trial.id, 1.0, constraints=[0.1, -0.1])
    yield opt
    opt = nw.Optimizer(
        space=space, budget=30, rng=0, incumbent={"rate": 1e-3, "units": 32, "kind": 1}
    )
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, support.noisy(trial))
    yield opt
    yield support.start("auto", d=12, budget=60)  # handed over before it began
    some = {"kind": ["a", "b"], "rate": "0..1 when kind=a"}
    yield nw.Optimizer(space=some, budget=30, rng=0)


@pytest.fixture(scope="module")
def seen() -> dict[type, list[Any]]:
    """A few records of every class, from runs and with default values."""
    records: dict[type, list[Any]] = {cls: [] for cls in CLASSES.values()}
    for cls, known in records.items():
        with contextlib.suppress(TypeError, ValueError):
            known.append(cls())
    for opt in whole_runs():
        for record in walk([opt._run, opt.method, opt.about, opt._search.recommend()[1]]):
            if len(records[type(record)]) < 4:
                records[type(record)].append(record)
    return records


def variants(record: Any) -> Iterator[Any]:
    """The record itself, and with one other value in one of its fields."""
    yield record
    for name in _data._fields(type(record)):
        hint = _data._hints(type(record))[name]
        for value in TRIED:
            if _data.fits(value, hint):
                with contextlib.suppress(Exception):  # what it does not take
                    yield dataclasses.replace(record, **{name: value})


def test_there_is_a_record_of_every_class(seen: dict[type, list[Any]]) -> None:
    assert len(seen) > 60
    missing = [cls.__name__ for cls, records in seen.items() if not records]
    assert not missing, f"add a run to this file that has one of {missing}"


@pytest.mark.parametrize("name", list(CLASSES))
def test_every_record_survives_a_file(
    name: str, seen: dict[type, list[Any]], tmp_path: Path
) -> None:
    records = [one for record in seen[CLASSES[name]] for one in variants(record)]
    path, opt = tmp_path / "run", support.start(CMAES())
    checkpoint.write(path, opt.method, opt._run, {"records": records})
    back = checkpoint.read(path).extra["records"]
    assert len(back) == len(records) > 0
    for one, other in zip(records, back, strict=True):
        assert type(one) is type(other)
        assert _data.same(one, other), one
