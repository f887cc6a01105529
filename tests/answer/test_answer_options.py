"""The table of options as text."""

from __future__ import annotations

from typing import Any

import pytest

from noisewise.answer import options


def table(n: int = 2, **columns: list[Any]) -> dict[str, list[Any]]:
    usual: dict[str, list[Any]] = {
        "option": [f"o{i}" for i in range(n)],
        "n": [5] * n,
        "failed": [0] * n,
        "mean": [1.0] * n,
        "shrunk": [2.0] * n,
        "chance": [0.5] * n,
    }
    return usual | columns


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("option", {"a": 1, "b": "x"}, "a=1, b=x"),
        ("mean", 123456.0, "1.235e+05"),
        ("mean", float("nan"), ""),  # no evaluation of it succeeded
        ("shrunk", 0.123456, "0.1235"),
        ("chance", 0.005, "0.01"),
        ("chance", 0.0049, "< 0.01"),
        ("chance", 0.995, "0.99"),
        ("chance", 0.9951, "> 0.99"),
        ("chance", 0.0, "0.00"),
        ("chance", 1.0, "1.00"),
    ],
)
def test_entries_as_text(column: str, value: Any, said: str) -> None:
    heading, row = options.rows(table(1, **{column: [value]}))
    assert row[heading.index(options.COLUMNS[column])] == said


def test_failures_have_a_column_where_there_are_any() -> None:
    assert "failed" not in options.rows(table())[0]
    heading, first, second = options.rows(table(failed=[0, 3]))
    at = heading.index("failed")
    assert (first[at], second[at]) == ("0", "3")


@pytest.mark.parametrize(("n", "rest"), [(10, []), (11, ["... and 1 more"])])
def test_ten_options_are_listed(n: int, rest: list[str]) -> None:
    found = options.lines(table(n))
    assert len(found) == 11 + len(rest)
    assert found[11:] == rest
    assert found[10].startswith("o9")
