"""How good is one method at few evaluations? ``python -m noisewise_bench.experiments small``.

Rows of peers are computed once and kept. Rows of our own methods are computed again whenever
the source differs from the one that computed them, so that a change of the library costs only
its own runs. After a change of the problems, ``--redo-peers`` computes everything again.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import noisewise
from noisewise_bench import stamps
from noisewise_bench.campaign import Grid, run
from noisewise_bench.experiments.small_grid import (
    PEERS,
    SLOW_PEERS,
    TIERS,
    check_peers,
    synthetic_grids,
    task_grids,
)
from noisewise_bench.experiments.small_tables import cells, tables
from noisewise_bench.names import BenchError, split
from noisewise_bench.provenance import provenance
from noisewise_bench.store import Store
from noisewise_bench.task import Key, Row

NAME: Final = "small"
OURS: Final = ("auto", "cma-es")


def main(argv: list[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        page = _study(args)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(page.read_text())
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="noisewise_bench.experiments small", description=__doc__)
    parser.add_argument("--tier", choices=list(TIERS), default="work", help="how much (work)")
    parser.add_argument("--method", default="auto", help="the one the tables are about (auto)")
    parser.add_argument("--methods", nargs="*", default=list(OURS), help="of ours, run beside it")
    parser.add_argument("--peers", nargs="*", default=list(PEERS), help="such as peer/pybads")
    parser.add_argument("--slow-peers", action="store_true", help=f"also {', '.join(SLOW_PEERS)}")
    parser.add_argument("--part", choices=["all", "synthetic", "tasks"], default="all")
    parser.add_argument("--tables-only", action="store_true", help="run nothing, use what is there")
    parser.add_argument("--redo-peers", action="store_true", help="compute rows of peers again")
    parser.add_argument("--db", type=Path, help="rows, kept to resume (out/small-TIER.sqlite)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    parser.add_argument("--workers", type=int, help="processes (all cores)")
    return parser


def _study(args: argparse.Namespace) -> Path:
    db = args.db or Path("out") / f"{NAME}-{args.tier}.sqlite"
    methods = list(dict.fromkeys([args.method, *split(args.methods)]))
    peers = [*split(args.peers), *(SLOW_PEERS if args.slow_peers else ())]
    grids = grids_of(args.tier, methods, peers, args.part)
    if not args.tables_only:
        check_peers(peers)
        db.parent.mkdir(parents=True, exist_ok=True)
        compute(grids, db, args.workers, redo_peers=args.redo_peers)
    rows = rows_of(grids, db)
    return write(args.tier, args.method, rows, args.out)


def grids_of(tier: str, methods: Sequence[str], peers: Sequence[str], part: str) -> list[Grid]:
    """The grids of a tier: synthetic problems, small tasks, or both."""
    found: list[Grid] = []
    if part in ("all", "synthetic"):
        found += synthetic_grids(TIERS[tier], methods, peers)
    if part in ("all", "tasks"):
        found += task_grids(TIERS[tier], methods, peers)
    return found


def compute(grids: Sequence[Grid], db: Path, workers: int | None, *, redo_peers: bool) -> None:
    """Run what is missing, and what another version of the source computed."""
    with Store(db) as store:
        code = provenance()["code"]
        redo: set[Key] = {
            row.key
            for row in store.rows()
            if row.code != code and (redo_peers or not is_peer(row.method))
        }
    for grid in grids:
        run(grid, db, workers=workers, redo=redo)
        redo -= {task.key for task in grid.tasks()}  # grids overlap: once is enough


def is_peer(method: str) -> bool:
    """Whether a method's rows do not depend on the library's source."""
    return method.startswith("peer/")


def rows_of(grids: Sequence[Grid], db: Path) -> list[Row]:
    """Rows of every method in the file on the problems of the grids."""
    cells = {(task.problem, task.budget, task.seed) for grid in grids for task in grid.tasks()}
    with Store(db, create=False) as store:
        return [row for row in store.rows() if (row.problem, row.budget, row.seed) in cells]


def write(tier: str, method: str, rows: Sequence[Row], out: Path) -> Path:
    """The page of the study, and its tables as CSV beside it."""
    if not any(row.method == method for row in rows):
        raise BenchError(f"the file has no rows of {method!r} in this tier")
    out.mkdir(parents=True, exist_ok=True)
    name = f"{NAME}-held-out" if tier == "held-out" else NAME
    others = sorted({row.method for row in rows} - {method})
    ours = " ".join(f"'{other}'" for other in others if not is_peer(other))
    peers = " ".join(filter(is_peer, others))
    parts = [
        f"# {method} at few evaluations",
        f"`python -m noisewise_bench.experiments small --tier {tier} --method '{method}' "
        f"--methods {ours} --peers {peers}` (noisewise {noisewise.__version__}, {len(rows)} runs).",
        "Win rates count ties as one half. Regret is the true value of the returned point above "
        "the optimum (for tasks: its expected cost), floored at 1e-8. Problems are described in "
        "[the guide](../guides/bench-problems.md), peers in [their own](../guides/peers.md). "
        f"`{name}-cells.csv` has every cell with its intervals.",
    ]
    for i, table in enumerate(tables(rows, method), start=1):
        parts.append(table.markdown())
        (out / f"{name}-{i}.csv").write_text(table.csv().rstrip("\n") + "\n")
    (out / f"{name}-cells.csv").write_text(cells(rows, method).csv().rstrip("\n") + "\n")
    # Peers are told by their packages' versions, in the rows; their runs take too long to repeat.
    parts.append(stamps.of_rows(row for row in rows if not is_peer(row.method)).comment())
    page = out / f"{name}.md"
    page.write_text("\n\n".join(parts) + "\n")
    return page
