"""Mechanism, bounds, diagnostics, the network: computations on tiny inputs."""

from __future__ import annotations

import numpy as np
import pytest

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper import (
    _watch,
    coco_noise,
    diagnostics,
    lqr_costs,
    lra_rate,
    mechanism,
    mlp_digits,
    sandwich,
)
from noisewise_bench.experiments.paper._artifact import Scale
from noisewise_bench.experiments.paper._methods import AS_RUN, ONE_ENGINE, RB, UH
from noisewise_bench.task import Row, Task, run_task, suite_of


def row(problem: str, method: str, regret: float, budget: str = "100d", nit: int = 0) -> Row:
    return Row(
        *(problem, method, budget, 1, suite_of(problem)),
        dimension=10,
        recommended_regret=regret,
        best_evaluated_regret=regret,
        generations=nit,
    )


def test_the_jensen_gap_is_half_the_variance_and_misranking_disperses() -> None:
    sets = mechanism.measure(2.0, 0.48, 60, 64)
    np.testing.assert_allclose(sets.gap, 0.5 * sets.variance, rtol=1e-9, atol=1e-12)
    r, low, high = mechanism.correlation(sets)
    assert 0.0 < r < 1.0
    assert low < r < high
    assert sets.P.mean() == pytest.approx(0.0605, abs=0.012)  # as published
    assert sets.variance.mean() == pytest.approx(0.0929, abs=0.02)
    assert (sets.dispersion[sets.P == 0.0] == 0.0).all()


def test_farther_from_the_optimum_noise_reorders_less() -> None:
    near, far = (mechanism.measure(offset, 0.5, 40, 8).P.mean() for offset in (0.0, 4.0))
    assert far < 0.5 * near


def test_no_bound_is_broken_and_a_broken_one_is_counted() -> None:
    found = sandwich.evolved("bbob-noisy/f110/i1/d5", 6)
    assert found[:, 0].max() > 0.1
    assert set(sandwich.violations(found).values()) == {0}
    impossible = np.array([[0.01, 0.5, 0.9], [0.4, 0.1, 0.0]])
    assert list(sandwich.violations(impossible).values()) == [1, 1, 1, 1]


