"""The published variant: its parts against their formulas, its runs against published numbers."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

import numpy as np
import pytest

from noisewise_bench import as_run
from noisewise_bench.as_run import RBPEM, DiagonalES, NoiseModel, ProbeSwitch
from noisewise_bench.peers import Outcome, pycma
from noisewise_bench.problem import FloatArray, Oracle
from noisewise_bench.problems.bbob_noisy import BBOBNoisy
from noisewise_bench.record import Recorder


@dataclass
class Sphere:
    """A sphere in a box, with multiplicative log-normal noise of a given strength."""

    dimension: int = 10
    noise: float = 0.0
    x0: FloatArray = field(init=False)
    bounds: tuple[FloatArray, FloatArray] | None = field(init=False)

    def __post_init__(self) -> None:
        self.x0 = np.full(self.dimension, 1.5)
        self.bounds = (np.full(self.dimension, -5.0), np.full(self.dimension, 5.0))

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        return self.regret(X) * np.exp(self.noise * rng.standard_normal(len(X)))

    def regret(self, X: FloatArray) -> FloatArray:
        return np.sum(np.asarray(X) ** 2, axis=1)


def oracle_of(problem: Sphere, budget: int = 600) -> Oracle:
    return Oracle(problem, budget, np.random.default_rng(5))


def rng() -> np.random.Generator:
    return np.random.default_rng(3)


@pytest.mark.parametrize("name", [n for n in as_run.NAMES if n != "lra-cma-es"])
def test_every_name_runs_spends_the_budget_and_stays_in_the_box(name: str) -> None:
    problem = Sphere(noise=0.1)
    points = []
    for _ in range(2):
        oracle = oracle_of(problem)
        outcome = as_run.get(name)(oracle, 600, 11)
        assert oracle.remaining == 0
        assert outcome.nit > 0
        points.append(outcome.x)
    assert np.array_equal(*points)
    low, high = problem.bounds
    assert np.all((points[0] >= low) & (points[0] <= high))
    assert problem.regret(points[0][None])[0] < problem.regret(problem.x0[None])[0]


def test_a_late_restart_does_not_spoil_a_safe_recommendation() -> None:
    """The runs are the same; the safe one ends where the leg before the restart ended."""
    es = DiagonalES(oracle_of(Sphere()), rng())
    es.m = np.full(10, 0.1)
    es.recent.extend(np.full(es.lam, v) for v in (3.0, 0.2, 0.2, 0.4))
    es.best, es.stalled = 0.0, as_run.STALL - 1
    before = es.m
    es._restart_if_stalled(1.0)
    assert not np.array_equal(es.m, before)
    assert np.array_equal(es.safe(), before)  # nothing is known around the new mean yet
    es.recent.append(np.full(es.lam, 0.25))
    assert es.legs[0][0] == pytest.approx(0.3)
    assert np.array_equal(es.safe(), es.m)  # by now the new leg is the better one


def test_safe_runs_evaluate_the_same_points() -> None:
    spent = {}
    for name in ("rb-pem", "rb-pem(returns='safe')"):
        problem = BBOBNoisy(110, 1, 5)
        recorder = Recorder(problem)
        oracle = Oracle(problem, 2500, np.random.default_rng(1), recorder)
        outcome = as_run.get(name)(oracle, 2500, 4)
        spent[name] = recorder.finish(outcome.x)
    last, safe = spent.values()
    assert last.best_evaluated_regret == safe.best_evaluated_regret
    assert safe.recommended_regret <= last.recommended_regret
    with pytest.raises(ValueError, match="returns must be 'last' or 'safe', got 'best'"):
        as_run.get("rb-pem(returns='best')")


def test_lra_is_that_of_cmaes() -> None:
    assert as_run.get("lra-cma-es").variant == "learning-rate adaptation"


def test_weights_without_a_pool_are_truncated_power_lift() -> None:
    """Every replicate is then the same, so averaging changes nothing."""
    es = DiagonalES(oracle_of(Sphere(40)), rng())
    y = rng().permutation(es.lam).astype(float)
    values = NoiseModel("absolute", rng()).replicate(y[:, None], 32)
    w = RBPEM(k_max=0)._weights(es, 0.5, values)
    r = np.arange(7)
    expected = (1 - r / 14) ** 2.6
    assert (es.lam, es.mu) == (15, 7)
    assert np.allclose(w[np.argsort(y)[:7]], expected / expected.sum())
    assert np.all(w[np.argsort(y)[7:]] == 0)


def test_log_weights_are_those_of_the_paper() -> None:
    es = DiagonalES(oracle_of(Sphere(40)), rng())
    w = RBPEM("log", k_max=0)._weights(es, 0.5, np.arange(15.0)[None])
    expected = np.log(7.5) - np.log(np.arange(1, 8))
    assert np.allclose(w[:7], expected / expected.sum())


def test_averages_are_cut_to_mu() -> None:
    es = DiagonalES(oracle_of(Sphere(40)), rng())
    w = RBPEM()._weights(es, 0.0, rng().standard_normal((32, 15)))
    assert np.count_nonzero(w) == 7
    assert w.sum() == pytest.approx(1.0)


def test_mean_moves_to_one_weiszfeld_step() -> None:
    es = DiagonalES(oracle_of(Sphere(3)), rng())
    X = es.ask(5)
    m, w = es.m, np.array([0.4, 0.3, 0.2, 0.1, 0.0])
    a = w / np.linalg.norm(X - m, axis=1)
    es.tell(X, w, 1.0)
    assert np.allclose(es.m, a @ X / a.sum())


def test_step_size_is_capped_at_half_the_box() -> None:
    es = DiagonalES(oracle_of(Sphere(3)), rng())
    for _ in range(50):
        es.tell(es.m + 4 * np.ones((1, 3)), np.ones(1), 1.0)
    assert es.sigma <= 5.0


def test_without_a_cap_the_step_size_grows_on() -> None:
    sizes = {}
    for capped in (True, False):
        es = DiagonalES(oracle_of(Sphere(3)), rng(), capped=capped)
        es.m, es.sigma, es.ps = np.full(3, -5.0), 4.9, np.full(3, 2.0)
        es.tell(es.m + 9.0 * np.ones((1, 3)), np.ones(1), 1.0)
        sizes[capped] = es.sigma
    assert sizes[True] == 5.0
    assert sizes[False] > 5.5


def test_an_impatient_model_is_fitted_at_once() -> None:
    """From two residuals, and not averaged from zero."""
    model = NoiseModel("absolute", rng(), patient=False)
    draws = np.array([[1.0, 3.0], [0.0, np.nan]])
    model.learn(draws, np.array([2.0, 0.0]))
    assert len(model.pool) == 2
    assert float(model.scale(np.array([2.0]))[0]) == pytest.approx(1.0)
    model.learn(3.0 * draws, np.array([6.0, 0.0]))
    assert float(model.scale(np.array([6.0]))[0]) > 1.0


def test_a_pool_of_the_newest() -> None:
    model = NoiseModel("absolute", rng(), newest=True)
    for value in range(200):
        draws = np.tile([-1.0 - value, 1.0 + value], (4, 1))
        model.learn(draws, np.zeros(4))
    kept = model.pool.copy()
    model.learn(draws, np.zeros(4))
    assert len(kept) == 512
    assert np.array_equal(model.pool[:-8], kept[8:])


def test_as_many_re_evaluations_as_asked_for() -> None:
    for band in (1, 3):
        outcome = RBPEM(band=band)(oracle_of(Sphere(10, noise=1.0), 520), 520, 1)
        assert outcome.n_reevaluations == pytest.approx(band * outcome.nit, abs=2 * band)


def test_restart_after_80_generations_without_a_better_value() -> None:
    es = DiagonalES(oracle_of(Sphere(3)), rng())
    for generation in range(81):
        assert es.t == generation
        es.tell(es.ask(7), np.full(7, 1 / 7), 1.0)
    assert es.t == 0
    assert es.sigma == pytest.approx(3.0)
    assert not np.allclose(es.m, 1.5)
    assert es.best == 1.0


def test_without_restarts_the_search_stays_where_it_stalled() -> None:
    def generations(restarts: bool) -> int:
        es = DiagonalES(oracle_of(Sphere(3)), rng(), restarts)
        for y in (1.0, *([2.0] * as_run.STALL)):
            X = es.ask(es.lam)
            es.tell(X, np.full(es.lam, 1 / es.lam), y)
        return es.t

    assert generations(True) == 0
    assert generations(False) == as_run.STALL + 1


def test_flips_are_counted_among_the_re_evaluated_per_parent() -> None:
    first = np.arange(6.0)
    band = np.array([1, 2])
    again = np.array([[1.0, 2.0], [1.0, 3.5], [4.5, 4.6], [0.5, 1.5]])
    # mu = 3: nobody leaves, one leaves, both leave, nobody leaves.
    assert as_run.flip_rate(first, again, band, 3) == pytest.approx((0 + 1 + 2 + 0) / 4 / 3)
    assert as_run.flip_rate(first, again, band, 3, per=2) == pytest.approx((0 + 1 + 2 + 0) / 4 / 2)
    assert as_run.flip_rate(first, np.empty((4, 0)), band[:0], 3) == 0.0


def test_under_weak_noise_no_pool_forms_and_the_search_converges_as_published() -> None:
    """Published median log10 regret of 15 instances on f101, d = 20, B = 200d: -9.66."""
    regrets = []
    for instance in (1, 2, 3):
        seed = as_run.seed_of(101, instance, 20)
        problem = BBOBNoisy(101, instance, 20)
        recorder = Recorder(problem)
        oracle = Oracle(problem, 4000, np.random.default_rng([seed, 3]), recorder)
        outcome = as_run.get("rb-pem")(oracle, 4000, seed)
        regrets.append(np.log10(recorder.finish(outcome.x).best_evaluated_regret))
    assert np.median(regrets) == pytest.approx(-9.66, abs=1.0)


@pytest.mark.parametrize(("points", "pooled"), [(2, 0), (3, 6)])
def test_noise_is_learned_from_six_residuals_or_not_at_all(points: int, pooled: int) -> None:
    """With two re-evaluated points, the most in five dimensions, no pool ever forms."""
    draws = np.full((8, 2), np.nan)
    draws[:, 0] = np.arange(8.0)
    draws[:points, 1] = draws[:points, 0] + 1
    model = NoiseModel("absolute", rng())
    model.learn(draws, np.nanmedian(draws, axis=1))
    assert len(model.pool) == pooled


@pytest.mark.parametrize(
    ("kind", "half_width"),
    [("absolute", lambda m: 2 + 0.5 * m), ("variance", lambda m: np.sqrt(2 + 0.5 * m**2))],
)
def test_a_quarter_of_the_scale_is_learned_at_once(kind: str, half_width: object) -> None:
    centre = np.array([1.0, 4.0, 9.0, 20.0])
    half = half_width(centre)  # type: ignore[operator]
    model = NoiseModel(kind, rng())  # type: ignore[arg-type]
    model.learn(np.column_stack([centre - half, centre + half]), centre)
    assert np.allclose(model.coefficients, [0.5, 0.125])
    # standardised with the scale as learned so far, which is too small
    expected = 4.0 if kind == "absolute" else 2.0
    assert np.allclose(np.abs(model.pool), expected)


def test_pool_is_clipped_and_bounded() -> None:
    model = NoiseModel("absolute", rng())
    for _ in range(200):
        draws = rng().standard_cauchy((4, 2)) * 100
        model.learn(draws, draws.mean(axis=1))
    assert len(model.pool) == 512
    assert np.max(np.abs(model.pool)) <= 10


def test_reevaluated_points_have_one_of_their_draws() -> None:
    model = NoiseModel("absolute", rng(), np.array([1.0, 0.0]), np.array([-1.0, 1.0]))
    values = model.replicate(np.array([[5.0, 9.0], [7.0, np.nan]]), 400)
    assert set(values[:, 0]) == {5.0, 9.0}
    assert set(values[:, 1]) == {6.0, 8.0}


def test_depth_and_reevaluations_at_d_40() -> None:
    """Published: 266 generations of one draw, 211 with a mean of 3.95 re-evaluations."""
    problem = Sphere(40, noise=1.0)
    plain = RBPEM(k_max=0)(oracle_of(problem, 4000), 4000, 1)
    start = time.process_time()
    smoothed = RBPEM()(oracle_of(problem, 4000), 4000, 1)
    assert time.process_time() - start < 5.0
    assert (plain.nit, plain.n_reevaluations) == (267, 0)
    assert smoothed.nit == pytest.approx(211, abs=2)
    assert smoothed.n_reevaluations / smoothed.nit == pytest.approx(3.95, abs=0.1)


def test_three_draws_per_point() -> None:
    outcome = RBPEM(k_max=3)(oracle_of(Sphere(40, noise=1.0), 1500), 1500, 1)
    assert outcome.n_reevaluations / outcome.nit == pytest.approx(12, abs=1)


def test_misranking_is_zero_for_repeated_and_a_half_for_reversed_values() -> None:
    y = rng().standard_normal(8)
    assert as_run.misranking(y, y) == 0
    assert as_run.misranking(y, -y) == 0.5


def cma_es(budget: int) -> Outcome:
    return pycma.CMA(diagonal=True)(oracle_of(Sphere(), budget), budget, 11)


def test_stable_ranks_go_to_cma_es_afresh() -> None:
    outcome = ProbeSwitch()(oracle_of(Sphere()), 600, 11)
    assert np.array_equal(outcome.x, cma_es(600 - 20).x)


def test_unstable_ranks_go_to_rb_pem_afresh() -> None:
    outcome = ProbeSwitch(tau=0.0)(oracle_of(Sphere()), 600, 11)
    assert np.array_equal(outcome.x, RBPEM()(oracle_of(Sphere(), 580), 580, 11).x)


def test_warm_start_costs_four_evaluations_without_noise() -> None:
    outcome = as_run.get("probe-switch-warm")(oracle_of(Sphere(), 604), 604, 11)
    assert np.array_equal(outcome.x, cma_es(600).x)


def test_warm_start_keeps_the_first_generation_when_ranks_are_stable() -> None:
    outcome = as_run.get("probe-switch-warm")(oracle_of(Sphere(noise=1e-9), 610), 610, 11)
    assert outcome.nit == cma_es(600).nit


def test_warm_start_turns_to_rb_pem_under_noise() -> None:
    oracle = oracle_of(Sphere(noise=3.0))
    outcome = as_run.get("probe-switch-warm")(oracle, 600, 11)
    assert outcome.n_reevaluations > 0


@pytest.mark.parametrize("name", ["probe-switch", "probe-switch-warm", "rb-pem"])
def test_tiny_budgets(name: str) -> None:
    oracle = oracle_of(Sphere(), 13)
    assert np.all(np.isfinite(as_run.get(name)(oracle, 13, 1).x))
    assert oracle.remaining == 0


def test_without_a_box() -> None:
    problem = Sphere(3, noise=0.1)
    problem.bounds = None
    problem.sigma0 = 1.0  # type: ignore[attr-defined]
    outcome = RBPEM()(oracle_of(problem, 1500), 1500, 1)
    assert problem.regret(outcome.x[None])[0] < problem.regret(problem.x0[None])[0]


def test_seeds_are_the_published_ones() -> None:
    assert as_run.seed_of(108, 2, 40, 5) == 108_000_324 + 2018 + 280 + 5


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("rb-pen", "'rb-pen' is unknown; known are rb-pem"),
        ("rb-pem(weights='flat')", "weights must be 'power-lift' or 'log', got 'flat'"),
        ("rb-pem(noise_model='none')", "noise_model must be"),
        ("rb-pem(k_max=-1)", "k_max must be at least 0"),
    ],
)
def test_a_wrong_name_says_what_is_right(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_run.get(name)


def test_published_medians_of_f125() -> None:
    """Its two medians lie three standard deviations apart, so a few instances tell."""
    for name in ("rb-pem", "cma-es"):
        runs = [as_run.best_evaluated(as_run.get(name), 125, i) for i in (1, 2, 3)]
        assert np.median(runs) == pytest.approx(as_run.PUBLISHED[125][name], abs=0.1)


def test_check_prints_both_and_counts_wins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pretend(method: object, function: int, instance: int) -> float:
        return 1.0 if isinstance(method, RBPEM) else 2.0

    monkeypatch.setattr(as_run, "best_evaluated", pretend)
    monkeypatch.setattr(sys, "argv", ["as_run", "--check", "--instances", "2"])
    as_run.main()
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["f108", "1.00", "(", "2.37)", "2.00", "(", "2.39)"]
    assert lines[-1] == "rb-pem is better than cma-es on 30 of 30"


def test_without_check_the_names_are_listed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["as_run"])
    as_run.main()
    assert capsys.readouterr().out.split() == list(as_run.NAMES)
