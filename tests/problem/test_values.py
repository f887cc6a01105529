"""What an objective may return, and what becomes of it."""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.errors import BadValueError
from noisewise.problem.values import LARGEST, as_value

_GOOD: dict[str, Any] = {"x0": [2.0, 2.0], "sigma0": 1.0, "budget": 24, "rng": 0}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1, 1.0),
        (True, 1.0),
        (np.float32(0.5), 0.5),
        (np.array([0.5]), 0.5),
        (np.array(3), 3.0),
        (Fraction(1, 4), 0.25),
        (np.ma.array([0.5]), 0.5),
        (float("nan"), float("inf")),
        (float("inf"), float("inf")),
        (10**400, float("inf")),
    ],
)
def test_values(value: Any, expected: float) -> None:
    assert as_value(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        np.ma.masked,
        np.ma.array([1.0], mask=[True]),
        np.ma.array(1.0, mask=True),
        None,
        "1.0",
        1j,
        [1.0, 2.0],
        Decimal("1"),
    ],
    ids=range(8),
)
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(BadValueError, match=r"^the objective must return one real number, got"):
        as_value(value)


def test_masked_values_are_refused_where_they_come_in_arrays() -> None:
    def masked(X: Any) -> Any:
        return np.ma.array((X * X).sum(axis=1), mask=[True] + [False] * (len(X) - 1))

    with pytest.raises(nw.EvaluationError, match=r"must return .* real numbers"):
        nw.minimize(masked, **_GOOD, vectorized=True)
    r = nw.minimize(lambda X: np.ma.array((X * X).sum(axis=1)), **_GOOD, vectorized=True)
    assert r.nfev == 24


def test_a_masked_start_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^x0 must be"):
        nw.minimize(support.bumpy, np.ma.array([1.0, 2.0], mask=[0, 1]), sigma0=1.0, budget=9)


def test_enormous_values_tie_and_a_warning_says_so() -> None:
    with pytest.warns(UserWarning, match=r"^values beyond 1e\+70 in size count as 1e\+70"):
        assert as_value(1e300) == LARGEST
    with pytest.warns(UserWarning, match="count as"):
        assert as_value(-1e71) == -LARGEST
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert as_value(LARGEST) == LARGEST
        assert as_value(float("inf")) == float("inf")


def test_the_warning_comes_once() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        nw.minimize(lambda x: 1e80 if x[0] > 2.0 else float(x @ x), **_GOOD)
    assert len([w for w in caught if "count as" in str(w.message)]) == 1
