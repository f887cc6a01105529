"""Models propose the points, and runs give the answers, that they are known by; to a tolerance."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import support
from noisewise_bench import pins

_FILE = Path(__file__).with_name("pins.json")
PINNED: dict[str, dict[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))


@support.same_arithmetic
@pytest.mark.untraced
@pytest.mark.parametrize("name", list(pins.CASES))
def test_proposals_and_answers_are_those_pinned(name: str) -> None:
    """After an intended change: ``python -m noisewise_bench.pins > tests/digests/pins.json``."""
    found, pinned = pins.CASES[name].pin(), PINNED[name]
    assert found.keys() == pinned.keys()
    for entry, expected in pinned.items():
        if entry == "proposed":
            assert found[entry].keys() == expected.keys()
            for number, x in expected.items():
                np.testing.assert_allclose(found[entry][number], x, atol=1e-5, err_msg=number)
        elif entry in ("x", "fun", "noise share"):
            np.testing.assert_allclose(found[entry], expected, rtol=1e-4, atol=1e-5, err_msg=entry)
        else:
            assert found[entry] == expected, entry


def test_every_case_is_pinned() -> None:
    assert set(PINNED) == set(pins.CASES)


def test_the_model_is_in_charge_at_the_end_where_the_name_says_so() -> None:
    strategy = {"auto, hand-over", "auto, opening", "auto, begun anew"}
    for name, pinned in PINNED.items():
        share = pinned["noise share"]
        if "proposed" in pinned:
            assert np.isnan(share).all() == (name in strategy), name


def test_every_setting_of_a_model_changes_its_proposals() -> None:
    seen = [json.dumps(p["proposed"]) for p in PINNED.values() if "proposed" in p]
    assert len(set(seen)) == len(seen)
