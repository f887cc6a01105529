"""The ledger adds up, whatever is asked of it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise.problem.values import Value
from noisewise.run.run import Ledger

_STEPS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=30)


@given(budget=st.integers(1, 200), data=st.data(), steps=_STEPS)
def test_it_is_impossible_to_overspend(
    budget: int, data: st.DataObject, steps: list[tuple[int, int]]
) -> None:
    reserve = data.draw(st.integers(0, budget - 1))
    ledger = Ledger(budget, reserve=reserve)
    for base, again in steps:
        before = ledger.charged
        if base + again > ledger.free:
            with pytest.raises(AssertionError, match="more than is free"):
                ledger.charge(base, again)
            assert ledger.charged == before
        else:
            ledger.charge(base, again)
            assert ledger.charged == before + base + again
        assert ledger.charged + ledger.remaining == budget
        assert ledger.remaining >= reserve
    left, search = ledger.remaining, ledger.charged
    race = data.draw(st.integers(0, left))
    with pytest.raises(AssertionError, match="more than is left"):
        ledger.charge_final(race=race, confirmation=left - race + 1)
    ledger.charge_final(race=race)
    assert (ledger.race, ledger.remaining) == (race, left - race)
    assert ledger.reserve == max(0, reserve - race)  # what was kept is used first
    ledger.charge_final(confirmation=left - race)
    assert ledger.confirmation == left - race
    assert ledger.base + ledger.reevaluation == search
    assert ledger.charged == budget
    assert ledger.free == ledger.remaining == 0


@given(said=st.lists(st.lists(st.sampled_from([None, "", "ValueError"]), max_size=6), max_size=6))
def test_values_that_came_back_are_counted(said: list[list[str | None]]) -> None:
    """None: a value; empty: it failed without an exception."""
    ledger = Ledger(100)
    for each in said:
        ledger.count([Value(0, 1.0 if why is None else math.inf, why=why or None) for why in each])
    flat = [why for each in said for why in each]
    assert ledger.told == len(flat)
    assert ledger.failures == len(flat) - flat.count(None)
    assert ledger.crashes == flat.count("ValueError")
