"""scikit-learn's own checks of an estimator."""

from __future__ import annotations

from typing import Any

from sklearn.svm import SVC, SVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from noisewise.integrations.sklearn import NoisewiseSearchCV

#: What SVC itself does not do as the check wants it.
EXPECTED = {
    "check_classifiers_one_label_sample_weights": "SVC's error does not say 'sample_weight'"
}


def search(estimator: Any, space: dict[str, str]) -> NoisewiseSearchCV:
    return NoisewiseSearchCV(
        estimator, space, budget=6, cv=2, random_state=0, method="sep-cma-es", error_score="raise"
    )


@parametrize_with_checks(
    [
        search(SVC(), {"C": "1e-1..1e2:log"}),
        search(SVR(), {"C": "1e-1..1e2:log"}),
    ],
    expected_failed_checks=lambda search: EXPECTED if isinstance(search.estimator, SVC) else {},
)
def test_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)
