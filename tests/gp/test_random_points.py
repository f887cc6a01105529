"""Random points from which the model chooses, in spaces with choices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from noisewise.gp import proposals
from noisewise.space import Choice, Float, Space

SPACE = Space({"a": Float(0.0, 1.0), "b": Float(0.0, 1.0), "c": Choice(("x", "y", "z"))})


def test_numbers_are_uniform_and_options_alike() -> None:
    assert SPACE.layout is not None
    P = proposals.uniform(SPACE.layout, 3000, np.random.default_rng(0))
    for column in P[:, :2].T:
        assert stats.kstest(column, "uniform").pvalue > 0.01
    assert stats.chisquare(np.bincount(P[:, 2].astype(int), minlength=3)).pvalue > 0.01
    assert abs(np.corrcoef(P[:, 0], P[:, 1])[0, 1]) < 0.06


@pytest.mark.parametrize(
    ("known", "rare"), [([0, 0, 1], {2}), ([2, 1, 0], {0, 1, 2}), ([1], {0, 2})]
)
def test_an_option_that_few_points_have_is_next(known: list[int], rare: set[int]) -> None:
    X = np.array([[0.5, 0.5, option] for option in known])
    rng = np.random.default_rng(0)
    assert {int(proposals.balanced(X, (3,), rng)[0]) for _ in range(60)} == rare
