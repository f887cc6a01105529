"""A new search from the arguments of the user."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from noisewise import methods
from noisewise._check import flag, integer, one_of, whole
from noisewise._types import FloatArray
from noisewise.methods import Method
from noisewise.methods.method import TARGETS, Setup
from noisewise.problem import given
from noisewise.problem import options as lists
from noisewise.problem.box import Box, moved_inside
from noisewise.problem.options import Options
from noisewise.problem.space import Choice, Space, name_problem
from noisewise.run import comparison
from noisewise.run.reserve import Reserve, in_batches, reserve_for
from noisewise.run.run import Ledger
from noisewise.run.run import begin as new_run
from noisewise.run.search import Search
from noisewise.run.seeds import AUTO, COMMON, MODES


def begin(
    x0: Any,
    budget: float,
    bounds: Any,
    space: Space | Mapping[str, Any] | None,
    sigma0: float | None,
    method: str | Method,
    rng: Any,
    confirm: float | str,
    target: str,
    workers: int,
    seeds: str | None,
    maximize: bool,
    batch: int | None,
    incumbent: Any = None,
) -> tuple[Search, Space | None]:
    """The search before its first evaluation, and the named parameters if there are some."""
    budget = whole("budget", budget, least=1)
    named, x0, bounds = name_problem(space, x0, bounds)
    today = given.today(incumbent, bounds, named)
    if x0 is None and today is not None:
        box, mean, sigma = given.describe(today, bounds, sigma0, "incumbent")
    else:
        box, mean, sigma = given.describe(x0, bounds, sigma0)
    rival = None if today is None else box.inner(_inside(today, box))
    workers = integer("workers", workers, least=1)
    chosen = methods.resolve(method)
    options = _options(named, chosen)
    n = 0 if options is None else len(options)
    kept = reserve_for(confirm, budget, len(mean), chosen.race_part, n)
    if rival is not None:
        kept = _compared(kept, confirm, budget)
    kind = None if seeds is None else one_of("seeds", seeds, MODES)
    size = _batch(batch, chosen)
    if size or (workers > 1 and not chosen.race_part):
        kept = kept.measured()
    held = sum(kept)
    if size:
        held = in_batches(kept, budget, 0, size, confirm == "auto")
    setup = Setup(
        box,
        mean,
        sigma,
        budget - held,
        batch=size,
        race=kept.race,
        confirm=kept.confirm,
        adaptive=confirm == "auto",
        common=kind == COMMON,
        compares=kind == AUTO,
        target=one_of("target", target, TARGETS),
        race_part=chosen.race_part,
        options=options,
        layout=None if named is None else named.layout,
        given=chosen.keeps_start and (x0 is not None or today is not None) and _numbers(named),
    )
    ledger, streams = Ledger(budget, reserve=held), given.generators(rng)
    more = flag("maximize", maximize)
    run = new_run(chosen, setup, ledger, streams, given.seed(rng), more, kind, workers, rival)
    return Search(chosen, run), named


def _options(space: Space | None, method: Method) -> Options | None:
    """The list that the space is, where the method searches it by selection."""
    if space is None or not method.lists:
        return None
    return lists.of(space.parameters, only_choice=method.lists == "choice")


def _numbers(space: Space | None) -> bool:
    """Whether all parameters are numbers."""
    return space is None or not any(isinstance(p, Choice) for p in space.parameters.values())


def _inside(incumbent: FloatArray, box: Box) -> FloatArray:
    """The incumbent, if it is a point of the box."""
    if len(incumbent) != box.dimension:
        raise ValueError(f"incumbent must be {box.dimension} numbers, got {len(incumbent)}")
    return np.asarray(moved_inside(incumbent[None], *box.bounds, "incumbent")[0])


def _compared(kept: Reserve, confirm: Any, budget: int) -> Reserve:
    """What is kept to compare two points, if it is enough."""
    if budget < comparison.SMALLEST:
        raise ValueError(
            f"budget must be at least {comparison.SMALLEST} with incumbent, got {budget}"
        )
    if confirm == "auto":
        return comparison.reserve(kept, budget, exact=False)
    if kept.confirm < comparison.LEAST:
        raise ValueError(
            f"confirm must be 'auto' or at least {comparison.LEAST} with incumbent, got {confirm}"
        )
    return kept


def _batch(batch: Any, method: Method) -> int:
    """The checked size of a batch; 0 if there is none."""
    if batch is None:
        return 0
    size = integer("batch", batch, least=1)
    for part in (method, getattr(method, "low", None), getattr(method, "high", None)):
        population = getattr(part, "population", None)
        if population is not None and population < size:
            raise ValueError(
                f"population must be at least the batch of {size}, or None, got {population}"
            )
    return size
