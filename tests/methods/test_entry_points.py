"""Methods that other packages bring."""

from __future__ import annotations

from importlib import metadata
from typing import Any

import pytest

import noisewise as nw
from noisewise import methods
from noisewise.methods import CMAES


class Point:
    """An entry point as `importlib.metadata` has them."""

    def __init__(self, name: str, made: Any) -> None:
        self.name, self._made = name, made

    def load(self) -> Any:
        if isinstance(self._made, Exception):
            raise self._made
        return self._made


@pytest.fixture(autouse=True)
def _others(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        Point("wide", lambda population=40: CMAES(population=population)),
        Point("auto", lambda: CMAES(population=99)),
        Point("broken", ImportError("no module named x")),
        Point("other", lambda: 3),
    ]

    def of(group: str) -> list[Point]:
        assert group == "noisewise.methods"
        return points

    monkeypatch.setattr(metadata, "entry_points", of)


def test_a_method_of_another_package_runs() -> None:
    r = nw.minimize(lambda x: float(x @ x), [1.0], sigma0=1.0, budget=400, method="wide", rng=0)
    assert r.history["population"][0] == 40
    assert methods.get("wide", population=8).population == 8  # type: ignore[attr-defined]
    assert "wide" in nw.list_methods()


def test_names_of_ours_stay_ours() -> None:
    assert type(methods.get("auto")) is not CMAES
    assert nw.list_methods().count("auto") == 1


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("broken", "method 'broken' cannot be loaded: no module named x"),
        ("other", "method 'other' must be a noisewise Method, got 3"),
    ],
)
def test_what_cannot_be_used_is_named(name: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        methods.get(name)


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="does not take these options"):
        methods.get("wide", nonsense=1)
