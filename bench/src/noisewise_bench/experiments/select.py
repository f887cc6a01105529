"""Which of a list of options is best? Selection by `auto` beside rules that spend everything on
selecting: ``python -m noisewise_bench.experiments select``

symbol      meaning
regret      by how much the mean of the chosen option is worse than the best mean
ratio       mean regret of a rule over that of the better of sequential halving and an equal split
right       share of the runs in which the best option is chosen

Rows are kept in a file, so that a run that was interrupted goes on; rows of our rule are computed
again when the source differs from the one that computed them.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import noisewise as nw
from noisewise_bench import behaviour
from noisewise_bench.experiments import _select_cells as lists
from noisewise_bench.experiments._select_cells import Cell, Lists
from noisewise_bench.experiments._select_rules import RULES, TPE_UP_TO
from noisewise_bench.names import BenchError
from noisewise_bench.provenance import provenance
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Column, Table, fixed

NAME: Final = "select"
OURS: Final = ("auto", "select, all", "library")
#: Cells in which the library itself runs, and how often.
_PLAYED = (
    *(("normal", 5, 20), ("loud", 20, 10), ("wins", 20, 10), ("lognormal", 20, 10)),
    *(("unequal", 60, 5), ("normal", 2, 10), ("rare wins", 20, 10), ("student", 3, 50)),
)
_RUNS = 300
#: Headings of the groups of cells.
_GROUPS = (
    "Families on which constants were chosen",
    "Families held out at first, whose outcome led to a longer first look",
    "Families and sizes that were held out",
)


@dataclass(frozen=True)
class Row:
    """What a rule did in a cell. Only for the library: how often its interval held the true mean of
    the chosen option, and by how much its estimate and the mean of the search were off on average,
    in standard deviations of a value of that option."""

    family: str
    options: int
    each: int
    rule: str
    runs: int
    regret: float
    right: float
    code: str
    covered: float = float("nan")
    fresh: float = float("nan")
    pooled: float = float("nan")

    @property
    def cell(self) -> Cell:
        return Cell(self.family, self.options, self.each)


class Rows:
    """Rows in a file, one JSON line each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self.known: dict[tuple[Cell, str], Row] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if text and not text.endswith("\n"):  # the study was killed while it wrote
            path.write_text(text + "\n", encoding="utf-8")
        for line in text.splitlines():
            try:
                row = Row(**json.loads(line))
            except (ValueError, TypeError):  # cut off when the run was killed
                continue
            self.known[row.cell, row.rule] = row

    def missing(self, cell: Cell, rule: str, code: str) -> bool:
        row = self.known.get((cell, rule))
        return row is None or (rule in OURS and row.code != code)

    def add(self, row: Row) -> None:
        self.known[row.cell, row.rule] = row
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(row)) + "\n")


def compute(cells: Iterable[Cell], rows: Rows, code: str, scale: float) -> None:
    """Play what is missing; all rules of a cell see the same lists."""
    for cell in cells:
        rules = [name for name in RULES if name != "TPE" or cell.budget <= TPE_UP_TO]
        rules = [name for name in rules if rows.missing(cell, name, code)]
        if not rules:
            continue
        many = Lists(cell, max(2, round(scale * cell.runs)))
        for name in rules:
            many.begin()
            regret = many.regret(RULES[name](many))
            right = float(np.mean(regret == 0.0))
            values = (name, many.runs, float(regret.mean()), right, code)
            rows.add(Row(cell.family, cell.options, cell.each, *values))
            print(f"{cell.family}, {cell.options} x {cell.each}, {name}", file=sys.stderr)


def played(cells: Iterable[Cell], rows: Rows, code: str, scale: float) -> None:
    """Run `noisewise.minimize` on the first lists of a cell."""
    for cell in cells:
        if rows.missing(cell, "library", code):
            rows.add(_library(cell, max(2, round(scale * _RUNS)), code))
            print(f"{cell.family}, {cell.options} x {cell.each}, library", file=sys.stderr)


def _library(cell: Cell, runs: int, code: str) -> Row:
    many = Lists(cell, runs)
    regret, found = np.empty(runs), np.empty((runs, 3))
    for i in range(runs):
        means, sds = many.means[i], many.sds[i]
        rng = np.random.default_rng([*many.key, i])

        def value(p: dict[str, Any], means: Any = means, sds: Any = sds, rng: Any = rng) -> float:
            at = p["option"]
            return float(many.family.values(rng, means[[at]], sds[[at]])[0])

        space = {"option": list(range(cell.options))}
        r = nw.minimize(value, space=space, budget=cell.budget, rng=i)
        assert r.params is not None
        best = r.params["option"]
        regret[i] = means[best] - means.min()
        sd = float(
            np.std(many.family.values(rng, *(np.full(400, one[best]) for one in (means, sds))))
        )
        covered = float(r.interval[0] <= means[best] <= r.interval[1])
        pooled = r.options["mean"][r.options["option"].index(best)]
        found[i] = covered, (r.fun - means[best]) / sd, (pooled - means[best]) / sd
    right, mean = float(np.mean(regret == 0.0)), float(regret.mean())
    values = ("library", runs, mean, right, code, *found.mean(axis=0).tolist())
    return Row(cell.family, cell.options, cell.each, *values)


