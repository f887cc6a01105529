"""What the commands of ``noisewise bench`` do, given their parsed arguments."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from noisewise_bench import behaviour, names, problems, tables
from noisewise_bench.campaign import Grid, Summary, run, status
from noisewise_bench.names import BenchError
from noisewise_bench.score import compare, ranks
from noisewise_bench.sheets import GROUP_KEYS, sheets
from noisewise_bench.store import Store
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

OK, TROUBLE, WRONG, INTERRUPTED = 0, 1, 2, 130

#: ``--quick``: every landscape and every law of noise, small enough for two minutes on two cores.
QUICK: dict[str, Any] = {
    "problems": [
        f"bbob-noisy/f{f}/i{i}/d{d}"
        for f in (101, 105, 107, 110, 112, 113, 117, 119, 121, 122, 126, 128)
        for i in (1, 2, 3)
        for d in (10, 20)
    ],
    "methods": [
        *("auto", "cma-es", "resample", "uh-cma-es", "lra-cma-es", "rb-pem"),
        "peer/pycma",
    ],
    "budgets": ["200d"],
    "seeds": [1],
}


def run_command(args: argparse.Namespace) -> int:
    grid = _grid(args)
    summary = run(
        grid,
        args.db,
        workers=args.workers,
        scheduler=args.scheduler,
        retry_failed=args.retry_failed,
        redo_stale=args.redo_stale,
    )
    print(_told(summary, args.db))
    if args.quick:
        rows = _load(args.db)
        reference = _reference(rows, args.reference)
        print("\n" + _table(rows, "comparison", "recommended", reference).text() + "\n")
        _write_page(rows, reference, Path(args.db).with_suffix(".html"))
    return TROUBLE if summary.failed else OK


def _grid(args: argparse.Namespace) -> Grid | None:
    """The grid the options describe; None if there are none, to go on with the file's own."""
    if args.quick:
        return Grid.of(**QUICK)
    found = names.split(args.problems)
    wanted = {
        part: names.numbers(getattr(args, part), f"--{part}")
        for part in ("dimensions", "instances")
        if getattr(args, part)
    }
    for suite in args.suite:
        found += _suite(suite, **wanted)
    methods = names.split(args.methods)
    if not found and not methods:
        if args.budgets or args.seeds or wanted:
            raise BenchError("say which --suite or --problems and which --methods to run")
        return None
    budgets = names.split(args.budgets or ["200d"])
    seeds = names.numbers(args.seeds or "1", "--seeds")
    return Grid.of(found, methods, budgets, seeds)


def _told(summary: Summary, db: str) -> str:
    parts = [
        f"{summary.planned} runs planned, {summary.found} were there, {summary.computed} computed"
    ]
    if summary.failed:
        parts.append(f"{summary.failed} failed (see `noisewise bench status --db {db}`)")
    if summary.stale:
        parts.append(
            f"{summary.stale} are stale, their method or problem has changed (--redo-stale "
            "computes them again)"
        )
    return ", ".join(parts) + f"; rows are in {db}."


def status_command(args: argparse.Namespace) -> int:
    found = status(args.db)
    print(
        f"{args.db}: {found.planned} runs planned, {found.done} done, {found.failed} failed, "
        f"{found.missing} missing, {found.unplanned} outside any stored grid, {found.stale} stale"
    )
    for version, code, n in found.sources:
        print(f"  {n} rows by noisewise {version}, source {code}")
    for method, error, n in found.errors:
        print(f"  {n} failed: {method}: {error}")
    return TROUBLE if found.failed or found.missing or found.stale else OK


def score_command(args: argparse.Namespace) -> int:
    rows = _load(args.db, args.methods, args.suite, args.allow_mixed)
    by = () if args.by == "none" else tuple(names.split(args.by))
    reference = _reference(rows, args.reference)
    table = _table(rows, args.table, args.metric, reference, by, args.unit)
    text = table.render(args.format)
    if args.out:
        Path(args.out).write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    return OK


