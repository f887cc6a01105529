"""Tables for terminals, documents and spreadsheets."""

from __future__ import annotations

import csv
import io

import pytest
from test_score import paired, row

from noisewise_bench.score import compare, ranks
from noisewise_bench.sheets import sheets
from noisewise_bench.tables import (
    Column,
    Table,
    comparison_table,
    decades,
    fixed,
    median_table,
    p_value,
    plain,
    rank_table,
)

NAN = float("nan")
TABLE = Table(
    "Two | <rows>",
    (Column("name"), Column("value", fixed, "what it is"), Column("count")),
    (("a|b", 1.23456, 3), ("<script>", NAN, None)),
    ("A note.",),
)


def test_text_is_aligned() -> None:
    assert TABLE.text().splitlines() == [
        "Two | <rows>",
        "",
        "name      value  count",
        "--------  -----  -----",
        "a|b        1.23      3",
        "<script>      -      -",
        "",
        "A note.",
    ]


def test_markdown_escapes_what_would_break_it() -> None:
    assert TABLE.markdown().splitlines() == [
        "### Two \\| &lt;rows>",
        "",
        "| name | value | count |",
        "| --- | ---: | ---: |",
        "| a\\|b | 1.23 | 3 |",
        "| &lt;script> | - | - |",
        "",
        "A note.",
    ]


def test_csv_keeps_every_digit() -> None:
    read = list(csv.reader(io.StringIO(TABLE.csv())))
    assert read == [["name", "value", "count"], ["a|b", "1.23456", "3"], ["<script>", "nan", ""]]


def test_html_escapes_and_keeps_raw_values_for_sorting() -> None:
    page = TABLE.html()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert 'data-v="1.23456">1.23</td>' in page
    assert 'title="what it is"' in page


def test_every_style_is_known() -> None:
    for style in ("text", "markdown", "csv", "html"):
        assert TABLE.render(style) == getattr(TABLE, style)()


@pytest.mark.parametrize(
    ("show", "value", "shown"),
    [
        (plain, 0.000123456, "0.000123"),
        (plain, 1083.2, "1083"),
        (plain, 2.5e9, "2.5e+09"),
        (plain, None, "-"),
        (plain, "text", "text"),
        (decades, -0.126, "-0.13"),
        (decades, 2.0, "+2.00"),
        (decades, NAN, "-"),
        (p_value, 0.0004, "<0.001"),
        (p_value, 0.0456, "0.046"),
        (p_value, NAN, "-"),
    ],
)
def test_numbers_for_people(show: object, value: object, shown: str) -> None:
    assert show(value) == shown  # type: ignore[operator]


def test_a_comparison_names_its_metric_and_what_cheated() -> None:
    rows = paired([1.0] * 9, [2.0] * 9)
    table = comparison_table(compare(sheets(rows, "best-evaluated"), "b"), marked=["a"])
    assert table.title == "Against b, best-evaluated regret"
    assert "smallest noise-free regret among all evaluated points" in table.notes[0]
    assert "without paying" in table.notes[-1]
    (line,) = table.cells()
    shown = dict(zip([column.name for column in table.columns], line, strict=True))
    assert shown["method"] == "a*"
    assert (shown["wins"], shown["losses"], shown["diff"]) == ("9", "0", "-0.30")
    assert shown["sign"] == "0.004"
    assert all(column.name for column in table.columns)


def test_ranks_and_medians() -> None:
    rows = [row("a", 10.0), row("b", 1.0), row("c", NAN, error="x"), row("a", 10.0, 2)]
    placed = rank_table(ranks(sheets(rows)[0]))
    assert [line[3:5] for line in placed.cells()] == [["b", "1.00"], ["a", "2.00"], ["c", "3.00"]]
    rows += [row("a", 1.0, problem="t/f1/i1/d2")]
    medians = median_table(sheets(rows))
    assert [line[3:] for line in medians.cells()] == [["1.00", "0.00", "inf"], ["0.00", "-", "-"]]
    assert "Median log10 recommended regret" in medians.text()
