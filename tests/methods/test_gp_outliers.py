"""Rare huge values in whole runs of the model."""

from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import pytest

import noisewise as nw
from noisewise._types import FloatArray
from noisewise.gp import outliers

D, BUDGET, SEEDS = 2, 50, range(5)


def _run(size: float, seed: int, share: float = 0.05, **options: object) -> nw.Result:
    rng, chance = (np.random.default_rng([seed, k]) for k in (1, 2))

    def bowl(x: FloatArray) -> float:
        outlier = chance.random() < share
        return float(x @ x) + 0.05 * rng.standard_normal() + (size if outlier else 0.0)

    settings = {"budget": BUDGET, "method": "gp", **options}
    return nw.minimize(bowl, np.full(D, 0.3), sigma0=0.3, rng=seed, **settings)  # type: ignore[arg-type]


def _regret(size: float) -> float:
    """Median over a few runs."""
    return float(np.median([found.x @ found.x for found in (_run(size, s) for s in SEEDS)]))


@pytest.fixture(scope="module")
def usual() -> float:
    return _regret(0.0)


@pytest.mark.parametrize("size", [30.0, 1e6, 1e69, -100.0])
def test_rare_huge_values_cost_at_most_a_factor_of_three(size: float, usual: float) -> None:
    assert _regret(size) < 3.0 * usual


def test_the_result_says_what_was_set_aside() -> None:
    said = [text for text in _run(1e6, 1).warnings if "set aside" in text]
    assert len(said) == 1
    assert "% of" in said[0]
    assert not any("set aside" in text for text in _run(0.0, 1).warnings)


def test_a_strategy_that_takes_over_still_says_it() -> None:
    found = _run(1e6, 1, method="auto", budget=1100)
    assert "handed over" in found.message
    assert any("set aside" in text for text in found.warnings)


def test_a_narrow_and_deep_minimum_is_found() -> None:
    def needle(x: FloatArray) -> float:
        return float(x @ x) - 30.0 * float(np.exp(-(x @ x) / (2.0 * 0.05**2)))

    x0 = np.full(D, 0.2)
    found = [nw.minimize(needle, x0, sigma0=0.2, budget=BUDGET, method="gp", rng=s) for s in SEEDS]
    assert sum(one.fun < -29.0 for one in found) >= 4


def test_a_run_with_values_set_aside_resumes_to_the_bit(tmp_path: Path) -> None:
    def value(x: FloatArray, i: int) -> float:
        return float(x @ x) + (1e6 if i % 20 == 11 else -1e3 if i == 25 else 0.0)

    opt = nw.Optimizer(np.full(D, 0.3), sigma0=0.3, budget=BUDGET, method="gp", rng=1)
    told = 0
    while told < 36:
        for trial in opt.ask():
            opt.tell(trial.id, value(trial.x, told))
            told += 1
    opt.save(tmp_path / "run")
    other = nw.Optimizer.load(tmp_path / "run")
    assert any("set aside" in text for text in opt.result().warnings)
    points: list[list[float]] = []
    for one in (opt, other):
        count, seen = copy.copy(told), []
        while not one.done:
            for trial in one.ask():
                seen += trial.x.tolist()
                one.tell(trial.id, value(trial.x, count))
                count += 1
        points.append(seen)
    assert points[0] == points[1]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_point_is_measured_again_where_its_coordinates_are_rounded(seed: int) -> None:
    points: list[FloatArray] = []

    def bowl(x: FloatArray) -> float:
        points.append(x.copy())
        outlier = len(points) in (14, 23)
        return float(x @ x) - (1e3 if outlier else 0.0)

    low, high = np.array([-1.7, -0.3]), np.array([0.1, 3.3]) / 0.7
    options = {"budget": BUDGET, "method": "gp", "confirm": 0}
    nw.minimize(bowl, bounds=(low, high), rng=seed, **options)  # type: ignore[arg-type]
    for i in (13, 22):
        same = [np.allclose(x, points[i], rtol=0.0, atol=1e-12) for x in points]
        assert 2 <= sum(same) <= outliers.CERTAIN
