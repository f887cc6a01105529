"""The options of a list on the page of a run."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from noisewise.report import sections


def shown(n: int, spent: int = 100) -> str:
    options: dict[str, list[Any]] = {
        "option": [f"<o{i}>" for i in range(n)],
        "n": [5] * n,
        "failed": [0] * n,
        "mean": [1.0] * n,
        "shrunk": [2.0] * n,
        "chance": [1.0 / n] * n,
    }
    facts: Any = SimpleNamespace(options=options, spent=spent)
    return sections.options(facts)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (0, ""),
        (1, " 1 option more, each with a smaller chance."),
        (7, " 7 options more, each with a smaller chance."),
    ],
)
def test_the_best_options_are_listed_and_the_others_counted(more: int, said: str) -> None:
    most = sections._OPTIONS
    text = shown(most + more)
    assert text.count("<tr><td") == most
    assert "&lt;o0&gt;" in text
    assert f"has evaluations of its own.{said}</p>" in text


def test_before_the_first_value_there_is_nothing_to_show() -> None:
    assert shown(3, spent=0) == ""