def ratios(rows: Rows, cells: Sequence[Cell], title: str) -> Table:
    """Mean regret over that of the better of halving and equal split, cell by cell."""
    names = list(RULES)
    columns = [Column("family"), Column("options"), Column("each"), Column("runs")]
    columns += [Column(name, fixed) for name in names]
    columns += [Column("right", fixed), Column("reference right", fixed)]
    body, found = [], []
    for cell in cells:
        of = {name: rows.known[cell, name] for name in names if (cell, name) in rows.known}
        reference = min((of["equal"], of["halving"]), key=lambda row: row.regret)
        unit = reference.regret or np.nan
        line = [of[name].regret / unit if name in of else np.nan for name in names]
        found.append(line)
        size = (cell.family, cell.options, cell.each, of["auto"].runs)
        body.append((*size, *line, of["auto"].right, reference.right))
    table = np.array(found)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for what, line in (
            ("mean", np.nanmean(table, axis=0)),
            ("worst", np.nanmax(table, axis=0)),
        ):
            body.append((what, None, None, None, *line.tolist(), np.nan, np.nan))
    return Table(title, tuple(columns), tuple(body))


def estimates(rows: Rows, cells: Sequence[Cell]) -> Table:
    """What the library reports about the option that it chose."""
    columns = [Column("family"), Column("options"), Column("each"), Column("runs")]
    columns += [Column("regret"), Column("regret of the rule"), Column("covered", fixed)]
    columns += [Column("estimate - mean", fixed), Column("mean of the search - mean", fixed)]
    body = []
    for cell in cells:
        one, rule = rows.known[cell, "library"], rows.known.get((cell, "auto"))
        size = (cell.family, cell.options, cell.each, one.runs, one.regret)
        known = None if rule is None else rule.regret
        body.append((*size, known, one.covered, one.fresh, one.pooled))
    return Table("The library itself", tuple(columns), tuple(body))


def page(rows: Rows, cells: Sequence[Sequence[Cell]], command: str) -> str:
    kinds = "\n".join(f"- {name}: {family.said}" for name, family in lists.FAMILIES.items())
    stamp = Stamp(methods={"select": behaviour.of_method("select")})
    parts = [
        "# Lists of options",
        f"Printed by `{command}` (noisewise {nw.__version__}).",
        "A run has a list of options whose means are drawn anew; its budget is so many evaluations "
        "of each. Numbers are the mean regret (by how much the mean of the chosen option is worse "
        "than the best) over that of the better of sequential halving and an equal split in the "
        "same cell, on the same lists and values. `auto` is the rule of the library with the part "
        "of the budget that it spends on the search; the rest measures the answer. All others, "
        "`select, all` included, spend everything on selecting and estimate nothing. `right`: "
        "share of the runs in which `auto` chose the best option, and in which the reference did. "
        f"TPE is left out above {TPE_UP_TO} evaluations.",
        kinds,
        *(ratios(rows, some, said).markdown() for some, said in zip(cells, _GROUPS, strict=False)),
        "`noisewise.minimize` itself, on fewer lists of the same kinds (drawn anew): its regret "
        "beside that of the rule above, how often the 95 % interval held the true mean of the "
        "returned option, and by how much the estimate and the mean of the search differ from that "
        "mean, in standard deviations of one value. Negative: too good to be true.",
        estimates(rows, cells[-1]).markdown(),
        stamp.comment(),
    ]
    return "\n\n".join(parts) + "\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="noisewise_bench.experiments select", description="Lists of options."
    )
    parser.add_argument("--runs", type=float, default=1.0, help="part of the runs of each cell (1)")
    parser.add_argument("--most", type=int, help="leave out cells of more evaluations than this")
    parser.add_argument("--tables-only", action="store_true", help="run nothing, use what is there")
    parser.add_argument("--db", type=Path, help="rows, kept to resume (out/select.jsonl)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    args = parser.parse_args(argv)
    try:
        if not 0.0 < args.runs <= 100.0:
            raise BenchError(f"--runs must be above 0 and at most 100, got {args.runs:g}")
        most = args.most or 10**9
        library = [Cell(*cell) for cell in _PLAYED]
        chosen = [*lists.cells(), library]
        cells = [[one for one in some if one.budget <= most] for some in chosen]
        if not all(cells):
            raise BenchError(f"--most must leave some cells, got {args.most}")
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    rows, code = Rows(args.db or args.out / f"{NAME}.jsonl"), provenance()["code"]
    if not args.tables_only:
        compute([cell for some in cells[:-1] for cell in some], rows, code, args.runs)
        played(cells[-1], rows, code, args.runs)
    needed = (*(("auto", "equal", "halving"),) * len(_GROUPS), ("library",))
    cells = [
        [cell for cell in some if all((cell, rule) in rows.known for rule in rules)]
        for some, rules in zip(cells, needed, strict=True)
    ]
    command = f"python -m noisewise_bench.experiments {NAME}"
    command += f" --runs {args.runs:g}" if args.runs != 1.0 else ""
    command += f" --most {args.most}" if args.most else ""
    text = page(rows, cells, command)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / f"{NAME}.md").write_text(text, encoding="utf-8")
    tables = [*(ratios(rows, some, "") for some in cells[:-1]), estimates(rows, cells[-1])]
    for i, table in enumerate(tables, start=1):
        csv = table.csv().rstrip("\n") + "\n"
        (args.out / f"{NAME}-{i}.csv").write_text(csv, encoding="utf-8")
    print(text)
    return 0
