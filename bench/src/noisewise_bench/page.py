"""One page per campaign: every table and figure in a single file that needs no network."""

from __future__ import annotations

import html
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from string import Template
from typing import Any

from noisewise_bench import figures, tables
from noisewise_bench.figures import Look, Panel
from noisewise_bench.profiles import has_curves
from noisewise_bench.score import Comparison, Rank, compare, ranks
from noisewise_bench.sheets import MEANING, Sheet, sheets
from noisewise_bench.tables import Column, Table
from noisewise_bench.task import Row

TEMPLATE = Path(__file__).with_name("page.html")
#: Metrics of a page, in order: what a user gets first, what published tables used second.
SECTIONS = ("recommended", "best-evaluated")
#: Columns that the first table leaves to the one with all of them.
_ASIDE = ("ties", "failed", "log10", "sign", "overhead", "mean", "mean low", "mean high")


def page(rows: Sequence[Row], reference: str, title: str) -> str:
    """The campaign as one HTML document."""
    look = figures.looks(sorted({row.method for row in rows}))
    sections = {
        **{f"{metric} regret": _metric(rows, metric, reference, look) for metric in SECTIONS},
        "runs": _runs(rows),
    }
    sections = {name: body for name, body in sections.items() if body}
    anchors = {name: name.replace(" ", "-") for name in sections}
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=html.escape(title),
        facts="".join(
            f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(str(fact))}</dd></div>"
            for name, fact in _facts(rows, reference).items()
        ),
        contents="".join(
            f'<a href="#{anchor}">{html.escape(_title(name))}</a>'
            for name, anchor in anchors.items()
        ),
        body="".join(
            f'<section id="{anchors[name]}"><h2>{html.escape(_title(name))}</h2>{body}</section>\n'
            for name, body in sections.items()
        ),
    )


def _title(name: str) -> str:
    return name[0].upper() + name[1:]


def _facts(rows: Sequence[Row], reference: str) -> dict[str, Any]:
    return {
        "runs": len(rows),
        "failed": sum(row.error is not None for row in rows),
        "problems": len({row.problem for row in rows}),
        "methods": len({row.method for row in rows}),
        "seeds": len({row.seed for row in rows}),
        "reference": reference,
        "noisewise": ", ".join(sorted({row.version for row in rows})),
        "last run": max(row.finished for row in rows)[:10],
    }


def panels(rows: Sequence[Row], metric: str, reference: str) -> dict[str, list[Panel]]:
    """The panels of each figure, by the name a file of it would have."""
    look = figures.looks(sorted({row.method for row in rows}))
    return _panels(rows, metric, _comparisons(rows, metric, reference), look)


def _comparisons(rows: Sequence[Row], metric: str, reference: str) -> list[Comparison]:
    return compare(sheets(rows, metric), reference)


def _panels(
    rows: Sequence[Row], metric: str, comparisons: Sequence[Comparison], look: Look
) -> dict[str, list[Panel]]:
    groups: dict[tuple[str, int, str], list[Row]] = {}
    for row in rows:
        if row.dimension:
            groups.setdefault((row.suite, row.dimension, row.budget), []).append(row)
    titled = {
        f"{suite}, d={dimension}, B={budget}": group
        for (suite, dimension, budget), group in sorted(groups.items())
        if has_curves(group, metric)
    }
    by_group: dict[str, list[Comparison]] = {}
    for c in comparisons:
        if c.median_diff == c.median_diff:
            parts = dict(c.group)
            name = f"{parts['suite']}, d={parts['dimension']}, B={parts['budget']}"
            by_group.setdefault(name, []).append(c)
    return {
        "difference": [
            figures.difference_panel(name, found, look) for name, found in by_group.items()
        ],
        "profile": [
            figures.profile_panel(name, group, metric, look) for name, group in titled.items()
        ],
        "convergence": [
            figures.convergence_panel(name, group, metric, look) for name, group in titled.items()
        ],
    }


def _metric(rows: Sequence[Row], metric: str, reference: str, look: Look) -> str:
    """Everything about one metric; empty where no run has it."""
    groups = [sheet for sheet in sheets(rows, metric) if _known(sheet)]
    if not groups:
        return ""
    comparisons = compare(groups, reference)
    marked = sorted({method for sheet in groups for method in sheet.uncharged})
    placed = [rank for sheet in groups for rank in ranks(sheet)]
    parts = [f"<p><strong>{html.escape(_won(placed))}</strong></p>" if placed else ""]
    parts.append(f"<p>{html.escape(_title(MEANING[metric]))}.</p>")
    compared = tables.comparison_table(comparisons, marked) if comparisons else None
    if compared is not None:
        parts.append(_table(_without(compared, _ASIDE)))
    for name, found in _panels(rows, metric, comparisons, look).items():
        if found:
            parts.append(f"<h3>{_title(name)}</h3>{_figures(found)}")
    if placed:
        parts.append(_table(tables.rank_table(placed)))
    if compared is not None:
        shown = replace(compared, title=f"{compared.title}, all columns")
        parts.append(f"<details><summary>All columns</summary>{_table(shown)}</details>")
    by_function = sheets(rows, metric, by=("suite", "function", "dimension", "budget"))
    parts.append(_table(tables.median_table(by_function)))
    return "\n".join(parts)


