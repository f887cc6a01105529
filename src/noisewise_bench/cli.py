"""``noisewise bench``: run a campaign, see how far it is, score it, make its page.

Exit codes: 0 done; 1 done, but some runs failed or rows are missing; 2 the command was not
understood or could not be carried out; 130 interrupted, with a file that can be continued.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from noisewise_bench import names, problems, tables
from noisewise_bench.campaign import Grid, Summary, run, status
from noisewise_bench.names import BenchError
from noisewise_bench.score import compare, ranks
from noisewise_bench.sheets import GROUP_KEYS, METRICS, sheets
from noisewise_bench.store import Store
from noisewise_bench.tables import Table
from noisewise_bench.task import Row

OK, TROUBLE, WRONG, INTERRUPTED = 0, 1, 2, 130
DB = "campaign.sqlite"

#: ``--quick``: easy and hard noise on different landscapes, small enough for two minutes.
QUICK: dict[str, Any] = {
    "problems": [
        f"bbob-noisy/f{f}/i{i}/d10" for f in (101, 107, 110, 113, 116, 125) for i in range(1, 6)
    ],
    "methods": ["auto", "cma-es", "resample", "rb-pem"],
    "budgets": ["200d"],
    "seeds": [1],
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    parser = argparse.ArgumentParser(prog="noisewise bench", description=_summary())
    _fill(parser)
    return execute(parser.parse_args(argv))


def add_parser(subparsers: Any) -> None:
    """Add ``bench`` to another command's sub-commands; run it with `execute`."""
    _fill(subparsers.add_parser("bench", help=_summary(), description=_summary()))


def execute(args: argparse.Namespace) -> int:
    """Carry out parsed arguments; errors become one sentence on stderr."""
    # Methods and problems by import path are looked for here, as with python -m.
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        code: int = args.bench_command(args)
    except BenchError as error:
        print(f"noisewise bench: {error}", file=sys.stderr)
        return WRONG
    except KeyboardInterrupt:
        print(
            f"\nInterrupted; every finished run is in {args.db}. Go on with:\n"
            f"  noisewise bench run --db {shlex.quote(args.db)}",
            file=sys.stderr,
        )
        return INTERRUPTED
    return code


def _summary() -> str:
    return "Compare methods on noisy problems whose truth is known."


def _fill(parser: argparse.ArgumentParser) -> None:
    commands = parser.add_subparsers(required=True, metavar="run|status|score|report")
    _run_parser(commands)
    _status_parser(commands)
    _score_parser(commands)
    _report_parser(commands)


def _command(commands: Any, name: str, help: str, function: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=help, description=help, epilog="\n".join((__doc__ or "").split("\n")[2:])
    )
    parser.add_argument("--db", default=DB, help="the campaign's file (default: %(default)s)")
    parser.set_defaults(bench_command=function)
    return parser


def _run_parser(commands: Any) -> None:
    parser = _command(commands, "run", "Compute what is missing of a grid of runs.", _run)
    add = parser.add_argument
    add("--quick", action="store_true", help="a small fixed grid in about two minutes")
    add(
        "--suite",
        action="append",
        default=[],
        help=f"{', '.join(problems.SUITES)}; may be repeated",
    )
    add("--problems", nargs="+", default=[], help="problem names, or module:Class(options)")
    add("--methods", nargs="+", default=[], help="method names, or module:function")
    add("--dimensions", help="of the suites (default: 10,20,40)")
    add("--instances", help="of the suites (default: 1-15)")
    add("--budgets", nargs="+", help="evaluations, such as 800 or 200d (default: 200d)")
    add("--seeds", help="seeds, such as 1-10 (default: 1)")
    add("--workers", type=int, help="local processes (default: all cores)")
    add("--scheduler", metavar="ADDRESS", help="run on the Dask cluster at this address")
    add("--retry-failed", action="store_true", help="run failed rows again")
    add("--redo-stale", action="store_true", help="run rows of other versions again")
    add("--reference", help="with --quick: compare with this method (default: cma-es)")


def _status_parser(commands: Any) -> None:
    _command(commands, "status", "Say what a campaign's file holds and lacks.", _status)


def _choice(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--reference", help="compare with this method (default: cma-es, else the first)")
    add("--methods", nargs="+", default=[], help="only these methods")
    add("--allow-mixed", action="store_true", help="use rows of several versions together")


def _score_parser(commands: Any) -> None:
    parser = _command(commands, "score", "Compare methods with a reference.", _score)
    _choice(parser)
    add = parser.add_argument
    add("--metric", choices=list(METRICS), default="recommended", help="(default: %(default)s)")
    add("--by", default="suite,dimension,budget", help="groups (default: %(default)s, or none)")
    add("--unit", choices=["run", "problem"], default="run", help="what one pair is")
    add("--table", choices=["comparison", "ranks", "medians"], default="comparison")
    add("--format", choices=["text", "markdown", "csv"], default="text")
    add("--out", help="write to this file instead of the terminal")


def _report_parser(commands: Any) -> None:
    parser = _command(commands, "report", "Write one page with all tables and figures.", _report)
    _choice(parser)
    add = parser.add_argument
    add("--metric", choices=["recommended", "best-evaluated"], default="recommended",
        help="metric of the figure files (default: %(default)s)")  # fmt: skip
    add("--out", help="the page to write (default: the campaign's file with .html)")
    add("--figures", metavar="FOLDER", help="also write each figure into this folder")
    add("--format", choices=["pdf", "svg", "png"], default="pdf", help="of the figure files")


def _run(args: argparse.Namespace) -> int:
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
        rows = _load(args.db, [], allow_mixed=False)
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
        try:
            found += problems.suite(suite, **wanted)
        except ValueError as error:
            raise BenchError(str(error)) from None
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
        parts.append(f"{summary.stale} are of another version (--redo-stale computes them again)")
    return ", ".join(parts) + f"; rows are in {db}."


def _status(args: argparse.Namespace) -> int:
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


def _score(args: argparse.Namespace) -> int:
    rows = _load(args.db, args.methods, args.allow_mixed)
    by = () if args.by == "none" else tuple(names.split(args.by))
    reference = _reference(rows, args.reference)
    table = _table(rows, args.table, args.metric, reference, by, args.unit)
    text = table.render(args.format)
    if args.out:
        Path(args.out).write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    return OK


def _report(args: argparse.Namespace) -> int:
    rows = _load(args.db, args.methods, args.allow_mixed)
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


def _load(db: str, methods: Sequence[str], allow_mixed: bool) -> list[Row]:
    """Rows to score, of one version unless the user says otherwise."""
    with Store(db, create=False) as store:
        rows = store.rows()
    wanted = names.split(methods)
    if unknown := sorted(set(wanted) - {row.method for row in rows}):
        raise BenchError(f"{db} holds no rows of {names.one_of(unknown)}")
    rows = [row for row in rows if not wanted or row.method in wanted]
    if not rows:
        raise BenchError(f"{db} holds no rows yet")
    versions = sorted({row.version for row in rows})
    if len(versions) > 1 and not allow_mixed:
        raise BenchError(
            f"{db} mixes rows of noisewise {' and '.join(versions)}: compute them again with "
            "`run --redo-stale`, or pass --allow-mixed"
        )
    return rows


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
