"""Values that a model of all others declares impossible, and values that only look like it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from noisewise._types import FloatArray
from noisewise.gp import outliers
from noisewise.gp.model import Fit, Model, refit
from noisewise.gp.values import Measurements

D, N = 3, 60
#: Places of the outliers among the values.
WRONG = [7, 31, 50]

Law = Callable[[FloatArray, np.random.Generator], FloatArray]


def _points(n: int = N) -> tuple[FloatArray, np.random.Generator]:
    """Half of the points all over the box, the others closer to the optimum."""
    rng = np.random.default_rng(1)
    X = rng.random((n, D))
    X[n // 2 :] = 0.3 + 0.3 * (X[n // 2 :] - 0.5)
    return X, rng


def _bowl(X: FloatArray) -> FloatArray:
    return np.asarray(np.sum((X - 0.3) ** 2, axis=1))


def _found(X: FloatArray, y: FloatArray) -> Measurements:
    measured = Measurements.empty(X.shape[1]).add(X, y)
    return outliers.set_aside(measured, refit(measured, Fit.start(X.shape[1])))[0]


@pytest.mark.parametrize("noise", [0.0, 0.05])
@pytest.mark.parametrize("size", [30.0, 1e3, 1e6, 1e12, 1e69, 1e305, -30.0, -1e6, -1e69])
def test_exactly_the_outliers_are_set_aside(size: float, noise: float) -> None:
    X, rng = _points()
    y = _bowl(X) + noise * rng.standard_normal(N)
    y[WRONG] += size
    aside = _found(X, y).aside
    assert aside is not None
    assert np.flatnonzero(aside).tolist() == WRONG


def test_values_that_share_seeds_or_have_known_errors_are_no_obstacle() -> None:
    X, rng = _points()
    seed = np.arange(N) % 5
    y = _bowl(X) + 0.2 * rng.standard_normal(5)[seed] + 0.01 * rng.standard_normal(N)
    y[WRONG] += 1e6
    measured = Measurements.empty(D).add(X, y, np.full(N, 1e-4), seed)
    rest, _ = outliers.set_aside(measured, refit(measured, Fit.start(D)))
    assert rest.aside is not None
    assert np.flatnonzero(rest.aside).tolist() == WRONG


CLEAN: dict[str, Law] = {
    "additive noise": lambda X, rng: _bowl(X) + 0.05 * rng.standard_normal(len(X)),
    "no noise": lambda X, rng: _bowl(X),
    "noise in proportion": lambda X, rng: _bowl(X) * np.exp(rng.standard_normal(len(X))),
    "lognormal": lambda X, rng: _bowl(X) + 0.1 * np.exp(2.0 * rng.standard_normal(len(X))),
    "exponential slope": lambda X, rng: np.exp(30.0 * X.mean(axis=1)),
    "valley": lambda X, rng: np.sum(
        100.0 * (2.0 * X[:, 1:] - (2.0 * X[:, :-1]) ** 2) ** 2 + (1.0 - 2.0 * X[:, :-1]) ** 2,
        axis=1,
    ),
    "penalty": lambda X, rng: _bowl(X) + 1e3 * np.maximum(0.0, X[:, 0] - 0.5),
    "cliff": lambda X, rng: _bowl(X) + 1e6 * (X[:, 0] > 0.4),
    "Cauchy noise": lambda X, rng: _bowl(X) + rng.standard_cauchy(len(X)),
    "Student's noise": lambda X, rng: _bowl(X) + 0.1 * rng.standard_t(3.0, len(X)),
    "wins": lambda X, rng: np.asarray(rng.random(len(X)) < 0.05, dtype=float),
    "counts": lambda X, rng: np.asarray(rng.poisson(5.0 + 5.0 * _bowl(X)), dtype=float),
    "rare counts": lambda X, rng: np.asarray(rng.poisson(0.05, len(X)), dtype=float),
}


@pytest.mark.parametrize("name", CLEAN)
@pytest.mark.parametrize("n", [16, N, 120])
def test_nothing_is_set_aside_where_the_function_or_its_noise_is_like_that(
    name: str, n: int
) -> None:
    X, rng = _points(n)
    measured = Measurements.empty(D).add(X, CLEAN[name](X, rng))
    fit = refit(measured, Fit.start(D))
    near = outliers.suspects(measured, Model.of(measured, fit).posterior)
    rest, found = measured, fit
    if outliers.possible(measured) and len(near):
        rest, found = outliers.set_aside(measured, fit)
    assert rest is measured
    assert found is fit


def test_few_distinct_values_and_few_values_have_no_outliers() -> None:
    X, rng = _points()
    wins = np.asarray(rng.random(N) < 0.02, dtype=float)
    assert not outliers.possible(Measurements.empty(D).add(X, wins))
    assert not outliers.possible(Measurements.empty(D).add(X[:9], np.append(rng.random(8), 1e9)))
    assert outliers.possible(Measurements.empty(D).add(X, _bowl(X)))


def test_values_set_aside_come_back_when_the_others_explain_them() -> None:
    X, _ = _points(120)
    y = _bowl(X)
    few = np.arange(120) % 2 == 0
    measured = Measurements.empty(D).add(X[few], y[few])
    wrong = np.zeros(60, dtype=bool)
    wrong[WRONG] = True
    measured = Measurements(measured.X, measured.y, measured.at, measured.var, aside=wrong).add(
        X[~few], y[~few]
    )
    rest, fit = outliers.set_aside(measured, refit(measured, Fit.start(D)))
    assert rest.aside is None
    assert fit.fitted == 120


def test_a_value_that_is_too_low_is_measured_again_until_it_is_certain() -> None:
    X, rng = _points()
    y = _bowl(X) + 0.01 * rng.standard_normal(N)
    y[[7, 50]] += -100.0, 100.0
    seen = _found(X, y)
    assert outliers.doubtful(seen).tolist() == [X[7].tolist()]
    rounded = np.nextafter(X[[7]], 1.0)  # as units of the user's coordinates may leave it
    once = outliers.set_aside(seen.add(rounded, _bowl(rounded)), Fit.start(D))[0]
    assert len(outliers.doubtful(once)) == 0
    assert once.aside is not None
    assert np.flatnonzero(once.aside).tolist() == [7, 50]


def test_a_minimum_that_is_low_every_time_is_no_outlier() -> None:
    X, rng = _points()
    y = _bowl(X) + 0.01 * rng.standard_normal(N)
    y[[7, 50]] += -100.0, 100.0
    seen = _found(X, y)
    for _ in range(outliers.CERTAIN - 1):
        again = outliers.doubtful(seen)
        assert again.tolist() == [X[7].tolist()]
        seen = seen.add(again, y[[7]] + 0.01 * rng.standard_normal(1))
        seen, _ = outliers.set_aside(seen, refit(seen, Fit.start(D)))
    assert len(outliers.doubtful(seen)) == 0
    assert seen.ok[[7, N, N + 1]].all()


def test_the_sentence_has_number_and_share() -> None:
    X, _ = _points()
    y = _bowl(X)
    assert outliers.said(_found(X, y)) == []
    y[WRONG] += 1e6
    [text] = outliers.said(_found(X, y))
    assert text.startswith("3 values are impossibly far from what all others predict")
    assert "5.0% of 60" in text
    y[WRONG[1:]] -= 1e6
    [text] = outliers.said(_found(X, y))
    assert text.startswith("1 value is ")
