"""A method takes only options that it uses."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

import noisewise as nw
import support
from noisewise.methods import Auto, Method, ProbeSwitch


@pytest.mark.parametrize("method", [Auto, ProbeSwitch])
@pytest.mark.parametrize(
    "option",
    [{"c_mean": 0.5}, {"rates": "fixed"}, {"profile": "uniform"}, {"recombination": "weiszfeld"}],
)
def test_options_of_other_methods_are_refused(method: type[Method], option: dict[str, Any]) -> None:
    """auto and probe-switch would ignore them."""
    [name] = option
    with pytest.raises(TypeError, match=f"'{name}'"):
        method(**option)
    with pytest.raises(ValueError, match=f"does not take these options: .*'{name}'"):
        nw.methods.get(method.name, **option)


#: The smallest whole number that an option takes, and by method where it differs.
LEAST: dict[str, int] = {
    "population": 2,
    "k": 1,
    "cap": 1,
    "max_evaluations": 1,
    "largest": 2,
    "n_draws": 1,
    "k_max": 0,
    "n_bootstrap": 1,
    "diagnostics_every": 1,
    "searches": 1,
}
#: Numbers from 0 to 1; those that must be positive, and the largest that they may be.
FRACTIONS = {"scores", "theta", "fraction", "threshold", "gamma"}
POSITIVE = {
    "c_mean": 1.0,
    "smoothing": 1.0,
    "beta_mean": 1.0,
    "beta_sigma": 1.0,
    "beta": 1.0,
    "correlation": 1.0,
    "confidence": math.inf,
    "alpha": math.inf,
}
WORDS = {"covariance", "rates", "recombination", "aggregate", "treatment", "target", "profile"}
#: Records of constants.
RECORDS = {"tuning"}
#: Options without limits: switches, functions, parts of a method.
OTHERS = {
    "grow", "centred", "model", "expected", "warm_start", "draws", "noise", "fallback", "low",
    "high", "reprobe", "strict", "baseline",
}  # fmt: skip


def options() -> list[Any]:
    return [
        pytest.param(method, field.name, id=f"{name}-{field.name}")
        for name, method in support.METHODS.items()
        if name in nw.list_methods()
        for field in dataclasses.fields(method)  # type: ignore[arg-type]
        if field.init and field.name not in OTHERS
    ]


def takes(method: Method, name: str, value: Any) -> bool:
    """Whether the option takes a value; what refuses it must name it."""
    try:
        dataclasses.replace(method, **{name: value})  # type: ignore[type-var]
    except (ValueError, TypeError) as error:
        return name not in str(error)
    return True


@pytest.mark.parametrize(("method", "name"), options())
def test_limits_of_options(method: Method, name: str) -> None:
    """What is within them is taken, what is beyond is refused by its name."""
    if name in LEAST:
        least = 1 if name == "population" and method.name in ("gp", "select") else LEAST[name]
        # A largest population must not be below the first one.
        assert takes(method, name, max(least, 30))
        assert takes(method, name, least) or name == "largest"
        refused = [least - 1, 2.5, math.nan, "x"]
    elif name in FRACTIONS:
        assert all(takes(method, name, value) for value in (0.0, 1.0))
        refused = [-0.01, 1.01, math.nan, "x"]
    elif name in POSITIVE:
        most = POSITIVE[name]
        assert all(takes(method, name, value) for value in (1e-9, min(most, 1e9)))
        refused = [0.0, -0.01, math.nan, math.inf, "x", *([1.01] if most == 1.0 else [])]
    elif name == "alpha_t":  # a factor by which the evaluations grow
        assert all(takes(method, name, value) for value in (1.0, 1e9))
        refused = [0.99, math.nan, math.inf, "x"]
    else:
        assert name in WORDS | RECORDS
        refused = ["nonsense", "", 3.0, None]
    assert not any(takes(method, name, value) for value in refused)
