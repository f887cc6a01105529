"""What the constants of `auto` are worth: ``python -m noisewise_bench.experiments kinds-tuning``

Each constant is halved and doubled on tuning families of `kinds`, everything else equal: the same
problems, noise and seeds. Rows are kept: what is stopped goes on.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import noisewise
from noisewise.gp.tuning import GPTuning
from noisewise.methods import Auto
from noisewise.methods.auto_tuning import AutoTuning
from noisewise_bench import behaviour
from noisewise_bench.methods import search
from noisewise_bench.names import BenchError, numbers
from noisewise_bench.problem import Oracle
from noisewise_bench.problems import kinds, make
from noisewise_bench.score import interval
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Column, Table, decades, fixed

NAME: Final = "kinds-tuning"


class Case(NamedTuple):
    """A constant, and where it is decided: evaluations (at most 100: per parameter) and numbers of
    parameters."""

    record: type
    name: str
    budgets: tuple[int, ...]
    parameters: range


CASES: Final = (
    Case(AutoTuning, "few_least_each", (2, 3), range(2, 8)),
    Case(AutoTuning, "least_each", (3, 7), range(8, 11)),
    Case(AutoTuning, "few_up_to", (3,), range(4, 11)),
    Case(AutoTuning, "hands_over_from", (20,), range(3, 9)),
    Case(AutoTuning, "hands_over_each", (20,), range(6, 9)),
    Case(AutoTuning, "agreement", (20,), range(6, 9)),
    Case(AutoTuning, "opens_up_to", (400,), range(3, 7)),
    Case(AutoTuning, "long_opening_most", (700,), range(6, 8)),
    Case(GPTuning, "start_each", (7, 20), range(2, 6)),
    Case(GPTuning, "start_part", (3, 5), range(2, 8)),
    Case(GPTuning, "misfit_from", (20,), range(2, 8)),
    Case(GPTuning, "towards_best", (20,), range(3, 6)),
)
FACTORS: Final = (0.5, 2.0)


def meaning(record: type, name: str) -> str:
    """What the comment above a constant says."""
    found = ""
    comment: list[str] = []
    for line in inspect.getsource(record).splitlines():
        if match := re.match(r"\s+#: (.*)", line):
            comment = [] if found == "field" else comment
            comment.append(match[1])
            found = ""
        elif re.match(rf"\s+{name}: ", line):
            return " ".join(comment)
        elif re.match(r"\s+\w+: ", line):
            found = "field"
    raise BenchError(f"{record.__name__} has no constant {name!r}")


def changed(case: Case, factor: float) -> Auto:
    """`auto` with one constant multiplied; whole numbers stay whole."""
    default = getattr(case.record(), case.name)
    value = type(default)(round(default * factor) if isinstance(default, int) else default * factor)
    if case.record is GPTuning:
        return Auto(tuning=AutoTuning(model=GPTuning(**{case.name: value})))
    return Auto(tuning=replace(AutoTuning(), **{case.name: value}))


def problems(case: Case, instances: list[int]) -> Iterator[tuple[str, int]]:
    """Problems and evaluations of a case."""
    for name in kinds.names(case.parameters, instances, kinds.TUNING):
        d = int(name.rpartition("/d")[2])
        yield from ((name, b * d if b <= 100 else b) for b in case.budgets)


def run(problem: str, budget: int, method: Auto) -> float:
    """The regret of what a user gets."""
    found = make(problem)
    oracle = Oracle(found, budget, np.random.default_rng([budget, 1]))
    r = search(oracle, budget, 1, method, confirm="auto")
    return float(found.regret(np.asarray(r.x)[None])[0])


def measure(instances: list[int], names: list[str], db: Path) -> dict[str, float]:
    """Regrets by problem, evaluations and variant; those in the file are not run again."""
    code = behaviour.of_method("auto")
    known: dict[str, float] = {}
    if db.exists():
        known = dict(json.loads(line) for line in db.read_text().splitlines())
    db.parent.mkdir(parents=True, exist_ok=True)
    with db.open("a") as file:
        for case in (case for case in CASES if case.name in names):
            variants = {"": Auto()} | {f"{case.name}*{f}": changed(case, f) for f in FACTORS}
            for problem, budget in problems(case, instances):
                for label, method in variants.items():
                    key = f"{code} {problem} {budget} {label}"
                    if key not in known:
                        known[key] = run(problem, budget, method)
                        file.write(json.dumps([key, known[key]]) + "\n")
                        file.flush()
    return {key.partition(" ")[2]: y for key, y in known.items() if key.startswith(code)}


def table(found: dict[str, float], instances: list[int], names: list[str]) -> Table:
    """One line per constant and factor."""
    body: list[tuple[Any, ...]] = []
    for case in (case for case in CASES if case.name in names):
        for factor in FACTORS:
            pairs = [
                (found[f"{p} {b} {case.name}*{factor}"], found[f"{p} {b} "])
                for p, b in problems(case, instances)
            ]
            delta = np.log10([a for a, _ in pairs]) - np.log10([b for _, b in pairs])
            now = getattr(case.record(), case.name)
            where = f"{'/'.join(map(str, case.budgets))}, d {case.parameters[0]}-"
            body.append(
                (
                    case.name,
                    round(now, 3),
                    factor,
                    where + str(case.parameters[-1]),
                    len(pairs),
                    float(np.mean(delta == 0.0)),
                    float(np.mean(np.where(delta > 0.0, 1.0, np.where(delta == 0.0, 0.5, 0.0)))),
                    *interval(delta, np.mean),
                )
            )
    columns = (
        Column("constant"),
        Column("value"),
        Column("times"),
        Column("evaluations", meaning="at most 100: per parameter; and numbers of parameters"),
        Column("n", meaning="pairs: same problem, noise and seed"),
        Column("equal", fixed, "share of runs that the change does not change"),
        Column("worse", fixed, "share of pairs in which the change is worse, ties half"),
        Column("mean diff", decades, "mean log10 regret of the change minus that of the constant"),
        Column("low", decades, "95 % bootstrap interval"),
        Column("high", decades),
    )
    return Table("Halved and doubled", columns, tuple(body), ("Positive: the change is worse.",))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="noisewise_bench.experiments kinds-tuning")
    parser.add_argument("--instances", default="21", help="such as 21-22")
    every = [case.name for case in CASES]
    parser.add_argument("--constants", nargs="*", default=every, help="their names (all)")
    parser.add_argument("--db", type=Path, default=Path("out/kinds-tuning.jsonl"))
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    args = parser.parse_args(argv)
    try:
        if wrong := sorted(set(args.constants) - set(every)):
            raise BenchError(f"constants takes names from {', '.join(every)}, got {wrong[0]!r}")
        instances = numbers(args.instances, "instances")
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    found = measure(instances, args.constants, args.db)
    text = page(table(found, instances, args.constants), args)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / f"{NAME}.md").write_text(text)
    print(text)
    return 0


def page(body: Table, args: argparse.Namespace) -> str:
    """The page, with what each constant means."""
    chosen = [case for case in CASES if case.name in args.constants]
    meanings = "\n".join(f"- `{c.name}`: {meaning(c.record, c.name)}" for c in chosen)
    options = "" if len(chosen) == len(CASES) else f" --constants {' '.join(args.constants)}"
    parts = [
        "# What the constants of auto are worth",
        f"Printed by `python -m noisewise_bench.experiments kinds-tuning --instances "
        f"{args.instances}{options}` (noisewise {noisewise.__version__}).",
        "Problems are those of the tuning families of [kinds](kinds.md); the metric is the regret "
        "of the returned point there. Runs keep evaluations for their answer as a user's do. All "
        "constants stand in `noisewise.methods.auto_tuning` and `noisewise.gp.tuning`; those that "
        "the table lacks were not measured in this way.",
        body.markdown(),
        "## Meanings",
        meanings,
        Stamp(methods={"auto": behaviour.of_method("auto")}).comment(),
    ]
    return "\n\n".join(parts) + "\n"
