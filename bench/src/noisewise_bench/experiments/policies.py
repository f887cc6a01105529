"""Policy search at equal numbers of episodes: ``python -m noisewise_bench.experiments policies``.

Parts: ``compare`` (methods), ``switches`` (what helps CMA-ES, on and off), ``speed`` (of
environments), ``size`` (many parameters). The tier ``lander`` is about LunarLander, on a
page of its own.
Runs are kept in a file and are not computed again. Classic control runs in simulators of the bench
that fly the episodes of all runs together; other environments take gymnasium and more time.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import noisewise
from noisewise_bench import stamps
from noisewise_bench.experiments.policies_grid import TIERS, compare_cases, switch_cases
from noisewise_bench.experiments.policies_size import METHODS as SIZE_METHODS
from noisewise_bench.experiments.policies_size import size_table
from noisewise_bench.experiments.policies_speed import speed_table
from noisewise_bench.experiments.policies_tables import (
    compare_table,
    picture,
    steps_table,
    switch_tables,
    win_table,
)
from noisewise_bench.policies.runs import SAME, digest, kept, run
from noisewise_bench.tables import Table

NAME: Final = "policies"
PARTS: Final = ("compare", "switches", "speed", "size")


def page(
    tier_name: str, parts: Sequence[str], db: Path, out: Path, compute: bool = True
) -> tuple[str, list[Table]]:
    """The page and its tables; runs what is missing if ``compute``. The picture is in ``out``."""
    tier, tables = TIERS[tier_name], list[Table]()
    made: dict[str, set[str]] = {}
    for part, cases in (("compare", compare_cases(tier)), ("switches", switch_cases(tier))):
        if part not in parts:
            continue
        if compute:
            run(cases, db, _say)
        found, digests = kept(cases, db)
        for method, seen in digests.items():
            made.setdefault(method, set()).update(seen)
        if part == "compare":
            picture(found, out / f"{tier.page}.svg")
            tables += [compare_table(found), win_table(found), steps_table(found)]
        else:
            tables += switch_tables(found)
    if "speed" in parts:
        tables.append(speed_table(quick=tier_name == "quick"))
    if "size" in parts:
        tables.append(size_table(quick=tier_name == "quick"))
        for method in SIZE_METHODS:
            made.setdefault(method, set()).add(digest(method))
    command = f"python -m noisewise_bench.experiments {NAME} --tier {tier_name}"
    if len(parts) < len(PARTS):
        command += f" --parts {' '.join(parts)}"
    for name in SAME.keys() & made.keys():
        made.setdefault(SAME[name], set()).update(made.pop(name))
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
    args.out.mkdir(parents=True, exist_ok=True)
    db, name = args.db or Path("out") / f"{NAME}.sqlite", TIERS[args.tier].page
    text, tables = page(args.tier, args.parts, db, args.out, not args.tables_only)
    (args.out / f"{name}.md").write_text(text, encoding="utf-8")
    for i, one in enumerate(tables, start=1):
        csv = one.csv().rstrip("\n") + "\n"
        (args.out / f"{name}-{i}.csv").write_text(csv, encoding="utf-8")
    print(text)
    return 0
