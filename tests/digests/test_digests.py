"""Every method asks for the points it asked for when its published tables were made."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import support
from noisewise_bench import digests

_FILE = Path(__file__).with_name("digests.json")
PINNED: dict[str, dict[str, str]] = json.loads(_FILE.read_text(encoding="utf-8"))


@support.same_arithmetic
@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.untraced if n != "auto" else ()) for n in sorted(PINNED)],
)
def test_a_method_asks_for_the_points_it_is_known_by(name: str) -> None:
    assert digests.digests(support.METHODS[name]) == PINNED[name]


def test_every_method_has_pinned_digests() -> None:
    assert set(PINNED) == set(support.METHODS)


def test_every_setting_changes_the_digest() -> None:
    for name, seen in PINNED.items():
        if name in ("auto", "gp"):  # the start design of a model does not depend on values
            continue
        # Exact PEM looks at its own draws, not at the values; a list has no bounds.
        alike = 4 if name in ("pem", "select") else 3
        assert len(set(seen.values()) - {seen["plain"]}) >= len(seen) - alike
