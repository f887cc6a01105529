"""The history counts each evaluation in the round that it belongs to."""

from __future__ import annotations

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.methods import CMAES, Resample


def test_candidates_that_gather_count_in_their_own_round() -> None:
    """With workers, more has been handed out than the rounds so far account for."""
    opt = support.start(CMAES(population=8), budget=80, workers=3, confirm=0)
    support.drive_on(opt, [])
    history = opt.result().history
    np.testing.assert_array_equal(history["population"], [8] * 10)
    np.testing.assert_array_equal(history["evaluations"], 8 * np.arange(1, 11))


@pytest.mark.parametrize("how", [{"workers": 1}, {"workers": 2}, {"batch": 6}])
def test_re_evaluations_count_in_the_round_that_asked_for_them(how: dict[str, int]) -> None:
    opt = support.start(Resample(k=3, population=6), budget=90, confirm=0, **how)
    support.drive_on(opt, [])
    history = opt.result().history
    np.testing.assert_array_equal(history["population"], [6] * 5)
    np.testing.assert_array_equal(history["evaluations"], 18 * np.arange(1, 6))


@pytest.mark.parametrize(
    ("how", "learnt"), [({"workers": 1}, 80), ({"workers": 3}, 78), ({"batch": 8}, 80)]
)
def test_the_rest_of_the_budget_is_the_last_phase(how: dict[str, int], learnt: int) -> None:
    """With workers it begins while other trials of the search, here two, are under way."""
    opt = support.start(CMAES(population=8), budget=90, confirm=10, **how)
    support.drive_on(opt, [])
    r: nw.Result = opt.result()
    assert r.history["evaluations"][-1] == r.history["population"].sum() == learnt
    assert (r.nfev, r.n_confirmations) == (90, 10)
