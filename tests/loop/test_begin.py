"""What a run is told about how it begins."""

from __future__ import annotations

from typing import Any

import pytest

import noisewise as nw

BOX = {"bounds": [(0.0, 1.0)] * 2}
SPACE = {"space": {"a": "0..1", "b": "1..9:int"}}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (BOX | {"x0": [0.5, 0.5]}, True),
        (BOX, False),  # nobody said that the middle of the box is good
        (BOX | {"incumbent": [0.5, 0.5]}, True),
        (SPACE | {"x0": {"a": 0.5, "b": 2}}, True),
        (SPACE, False),
        ({"space": {"a": "0..1", "b": ["x", "y"]}, "x0": {"a": 0.5, "b": "x"}}, False),  # a choice
        (BOX | {"x0": [0.5, 0.5], "method": "cma-es"}, False),  # it does not care
    ],
)
def test_whether_the_user_gave_a_start_that_is_kept(options: dict[str, Any], told: bool) -> None:
    assert bool(nw.Optimizer(budget=60, rng=0, **options)._run.setup.given) == told
