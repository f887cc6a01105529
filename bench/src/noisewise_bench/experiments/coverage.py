"""Do the 95 % intervals cover the expected value at the returned point, how long are they, and
what do they cost the search? ``python -m noisewise_bench.experiments coverage``

symbol      meaning
covered     share of runs whose ``interval`` holds the expected value at ``x``; nan is a miss
2 se        the same for ``fun +- 2 fun_se``
length      length of the interval over that of someone who knew ``x`` and the noise's standard
            deviation and evaluated ``x`` as often (2 * 1.96 sd / sqrt(n)); median over runs
cost        mean log10 regret minus that of the same run with ``confirm=0``
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import noisewise
from noisewise_bench import behaviour
from noisewise_bench.experiments import _coverage_runs as runs
from noisewise_bench.experiments._coverage_runs import Case, Outcome, cases
from noisewise_bench.experiments._coverage_tables import (
    against,
    by_number,
    gains,
    mean,
    median,
    outlook,
    table,
    weak,
)
from noisewise_bench.experiments._laws import LAWS
from noisewise_bench.experiments.study import commas, span
from noisewise_bench.names import BenchError, numbers
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Table

#: Dimension and budget of the runs of `auto`, with the number of instances on each landscape.
#: Below 300 evaluations a model searches, which is slow.
AUTO = {
    **dict.fromkeys(((1, 200), (2, 500), (5, 500), (10, 500), (20, 500)), 1),
    **dict.fromkeys(((2, 2000), (10, 2000), (40, 2000), (100, 2000)), 1),
    **{(2, 50): 1, (5, 50): 1, (2, 20_000): 1},
}
#: The same for the other methods; `gp` is slow and has the smallest cell only.
OTHERS = {(2, 50): 1, (5, 200): 1}
#: More instances of a noise whose coverage the others leave unclear, up to so many evaluations.
UNCLEAR, MORE, UP_TO = "heteroscedastic", (2, 3), 2000
#: Where the outlook is compared with a run of twice the budget, without and with a model.
DOUBLED = ((2, 500), (5, 500), (20, 1000))
MODELLED = ((2, 100), (5, 150))
#: Confirmations of runs with 50 to 200, 500, 2000 and 20,000 evaluations.
FRESH = (8, 13, 27, 85)
#: Names of options, of methods that are there under another name.
PRESETS = ("rb-pem-printed", "rb-pem-published", "probe-switch-printed")
DOUBLED_LAWS = ("gaussian", "t3", "lognormal", "heteroscedastic", "win-loss")


def standard() -> list[Case]:
    """The runs of the page: `auto` everywhere, every other method in a few cells."""
    laws = list(LAWS)
    others = [n for n in noisewise.methods.names() if n not in ("auto", "gp", *PRESETS)]
    found = []
    # Every method has instances of its own, so that cells are independent.
    for i, method in enumerate(others, start=1):
        for cell, n in OTHERS.items():
            found += cases([cell], [method], laws, range(10 * i + 1, 10 * i + n + 1))
    for cell, n in AUTO.items():
        found += cases([cell], ["auto"], laws, range(1, n + 1))
    found += cases([(2, 50)], ["gp"], laws, [1])
    return found + cases([c for c in AUTO if c[1] <= UP_TO], ["auto"], [UNCLEAR], MORE)


def doubled() -> list[Case]:
    """Runs beside ones of twice the budget."""
    return cases((*DOUBLED, *MODELLED), ["auto"], DOUBLED_LAWS, [1], "auto", "double")


def before(wanted: Sequence[Case]) -> list[Case]:
    """The runs of `auto` among ``wanted``, with the default settings of another version."""
    return [
        Case(c.method, c.law, c.landscape, c.dimension, c.budget, c.seed, "default", "alone")
        for c in wanted
        if c.method == "auto" and c.seed == 1 and c.budget <= 2000
    ]


def page(
    outcomes: Sequence[Outcome],
    command: str,
    older: Sequence[Outcome] = (),
    longer: Sequence[Outcome] = (),
    alone: Sequence[Outcome] = (),
    missing: int = 0,
) -> tuple[str, list[Table]]:
    """The page and its tables, of which the last one, all cells, is only beside the page."""
    own = [one for one in outcomes if one.case.method == "auto"] or list(outcomes)
    tables = [against(older, outcomes)] if older else []
    tables += [
        table("By noise", own, ("method", "law")),
        table("By method", outcomes, ("method",)),
        table("By dimension and budget", own, ("method", "dimension", "budget")),
        weak(outcomes, ("method", "law", "dimension", "budget")),
    ]
    tables += [outlook(longer), gains(longer)] if longer else []
    tables += [by_number(alone)] if alone else []
    tables.append(table("All cells", outcomes, ("method", "law", "dimension", "budget")))
    few = [one for one in own if one.case.budget < 500]
    many = [one for one in own if one.case.budget >= 500]
    cost = "; ".join(
        f"{mean(part, lambda one: one.cost):+.3f} {said}"
        for part, said in ((few, "below 500 evaluations"), (many, "from 500 on"))
        if part
    )
    names = sorted({one.case.method for one in outcomes})
    stamp = Stamp(methods={name: behaviour.of_method(name) for name in names if name != "pem"})
    text = [
        "# Does the interval cover the expected value at the returned point?",
        f"Printed by `{command}` (noisewise {noisewise.__version__}, {len(outcomes)} pairs of "
        "runs with and without a confirmation, on four landscapes"
        + (f"; {missing} pairs of the study were not run)." if missing else ")."),
        "The covered quantity is the expected value at the returned point; under win-loss noise "
        "it is a probability, and under Cauchy's law the median. The length is relative to that of "
        "someone who knew the point and the noise and spent the same confirmations. The cost is "
        "paid in regret: positive numbers mean that the evaluations kept for the answer were "
        "missed by the search."
        + (
            f" {UNCLEAR.capitalize()} noise has {1 + len(MORE)} instances of each landscape up to "
            f"{UP_TO} evaluations, because 43 of 48 runs with one left open whether 90 % hold."
            if any(one.case.seed in MORE for one in own)
            else ""
        ),
        f"All runs: {mean(outcomes, lambda one: one.covered):.1%} covered, median length "
        f"{median([one.length for one in outcomes]):.2f}. Mean cost of `{own[0].case.method}` in "
        f"log10 regret: {cost}.",
        *(one.markdown() for one in tables[:-1]),
        f"All cells: [coverage-{len(tables)}.csv](coverage-{len(tables)}.csv).",
        stamp.comment(),
    ]
    return "\n\n".join(text) + "\n", tables


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="noisewise_bench.experiments coverage",
        description="Coverage of the intervals. Without --cells: the runs of the page.",
    )
    parser.add_argument("--cells", help="dxbudget, such as 2x50,10x2000, instead of the page's")
    parser.add_argument("--methods", default="auto", help="with --cells, such as auto,cma-es")
    parser.add_argument("--laws", default=",".join(LAWS), help="with --cells")
    parser.add_argument("--seeds", default="1-8", help="with --cells: instances, such as 1-8")
    parser.add_argument("--confirm", default="auto", help="with --cells: auto or a number")
    parser.add_argument("--before", type=Path, help="source folder of another version to compare")
    parser.add_argument("--tables-only", action="store_true", help="run nothing, use what is there")
    parser.add_argument("--workers", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    args = parser.parse_args(argv)
    try:
        wanted, command = _wanted(args)
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    rows, older, longer, alone = args.out / "coverage.jsonl", [], [], []
    pairs, missing = doubled() if args.cells is None else [], 0
    if args.tables_only:
        there = runs.kept(rows)
        command += " --tables-only"
        missing = sum(one not in there for one in wanted)
        wanted = [one for one in wanted if one in there]
        pairs = [one for one in pairs if one in there]
    outcomes = runs.collect(wanted, rows, args.workers)
    if args.cells is None:
        longer = runs.collect(pairs, rows, args.workers)
        alone = [one for law in LAWS for n in FRESH for one in runs.fresh(law, n, 2000)]
    if args.before:
        older = runs.collect_with(args.before, before(wanted), args.out / "coverage-before.jsonl")
    text, tables = page(outcomes, command, older, longer, alone, missing)
    (args.out / "coverage.md").write_text(text, encoding="utf-8")
    for i, one in enumerate(tables, start=1):
        csv = one.csv().rstrip("\n") + "\n"
        (args.out / f"coverage-{i}.csv").write_text(csv, encoding="utf-8")
    print(text)
    return 0


def _wanted(args: argparse.Namespace) -> tuple[list[Case], str]:
    """The runs that the options ask for, and the command that asks for them."""
    command = "python -m noisewise_bench.experiments coverage"
    if args.before:
        command += " --before SOURCE-OF-0.1"
    seeds, laws, methods = numbers(args.seeds, "seeds"), args.laws.split(","), args.methods
    if unknown := runs.check_laws(laws):
        raise BenchError(f"laws takes names from {', '.join(LAWS)}, got {unknown!r}")
    confirm = args.confirm if args.confirm == "auto" else numbers(args.confirm, "confirm")[0]
    if args.cells is None:
        return standard(), command
    cells = _cells(args.cells)
    command += (
        f" --methods {methods} --laws {commas(laws)} --cells {_shown(cells)} "
        f"--seeds {span(seeds)} --confirm {confirm}"
    )
    return cases(cells, methods.split(","), laws, seeds, confirm), command


def _shown(cells: Iterable[tuple[int, int]]) -> str:
    return ",".join(f"{d}x{budget}" for d, budget in cells)


def _cells(text: str) -> list[tuple[int, int]]:
    try:
        pairs = [tuple(map(int, one.split("x"))) for one in text.split(",")]
        found = [(d, budget) for d, budget in pairs if d >= 1 and budget >= 1]
        if len(found) == len(pairs):
            return found
    except ValueError:
        pass
    raise BenchError(f"cells takes dimension x budget such as 2x50,10x2000, got {text!r}")


if __name__ == "__main__":
    sys.exit(main())
