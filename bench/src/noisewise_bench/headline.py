"""The headline table and picture, from the committed results of the studies `auto` and `tasks`.

``python -m noisewise_bench.headline`` prints the tables; ``--picture FILE`` draws the picture;
``--write PAGE ...`` puts them between the marks of these pages, or the `summary` between its own.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from noisewise_bench import stamps, summary

DIMENSIONS = (10, 20, 40)
GROUPS = {
    "high misranking": "15 functions with severe misranking",
    "complement": "the other 15",
}
#: What is shown, and the names under which the study has it, the first that a dimension has.
OTHERS = {
    "pycma, separable": ("peer/pycma-sep",),
    "pycma, full": ("peer/pycma",),
    "pycma, uncertainty handling": ("peer/pycma-uh",),
    "LRA-CMA-ES (cmaes; ours at d = 40)": ("peer/cmaes-lra", "lra-cma-es"),
    "resampling, k = 5": ("resample(k=5,covariance='diagonal')",),
    "probe-and-switch as published": ("as-run/probe-switch",),
    "RB-PEM as published": ("as-run/rb-pem",),
    "our CMA-ES, full": ("cma-es",),
    "separable CMA-ES, 8 times the population": tuple(
        f"sep-cma-es(population={k})" for k in (80, 96, 120)
    ),
}
#: Pages of the two studies, and what puts their results on the front pages.
SOURCES = ("auto.md", "tasks.md")
PAGES = ("docs/which-method.md",)
COMMAND = (
    "python -m noisewise_bench.headline --picture docs/assets/headline.svg "
    f"--write {' '.join([*PAGES, *summary.PAGES])}"
)
BEGIN, END = "<!-- headline -->", "<!-- /headline -->"


@dataclass(frozen=True)
class Duel:
    """auto against another method on a group of problems; differences in orders of magnitude."""

    problems: str
    d: int
    against: str
    n: int
    wins: float
    diff: float
    low: float
    high: float


def duels(findings: Path) -> list[Duel]:
    """All comparisons of the two studies."""
    found = []
    for path in [*sorted(findings.glob("auto-?.csv")), findings / "tasks-1.csv"]:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                numbers = (float(row[name]) for name in ("win rate", "mean diff", "low", "high"))
                found.append(
                    Duel(row["problems"], int(row["d"]), row["against"], int(row["n"]), *numbers)
                )
    return found


def pick(found: Sequence[Duel], group: str, other: str) -> list[Duel]:
    """One comparison per dimension."""
    by_name = {(one.d, one.against): one for one in found if one.problems == group}
    picked = []
    for d in DIMENSIONS:
        there = [by_name[d, name] for name in OTHERS[other] if (d, name) in by_name]
        if not there:
            raise ValueError(f"the results have no {other} on {group} at d = {d}")
        picked.append(there[0])
    return picked


def tables(found: Sequence[Duel]) -> str:
    """The headline in Markdown: win rates and differences, then every significant loss."""
    dims = " / ".join(map(str, DIMENSIONS))
    first, second = GROUPS.values()
    lines = [f"| auto against | {first}, d = {dims} | {second} |", "|---|---|---|"]
    for other in OTHERS:
        cells = [_cell(pick(found, group, other)) for group in GROUPS]
        lines.append(f"| {other} | {' | '.join(cells)} |")
    lost = [one for one in found if one.low > 0.0]
    lines += [
        "",
        f"Significantly behind (the interval excludes zero) in {len(lost)} of {len(found)} "
        "comparisons of the two studies:",
        "",
        "| problems | d | against | runs | win rate | mean difference |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {one.problems} | {one.d} | `{one.against}` | {one.n} | {one.wins:.0%} | "
        f"{one.diff:+.2f} [{one.low:+.2f}, {one.high:+.2f}] |"
        for one in lost
    ]
    return "\n".join(lines)


def content(findings: Path) -> str:
    """What stands between the marks of a page: the tables, what made them, whether it is stale."""
    texts = [(findings / name).read_text(encoding="utf-8") for name in SOURCES]
    made = stamps.union(found for text in texts if (found := stamps.read(text)) is not None)
    printed = [stamps.command(text, "docs/findings") for text in texts]
    again = " && ".join([*filter(None, printed), COMMAND])
    parts = [stamps.mark(made, again), tables(duels(findings)), made.comment()]
    return "\n\n".join(part.rstrip() for part in parts if part)


def _cell(row: Sequence[Duel]) -> str:
    wins = " / ".join(f"{one.wins:.0%}".rstrip("%") for one in row)
    return f"{wins} %, {' / '.join(f'{one.diff:+.1f}' for one in row)}"


def picture(found: Sequence[Duel], path: Path) -> None:
    """Mean differences with their intervals, one line per opponent and dimension."""
    import matplotlib
    from matplotlib.figure import Figure

    from noisewise_bench.figures import STYLE

    # Letters as outlines: a picture has no fonts of its own where it is shown.
    with matplotlib.rc_context(fname=str(STYLE), rc={"svg.fonttype": "path"}):
        figure = Figure(figsize=(9.0, 4.6))
        axes = figure.subplots(1, 2, sharey=True)
        for ax, (group, title) in zip(axes, GROUPS.items(), strict=True):
            _panel(ax, found, group)
            ax.set_title(title, loc="left", fontsize=10)
        axes[0].set_yticks(range(len(OTHERS)), list(OTHERS))
        axes[0].set_ylim(len(OTHERS) - 0.5, -0.7)
        axes[0].set_ylabel("auto against")
        axes[0].legend(loc="upper left", title="dimension")
        figure.supxlabel("mean difference of log10 regret: auto minus the other", fontsize=9)
        # The picture carries the numbers that it shows, so that a stale one can be told.
        told = {"Date": None, "Description": tables(found)}
        figure.savefig(path, metadata=told if path.suffix == ".svg" else {})


def _panel(ax: Any, found: Sequence[Duel], group: str) -> None:
    ax.axvline(0.0, color="black", linewidth=1.0)
    ax.axvspan(0.0, 10.0, color="#D55E00", alpha=0.08, linewidth=0)
    for i, (d, marker) in enumerate(zip(DIMENSIONS, "osD", strict=True)):
        picked = [pick(found, group, other)[i] for other in OTHERS]
        ax.errorbar(
            [one.diff for one in picked],
            [y + 0.22 * (i - 1) for y in range(len(picked))],
            xerr=[
                [one.diff - one.low for one in picked],
                [one.high - one.diff for one in picked],
            ],
            fmt=marker,
            markersize=4.5,
            elinewidth=1.5,
            label=f"d = {d}",
        )
    ax.grid(axis="y", visible=False)
    ax.set_xlim(-3.2, 0.8)
    for x, words, side in ((-0.05, "auto is better", "right"), (0.05, "worse", "left")):
        ax.annotate(words, (x, -0.42), fontsize=8, color="0.35", ha=side, va="center")


def rewritten(page: str, block: str, begin: str = BEGIN, end: str = END) -> str:
    """``page`` with ``block`` between its marks."""
    inside = re.compile(f"(?<={re.escape(begin)}\n).*?(?={re.escape(end)})", re.DOTALL)
    if not inside.search(page):
        raise ValueError(f"the page has no {begin} ... {end}")
    return inside.sub(lambda _: f"{block}\n", page)


def _renewed(page: str, findings: Path, made: str) -> str:
    """``page`` with what belongs between its marks."""
    if summary.BEGIN in page:
        return rewritten(page, short(findings), summary.BEGIN, summary.END)
    return rewritten(page, made)


def short(findings: Path) -> str:
    """The summary of all studies for the front page."""
    found = duels(findings)
    many = {
        other: tuple(_pooled(pick(found, group, other)) for group in GROUPS) for other in OTHERS
    }
    lost = [one for one in found if one.low > 0.0]
    return summary.table(findings, many, len(lost), len(found))


def _pooled(row: Sequence[Duel]) -> float:
    return sum(one.wins * one.n for one in row) / sum(one.n for one in row)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="noisewise_bench.headline", description=__doc__)
    parser.add_argument("--findings", type=Path, default=Path("docs/findings"), help="folder")
    parser.add_argument("--picture", type=Path, help="draw it to this file (.svg, .png, .pdf)")
    parser.add_argument(
        "--write", type=Path, nargs="+", default=[], help="pages to bring up to date"
    )
    args = parser.parse_args(argv)
    try:
        found = duels(args.findings)
        made = content(args.findings)
        pages = {
            page: _renewed(page.read_text(encoding="utf-8"), args.findings, made)
            for page in args.write
        }
        for page, text in pages.items():
            page.write_text(text, encoding="utf-8")
        if args.picture is not None:
            picture(found, args.picture)
    except (OSError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
