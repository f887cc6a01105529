"""The commands that look at runs and methods: show, report, watch, methods. They return 0."""

from __future__ import annotations

import argparse
import contextlib
import json
from pathlib import Path
from typing import Any

import noisewise as nw
from noisewise import methods
from noisewise._check import integer
from noisewise.auditing.sentences import as_data
from noisewise.command.runs import Kept
from noisewise.command.streams import say, write_page
from noisewise.command.watch import Watch
from noisewise.problem.space import Space
from noisewise.report import facts, text
from noisewise.report.evaluations import as_csv
from noisewise.report.page import page


def methods_to_tune() -> list[str]:
    """All but `pem`, which needs a function or standard errors that no command line can give."""
    return [name for name in methods.names() if name != "pem"]


def _load(run: str) -> facts.Facts:
    kept = Kept(run)
    return facts.of(kept.load(), kept.name)


def show(args: argparse.Namespace) -> int:
    """Print the answer and the state of a run."""
    found = _load(args.run)
    print(json.dumps(text.as_data(found)) if args.json else text.summary(found))
    return 0


def report(args: argparse.Namespace) -> int:
    """Write one page about a run."""
    kept = Kept(args.run)
    out = Path(args.out) if args.out else kept.page()
    if kept.is_at(out):
        raise ValueError(f"--out must differ from the run's file, got {args.out}")
    found = _load(args.run)
    if args.csv is not None:
        table = Path(args.csv)
        if table.resolve() == out.resolve() or kept.is_at(table):
            raise ValueError(f"--csv must differ from the page and the run's file, got {table}")
        write_page(table, as_csv(found.evaluations, found.space))
    write_page(out, page(found, nw.__version__))
    print(out)
    return 0


def audit_options(add: Any) -> None:
    """The options of ``noisewise audit``, given to ``add``."""
    add("study", help="a table (CSV), or the URL of an Optuna storage, such as sqlite:///file")
    add("--param", action="append", default=[], metavar="NAME=RANGE", help="a column's range")
    add("--value", metavar="COLUMN", help="the column of the values (value)")
    add("--maximize", action="store_true", help="larger values are better")
    add("--more", type=int, metavar="N", help="what N more evaluations would buy (as many again)")
    add("--out", metavar="FILE", help="also write a page, with figures")
    add("--json", action="store_true", help="for scripts")


def audit(args: argparse.Namespace) -> int:
    """Print what a finished study is worth."""
    space = Space.parse(args.param) if args.param else None
    found = nw.audit(args.study, space, args.maximize, value=args.value)
    if args.out is not None:
        if Path(args.out).resolve() == Path(args.study).resolve():
            raise ValueError(f"--out must differ from the table, got {args.out}")
        found.page(args.out)
    more = None if args.more is None else integer("--more", args.more, 1)
    print(json.dumps(as_data(found)) if args.json else found.summary(more))
    return 0


def watch(args: argparse.Namespace) -> int:
    """Serve the page of a run while it goes on."""
    kept = Kept(args.run)
    if kept.exists():
        kept.load()  # what cannot be shown is said at once
    else:
        say(f"{kept} does not exist yet; the page waits for it")
    port = integer("--port", args.port, 0, most=65535)
    server = Watch(kept, port, nw.__version__)
    print(server.url, flush=True)
    with contextlib.suppress(KeyboardInterrupt):  # the usual way to end it
        server.serve()
    return 0


def list_methods(args: argparse.Namespace) -> int:
    """Print every method with what it is for."""
    rows = {name: methods.described(name) for name in methods_to_tune()}
    if args.json:
        print(json.dumps(rows))
    else:
        width = max(map(len, rows))
        print("\n".join(f"{name:<{width}}  {said}" for name, said in rows.items()))
    return 0
