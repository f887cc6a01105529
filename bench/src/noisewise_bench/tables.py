"""Tables as text, Markdown, CSV and HTML: numbers rounded for people, whole for machines."""

from __future__ import annotations

import csv
import html
import io
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise_bench.score import LEVEL, N_RESAMPLES, Comparison, Rank
from noisewise_bench.sheets import MEANING, Sheet

MISSING = "-"


def plain(value: Any) -> str:
    """A cell for people: three digits, a dash for what is not known."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return MISSING
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if 1000 <= abs(value) < 1e6 else f"{value:.3g}"


def decades(value: float) -> str:
    """A difference of log10 regret, signed."""
    return MISSING if math.isnan(value) else f"{value:+.2f}"


def fixed(value: float) -> str:
    """Two decimals."""
    return MISSING if math.isnan(value) else f"{value:.2f}"


def p_value(value: float) -> str:
    """A p-value: three decimals, or how small it is."""
    if math.isnan(value):
        return MISSING
    return "<0.001" if value < 0.001 else f"{value:.3f}"


@dataclass(frozen=True)
class Column:
    """A heading, how its cells are shown, and what they mean."""

    name: str
    show: Callable[[Any], str] = plain
    meaning: str = ""


@dataclass(frozen=True)
class Table:
    """A title, columns, rows of raw values, and notes that belong under it."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()

    def cells(self) -> list[list[str]]:
        """The rows as they are shown."""
        return [
            [column.show(value) for column, value in zip(self.columns, row, strict=True)]
            for row in self.rows
        ]

    def text(self) -> str:
        """Aligned columns for a terminal."""
        lines = [[column.name for column in self.columns], *self.cells()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        right = self._numeric()
        shown = [
            "  ".join(
                cell.rjust(width) if is_right else cell.ljust(width)
                for cell, width, is_right in zip(line, widths, right, strict=True)
            ).rstrip()
            for line in lines
        ]
        rule = "  ".join("-" * width for width in widths)
        return "\n".join([self.title, "", shown[0], rule, *shown[1:], *_noted(self.notes)])

    def markdown(self) -> str:
        """A pipe table under a heading."""
        right = self._numeric()
        lines = [
            _pipes(column.name for column in self.columns),
            _pipes("---:" if is_right else "---" for is_right in right),
            *(_pipes(row) for row in self.cells()),
        ]
        return "\n".join([f"### {_markdown(self.title)}", "", *lines, *_noted(self.notes)])

    def csv(self) -> str:
        """Raw values with a line of column names; nothing is rounded."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow([column.name for column in self.columns])
        writer.writerows(self.rows)
        return out.getvalue().rstrip("\n")

    def html(self) -> str:
        """A sortable table; raw values are kept beside the shown ones for sorting."""
        right = self._numeric()
        heads = "".join(
            f'<th{_class(column, "", is_right)} scope="col" title="{html.escape(column.meaning)}">'
            f'<button type="button">{html.escape(column.name)}</button></th>'
            for column, is_right in zip(self.columns, right, strict=True)
        )
        body = "".join(
            "<tr>"
            + "".join(
                f'<td{_class(column, cell, is_right)} data-v="{html.escape(_raw(value))}">'
                f"{html.escape(cell)}</td>"
                for column, value, cell, is_right in zip(
                    self.columns, raw, shown, right, strict=True
                )
            )
            + "</tr>\n"
            for raw, shown in zip(self.rows, self.cells(), strict=True)
        )
        notes = "".join(f"<p class=note>{html.escape(note)}</p>" for note in self.notes)
        return (
            f"<h3>{html.escape(self.title)}</h3>\n<div class=wide><table class=sortable>"
            f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{body}</tbody></table></div>{notes}\n"
        )

    def render(self, style: str) -> str:
        """The table in the style ``text``, ``markdown``, ``csv`` or ``html``."""
        styles = {
            "text": self.text,
            "markdown": self.markdown,
            "csv": self.csv,
            "html": self.html,
        }
        return styles[style]()

    def _numeric(self) -> list[bool]:
        columns = zip(*self.rows, strict=True) if self.rows else [() for _ in self.columns]
        return [
            bool(column) and all(v is None or isinstance(v, int | float) for v in column)
            for column in columns
        ]


def _noted(notes: Sequence[str]) -> list[str]:
    return ["", *notes] if notes else []


def _markdown(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;")


def _pipes(cells: Iterable[str]) -> str:
    return "| " + " | ".join(_markdown(cell) for cell in cells) + " |"


def _class(column: Column, cell: str, is_right: bool) -> str:
    """Numbers stand right; the method stays in sight; long text may wrap."""
    kinds = {"n": is_right, "key": column.name == "method", "text": len(cell) > 60}
    names = " ".join(name for name, holds in kinds.items() if holds)
    return f' class="{names}"' if names else ""


def _raw(value: Any) -> str:
    return "" if value is None or value != value else str(value)


def comparison_table(comparisons: Sequence[Comparison], marked: Sequence[str] = ()) -> Table:
    """Wins, differences and tests against the reference; ``marked`` methods drew noise free."""
    metric, reference = comparisons[0].metric, comparisons[0].reference
    keys = [key for key, _ in comparisons[0].group]
    columns = [
        *(Column(key) for key in keys),
        Column("method"),
        Column("n", meaning="pairs: same problem, budget and seed"),
        Column("wins", meaning=f"pairs with smaller {metric} regret than {reference}"),
        Column("losses"),
        Column("ties", meaning="both below the floor, or equal"),
        Column("failed", meaning="runs that failed; each counts as lost"),
        Column("log10", fixed, f"median log10 {metric} regret"),
        Column("diff", decades, "median difference of log10 regret; negative is better"),
        Column("low", decades, "lower end of its interval"),
        Column("high", decades, "upper end of its interval"),
        Column("Wilcoxon", p_value, "signed-rank test, Holm-corrected over this table"),
        Column("sign", p_value, "sign test, Holm-corrected over this table"),
        Column("overhead", plain, f"seconds in the method per evaluation, of {reference}'s"),
        Column("mean", decades, "mean difference of log10 regret"),
        Column("mean low", decades, "lower end of its interval"),
        Column("mean high", decades, "upper end of its interval"),
    ]
    rows = [
        (
            *(name for _, name in c.group),
            c.method + ("*" if c.method in marked else ""),
            *(c.n, c.wins, c.losses, c.ties, c.failed, c.median_log10),
            *(c.median_diff, c.median_low, c.median_high),
            *(c.p_wilcoxon_holm, c.p_sign_holm, c.overhead),
            *(c.mean_diff, c.mean_low, c.mean_high),
        )
        for c in comparisons
    ]
    notes = (
        f"Metric: {metric}, the {MEANING[metric]}.",
        f"diff and mean: log10 regret minus {reference}'s, negative is better; {LEVEL:.0%} "
        f"percentile bootstrap intervals from {N_RESAMPLES} resamples.",
        "Wilcoxon, sign: two-sided p-values, Holm-corrected over this table.",
        *(
            ["* drew from the noise without paying for it: a study, not a method."]
            if marked
            else []
        ),
    )
    return Table(f"Against {reference}, {metric} regret", tuple(columns), tuple(rows), notes)


def rank_table(found: Sequence[Rank]) -> Table:
    """Mean and median ranks by group."""
    metric = found[0].metric
    columns = (
        *(Column(key) for key, _ in found[0].group),
        Column("method"),
        Column("mean rank", fixed, "1 is best; ties share"),
        Column("median rank", fixed),
        Column("best", meaning="blocks on which it is best, shared places included"),
        Column("n", meaning="blocks on which every method was run"),
    )
    rows = tuple(
        (*(name for _, name in r.group), r.method, r.mean, r.median, r.first, r.n) for r in found
    )
    return Table(
        f"Ranks, {metric} regret", columns, rows, (f"Metric: {metric}, the {MEANING[metric]}.",)
    )


def median_table(sheets: Sequence[Sheet]) -> Table:
    """Median log10 regret of every method, one line per group."""
    metric = sheets[0].metric
    methods = tuple(dict.fromkeys(method for sheet in sheets for method in sheet.methods))
    rows = []
    for sheet in sheets:
        with np.errstate(invalid="ignore"):
            logs = {m: np.log10(sheet.column(m)) for m in sheet.methods}
        known = {m: values[~np.isnan(values)] for m, values in logs.items()}
        medians = {m: float(np.median(values)) for m, values in known.items() if len(values)}
        rows.append((*(name for _, name in sheet.group), *(medians.get(m) for m in methods)))
    columns = (*(Column(key) for key, _ in sheets[0].group), *(Column(m, _log) for m in methods))
    notes = (f"Metric: {metric}, the {MEANING[metric]}.",)
    return Table(f"Median log10 {metric} regret", columns, tuple(rows), notes)


def _log(value: float | None) -> str:
    return MISSING if value is None else fixed(value)
