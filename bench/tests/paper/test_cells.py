"""Table 1 cell by cell, from the committed tables."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from noisewise_bench import cells
from noisewise_bench.experiments.paper._clusters import replication

ROOT = Path(__file__).parents[3]


def test_the_page_shows_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert cells.main(["--folder", str(ROOT / cells.FOLDER)]) == 0
    printed = capsys.readouterr().out.strip()
    page = (ROOT / "docs/findings/reproduction.md").read_text(encoding="utf-8")
    assert printed in page


def test_counts_are_judged_and_what_differs_is_named() -> None:
    found = {
        "same": ((330, 120), (340, 110)),
        "few": ((7, 3), (340, 110)),
        "other": ((150, 300), (340, 110)),
        "near": ((1204, 446), (1276, 373)),
        "tied": ((0, 0), (0, 0)),
    }
    head, *notes = cells.judged("page", found)
    assert head.startswith("- page: 4 counts, 2 equivalent, 1 open, 1 differs; joint chi2 ")
    assert notes[0].startswith("  - differs: other: 33% against 76% published, p = 0.000")
    assert notes[1].startswith("  - differs within the margin: near: 73% against 77% published")
    assert len(notes) == 2


def _tables() -> list[tuple[str, str, str, str]]:
    """Table, measured and published counts, and verdict, of every line of a committed table."""
    found = []
    for path in sorted((ROOT / cells.FOLDER).glob("*.csv")):
        with path.open(encoding="utf-8") as file:
            for line in csv.DictReader(file):
                word = line.get("replicates") or line.get("verdict")
                counts, published = line.get("W/L"), line.get("published W/L")
                if "verdict" in line:
                    counts, published = line["as run"], line["published"]
                if word and counts and published and published != "-":
                    found.append((path.name, counts, published, word))
    return found


def test_every_committed_verdict_is_that_of_the_one_rule() -> None:
    lines = _tables()
    assert len(lines) > 100
    for name, counts, published, word in lines:
        assert word == replication(*cells.pair(counts), cells.pair(published)), (name, counts)


def test_the_summary_counts_the_verdicts_of_its_cells() -> None:
    words: dict[str, Counter[str]] = {}
    with (ROOT / cells.FOLDER / "verdict-2.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            words.setdefault(line["against"], Counter())[line["verdict"]] += 1
    with (ROOT / cells.FOLDER / "verdict-3.csv").open(encoding="utf-8") as file:
        for line in csv.DictReader(file):
            for word in ("equivalent", "differs", "open"):
                assert int(line[word]) == words[line["against"]][word]


def test_pages_show_the_tables_beside_them() -> None:
    """A verdict that was changed in one is changed in the other."""
    for name, counts, published, word in _tables():
        page = (ROOT / cells.FOLDER / f"{name.rpartition('-')[0]}.md").read_text(encoding="utf-8")
        shown = [li for li in page.splitlines() if f"| {counts} |" in li and f"| {word} |" in li]
        assert any(f"| {published} |" in line for line in shown), (name, counts)
