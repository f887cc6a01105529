"""A policy in use beside the one that was found."""

from __future__ import annotations

import numpy as np
import pytest
from policy_toys import Gain, Point

import noisewise as nw


def test_a_poor_policy_is_replaced_and_its_gain_is_that_of_new_episodes():
    """Doing nothing brings about -4.5."""
    given = {"policy": Gain(), "method": "cma-es", "rng": 1}
    found = nw.policy.search(Point, incumbent=[0.0], budget=100, **given)
    r = found.result
    assert not r.kept
    np.testing.assert_array_equal(r.incumbent.x, [0.0])
    low, high = r.improvement_interval
    still = nw.policy.search(Point, incumbent=found, budget=200, **given).result
    assert 0.0 < low < high
    assert low - 0.3 < still.incumbent.value - r.incumbent.value < high + 0.3


def test_a_good_policy_is_kept():
    found = nw.policy.search(Point, policy=Gain(), incumbent=[-1.0], budget=60, rng=0)
    assert found.result.verdict.startswith(("keep today", "not shown", "0"))
    assert found.result.improvement_interval[0] <= found.result.improvement_interval[1]


@pytest.mark.parametrize(
    ("incumbent", "said"),
    [([1.0, 2.0], "must have 1 parameters, as the policy has, got 2"), ("best", "incumbent must")],
)
def test_wrong_incumbents_are_one_sentence(incumbent, said):
    with pytest.raises(ValueError, match=said):
        nw.policy.search(Point, policy=Gain(), incumbent=incumbent, budget=60, rng=0)
