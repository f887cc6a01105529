"""A method takes only options that it uses."""

from __future__ import annotations

from typing import Any

import pytest

import noisewise as nw
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
