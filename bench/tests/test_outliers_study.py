"""The command that measures what rare huge values cost."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from noisewise_bench.experiments import outliers
from noisewise_bench.experiments.__main__ import main


def test_a_bowl_has_its_outliers_and_the_same_noise_without_them() -> None:
    cells = [outliers.Cell("auto", 2, 40, 0.1, 1e6, share) for share in (0.0, 0.5)]
    clean, other = (outliers.Bowl(cell, 1) for cell in cells)
    points = np.random.default_rng(0).random((40, 2))
    a, b = (np.array([bowl(x) for x in points]) for bowl in (clean, other))
    off = b - a > 5e5
    assert 10 < off.sum() < 30
    assert (a[~off] == b[~off]).all()
    assert clean.true(clean.start) == pytest.approx(2 * outliers.APART**2)


def test_only_a_point_that_was_too_low_at_first_was_lucky() -> None:
    bowls = [
        outliers.Bowl(outliers.Cell("auto", 2, 40, 0.0, size, 0.999999), 1) for size in (-9.0, 9.0)
    ]
    for bowl in bowls:
        bowl(bowl.start)
    assert bowls[0].lucky(bowls[0].start)
    assert not bowls[0].lucky(bowls[0].start, last=1)  # it was chosen before
    assert not bowls[0].lucky(bowls[0].optimum)
    assert not bowls[1].lucky(bowls[1].start)


def test_the_page_has_a_line_per_cell_and_its_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = "--methods=cma-es,cma-es(confirm=0) --cells=2:20 --noise=0 --sizes=100,-100"
    argv = ["outliers", *options.split(), "--seeds=1-2", "--out", str(tmp_path)]
    assert main(argv) == 0
    text = (tmp_path / "outliers.md").read_text()
    assert capsys.readouterr().out.strip() == text.strip()
    assert "--methods 'cma-es,cma-es(confirm=0)' --cells=2:20 --noise=0 --sizes=100,-100" in text
    assert text.count("\n| cma-es(confirm=0) | 2 | 20 |") == 3
    assert (tmp_path / "outliers-1.csv").read_text().count("\n") == 7
    assert text.count("| cma-es | cma-es(confirm=0) | 2 | 20 |") == 3


def test_the_exact_page_has_every_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(outliers.EXACT, "methods", "sep-cma-es,sep-cma-es(confirm=0)")
    assert main(["outliers", "--exact", "--seeds=1-2", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "outliers-exact.md").read_text()
    assert "outliers --exact --seeds=1-2`" in text
    for row in ("3 | 60 | -100 | 1%", "5 | 400 | none | 0%", "10 | 1000 | +1e+06 | 5%"):
        assert f"| sep-cma-es | sep-cma-es(confirm=0) | {row} |" in text


def test_differences_are_paired_and_positive_where_the_other_wins() -> None:
    ours = outliers.Cell("auto", 2, 40, 0.0, 0.0, 0.0)
    runs = {
        name: [outliers.Run(regret, False, False, False) for regret in regrets]
        for name, regrets in {"auto": (1e-2, 1e-4), "sep-cma-es": (1e-3, 1e-6)}.items()
    }
    found = {replace(ours, method=name): row for name, row in runs.items()}
    [(*about, by, se)] = outliers.differences(found).rows
    assert about == ["auto", "sep-cma-es", 2, 40, "none", 0.0]
    assert (by, se) == pytest.approx((1.5, 0.5))


@pytest.mark.parametrize(
    "wrong",
    [
        ["--methods", "nobody"],
        ["--cells", "3"],
        ["--shares", "2"],
        ["--sizes", "x"],
        ["--seeds", "x"],
    ],
)
def test_bad_options_are_one_sentence(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["outliers", *wrong]) == 2
    assert capsys.readouterr().err.startswith("error: ")
