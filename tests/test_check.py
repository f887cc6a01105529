"""Arguments of a wrong kind are refused in one sentence that names them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise._check import (
    flag,
    fraction,
    integer,
    integer_or_none,
    one_of,
    positive_real,
    shown,
    told,
)

_GOOD: dict[str, Any] = {"x0": [2.0, 2.0], "sigma0": 1.0, "budget": 8, "rng": 0}
_ARRAY = np.array([1, 2])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"on_error": _ARRAY}, "on_error must be one of 'raise', 'worst', got array"),
        ({"progress": _ARRAY}, "progress must be True or False, got array"),
        ({"vectorized": _ARRAY}, "vectorized must be True or False, got array"),
        ({"vectorized": "yes"}, "vectorized must be True or False, got 'yes'"),
        ({"args": 3}, "args must be a tuple of further arguments of fun, got 3"),
        ({"budget": 10**400}, "budget must be a whole number of at most 9007199254740992, got"),
        ({"workers": 10**400}, "workers must be a whole number of at most 9007199254740992"),
        ({"x0": 10**400}, "x0 must be"),
        ({"sigma0": 10**400}, "sigma0 must be"),
    ],
)
def test_options_of_a_wrong_kind(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match="^" + said):
        nw.minimize(support.bumpy, **(_GOOD | given))


@pytest.mark.parametrize("timeout", [10**400, _ARRAY])
def test_a_timeout_of_a_wrong_kind(timeout: Any) -> None:
    said = "^timeout must be a positive finite number, got (1000|array)"
    with pytest.raises(ValueError, match=said):
        nw.executors.processes(1, timeout=timeout)


def test_arguments_of_a_probe() -> None:
    with pytest.raises(ValueError, match=r"^args must be a tuple"):
        nw.probe(support.bumpy, [1.0], sigma0=1.0, args=3)  # type: ignore[arg-type]


def test_checks() -> None:
    assert flag("f", np.True_) is flag("f", 1) is True
    assert flag("f", 0) is False
    assert integer("n", 2**80, 0, most=None) == 2**80
    assert one_of("w", "a", ("a", "b")) == "a"
    assert positive_real("r", 3) == 3.0
    assert fraction("r", 1) == 1.0
    for wrong in (math.nan, True, "1", 10**400, -1, None, 1j):
        with pytest.raises(ValueError, match=r"^r must be"):
            fraction("r", wrong)


@pytest.mark.parametrize("right", [2, np.int64(3), np.uint8(200), 2**53])
def test_whole_numbers(right: Any) -> None:
    found = integer("n", right, least=2)
    assert (found, type(found)) == (int(right), int)
    assert integer_or_none("n", right, least=2) == found
    assert integer_or_none("n", None, least=2) is None


@pytest.mark.parametrize("wrong", [1, -5, True, 2.0, np.float64(3.0), "3", None, math.nan])
def test_what_is_no_whole_number_of_at_least_two(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"^n must be a whole number of at least 2, got "):
        integer("n", wrong, least=2)


def test_the_largest_whole_number() -> None:
    with pytest.raises(ValueError, match=r"^n must be a whole number of at most 7, got 8$"):
        integer("n", 8, least=0, most=7)
    with pytest.raises(ValueError, match=r"^n must be a whole number of at most 9007199254740992"):
        integer("n", 2**53 + 1, least=0)


@pytest.mark.parametrize("wrong", [0, -1.0, math.inf, math.nan, True, "1", None, 1j, 10**400])
def test_what_is_no_positive_number(wrong: Any) -> None:
    with pytest.raises(ValueError, match=r"^r must be a positive finite number, got "):
        positive_real("r", wrong)


@pytest.mark.parametrize(("most", "said"), [(8, "'aaaaaaa..."), (10, "'aaaaaaaa'")])
def test_long_values_are_cut(most: int, said: str) -> None:
    assert shown("a" * 8, most) == said
    assert shown("a\n  b") == r"'a\n b'"


def test_what_cannot_be_shown_is_shown_anyway() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError

    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert shown(Shy()) == "<Shy that cannot be shown>"
    assert told(Mute()) == "Mute: its message cannot be shown"
    assert told(KeyError()) == "KeyError"
    assert told(ValueError("why")) == "ValueError: why"