def test_a_trace_is_the_run_of_a_campaign() -> None:
    problem = "bbob-noisy/f110/i1/d5"
    found = diagnostics.trace(problem)
    done = run_task(Task(problem, ONE_ENGINE[RB], "100d", 1))
    assert (found.regret, found.generations) == (done.recommended_regret, done.generations)
    assert len(found.diagnostics["shape_w1"]) == -(-found.generations // 10)
    assert set(diagnostics.SHOWN) <= set(found.diagnostics)


def test_a_watched_run_is_the_run_of_a_campaign() -> None:
    problem = "bbob-noisy/f110/i1/d10"
    found = _watch.watched(problem)
    done = run_task(Task(problem, AS_RUN[RB], "100d", 1))
    assert (found.best_evaluated, found.generations) == (
        done.best_evaluated_regret,
        done.generations,
    )
    assert found.looks.shape[1] == 1 + len(_watch.NAMES)
    assert len(found.looks) > 5
    assert np.isfinite(found.looks).all()
    assert (found.looks[:, 1:3] > 0.0).all()


def test_diagnostics_that_separate_and_depth_that_does_not_collapse(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def trace(problem: str) -> diagnostics.Trace:
        bad = int(problem.split("/i")[1].split("/")[0]) > 6
        shift = {"shape_w1": 1.0}
        columns = {key: np.array([np.nan, bad * shift.get(key, 0.0)]) for key in diagnostics.SHOWN}
        return diagnostics.Trace(10.0 if bad else 0.1, 250, columns)

    def watched(problem: str) -> _watch.Watched:
        bad = int(problem.split("/i")[1].split("/")[0]) > 6
        looks = np.array([[5.0, 0.1, 1.0 + bad, 0.5, 0.2], [10.0, 0.1, 1.0 + bad, 0.5, 0.2]])
        return _watch.Watched(10.0 if bad else 0.1, 211, (129,) if bad else (), looks)

    monkeypatch.setattr(diagnostics, "trace", trace)
    monkeypatch.setattr(diagnostics, "watched", watched)
    names = [f"bbob-noisy/f110/i{i}/d10" for i in range(1, 13)]
    rows = [row(p, ONE_ENGINE[UH], 1.0) for p in names]
    rows += [row(p, AS_RUN[UH], 1.0) for p in names]
    rows += [row(p, AS_RUN[RB], 1.0, nit=211 + i % 2) for i, p in enumerate(names)]
    as_run, separation, restarts, depth = diagnostics.make(rows, Scale("short")).tables
    assert as_run.rows[1][:5] == ("shape W1", 6, 6, 1.0, 2.0)
    assert as_run.rows[1][5] < 0.001
    assert restarts.rows[0][:3] == ("good", 6, 0)
    assert restarts.rows[1] == ("bad", 6, 6, 129.0, 211.0)
    by_name = {line[0]: line for line in separation.rows}
    assert by_name["shape W1"][1:5] == (6, 6, 0.0, 1.0)
    assert by_name["shape W1"][5] < 0.001
    assert by_name["drift W1"][5] > 0.4
    assert depth.rows[0] == ("as run", 12, 211, 211.5, 212, "211 and 129")
    assert depth.rows[1][1:5] == (12, 250, 250.0, 250)


def test_wins_on_the_network_stand_beside_the_published_ones() -> None:
    methods = (*mlp_digits.AS_RUN, *mlp_digits.ONE_ENGINE)
    rows = [
        row(f"task/mlp-digits-b16/s{seed}", method, 0.1 if "switch" in method else 0.5, "own")
        for seed in range(1, 5)
        for method in methods
    ]
    wins, losses = mlp_digits.make(rows, Scale("short")).tables
    first = dict(zip([column.name for column in wins.columns], wins.rows[1], strict=True))
    assert first["metric"] == "best-evaluated"
    assert (first["published W/L"], first["W/L"], first["mean diff"]) == (
        "33/17",
        "4/0",
        pytest.approx(np.log10(0.2)),
    )
    assert losses.rows[1][:3] == (16, "as-run/probe-switch", 4)
    assert isinstance(mlp_digits.grids(Scale("quick"))[0], Grid)


def test_gaps_to_the_published_medians_are_those_put_in() -> None:
    def log(f: int, suite: str) -> float:
        cauchy = (f - 101) % 3 == 2
        shift = -0.5 if cauchy and suite == "bbob-noisy" else 0.1
        return coco_noise.published(RB, 10, f) + shift

    rows = [
        row(f"{suite}/f{f}/i{i}/d10", AS_RUN[RB], 10.0 ** (log(f, suite) + 0.01 * (i - 2)), "200d")
        for suite in coco_noise.NOISES.values()
        for f in range(107, 131)
        for i in (1, 2, 3)
    ]
    found = coco_noise.medians(rows)
    for noise, law, gap in (
        ("seeded", "Gaussian", 0.1),
        ("seeded", "Cauchy", -0.5),
        ("COCO's", "Cauchy", 0.1),
    ):
        gaps = coco_noise.gaps(found, noise, RB, law)
        np.testing.assert_allclose(gaps, np.full(8, gap), atol=1e-9)


def test_costs_on_lqr_are_those_of_the_same_run() -> None:
    """The first column is what a row of the bench says; sets of their own are other numbers."""
    found = lqr_costs.costs(3, RB)
    row = run_task(Task("task/lqr/s3", AS_RUN[RB], "own", 1))
    assert found[0] == pytest.approx(row.best_evaluated_regret)
    assert len(set(found.tolist())) == 5
    assert found[2] <= found[3]


def test_the_rate_of_lra_is_far_below_one_under_noise() -> None:
    [table] = lra_rate.make([], Scale("quick")).tables
    [(d, functions, mean, later, smallest, published)] = table.rows
    assert (d, functions, published) == (5, 2, lra_rate.PUBLISHED)
    assert 0.0 < smallest <= later < mean < 0.6
