"""Policy search at equal numbers of episodes: ``python -m noisewise_bench.experiments policies``.

Parts: ``compare`` (methods), ``switches`` (what helps, on and off), ``speed`` (of environments),
``size`` (many parameters). The tier ``long`` compares methods only, with more episodes, on a page
of its own.
Runs are kept in a file and are not computed again. Classic control runs in simulators of the bench
that fly the episodes of all runs together; other environments take gymnasium and more time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import noisewise
from noisewise_bench import stamps
from noisewise_bench.experiments.policies_grid import SLOW, TIERS, compare_cases, switch_cases
from noisewise_bench.experiments.policies_size import METHODS as SIZE_METHODS
from noisewise_bench.experiments.policies_size import size_table
from noisewise_bench.experiments.policies_speed import speed_table
from noisewise_bench.experiments.policies_tables import (
    compare_table,
    picture,
    switch_tables,
    win_table,
)
from noisewise_bench.policies.runs import Case, Outcome, digest, kept, run
from noisewise_bench.tables import Table

NAME: Final = "policies"
PARTS: Final = ("compare", "switches", "speed", "size")


def page(
    tier_name: str, parts: Sequence[str], db: Path, out: Path, compute: bool = True
) -> tuple[str, list[Table]]:
    """The page and its tables; runs what is missing if ``compute``. The picture is in ``out``."""
    tier, tables = TIERS[tier_name], list[Table]()
    wanted = PARTS[:1] if tier.only_compare else PARTS
    parts = [part for part in parts if part in wanted]
    made: dict[str, set[str]] = {}
    for part, cases in (("compare", compare_cases(tier)), ("switches", switch_cases(tier))):
        if part not in parts:
            continue
        if compute:
            run(cases, db, _say)
        found, digests = kept(cases, db)
        for method, seen in digests.items():
            made.setdefault(method, set()).update(seen)
        if tier.only_compare:
            tables += [*_by_speed(found), win_table(found)]
        elif part == "compare":
            picture(found, out / f"{NAME}.svg")
            tables += [compare_table(found), win_table(found)]
        else:
            tables += switch_tables(found)
    if "speed" in parts:
        tables.append(speed_table(quick=tier_name == "quick"))
    if "size" in parts:
        tables.append(size_table(quick=tier_name == "quick"))
        for method in SIZE_METHODS:
            made.setdefault(method, set()).add(digest(method))
    command = f"python -m noisewise_bench.experiments {NAME} --tier {tier_name}"
    if len(parts) < len(wanted):
        command += f" --parts {' '.join(parts)}"
    made.pop("mirrored", None)  # known to this study only
    stamp = stamps.Stamp(
        methods={m: min(seen) if len(seen) == 1 else stamps.MIXED for m, seen in made.items()}
    )
    text = [
        f"# {tier.title}",
        f"Printed by `{command}` (noisewise {noisewise.__version__}).",
        *_written(out / f"{tier.page}.md"),
        *(table.markdown() for table in tables),
        stamp.comment(),
    ]
    return "\n\n".join(text) + "\n", tables


def _by_speed(found: dict[Case, Outcome]) -> list[Table]:
    """A table of the environments that are simulated together, and one of the slow ones."""
    slow = {case: one for case, one in found.items() if case.env in SLOW}
    quick = {case: one for case, one in found.items() if case.env not in SLOW}
    titles = ("Return of the returned policy", "LunarLander and MuJoCo")
    return [
        replace(compare_table(part), title=title)
        for part, title in zip((quick, slow), titles, strict=True)
        if part
    ]


def _written(path: Path) -> list[str]:
    """What somebody wrote between the head of the page that is there and its first table."""
    if not path.exists():
        return []
    text = path.read_text(encoding="utf-8").partition("Printed by ")[2].partition("\n\n")[2]
    return [said] if (said := text.partition("### ")[0].strip()) else []


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog=f"noisewise_bench.experiments {NAME}", description="Policy search."
    )
    parser.add_argument("--tier", choices=list(TIERS), default="quick", help="how much (quick)")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS, help="which tables")
    parser.add_argument("--db", type=Path, help="runs, kept to resume (out/policies.sqlite)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    parser.add_argument("--tables-only", action="store_true", help="run nothing, use what is there")
    args = parser.parse_args(argv)
    if TIERS[args.tier].only_compare and "compare" not in args.parts:
        parser.error(f"the tier {args.tier} has the part compare only")
    args.out.mkdir(parents=True, exist_ok=True)
    db, name = args.db or Path("out") / f"{NAME}.sqlite", TIERS[args.tier].page
    text, tables = page(args.tier, args.parts, db, args.out, not args.tables_only)
    (args.out / f"{name}.md").write_text(text, encoding="utf-8")
    for i, one in enumerate(tables, start=1):
        csv = one.csv().rstrip("\n") + "\n"
        (args.out / f"{name}-{i}.csv").write_text(csv, encoding="utf-8")
    print(text)
    return 0