def _won(placed: Sequence[Rank]) -> str:
    """Which method has the best mean rank over everything, in a sentence."""
    sums: dict[str, tuple[float, int, int]] = {}
    for rank in placed:
        total, n, first = sums.get(rank.method, (0.0, 0, 0))
        sums[rank.method] = (total + rank.n * rank.mean, n + rank.n, first + rank.first)
    order = sorted(sums, key=lambda method: sums[method][0] / sums[method][1])
    means = [sums[method][0] / sums[method][1] for method in order]
    _, n, first = sums[order[0]]
    if len(order) > 1 and means[0] == means[1]:
        return f"{order[0]} and {order[1]} have the same mean rank, {means[0]:.2f}."
    second = f", before {order[1]} ({means[1]:.2f})" if len(order) > 1 else ""
    return (
        f"{order[0]} has the best mean rank of {len(order)} methods, {means[0]:.2f}{second}, and "
        f"is first in {first} of {n} runs."
    )


def _without(table: Table, names: Sequence[str]) -> Table:
    """The table without some of its columns."""
    kept = [j for j, column in enumerate(table.columns) if column.name not in names]
    return replace(
        table,
        columns=tuple(table.columns[j] for j in kept),
        rows=tuple(tuple(row[j] for j in kept) for row in table.rows),
    )


def _table(table: Table) -> str:
    """A table without the note on its metric, which begins the section."""
    return replace(table, notes=tuple(n for n in table.notes if n[:7] != "Metric:")).html()


def _known(sheet: Sheet) -> bool:
    return bool((sheet.r == sheet.r).any())


def _figures(found: Sequence[Panel]) -> str:
    drawn = "".join(
        f'<figure role="img" aria-label="{html.escape(panel.title + ". " + panel.caption)}">'
        f"{figures.svg(panel)}</figure>\n"
        for panel in found
    )
    return f'<p class=note>{html.escape(found[0].caption)}</p><div class="figures">{drawn}</div>'


def _runs(rows: Sequence[Row]) -> str:
    """What was run, with which options, by what, and what went wrong."""
    return "\n".join(table.html() for table in (_methods(rows), *_failures(rows), _sources(rows)))


def _methods(rows: Sequence[Row]) -> Table:
    found = []
    for method in sorted({row.method for row in rows}):
        mine = [row for row in rows if row.method == method]
        done = [row for row in mine if row.error is None]
        spent = sum(row.spent for row in done)
        seconds = sum(row.seconds_method for row in done)
        options = next((row.options for row in done), "{}")
        shown = ", ".join(f"{key}={value}" for key, value in json.loads(options).items())
        depth = [row.generations for row in done if row.generations is not None]
        again = [row.reevaluations for row in done if row.reevaluations is not None]
        found.append(
            (
                method,
                len(mine),
                len(mine) - len(done),
                _mean(depth),
                _mean(again),
                1e6 * seconds / spent if spent else None,
                shown,
            )
        )
    columns = (
        Column("method"),
        Column("runs"),
        Column("failed"),
        Column("generations", meaning="mean per run, where the method tells"),
        Column("re-evaluations", meaning="mean per run, where the method tells"),
        Column("microseconds", meaning="in the method, per evaluation"),
        Column("options"),
    )
    return Table("Methods", columns, tuple(found))


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None


def _failures(rows: Sequence[Row]) -> list[Table]:
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        if row.error is not None:
            counts[row.method, row.error] = counts.get((row.method, row.error), 0) + 1
    if not counts:
        return []
    columns = (Column("method"), Column("runs"), Column("error"))
    found = sorted(((m, n, error) for (m, error), n in counts.items()), key=lambda f: -f[1])
    return [Table("Failures", columns, tuple(found), ("A failed run counts as lost.",))]


def _sources(rows: Sequence[Row]) -> Table:
    counts: dict[tuple[str, str, str], int] = {}
    for row in rows:
        source = (row.version, row.code, row.environment)
        counts[source] = counts.get(source, 0) + 1
    found = tuple(
        (version, code, n, ", ".join(f"{k} {v}" for k, v in json.loads(environment).items()))
        for (version, code, environment), n in sorted(counts.items())
    )
    columns = (Column("version"), Column("source"), Column("runs"), Column("environment"))
    return Table("Computed by", columns, found)
