"""What a study is, and how it runs and is written down."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import noisewise
from noisewise_bench import stamps
from noisewise_bench.campaign import Grid, run
from noisewise_bench.problems import suite
from noisewise_bench.score import Comparison, compare
from noisewise_bench.sheets import sheets
from noisewise_bench.store import Store
from noisewise_bench.tables import Column, Table, comparison_table, decades
from noisewise_bench.task import Key, Row


@dataclass(frozen=True)
class Scope:
    """How much of a study to run."""

    instances: tuple[int, ...]
    dimensions: tuple[int, ...]
    seeds: tuple[int, ...]


@dataclass(frozen=True)
class Study:
    """A question, the grids that answer it, and the tables made of their rows."""

    name: str
    question: str
    scope: Scope
    grids: Callable[[Scope], list[Grid]]
    tables: Callable[[list[Row]], list[Table]]


def execute(study: Study, scope: Scope, db: Path, workers: int | None) -> list[Row]:
    """Run what is missing or stale in ``db``; the rows of this scope."""
    return collect(study.grids(scope), db, workers)


def collect(grids: Sequence[Grid], db: Path, workers: int | None) -> list[Row]:
    """Run what is missing or stale of the grids in ``db``; the rows of these grids."""
    if not grids:
        return []
    db.parent.mkdir(parents=True, exist_ok=True)
    wanted: set[Key] = set()
    for grid in grids:
        run(grid, db, workers=workers, redo_stale=True)
        wanted |= {task.key for task in grid.tasks()}
    with Store(db, create=False) as store:
        return [row for row in store.rows() if row.key in wanted]


def write(study: Study, scope: Scope, rows: Sequence[Row], out: Path) -> Path:
    """The page of the study, and its tables as CSV beside it."""
    out.mkdir(parents=True, exist_ok=True)
    tables = study.tables(list(rows))
    page = out / f"{study.name}.md"
    command = (
        f"python -m noisewise_bench.experiments {study.name}"
        f" --instances {span(scope.instances)} --dimensions {commas(scope.dimensions)}"
        f" --seeds {span(scope.seeds)}"
    )
    parts = [
        f"# {study.question}",
        f"Printed by `{command}` (noisewise {noisewise.__version__}, {len(rows)} runs: "
        f"instances {span(scope.instances)}, noise seeds {span(scope.seeds)}).",
    ]
    for i, table in enumerate(tables, start=1):
        parts.append(table.markdown())
        (out / f"{study.name}-{i}.csv").write_text(table.csv().rstrip("\n") + "\n")
    parts.append(stamps.of_rows(rows).comment())
    page.write_text("\n\n".join(parts) + "\n")
    return page


def against(
    rows: Sequence[Row], reference: str, metric: str, title: str, unit: str = "run"
) -> Table:
    """Every method against ``reference``, grouped by the rows' suite and dimension."""
    groups = sheets(rows, metric, by=("suite", "dimension"), unit=unit)
    marked = tuple(dict.fromkeys(m for sheet in groups for m in sheet.uncharged))
    found = comparison_table(compare(groups, reference), marked)
    return dataclasses.replace(found, title=title)


def versus(rows: Sequence[Row], ours: str, metric: str, title: str) -> Table:
    """Win rate of ``ours`` over every other method, ties counting half, and mean difference."""
    groups = sheets(rows, metric, by=("suite", "dimension"))
    methods = dict.fromkeys(m for sheet in groups for m in sheet.methods if m != ours)
    found: list[Comparison] = []
    for method in methods:
        found += [c for c in compare(groups, method) if c.method == ours]
    found.sort(key=lambda c: [name for _, name in c.group])
    columns = (
        Column("problems"),
        Column("d"),
        Column("against"),
        Column("n", meaning="pairs: same problem and noise seed"),
        Column("win rate", lambda v: f"{v:.0%}", "ties count half"),
        Column("mean diff", decades, f"mean log10 regret of {ours} minus the other's"),
        Column("low", decades, "95 % bootstrap interval"),
        Column("high", decades),
    )
    body = tuple(
        (
            *(name for _, name in c.group),
            c.reference,
            c.n,
            (c.wins + 0.5 * c.ties) / max(c.n, 1),
            *(c.mean_diff, c.mean_low, c.mean_high),
        )
        for c in found
    )
    return Table(title, columns, body, (f"Metric: {metric}; negative differences favour {ours}.",))


def labelled(rows: Sequence[Row]) -> list[Row]:
    """Rows whose suite says which of the study's groups of problems they belong to."""
    high = set(_functions("bbob-noisy-high"))
    return [dataclasses.replace(row, suite=_group(row.problem, high)) for row in rows]


def _group(problem: str, high: set[str]) -> str:
    parts = problem.split("/")
    if parts[0] == "bbob-noisy":
        return "high misranking" if parts[1] in high else "complement"
    if parts[0] == "additive":
        return "deterministic" if parts[4] == "none" else f"late {parts[4]}"
    return "/".join(parts[:2])


def _functions(name: str) -> list[str]:
    return [p.split("/")[1] for p in suite(name, dimensions=(10,), instances=(1,))]


def span(values: Sequence[int]) -> str:
    """Whole numbers as ``1-15``, or with commas where some are missing."""
    values = sorted(values)
    whole = values == list(range(values[0], values[-1] + 1))
    return f"{values[0]}-{values[-1]}" if whole and len(values) > 1 else commas(values)


def commas(values: Sequence[int] | Sequence[str]) -> str:
    """Whole numbers or names as ``1,3,5``."""
    return ",".join(map(str, values))
