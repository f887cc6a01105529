"""scikit-learn's own checks of an estimator."""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from noisewise.integrations.sklearn import NoisewiseSearchCV

#: As for scikit-learn's own searches, which do not ask whether the estimator takes several outputs.
EXPECTED = {"check_supervised_y_2d": "the search does not know of multi-output targets"}


def search(estimator: Any, space: dict[str, str]) -> NoisewiseSearchCV:
    return NoisewiseSearchCV(
        estimator, space, budget=6, cv=2, random_state=0, method="sep-cma-es", error_score="raise"
    )


@parametrize_with_checks(
    [
        search(RidgeClassifier(), {"alpha": "1e-3..1e2:log"}),
        search(Ridge(), {"alpha": "1e-3..1e2:log"}),
    ],
    expected_failed_checks=lambda estimator: (
        EXPECTED if isinstance(estimator.estimator, Ridge) else {}
    ),
)
def test_estimator_checks(estimator: Any, check: Any) -> None:
    check(estimator)
