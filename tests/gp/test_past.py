"""Earlier data in a model: used as they are, rescaled, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise._threads import single
from noisewise._types import FloatArray
from noisewise.gp import past
from noisewise.gp.model import Fit, refit, score
from noisewise.gp.values import Measurements

pytestmark = pytest.mark.usefixtures("one_thread")
RNG = np.random.default_rng(0)
X = RNG.random((40, 2))


@pytest.fixture
def one_thread() -> Iterator[None]:
    with single():  # for small matrices others only cost time
        yield


def bowl(X: FloatArray) -> FloatArray:
    return np.asarray(((X - 0.3) ** 2).sum(axis=1))


def looked_at(y: FloatArray, n: int = 8) -> past.Past:
    """Data ``y`` at X after ``n`` own values of the bowl."""
    at = np.random.default_rng(1).random((n, 2))
    none = Measurements.empty(2)
    found = past.absorb(None, none, Fit.start(2), X, y, np.full(len(y), np.nan))
    assert found is not None
    own = none.add(at, bowl(at) + 0.01 * np.random.default_rng(2).normal(size=n))
    return past.learn(found, found.alone, own, 4)[0]


@pytest.mark.parametrize(
    ("y", "use"),
    [
        (bowl(X), past.PLAIN),
        (bowl(X) + 0.01 * RNG.normal(size=40), past.PLAIN),
        (100.0 + 7.0 * bowl(X), past.RESCALED),
        (-bowl(X), past.UNUSED),
        (RNG.normal(size=40), past.UNUSED),
        (bowl(1.3 - X), past.UNUSED),
    ],
    ids=["exact", "same noise", "scaled", "opposite", "garbage", "another optimum"],
)
def test_data_are_used_as_they_deserve(y: FloatArray, use: str) -> None:
    assert looked_at(y).use == use


def test_rescaled_values_are_those_of_the_run() -> None:
    found = looked_at(100.0 + 7.0 * bowl(X))
    np.testing.assert_allclose(found.seen().y[-40:], bowl(X), atol=0.05)
    assert found.seen().y[:8].tolist() == found.own.y.tolist()


def test_own_density_is_the_score_of_all_values_where_all_are_own() -> None:
    own = Measurements.empty(2).add(X[[0, *range(20)]], bowl(X[[0, *range(20)]]))
    fit = refit(own, Fit.start(2))
    assert past.own_density(own, own, fit) == pytest.approx(21 * score(own, fit))


def test_constant_failed_or_single_values_say_nothing() -> None:
    none, nothing = Measurements.empty(2), np.full(40, np.nan)
    for y in (np.ones(40), np.full(40, np.inf), np.r_[1.0, np.full(39, np.nan)]):
        assert past.absorb(None, none, Fit.start(2), X, y, nothing) is None


def test_many_values_are_thinned_and_the_smallest_kept() -> None:
    seen = Measurements.empty(1).add(np.arange(1000.0)[:, None], np.arange(1000.0))
    kept = past._thinned(seen)
    assert len(kept.y) == past._KEPT
    assert kept.y[: past._KEPT // 2].tolist() == list(range(past._KEPT // 2))
    np.testing.assert_array_equal(kept.X[kept.at, 0], kept.y)
    assert kept.y[-1] == 999.0


def run(data: Any, method: str = "gp", budget: int = 24) -> nw.Result:
    noise = np.random.default_rng(4)

    def fun(x: FloatArray) -> float:
        return float(bowl(x[None])[0] + 0.02 * noise.normal())

    return nw.minimize(fun, bounds=[(0, 1)] * 2, budget=budget, method=method, rng=1, data=data)


@pytest.mark.parametrize("method", ["gp", "auto"])
def test_with_contrary_data_the_run_is_the_one_without(method: str) -> None:
    with_data, without = run((X, -bowl(X)), method), run(None, method)
    assert "40 rows of earlier data were dropped" in with_data.message
    np.testing.assert_array_equal(with_data.x, without.x)


def test_good_data_are_said_to_be_used() -> None:
    assert "the model uses 40 rows of earlier data" in run((X, bowl(X))).message
    rescaled = run((X, 5.0 - 0.1 + 3.0 * bowl(X)))
    assert "the model uses 40 rows of earlier data, rescaled" in rescaled.message
    assert abs(rescaled.fun) < 0.2  # in the units of the run


def test_data_may_come_in_the_middle() -> None:
    opt = nw.Optimizer(bounds=[(0, 1)] * 2, budget=24, method="gp", rng=1)
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, float(bowl(trial.x[None])[0]))
        if opt.spent in (12, 13):
            opt.add(X[opt.spent :], bowl(X[opt.spent :]))
    assert opt.result().warnings == []
    assert "the model uses 55 rows of earlier data" in opt.result().message
