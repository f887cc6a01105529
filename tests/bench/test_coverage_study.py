"""The command that measures coverage, length and cost of the intervals."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from noisewise_bench.experiments import coverage
from noisewise_bench.experiments.__main__ import main
from noisewise_bench.experiments._laws import LANDSCAPES, LAWS, Objective


@pytest.mark.parametrize("law", sorted(set(LAWS) - {"cauchy"}))
def test_noise_has_the_mean_and_deviation_it_claims(law: str) -> None:
    for landscape in LANDSCAPES:
        objective = Objective(landscape, law, 2, 1)
        x = np.array([1.0, -2.0])
        y = objective.noisy(np.tile(x, (200_000, 1)), np.random.default_rng(0))
        sd = objective.deviation(x)
        assert y.mean() == pytest.approx(objective.expected(x), abs=0.02 * sd + 1e-12)
        assert y.std() == pytest.approx(sd, rel=0.2, abs=1e-12)


def test_the_optimum_has_no_regret() -> None:
    for landscape in LANDSCAPES:
        objective = Objective(landscape, "none", 3, 2)
        assert objective.regret(objective._optimum[None])[0] == pytest.approx(0.0, abs=1e-12)


def test_the_page_has_a_line_per_cell_and_its_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--laws", "gaussian,none", "--cells", "2x60", "--seeds", "1-2", "--confirm", "8"]
    assert main(["coverage", *options, "--workers", "1", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "coverage.md").read_text()
    assert capsys.readouterr().out.strip() == text.strip()
    assert " ".join(options) in text
    assert text.count("| auto | gaussian | 2 | 60 | 8 |") == 1  # four landscapes, two seeds
    assert (tmp_path / "coverage-3.csv").read_text().count("\n") == 3


def test_a_confirmed_run_knows_how_often_x_was_evaluated() -> None:
    case = coverage.Case("auto", "gaussian", "sphere", 2, 60, 1, 8)
    _, _, at_x = coverage._minimize(case, 8)
    assert at_x >= 8
    assert coverage._minimize(case, 0)[2] < 8


def test_runs_without_an_interval_are_misses() -> None:
    case = coverage.Case("auto", "gaussian", "sphere", 2, 60, 1, 0)
    nothing = coverage.Outcome(case, False, False, True, math.nan, 0.0, "")
    found = coverage.table("t", [nothing], ("law",))
    assert found.rows[0][1:6] == (1, 0.0, 0.0, 1.0, pytest.approx(math.nan, nan_ok=True))


@pytest.mark.parametrize("wrong", [["--cells", "2by50"], ["--laws", "pink"], ["--seeds", "x"]])
def test_bad_options_are_one_sentence(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", *wrong]) == 2
    assert capsys.readouterr().err.startswith("error: ")
