"""The command that measures coverage, length and cost of the intervals."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from noisewise_bench.experiments import _coverage_runs as runs
from noisewise_bench.experiments import coverage
from noisewise_bench.experiments.__main__ import main
from noisewise_bench.experiments._laws import LANDSCAPES, LAWS, Objective

RARE = {"rare low": -100.0, "rare high": 1e4}


@pytest.mark.parametrize("law", sorted(RARE))
def test_three_values_in_a_hundred_are_wrong_and_the_others_are_right(law: str) -> None:
    objective, x = Objective("sphere", law, 2, 1), np.array([1.0, -2.0])
    y = objective.noisy(np.tile(x, (200_000, 1)), np.random.default_rng(0))
    away = y - objective.expected(x)
    wrong = np.abs(away) > 50.0
    assert wrong.mean() == pytest.approx(0.03, abs=0.002)
    assert away[wrong].mean() == pytest.approx(RARE[law], abs=0.01)
    sd = objective.deviation(x)
    assert away[~wrong].mean() == pytest.approx(0.0, abs=0.02 * sd + 1e-12)
    assert away[~wrong].std() == pytest.approx(sd, rel=0.02, abs=1e-12)


@pytest.mark.parametrize("law", sorted(set(LAWS) - {"cauchy", *RARE}))
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
        assert objective.regret(objective.optimum[None])[0] == pytest.approx(0.0, abs=1e-12)


def test_the_page_is_printed_and_goes_on_where_it_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--methods", "cma-es", "--laws", "gaussian,none", "--cells", "2x60"]
    options += ["--seeds", "1-2", "--confirm", "8"]
    command = ["coverage", *options, "--workers", "1", "--out", str(tmp_path)]
    assert main(command) == 0
    text = (tmp_path / "coverage.md").read_text()
    assert capsys.readouterr().out.strip() == text.strip()
    assert " ".join(options) in text
    assert text.count("| cma-es | gaussian | 8 |") == 1  # four landscapes, two seeds
    assert (tmp_path / "coverage-5.csv").read_text().count("\n") == 3
    rows = tmp_path / "coverage.jsonl"
    lines = rows.read_text().splitlines()
    assert len(lines) == 16
    rows.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:30])
    assert main(command) == 0
    assert capsys.readouterr().out.strip() == text.strip()


def test_a_confirmed_run_knows_how_often_x_was_evaluated() -> None:
    case = runs.Case("cma-es", "gaussian", "sphere", 2, 60, 1, 8)
    assert runs._minimize(case, 8, 60)[2] == 8
    assert runs._minimize(case, 0, 60)[2] < 8


@pytest.mark.parametrize("law", sorted(LAWS))
def test_fresh_evaluations_of_one_point_cover(law: str) -> None:
    found = runs.fresh(law, 8, 400)
    assert np.mean([one.covered for one in found]) >= 0.90 - 2.0 * 0.015


@pytest.mark.parametrize("law", ["rare low", "rare high"])
@pytest.mark.parametrize("n", [27, 85])
def test_many_fresh_evaluations_cover_with_outliers(law: str, n: int) -> None:
    found = runs.fresh(law, n, 300)
    assert np.mean([one.covered for one in found]) >= 0.93


def test_runs_without_an_interval_are_misses() -> None:
    case = runs.Case("auto", "gaussian", "sphere", 2, 60, 1, 0)
    nothing = runs.Outcome(case, False, False, True, math.nan, 0.0, "")
    found = coverage.table("t", [nothing], ("law",))
    assert found.rows[0][1:6] == (1, 0.0, 0.0, 1.0, pytest.approx(math.nan, nan_ok=True))
    assert coverage.weak([nothing], ("law",)).rows[0][:3] == ("gaussian", 1, 0.0)


def test_a_run_of_twice_the_budget_stands_beside_what_was_expected() -> None:
    found = runs.measure(runs.Case("watchful", "gaussian", "sphere", 2, 200, 1, kind="double"))
    assert 0.3 < found.predicted < 3.0
    assert coverage.outlook([found]).rows[0][4:7] == (1, found.predicted, found.predicted)
    assert coverage.gains([found]).rows == ()  # there is no model
    assert found.actual_gain < found.possible_gain
    case = replace(found.case, method="auto", budget=30)
    modelled = replace(found, case=case, expected_gain=2.0, possible_gain=3.0, actual_gain=1.0)
    assert coverage.gains([found, modelled]).rows[0][3:] == (1, 2.0, 3.0, 1.0, 1.0)


@pytest.mark.parametrize(("law", "landscape"), [("lognormal", "sphere"), ("win-loss", "ellipsoid")])
def test_a_small_version_covers(law: str, landscape: str) -> None:
    """Eighty runs of the default estimate, on the laws that are hardest."""
    found = [
        runs.measure(runs.Case("sep-cma-es", law, landscape, 2, 60, seed, kind="alone"))
        for seed in range(80)
    ]
    assert np.mean([one.covered for one in found]) >= 0.87  # three standard errors below 0.95
    assert np.median([one.length for one in found]) <= 1.5


@pytest.mark.parametrize("wrong", [["--cells", "2by50"], ["--laws", "pink"], ["--seeds", "x"]])
def test_bad_options_are_one_sentence(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["coverage", *wrong]) == 2
    assert capsys.readouterr().err.startswith("error: ")
