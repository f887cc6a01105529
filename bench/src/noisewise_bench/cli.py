"""``noisewise bench``: run a campaign, see how far it is, score it, make its page.

Exit codes: 0 done; 1 done, but some runs failed or rows are missing or stale; 2 the command was
not understood or could not be carried out; 130 interrupted, with a file that can be continued.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from noisewise_bench import commands, problems
from noisewise_bench.names import BenchError
from noisewise_bench.sheets import METRICS

DB = "campaign.sqlite"


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
        return commands.WRONG
    except KeyboardInterrupt:
        print(
            f"\nInterrupted; every finished run is in {args.db}. Go on with:\n"
            f"  noisewise bench run --db {shlex.quote(args.db)}",
            file=sys.stderr,
        )
        return commands.INTERRUPTED
    return code


def _summary() -> str:
    return "Compare methods on noisy problems whose truth is known."


def _fill(parser: argparse.ArgumentParser) -> None:
    subparsers = parser.add_subparsers(required=True, metavar="run|status|score|report")
    _run_parser(subparsers)
    _status_parser(subparsers)
    _score_parser(subparsers)
    _report_parser(subparsers)


def _command(subparsers: Any, name: str, help: str, function: Any) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = subparsers.add_parser(
        name, help=help, description=help, epilog="\n".join((__doc__ or "").split("\n")[2:])
    )
    parser.add_argument("--db", default=DB, help="the campaign's file (default: %(default)s)")
    parser.set_defaults(bench_command=function)
    return parser


def _run_parser(subparsers: Any) -> None:
    parser = _command(
        subparsers, "run", "Compute what is missing of a grid of runs.", commands.run_command
    )
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
    add(
        "--redo-stale",
        action="store_true",
        help="run rows again whose method or problem has changed",
    )
    add("--reference", help="with --quick: compare with this method (default: cma-es)")


def _status_parser(subparsers: Any) -> None:
    _command(
        subparsers, "status", "Say what a campaign's file holds and lacks.", commands.status_command
    )


def _choice(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--reference", help="compare with this method (default: cma-es, else the first)")
    add("--methods", nargs="+", default=[], help="only these methods")
    add("--suite", action="append", default=[], help="only problems of this suite")
    add("--allow-mixed", action="store_true", help="use rows of several versions together")


def _score_parser(subparsers: Any) -> None:
    parser = _command(
        subparsers, "score", "Compare methods with a reference.", commands.score_command
    )
    _choice(parser)
    add = parser.add_argument
    add("--metric", choices=list(METRICS), default="recommended", help="(default: %(default)s)")
    add("--by", default="suite,dimension,budget", help="groups (default: %(default)s, or none)")
    add("--unit", choices=["run", "problem"], default="run", help="what one pair is")
    add("--table", choices=["comparison", "ranks", "medians"], default="comparison")
    add("--format", choices=["text", "markdown", "csv"], default="text")
    add("--out", help="write to this file instead of the terminal")


def _report_parser(subparsers: Any) -> None:
    parser = _command(
        subparsers, "report", "Write one page with all tables and figures.", commands.report_command
    )
    _choice(parser)
    add = parser.add_argument
    add("--metric", choices=["recommended", "best-evaluated"], default="recommended",
        help="metric of the figure files (default: %(default)s)")  # fmt: skip
    add("--out", help="the page to write (default: the campaign's file with .html)")
    add("--figures", metavar="FOLDER", help="also write each figure into this folder")
    add("--format", choices=["pdf", "svg", "png"], default="pdf", help="of the figure files")
