"""An estimator's present parameters beside what the search found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from noisewise.integrations.sklearn import NoisewiseSearchCV

X, Y = make_classification(n_samples=60, n_features=4, random_state=0)


class Bowl(BaseEstimator):
    """Its score depends on its parameters, and on noise of its seed and of the test set."""

    def __init__(self, a: float = 0.9, b: int = 0, random_state: int | None = None) -> None:
        self.a, self.b, self.random_state = a, b, random_state

    def fit(self, X: Any, y: Any = None) -> Bowl:
        self.fitted_ = True
        return self

    def score(self, X: Any, y: Any = None) -> float:
        draw = np.random.default_rng(self.random_state).normal()
        fold = np.sin(1e3 * float(np.sum(X)))
        return float(-((self.a - 0.3) ** 2) - 0.01 * (self.b - 4) ** 2 + 0.05 * (draw + fold))


SPACE = {"bowl__a": "0..1", "bowl__b": "0..8:int"}


def search(incumbent: Any = True, a: float = 0.9, b: int = 0, **more: Any) -> NoisewiseSearchCV:
    pipeline = Pipeline([("scale", StandardScaler()), ("bowl", Bowl(a, b))])
    given: dict[str, Any] = {"budget": 50, "random_state": 0, "cv": 3, "space": SPACE} | more
    space = given.pop("space")
    return NoisewiseSearchCV(pipeline, space, incumbent=incumbent, **given)


def test_the_estimators_own_parameters_are_todays() -> None:
    found = search().fit(X, Y)
    r = found.result_
    assert r.incumbent.params == {"bowl__a": 0.9, "bowl__b": 0}
    assert not r.kept
    low, high = r.improvement_interval
    at = r.challenger.params
    gain = 0.36 + 0.16 - (at["bowl__a"] - 0.3) ** 2 - 0.01 * (at["bowl__b"] - 4) ** 2
    assert 0.0 < low < gain < high
    assert found.best_params_ == at


def test_folds_and_seeds_are_shared_so_that_the_difference_is_exact() -> None:
    """All noise belongs to the fold and the seed."""
    r = search().fit(X, Y).result_
    at = r.challenger.params
    gain = 0.36 + 0.16 - (at["bowl__a"] - 0.3) ** 2 - 0.01 * (at["bowl__b"] - 4) ** 2
    assert r.improvement == pytest.approx(gain, abs=1e-6)


def test_the_best_parameters_are_kept() -> None:
    found = search(a=0.3, b=4).fit(X, Y)
    assert found.result_.kept
    assert found.best_params_ == {"bowl__a": 0.3, "bowl__b": 4}


def test_a_dictionary_says_what_is_used_today() -> None:
    r = search({"bowl__a": 0.5, "bowl__b": 4}).fit(X, Y).result_
    assert r.incumbent.params == {"bowl__a": 0.5, "bowl__b": 4}


@pytest.mark.parametrize("incumbent", [None, False])
def test_without_one_there_is_no_verdict(incumbent: Any) -> None:
    assert "verdict" not in search(incumbent).fit(X, Y).result_


@pytest.mark.parametrize(
    ("incumbent", "more", "said"),
    [
        ("yes", {}, "incumbent must be True, a dictionary of parameters or None, got 'yes'"),
        ({"bowl__a": 0.5}, {}, "incumbent must have a value of bowl__b"),
        ({"bowl__a": 5.0, "bowl__b": 1}, {}, "incumbent: bowl__a"),
        (True, {"a": 2.0}, "incumbent: bowl__a"),
        (True, {"space": [SPACE, {"bowl__a": "0..1"}]}, "a dictionary where there are several"),
    ],
)
def test_wrong_incumbents_are_one_sentence(incumbent: Any, more: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said) as raised:
        search(incumbent, **more).fit(X, Y)
    assert "\n" not in str(raised.value)
