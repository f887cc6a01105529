"""The scikit-learn search: the interface of its relatives, and an honest score."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import expon, loguniform, randint, uniform
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_classification
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import noisewise as nw
from noisewise.integrations.sklearn import NoisewiseSearchCV, spaces

X, Y = make_classification(n_samples=90, n_features=5, random_state=0)
SPACE = {"var_smoothing": "1e-9..1:log"}


class Bowl(BaseEstimator):
    """Its score depends on its parameters and on noise that its seed draws."""

    def __init__(self, a: float = 0.0, b: int = 0, random_state: int | None = None) -> None:
        self.a, self.b, self.random_state = a, b, random_state

    def fit(self, X: Any, y: Any = None) -> Bowl:
        if self.a > 0.9:
            raise RuntimeError("too large")
        self.fitted_ = True
        return self

    def truth(self) -> float:
        return -((self.a - 0.3) ** 2) - 0.01 * (self.b - 4) ** 2

    def score(self, X: Any, y: Any = None) -> float:
        return self.truth() + 0.05 * float(np.random.default_rng(self.random_state).normal())


def search(estimator: Any = None, space: Any = None, **options: Any) -> NoisewiseSearchCV:
    given: dict[str, Any] = {"budget": 30, "random_state": 0, "cv": 3} | options
    return NoisewiseSearchCV(estimator or GaussianNB(), space or SPACE, **given)


def test_the_interface_of_a_search() -> None:
    begun = time.perf_counter()
    found = search().fit(X, Y)
    assert 0.0 < found.refit_time_ < time.perf_counter() - begun
    table, i = found.cv_results_, found.best_index_
    n = len(table["params"])
    assert all(len(column) == n for column in table.values())
    assert table["n_fits"].sum() == 30
    assert i == n - 1
    assert found.best_params_ == table["params"][i]
    low, high = found.best_score_interval_
    assert found.best_score_ == found.result_.fun
    assert low <= table["mean_test_score"][i] <= high
    assert found.best_params_["var_smoothing"] == table["param_var_smoothing"][i]
    splits = np.array([table[f"split{k}_test_score"] for k in range(3)])
    assert np.isfinite(splits[:, i]).all()
    assert (np.isfinite(splits).sum(axis=0) <= table["n_fits"]).all()
    assert table["rank_test_score"][np.argmax(table["mean_test_score"])] == 1
    assert found.score(X, Y) == found.best_estimator_.score(X, Y)
    assert found.predict_proba(X).shape == (90, 2)
    assert found.n_features_in_ == 5
    assert list(found.classes_) == [0, 1]
    assert found.result_.nfev == 30


def test_columns_of_numbers_are_numbers() -> None:
    space = {"a": "0..0.8", "b": "0..9:int", "random_state": [None, 1]}
    table = search(Bowl(), space).fit(X, Y).cv_results_
    assert table["param_a"].dtype == np.float64
    assert table["param_b"].dtype == np.int64
    assert table["param_random_state"].dtype == object
    options = {"a": [0.1, 0.2], "b": [1, 2.5], "random_state": [1, 2**70]}
    table = search(Bowl(), options).fit(X, Y).cv_results_
    assert table["param_b"].dtype == table["param_random_state"].dtype == object


def test_every_fold_is_used_equally_often() -> None:
    found = search(Bowl(), {"a": "0..0.8", "b": "0..9:int"}, budget=60).fit(X, Y)
    table = found.cv_results_
    used = [int(np.isfinite(table[f"split{k}_test_score"]).sum()) for k in range(3)]
    assert max(used) - min(used) <= 4


def test_it_finds_what_is_good_and_says_how_good() -> None:
    found = search(Bowl(), {"a": "0..0.8", "b": "0..9:int"}, budget=120).fit(X, Y)
    truth = found.best_estimator_.truth()
    assert truth > -0.02
    assert abs(found.best_score_ - truth) < 4 * 0.05 / math.sqrt(3)
    assert found.best_score_se_ > 0.0
    r = found.result_
    assert (found.best_score_, found.best_score_interval_) == (r.fun, r.interval)
    # The luckiest row promises more than it can keep.
    assert found.cv_results_["mean_test_score"].max() > 0.03


def test_same_seed_same_search_whatever_the_jobs() -> None:
    one = search(budget=12).fit(X, Y)
    two = search(budget=12, n_jobs=2).fit(X, Y)
    other = search(budget=12, random_state=1).fit(X, Y)
    assert one.best_params_ == two.best_params_ != other.best_params_
    np.testing.assert_array_equal(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"]
    )


def test_seeds_are_noise_unless_they_are_set() -> None:
    space = {"a": [0.1, 0.2]}
    free = search(Bowl(), space, budget=20).fit(X, Y).cv_results_
    fixed = search(Bowl(random_state=3), space, budget=20).fit(X, Y).cv_results_
    assert free["std_test_score"].max() > 0.0
    assert fixed["std_test_score"].max() == pytest.approx(0.0)


def test_all_kinds_of_spaces() -> None:
    space = {
        "svc__C": loguniform(1e-2, 1e2),
        "svc__coef0": uniform(-1.0, 2.0),
        "svc__degree": randint(2, 5),
        "svc__kernel": ["rbf", "poly"],
        "svc__class_weight": (None, "balanced"),
        "svc__tol": nw.space.Float(1e-4, 1e-2, log=True),
        "svc__shrinking": [True, False],
    }
    found = search(make_pipeline(StandardScaler(), SVC()), space, budget=24).fit(X, Y)
    best = found.best_params_
    assert 1e-2 <= best["svc__C"] <= 1e2
    assert -1.0 <= best["svc__coef0"] <= 1.0
    assert best["svc__degree"] in (2, 3, 4)
    assert best["svc__class_weight"] in (None, "balanced")
    assert type(best["svc__shrinking"]) is bool
    assert found.decision_function(X).shape == (90,)
    as_space = nw.Space({"var_smoothing": "1e-9..1:log"})
    assert search(space=as_space).fit(X, Y).best_params_ == search().fit(X, Y).best_params_


def test_it_is_an_estimator_like_others() -> None:
    outer = make_pipeline(StandardScaler(), search(budget=8))
    assert cross_val_score(outer, X, Y, cv=2).mean() > 0.7
    copy = clone(search(budget=9))
    assert copy.get_params()["budget"] == 9
    assert copy.set_params(estimator__var_smoothing=0.5).estimator.var_smoothing == 0.5


def test_without_refit_there_is_no_estimator() -> None:
    found = search(refit=False, budget=8).fit(X, Y)
    assert "var_smoothing" in found.best_params_
    assert not hasattr(found, "best_estimator_")
    with pytest.raises((AttributeError, NotFittedError)):
        found.predict(X)


def test_weights_and_groups_arrive() -> None:
    groups = np.arange(90) % 6
    found = search(cv=GroupKFold(3), budget=8)
    found.fit(X, Y, groups=groups, sample_weight=np.ones(90))
    assert found.n_splits_ == 3


def test_failed_fits_rank_last_and_are_said() -> None:
    with pytest.warns(FitFailedWarning, match=r"of 60 fits failed, the first with RuntimeError"):
        found = search(Bowl(), {"a": "0..2"}, budget=60).fit(X, Y)
    assert found.best_params_["a"] < 0.9
    failed = np.isnan(found.cv_results_["mean_test_score"])
    assert found.result_.n_failures == found.cv_results_["n_fits"][failed].sum() > 0
    with pytest.raises(ValueError, match=r"all \d+ fits failed, the first with RuntimeError"):
        search(Bowl(), {"a": "1..2"}, budget=60).fit(X, Y)
    with pytest.raises(RuntimeError, match="too large"):
        search(Bowl(), {"a": "1..2"}, error_score="raise").fit(X, Y)


@pytest.mark.parametrize("worst", [math.nan, math.inf, -math.inf])
def test_scores_that_are_not_numbers_are_failures(worst: float) -> None:
    def score(estimator: Any, X: Any, y: Any) -> float:
        return worst if estimator.a > 0.5 else float(estimator.score(X, y))

    with pytest.warns(FitFailedWarning, match=f"fits failed, the first with a score of {worst}"):
        found = search(Bowl(), {"a": "0..0.8"}, scoring=score).fit(X, Y)
    assert found.best_params_["a"] < 0.5
    assert math.isfinite(found.best_score_)


def test_a_number_for_failures() -> None:
    with pytest.warns(FitFailedWarning):
        found = search(Bowl(), {"a": "0..2"}, budget=60, error_score=-9.0).fit(X, Y)
    assert found.result_.n_failures == 0
    assert found.cv_results_["mean_test_score"].min() == -9.0


def test_small_budgets() -> None:
    for budget in (2, 3, 5):
        found = search(budget=budget, refit=False).fit(X, Y)
        assert found.cv_results_["n_fits"].sum() == budget
        assert math.isfinite(found.best_score_)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"space": {}}, "space must be a noisewise.Space, a dictionary"),
        ({"space": []}, "space must be a noisewise.Space, a dictionary"),
        ({"space": [1]}, "space must be a noisewise.Space, a dictionary"),
        ({"space": {"a": "1-2"}}, "space: a must look like low..high"),
        ({"space": {"a": []}}, "space: a must be text such as"),
        ({"space": {"a": [1]}}, "space must have a parameter with more than one value"),
        ({"space": {"a": 3}}, "space: a must be text such as"),
        ({"space": {"a": expon()}}, "space: a must be uniform, loguniform or randint"),
        ({"budget": 1}, "budget must be a whole number of at least 2, got 1"),
        ({"method": "grid"}, "method must be one of auto"),
        ({"scoring": ["accuracy", "f1"]}, r"refit must name the metric .* \(accuracy, f1\), got T"),
        ({"scoring": ["accuracy", "f1"], "refit": "f2"}, r"refit must name .*, got 'f2'"),
        ({"error_score": "rais"}, "error_score must be 'raise' or a number, got 'rais'"),
        ({"error_score": None}, "error_score must be 'raise' or a number, got None"),
        ({"refit": "accuracy"}, "refit must be True or False with one metric, got 'accuracy'"),
        ({"refit": max}, "refit must be True, False or, with several metrics, the name of one"),
        ({"verbose": -1}, "verbose must be a whole number of at least 0, got -1"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"space": SPACE} | options
    with pytest.raises(ValueError, match="^" + said):
        NoisewiseSearchCV(GaussianNB(), **given).fit(X, Y)


def test_a_function_that_scores() -> None:
    def twice(estimator: Any, X: Any, y: Any) -> float:
        return 2.0 * float(estimator.score(X, y))

    plain, doubled = (search(scoring=s, budget=8).fit(X, Y) for s in (None, twice))
    assert doubled.best_score_ == pytest.approx(2.0 * plain.best_score_)
    with pytest.raises(ValueError, match=r"^refit must name the metric .* \(a, b\), got True"):
        search(scoring=lambda estimator, X, y: {"a": 1.0, "b": 2.0}).fit(X, Y)


def test_unknown_parameters_are_said_at_once() -> None:
    with pytest.raises(ValueError, match=r"^Invalid parameter 'depth'"):
        search(DecisionTreeClassifier(), {"depth": "1..5:int"}).fit(X, Y)


def test_whole_numbers_reach_the_estimator_as_such() -> None:
    found = search(DecisionTreeClassifier(), {"max_depth": "1..6:int"}, budget=20).fit(X, Y)
    kinds = Counter(type(p["max_depth"]) for p in found.cv_results_["params"])
    assert set(kinds) == {int}


@pytest.mark.parametrize(
    "scoring",
    [
        ["accuracy", "f1"],
        {"accuracy": "accuracy", "f1": make_scorer(f1_score)},
        lambda estimator, X, y: {
            "accuracy": estimator.score(X, y),
            "f1": f1_score(y, estimator.predict(X)),
        },
    ],
    ids=["names", "scorers", "function"],
)
def test_several_metrics(scoring: Any) -> None:
    found = search(scoring=scoring, refit="f1", budget=12, method="cma-es").fit(X, Y)
    table, i = found.cv_results_, found.best_index_
    assert found.multimetric_
    assert (
        found.best_score_ == found.result_.fun == pytest.approx(table["mean_test_f1"][i], abs=0.05)
    )
    assert {"split0_test_accuracy", "std_test_accuracy", "rank_test_f1"} <= table.keys()
    assert "mean_test_score" not in table
    assert found.score(X, Y) == f1_score(Y, found.predict(X))
    alone = search(scoring="f1", budget=12, method="cma-es").fit(X, Y)
    assert not alone.multimetric_
    assert found.best_params_ == alone.best_params_
    np.testing.assert_array_equal(table["mean_test_f1"], alone.cv_results_["mean_test_score"])


def test_a_failed_fit_has_no_score_of_any_metric() -> None:
    def score(estimator: Any, X: Any, y: Any) -> dict[str, float]:
        return {"a": float(estimator.score(X, y)), "b": math.nan}

    with pytest.warns(FitFailedWarning):
        found = search(Bowl(), {"a": "0..2"}, budget=40, scoring=score, refit="a").fit(X, Y)
    table = found.cv_results_
    failed = np.array([params["a"] > 0.9 for params in table["params"]])
    assert failed.any()
    np.testing.assert_array_equal(np.isnan(table["mean_test_a"]), failed)
    assert np.isnan(table["mean_test_b"]).all()


def test_scores_on_the_training_part() -> None:
    found = search(DecisionTreeClassifier(), {"max_depth": "1..9:int"}, return_train_score=True)
    table = found.fit(X, Y).cv_results_
    splits = np.array([table[f"split{k}_train_score"] for k in range(3)])
    np.testing.assert_allclose(np.nanmean(splits, axis=0)[-1], table["mean_train_score"][-1])
    assert np.nanmean(table["mean_train_score"]) > np.nanmean(table["mean_test_score"])
    assert "mean_train_score" not in search(budget=6).fit(X, Y).cv_results_


SPACES = [
    {"kernel": ["linear"], "C": "1e-2..1e2:log"},
    {"kernel": ["rbf", "poly"], "C": "1e-2..1e2:log", "gamma": "1e-3..1:log"},
    {"kernel": ["sigmoid"], "gamma": "1e-2..1:log"},
]


def test_one_of_several_spaces_holds_at_a_time() -> None:
    found = search(SVC(), SPACES, budget=60, method="cma-es").fit(X, Y)
    table = found.cv_results_
    asks = {"linear": {"C"}, "rbf": {"C", "gamma"}, "poly": {"C", "gamma"}, "sigmoid": {"gamma"}}
    for params in table["params"]:
        assert set(params) == asks[params["kernel"]] | {"kernel"}
    assert len({params["kernel"] for params in table["params"]}) >= 3
    mask = np.ma.getmaskarray(table["param_gamma"])
    np.testing.assert_array_equal(mask, ["gamma" not in params for params in table["params"]])
    assert table["param_gamma"].dtype == np.float64
    assert found.score(X, Y) > 0.7
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        search(SVC(), [*SPACES, {"depth": "1..5:int"}]).fit(X, Y)


def test_estimators_in_a_space_stay_as_they_are() -> None:
    inner = SVC(C=7.0)
    pipeline = Pipeline([("scale", StandardScaler()), ("clf", GaussianNB())])
    branches = [{"clf": [inner], "clf__C": "1e-2..1e2:log"}, {"clf": [GaussianNB()]}]
    search(pipeline, branches, budget=8, method="cma-es").fit(X, Y)
    assert inner.C == 7.0
    assert not hasattr(inner, "classes_")


def test_points_of_several_spaces() -> None:
    space = spaces.named(SPACES)
    rng = np.random.default_rng(0)
    assert space.names == ["kernel", "C", "gamma"]
    for _ in range(50):
        params = space.decode(rng.uniform(size=space.dimension))
        again = space.decode(space.encode(params))
        assert again.keys() == params.keys()
        assert all(again[name] == pytest.approx(value) for name, value in params.items())
    with pytest.raises(ValueError, match="values must be those of one of the spaces"):
        space.encode({"kernel": "linear"})
    with pytest.raises(ValueError, match="C must be"):
        space.encode({"kernel": "linear", "C": 1e9})
    assert isinstance(spaces.named(SPACES[:1]), nw.Space)


def test_the_refit_has_a_seed_of_the_search() -> None:
    space = {"a": "0..0.8"}
    one, two = (search(Bowl(), space, budget=6).fit(X, Y) for _ in range(2))
    seed = one.best_estimator_.random_state
    assert isinstance(seed, int)
    assert seed == two.best_estimator_.random_state
    other = search(Bowl(), space, budget=6, random_state=1).fit(X, Y)
    assert seed != other.best_estimator_.random_state
    kept = search(Bowl(random_state=3), space, budget=6).fit(X, Y)
    assert kept.best_estimator_.random_state == 3


def test_verbosity(capsys: pytest.CaptureFixture[str]) -> None:
    search(Bowl(), {"a": "0..0.8"}, budget=10).fit(X, Y)
    assert capsys.readouterr().err == ""
    search(Bowl(), {"a": "0..0.8"}, budget=10, verbose=1).fit(X, Y)
    said = capsys.readouterr().err
    assert "10/10" in said
    assert "fold" not in said
    search(Bowl(), {"a": "0..0.8"}, budget=10, verbose=2).fit(X, Y)
    said = capsys.readouterr().err
    assert said.count("fold ") == 10
    assert "a=0." in said
    assert "score -0." in said


def test_scores_known_before() -> None:
    space = {"a": "0..0.8", "b": "0..9:int"}
    grid = GridSearchCV(Bowl(random_state=0), {"a": [0.1, 0.3, 0.5], "b": [2, 4, 6]}, cv=3)
    table = grid.fit(X, Y).cv_results_
    found = search(Bowl(), space, budget=12, data=table).fit(X, Y)
    assert found.result_.nfev == 12
    assert found.cv_results_["n_fits"].sum() == 12
    same = search(Bowl(), space, budget=12, data=(table["params"], table["mean_test_score"]))
    assert same.fit(X, Y).best_params_ == found.best_params_
    without = search(Bowl(), space, budget=12).fit(X, Y)
    assert "9 rows of earlier data" in found.result_.message
    assert "earlier data" not in without.result_.message
    assert clone(found).data is not None
    branches = [{"a": "0..0.8"}, space]
    assert search(Bowl(), branches, budget=12, data=table).fit(X, Y).best_score_ > -0.5
    again = search(Bowl(), space, budget=12, data=without.cv_results_)
    assert math.isfinite(again.fit(X, Y).best_score_)


def test_an_incumbent_has_a_value_of_every_parameter() -> None:
    with pytest.raises(ValueError, match=r"^incumbent must have a value of b, got \{'a': 0.5\}"):
        search(Bowl(), {"a": "0..0.8", "b": "0..9:int"}, incumbent={"a": 0.5}).fit(X, Y)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (3, "data must be (params, scores), (params, scores, standard errors) or a table"),
        ({"params": []}, "data must be (params, scores) or a table cv_results_, got one without"),
        (([{"a": 0.1}, {"b": 1}], [1.0, 2.0]), "data: row 1: must have a value of a, got"),
        (([{"a": 9.0}], [1.0]), "data: row 0: a must be a number in"),
        (([3], [1.0]), "data: row 0: must be parameters by name, got 3"),
        (([{"a": 0.1}], [1.0, 2.0]), "y must have one entry per row (1)"),
    ],
)
def test_data_that_cannot_be_read(data: Any, said: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(said)):
        search(Bowl(), {"a": "0..0.8"}, data=data).fit(X, Y)
