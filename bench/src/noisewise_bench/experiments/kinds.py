"""How one method does on problems like those of users:
``python -m noisewise_bench.experiments kinds``

The families come in two halves, see `noisewise_bench.problems.kinds`. Methods are tuned on one; a
run of the other (``--half held-out``) is a look at it and is written down in `LOOKS`. Peers that
take seconds per run (``--slow``) run on the first instances only. Rows are kept: what is stopped
goes on. Rows of our own methods are computed again whenever the source differs.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import noisewise
from noisewise_bench import behaviour, stamps
from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.small import compute, rows_of
from noisewise_bench.experiments.small_tables import Duel, duel, percent, speed
from noisewise_bench.experiments.study import span
from noisewise_bench.names import BenchError, numbers, split
from noisewise_bench.problems import kinds
from noisewise_bench.provenance import provenance
from noisewise_bench.tables import Column, Table, decades
from noisewise_bench.task import Row

NAME: Final = "kinds"
#: Every look at the held-out half: when, at which source, who, how many runs.
LOOKS: Final = Path(__file__).with_name("kinds_looks.csv")
#: Digest of the held-out families, fixed before anything was tuned.
HELD_OUT_DIGEST: Final = "ae5f1f7c"
#: Evaluations: few per parameter (two to eight parameters), twenty per parameter, and long runs
#: (three to ten parameters).
FEW: Final = ("2d", "3d", "5d", "7d")
USUAL: Final = ("20d",)
LONG: Final = ("300", "600", "1000")
FEW_IN, LONG_IN = range(2, 9), range(3, 11)
METHODS: Final = ("auto", "gp", "watchful")
PEERS: Final = (
    "peer/cmaes-lra",
    "peer/cmaes-cat",
    "peer/random-and-middle",
    "peer/scipy-de",
)
SLOW: Final = ("peer/pybads", "peer/optuna-tpe", "peer/optuna-tpe-smoothed")
#: Ranges of the number of parameters in the tables.
RANGES: Final = {"1-2": range(1, 3), "3-4": range(3, 5), "5-6": range(5, 7), "7-12": range(7, 13)}


def digest() -> str:
    """Digest of the held-out families as they are."""
    return behaviour.digest([behaviour.of_problems(f"kinds/{name}") for name in kinds.HELD_OUT])


def grids(
    half: str, budgets: Sequence[str], instances: Sequence[int], methods: Sequence[str]
) -> list[Grid]:
    """One grid per budget and number of parameters."""
    families = kinds.TUNING if half == "tuning" else kinds.HELD_OUT
    found = []
    for budget in budgets:
        for d in range(1, 13):
            few, long = budget in FEW, not budget.endswith("d")
            if (few and d not in FEW_IN) or (long and d not in LONG_IN):
                continue
            problems = kinds.names([d], instances, families)
            if problems and methods:
                found.append(Grid.of(problems, methods, [budget], [1]))
    return found


def note_look(methods: Sequence[str], runs: int, now: datetime.datetime) -> None:
    """Write down a look at the held-out half, unless its families have changed."""
    if digest() != HELD_OUT_DIGEST:
        raise BenchError("the held-out families are not those that were fixed before tuning")
    with LOOKS.open("a", newline="") as file:
        row = (now.isoformat(timespec="minutes"), provenance()["code"], " ".join(methods), runs)
        csv.writer(file, lineterminator="\n").writerow(row)


#: What a line of a table may stand for.
PARTS: Final[dict[str, Callable[[Row], str]]] = {
    "budget": lambda row: row.budget,
    "parameters": lambda row: next(name for name, r in RANGES.items() if row.dimension in r),
    "family": lambda row: row.problem.split("/")[1],
}


def tables(rows: Sequence[Row], ours: str, others: Sequence[str]) -> list[Table]:
    """Win rates of one method over each of the others: by budget, by range of parameters at 20
    evaluations per parameter, by family; and the times."""
    usual = [row for row in rows if row.budget in USUAL]
    found = [_table(rows, ours, others, "budget", f"{ours} against each, by evaluations")]
    if usual:
        title = f"{ours} against each at 20 evaluations per parameter"
        found.append(_table(usual, ours, others, "parameters", f"{title}, by parameters"))
        found.append(_table(usual, ours, others, "family", f"{title}, by family"))
    return [*found, speed(rows, [ours, *others])]


def _table(rows: Sequence[Row], ours: str, others: Sequence[str], part: str, title: str) -> Table:
    of = PARTS[part]
    labels = list(dict.fromkeys(of(row) for row in rows))
    if part == "parameters":
        labels = [label for label in RANGES if label in labels]
    body: list[tuple[Any, ...]] = []
    for other in others:
        for label in labels:
            members = [row for row in rows if of(row) == label]
            if d := duel(members, ours, other):
                body.append((other, label, *_numbers(d)))
        if len(labels) > 1 and (d := duel(rows, ours, other)):
            body.append((other, "all", *_numbers(d)))
    columns = (
        Column("against"),
        Column(part),
        Column("n", meaning="pairs: same problem, evaluations and noise seed"),
        Column("win rate", percent, "ties count half"),
        Column("low", percent, "95 % interval after Wilson"),
        Column("high", percent),
        Column("mean diff", decades, f"mean log10 regret of {ours} minus the other's"),
        Column("low", decades, "95 % bootstrap interval"),
        Column("high", decades),
    )
    return Table(title, columns, tuple(body), (f"Negative differences favour {ours}.",))


def _numbers(d: Duel) -> tuple[float, ...]:
    return (d.n, d.win, d.win_low, d.win_high, d.diff, d.diff_low, d.diff_high)


def page(rows: Sequence[Row], args: argparse.Namespace, others: Sequence[str]) -> str:
    """The page of the study."""
    families = kinds.TUNING if args.half == "tuning" else kinds.HELD_OUT
    about = "\n".join(
        f"- {name}: {' '.join((family.build.__doc__ or '').split())}"
        for name, family in families.items()
    )
    held = "held out: nothing was tuned on them" if args.half == "held-out" else "for tuning"
    parts = [
        f"# {args.method} on problems like those of users ({args.half} families)",
        f"Printed by `{command(args)}` (noisewise {noisewise.__version__}, {len(rows)} runs).",
        "Win rates count ties as one half. Regret is the expected value of the returned point "
        "above the smallest one, divided by the median of that over the box, and at least 1e-5. "
        f"Noise comes from one seed per problem. The families are {held}:",
        about,
        *(table.markdown() for table in tables(rows, args.method, others)),
        stamps.of_rows(row for row in rows if not row.method.startswith("peer/")).comment(),
    ]
    return "\n\n".join(parts) + "\n"


def command(args: argparse.Namespace) -> str:
    """The command line of a page."""
    slow = " ".join(["--slow", *args.slow, f"--slow-instances {span(args.slow_instances)}"])
    return (
        f"python -m noisewise_bench.experiments kinds --half {args.half} --method {args.method}"
        f" --instances {span(args.instances)} --budgets {' '.join(args.budgets)}"
        f" --methods {' '.join(args.methods)} {slow}"
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="noisewise_bench.experiments kinds", description=__doc__)
    parser.add_argument("--half", choices=["tuning", "held-out"], default="tuning")
    parser.add_argument("--method", default="auto", help="the one the tables are about (auto)")
    parser.add_argument(
        "--methods", nargs="*", default=[*METHODS[1:], *PEERS], help="run beside it"
    )
    parser.add_argument("--slow", nargs="*", default=list(SLOW), help="run on fewer instances")
    parser.add_argument("--instances", default="1-3", help="such as 1-3")
    parser.add_argument("--slow-instances", default="1", help="of the slow ones, such as 1")
    parser.add_argument("--budgets", nargs="*", default=[*FEW, *USUAL, *LONG])
    parser.add_argument("--db", type=Path, help="rows, kept to resume (out/kinds-HALF.sqlite)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    parser.add_argument("--workers", type=int, help="processes (all cores)")
    return parser


def main(argv: list[str] | None = None) -> int:
    args = _parser().parse_args(argv)
    try:
        args.instances = tuple(numbers(args.instances, "instances"))
        args.slow_instances = tuple(numbers(args.slow_instances, "slow-instances"))
        args.methods, args.slow = split(args.methods), split(args.slow)
        rows = runs(args)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    name = NAME if args.half == "tuning" else f"{NAME}-held-out"
    args.out.mkdir(parents=True, exist_ok=True)
    found = page(rows, args, [*args.methods, *args.slow])
    (args.out / f"{name}.md").write_text(found)
    print(found)
    return 0


def runs(args: argparse.Namespace) -> list[Row]:
    """Every row of the study, each once; what is missing is run."""
    methods = list(dict.fromkeys([args.method, *args.methods]))
    wanted = grids(args.half, args.budgets, args.instances, methods)
    if args.slow:
        slow = [budget for budget in args.budgets if budget.endswith("d")]
        everyone = [args.method, *args.slow]
        wanted += grids(args.half, slow, args.slow_instances, everyone)
    if args.half == "held-out":
        count = len({task.key for grid in wanted for task in grid.tasks()})
        note_look([*methods, *args.slow], count, datetime.datetime.now(datetime.timezone.utc))
    db = args.db or Path("out") / f"{NAME}-{args.half}.sqlite"
    db.parent.mkdir(parents=True, exist_ok=True)
    compute(wanted, db, args.workers, redo_peers=False)
    return rows_of(wanted, db)
