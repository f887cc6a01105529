"""Table 1 cell by cell from the committed page: ``python -m noisewise_bench.cells``.

Prints, for `docs/findings/reproduction.md`, the share that probe-and-switch wins in every cell as
published, as run, by the point returned and on one engine, and which cells replicate. Nothing is
run: the numbers are those of `docs/findings/reproduction/table1.md`.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from scipy import stats

from noisewise_bench.experiments.paper._clusters import replication
from noisewise_bench.experiments.paper._methods import CMA, RB, RES5, RES10, UH
from noisewise_bench.experiments.paper._problems import TASKS

FOLDER = Path("docs/findings/reproduction")
RIVALS = (RES10, RES5, UH, CMA, RB)
FUNCTIONS = ("d = 10", "d = 20", "d = 40")
#: Tasks whose published budget is not known; the cells as run have B = 50.
SMALL = ("hpo-breast-cancer", "hpo-digits")
Pair = tuple[int, int]
Cells = dict[tuple[str, str, str], dict[str, str]]


def read(path: Path) -> Cells:
    """(rival, place, metric) -> line of a committed table."""
    with path.open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    return {(line["against"], line["where"], line["metric"]): line for line in lines}


def pair(text: str) -> Pair:
    wins, losses = text.split("/")
    return int(wins), int(losses)


def cell(as_run: Cells, engine: Cells, rival: str, place: str) -> tuple[Pair, Pair, Pair, Pair]:
    """Wins and losses as published, as run, by the point returned, and on one engine."""
    at = f"{place}, B = 50" if place in SMALL else place
    metric = "smallest noisy value" if place in FUNCTIONS else "best-evaluated"
    metric = "published metrics" if place == "total" else metric
    run = as_run[rival, at, metric]
    found = (run["published W/L"], run["W/L"], as_run[rival, at, "recommended"]["W/L"])
    published, counted, returned = map(pair, found)
    return published, counted, returned, pair(engine[rival, place, "recommended"]["W/L"])


def table(as_run: Cells, engine: Cells) -> list[str]:
    """The verdict in the paper's layout."""
    lines = [
        "| | " + " | ".join(f"vs {rival}" for rival in RIVALS) + " |",
        "|---|" + "---|" * len(RIVALS),
    ]
    for place in (*FUNCTIONS, *TASKS, "total"):
        cells = []
        for rival in RIVALS:
            shares = [wins / (wins + losses) for wins, losses in cell(as_run, engine, rival, place)]
            cells.append(" / ".join(f"{100 * share:.0f}" for share in shares))
        lines.append(f"| {place} | {' | '.join(cells)} |")
    return lines


def replicated(as_run: Cells, engine: Cells) -> list[str]:
    """How the cells of Table 1 replicate as run."""
    lines = []
    for name, places in (("functions", FUNCTIONS), ("tasks", TASKS), ("totals", ("total",))):
        found = {}
        for place in places:
            for rival in RIVALS:
                published, counted, *_ = cell(as_run, engine, rival, place)
                found[f"{place} vs {rival}"] = (counted, published)
        lines += judged(f"Table 1, {name}", found)
    return lines


def others(folder: Path) -> list[str]:
    """How the published counts of the other pages replicate."""
    pages: dict[str, dict[str, tuple[Pair, Pair]]] = {}
    for path in sorted(folder.glob("*.csv")):
        page = re.sub(r"-\d+$", "", path.stem)
        with path.open(encoding="utf-8") as file:
            lines = list(csv.DictReader(file))
        for line in lines:
            known = line.get("published W/L") or "-"
            if page not in ("table1", "verdict") and known != "-":
                end = list(line).index("published W/L")
                name = ", ".join([page, *list(line.values())[:end]])
                pages.setdefault(page, {})[name] = (pair(line["W/L"]), pair(known))
    tallies = {page: tally(found) for page, found in pages.items()}
    counts = [
        f"{page} {'/'.join(map(str, words.values()))}" for page, (words, *_) in tallies.items()
    ]
    notes = [note for _, some, _ in tallies.values() for note in some]
    return [f"- Other pages, counts equivalent/open/different: {', '.join(counts)}.", *notes]


def judged(name: str, found: dict[str, tuple[Pair, Pair]]) -> list[str]:
    """How many counts are equivalent, open or different, which differ, and all together."""
    words, notes, chi2 = tally(found)
    n = sum(words.values())
    counts = ", ".join(f"{number} {word}" for word, number in words.items())
    together = f"joint chi2 {chi2:.0f} on {n}, p = {stats.chi2.sf(chi2, n):.3f}"
    plural = "" if n == 1 else "s"
    return [f"- {name}: {n} count{plural}, {counts}; {together}.", *notes]


def tally(found: dict[str, tuple[Pair, Pair]]) -> tuple[dict[str, int], list[str], float]:
    """Counts by verdict, a line for each that differs, and the sum of their chi2."""
    words = dict.fromkeys(("equivalent", "open", "differs"), 0)
    notes, chi2 = [], 0.0
    for what, (counted, published) in found.items():
        word = replication(*counted, published)
        if word == "-":  # all were ties
            continue
        words[word] += 1
        p = float(stats.fisher_exact([counted, published])[1])
        said = f"{what}: {_share(counted)} against {_share(published)} published, p = {p:.3f}"
        if word == "differs" or p < 0.05:
            notes.append(f"  - differs{'' if word == 'differs' else ' within the margin'}: {said}.")
        if counted[1] + published[1] and counted[0] + published[0]:
            chi2 += float(stats.chi2_contingency([counted, published], correction=False)[0])
    return words, notes, chi2


def _share(counts: Pair) -> str:
    return f"{counts[0] / sum(counts):.0%}"


def content(folder: Path) -> str:
    """What stands in the page."""
    as_run, engine = read(folder / "table1-2.csv"), read(folder / "table1-3.csv")
    lines = [*replicated(as_run, engine), *others(folder)]
    return "\n".join([*table(as_run, engine), "", *lines])


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m noisewise_bench.cells", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--folder", type=Path, default=FOLDER, help="of the tables (%(default)s)")
    print(content(parser.parse_args(argv).folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
