"""The bare loop is the update of the library."""

from __future__ import annotations

import numpy as np
import pytest

from noisewise.cma.covariance import MODELS
from noisewise.cma.strategy import Strategy
from noisewise.cma.weights import Log, rank_weights
from noisewise_bench import bare


def _values(X):
    return (X * X) @ np.arange(1.0, X.shape[1] + 1.0)


@pytest.mark.parametrize("diagonal", [True, False])
def test_the_bare_loop_goes_where_the_strategy_goes(diagonal):
    n, k = 5, 8
    strategy = Strategy(n, MODELS["diagonal" if diagonal else "full"])
    state, rng = strategy.start(np.full(n, 3.0), 1.0), np.random.default_rng(1)
    for _ in range(10):
        X = strategy.sample(state, k, rng)
        state, _ = strategy.update(state, X, rank_weights(_values(X), Log().weights(k)))
    found = bare.run(_values, np.full(n, 3.0), 10, k, np.random.default_rng(1), diagonal)
    np.testing.assert_allclose(found, state.mean, rtol=1e-9, atol=1e-12)
