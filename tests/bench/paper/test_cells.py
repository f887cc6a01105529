"""Table 1 cell by cell, from the committed tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewise_bench import cells

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
