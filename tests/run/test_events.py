"""The same events make the same run: what a journal holds leads to the very same state."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise import _data
from noisewise.loop import telling
from noisewise.loop.events import Asked
from noisewise.problem.values import Value

ASYNCHRONOUS = ("cma-es", "watchful", "rb-pem", "uh-cma-es", "gp", "auto")


def state(opt: nw.Optimizer) -> str:
    return json.dumps(_data.encode(opt.state))


def driven(method: str, slots: int, fail: float = 0.0, **given: Any) -> int:
    """A run whose values come in groups, while another one gets the same events one by one, as
    from a journal. Both are in the same state after every group; returns how many there were."""
    runs = [
        nw.Optimizer([2.0] * 3, sigma0=0.8, method=method, rng=1, **given)
        for _ in ("told", "again")
    ]
    opt, twin = runs
    rng, held, groups = np.random.default_rng(2), [], 0
    while not opt.done:
        wanted = None
        if opt.state.workers > 1:  # workers come and go
            wanted = max(0, int(rng.integers(1, slots + 1)) - opt.state.out)
        held += (new := opt._search.ask(wanted))
        if new or wanted:
            telling.replay(twin._search, Asked(wanted, opt.state.handed))
        values = []
        for _ in range(min(len(held), int(rng.integers(1, 4)))):
            trial = held.pop(int(rng.integers(len(held))))
            value = float(trial.x @ trial.x) * (1.0 + 0.3 * rng.normal())
            why = "ValueError: no" if rng.random() < fail else None
            values.append(Value(trial.id, math.inf if why else value, why=why))
        opt._search.tell(values)
        for value in values:
            telling.replay(twin._search, value if value.why is None else value._replace(y=math.nan))
        groups += 1
        assert state(opt) == state(twin)
    assert opt.spent == opt.budget or opt.gave_up
    return groups


@pytest.mark.parametrize("method", ASYNCHRONOUS)
@pytest.mark.parametrize("given", [{"workers": 8}, {"batch": 6}, {"workers": 1}])
def test_values_told_together_count_as_if_told_one_by_one(method: str, given: Any) -> None:
    assert driven(method, slots=12, budget=60, **given) > 10


@pytest.mark.parametrize("method", ["cma-es", "auto"])
@pytest.mark.parametrize("fail", [0.4, 0.97])
def test_so_do_failures(method: str, fail: float) -> None:
    """The share of failures decides whether a run gives up and which finalist is confirmed."""
    assert driven(method, slots=8, budget=90, workers=8, fail=fail) > 3


@pytest.mark.parametrize("seeds", ["common", "auto"])
def test_so_do_blocks_with_common_seeds(seeds: str) -> None:
    assert driven("watchful", slots=5, budget=120, workers=5, seeds=seeds) > 20


def test_an_ask_that_could_not_be_met_is_replayed_as_it_was() -> None:
    """More workers than the search can pay for; the last phase begins while trials are out."""
    assert driven("rb-pem", slots=40, budget=70, workers=8) > 5
    assert driven("gp", slots=30, budget=40, workers=8) > 5