def report_command(args: argparse.Namespace) -> int:
    rows = _load(args.db, args.methods, args.suite, args.allow_mixed)
    reference = _reference(rows, args.reference)
    _write_page(rows, reference, Path(args.out or Path(args.db).with_suffix(".html")))
    if args.figures:
        from noisewise_bench import figures, page

        folder = Path(args.figures)
        folder.mkdir(parents=True, exist_ok=True)
        for name, panels in page.panels(rows, args.metric, reference).items():
            if panels:
                path = folder / f"{name}-{args.metric}.{args.format}"
                figures.save(panels, path)
                print(f"{path} written.")
    return OK


def _write_page(rows: Sequence[Row], reference: str, out: Path) -> None:
    from noisewise_bench.page import page  # matplotlib is imported only where it is used

    out.write_text(page(rows, reference, f"Campaign {out.stem}"), encoding="utf-8")
    print(f"{out} written.")


def _load(
    db: str, methods: Sequence[str] = (), suites: Sequence[str] = (), allow_mixed: bool = False
) -> list[Row]:
    """Rows to score, of one version unless the user says otherwise."""
    with Store(db, create=False) as store:
        rows = store.rows()
    wanted = names.split(methods)
    if unknown := sorted(set(wanted) - {row.method for row in rows}):
        raise BenchError(f"{db} holds no rows of {names.one_of(unknown)}")
    rows = [row for row in rows if not wanted or row.method in wanted]
    if suites:
        members = _members(suites, rows)
        rows = [row for row in rows if row.problem in members]
    if not rows:
        raise BenchError(f"{db} holds no such rows yet")
    if not allow_mixed and (mixed := _mixed(rows)):
        raise BenchError(
            f"{db} mixes rows of {mixed}: compute them again with `run --redo-stale`, or pass "
            "--allow-mixed"
        )
    return rows


def _mixed(rows: Sequence[Row]) -> str:
    """What several versions have computed, in words; empty if nothing."""
    by_digest: dict[str, set[str]] = {}
    for row in rows:
        by_digest.setdefault(row.method, set()).add(row.method_digest)
        by_digest.setdefault(behaviour.family(row.problem), set()).add(row.problem_digest)
    several = [name for name, digests in by_digest.items() if len(digests) > 1]
    if several:
        return f"several versions of {names.one_of(sorted(several))}"
    # A method or a problem of the user has no digest: the version has to do.
    own = [row for row in rows if not row.method_digest or not row.problem_digest]
    versions = sorted({row.version for row in own})
    return f"noisewise {' and '.join(versions)}" if len(versions) > 1 else ""


def _members(suites: Sequence[str], rows: Sequence[Row]) -> set[str]:
    """Names of the suites' problems in the dimensions and instances that the rows have."""
    dimensions = sorted({row.dimension for row in rows if row.dimension})
    instances = sorted(
        {int(found[1]) for row in rows if (found := re.search(r"/[is](\d+)\b", row.problem))}
    )
    parts = {"dimensions": dimensions, "instances": instances}
    return {name for suite in suites for name in _suite(suite, **parts)}


def _suite(suite: str, **parts: Sequence[int]) -> list[str]:
    try:
        return problems.suite(suite, **parts)
    except ValueError as error:
        raise BenchError(str(error)) from None


def _reference(rows: Sequence[Row], wanted: str | None) -> str:
    methods = list(dict.fromkeys(row.method for row in rows))
    if wanted is None:
        return "cma-es" if "cma-es" in methods else methods[0]
    if wanted not in methods:
        raise BenchError(f"the reference {wanted!r} is not among {names.one_of(methods)}")
    return wanted


def _table(
    rows: Sequence[Row],
    kind: str,
    metric: str,
    reference: str,
    by: Sequence[str] = GROUP_KEYS[:1] + GROUP_KEYS[2:],
    unit: str = "run",
) -> Table:
    groups = sheets(rows, metric, by, unit)
    if kind == "medians":
        return tables.median_table(groups)
    if kind == "ranks":
        placed = [rank for sheet in groups for rank in ranks(sheet)]
        if not placed:
            raise BenchError(f"no problem was run with every method at the metric {metric}")
        return tables.rank_table(placed)
    comparisons = compare(groups, reference)
    if not comparisons:
        raise BenchError(f"there is nothing to compare with {reference!r} yet")
    marked = sorted({method for sheet in groups for method in sheet.uncharged})
    return tables.comparison_table(comparisons, marked)
