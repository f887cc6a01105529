"""Exact PEM as a method."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.cma.weights import Log
from noisewise.methods import CMAES, PEM


def _draws(X: Any, n: int, rng: np.random.Generator) -> Any:
    return (X * X).sum(axis=1) + 3.0 * rng.normal(size=(n, len(X)))


def test_draws_are_not_charged() -> None:
    """The budget counts what the user evaluates, not what the study draws."""
    drawn = []

    def counting(X: Any, n: int, rng: np.random.Generator) -> Any:
        drawn.append(n * len(X))
        return _draws(X, n, rng)

    opt = support.start(PEM(draws=counting, n_draws=50, population=6), budget=60, confirm=0)
    support.drive(opt)
    assert opt.spent == 60
    assert drawn == [300] * 10
    assert opt.result().n_reevaluations == 0


def test_draws_see_the_users_coordinates() -> None:
    """Points are those that would be evaluated, bounds and scaling included."""
    seen: list[Any] = []

    def looking(X: Any, n: int, rng: np.random.Generator) -> Any:
        seen.append(X.copy())
        return _draws(X, n, rng)

    opt = nw.Optimizer(
        budget=8,
        bounds=[(0.0, 1.0), (100.0, 900.0)],
        method=PEM(draws=looking, population=8),
        rng=0,
        confirm=0,
    )
    asked = [t.x for t in opt.ask()]
    opt.tell(list(range(8)), np.ones(8))
    np.testing.assert_array_equal(seen[0], asked)


def test_without_noise_it_is_cma_es() -> None:
    """Expected weights of a certain ranking are the hard ones."""

    def exact(X: Any, n: int, rng: np.random.Generator) -> Any:
        return np.tile((X * X).sum(axis=1), (n, 1))

    methods = PEM(draws=exact, n_draws=1), CMAES(covariance="diagonal")
    runs = [support.start(method, budget=300) for method in methods]
    points = [support.drive(opt, lambda t: float((t.x * t.x).sum())) for opt in runs]
    assert points[0] == points[1]


def test_it_beats_hard_ranks_where_noise_dominates() -> None:
    """The yardstick is worth measuring against: same engine, same noise, better on average."""

    def regret(method: Any, seed: int) -> float:
        noise = np.random.default_rng(seed)
        r = nw.minimize(
            lambda X: _draws(X, 1, noise)[0],
            np.full(10, 2.0),
            sigma0=0.3,
            budget=800,
            method=method,
            rng=seed,
            vectorized=True,
        )
        return float(np.log10(r.x @ r.x))

    pem, hard = PEM(draws=_draws), CMAES(covariance="diagonal")
    gains = [regret(hard, seed) - regret(pem, seed) for seed in range(10)]
    assert np.mean(gains) > 0.2
    assert np.mean(np.array(gains) > 0.0) >= 0.8


def test_expected_active_weights_keep_rates_sane() -> None:
    """Negative weights cancel positive ones in the average; mu_eff must not run away."""
    opt = support.start(PEM(draws=_draws, profile=Log(active=True), population=8), budget=400)
    support.drive(opt)
    mu_eff = opt.result().history["mu_eff"]
    assert mu_eff.min() >= 1.0
    assert mu_eff.max() <= 8.0


def test_all_equal_active_weights() -> None:
    """Two candidates that win equally often have no positive weight left; both count then."""

    def alternating(X: Any, n: int, rng: np.random.Generator) -> Any:
        return np.array([[0.0, 1.0], [1.0, 0.0]])

    method = PEM(draws=alternating, n_draws=2, profile=Log(active=True), population=2)
    opt = support.start(method, budget=10)
    before = opt.recommend().x
    points = [t.x for t in opt.ask()]
    opt.tell([0, 1], np.array([1.0, 2.0]))
    np.testing.assert_allclose(opt.recommend().x, np.mean(points, axis=0))
    assert not np.array_equal(before, opt.recommend().x)


@pytest.mark.parametrize("stop", [1, 7, 20, 33])
def test_exact_resume(stop: int, tmp_path: Path) -> None:
    """Saved with the function left out and resumed with it given again: the same to the bit."""
    method, path = PEM(draws=_draws, population=6), tmp_path / "run"
    whole = support.start(method, budget=48)
    points = support.drive(whole)
    told = 0

    def break_off(opt: nw.Optimizer) -> nw.Optimizer:
        nonlocal told
        told += 1
        if told != stop:
            return opt
        opt.save(path)
        return nw.Optimizer.load(path, method=PEM(draws=_draws, population=6))

    resumed = support.start(method, budget=48)
    opt = resumed
    asked: dict[int, bytes] = {}
    while not opt.done:
        for trial in opt.ask():
            asked[trial.id] = trial.x.tobytes()
            opt.tell(trial.id, support.noisy(trial))
            again = break_off(opt)
            if again is not opt:
                opt = again
                break
    assert asked == points
    assert support.data_of(opt) == support.data_of(whole)


def test_load_without_the_function_says_so(tmp_path: Path) -> None:
    path = tmp_path / "run"
    support.start(PEM(draws=_draws)).save(path)
    with pytest.raises(nw.CheckpointError, match="holds a function: give it again as method"):
        nw.Optimizer.load(path)


def test_the_model_knows_more_than_the_values() -> None:
    """Over generations of the same noise, weights follow the true ranks better than values do."""
    method, rng = PEM(draws="model", n_draws=64), np.random.default_rng(0)
    memory = method.start(support.setup(2))
    ours, theirs = [], []
    for generation in range(15):
        memory.generation = generation
        X = rng.normal(size=(12, 2))
        f = X @ [1.0, -2.0]
        y = f + 3.0 * rng.normal(size=12)
        weights, memory = method.weigh(memory, support.population(y, X), rng)
        w = weights.covariance
        assert w.sum() == pytest.approx(1.0)
        assert 1.0 / float(w @ w) > 3.2  # flatter than log weights
        ours.append(np.corrcoef(w, -f)[0, 1])
        theirs.append(np.corrcoef(Log().weights(12)[y.argsort().argsort()], -f)[0, 1])
    assert np.mean(ours[3:]) > np.mean(theirs[3:]) + 0.1


def test_a_run_with_the_model_repeats_itself_and_resumes(tmp_path: Path) -> None:
    """State is data: a run that was saved goes on to the bit."""
    method = PEM(draws="model", n_draws=16, population=6)
    whole = support.start(method, budget=90)
    points = support.drive(whole)
    opt = support.start(method, budget=90)
    asked = {}
    for _ in range(5):
        for t in opt.ask():
            asked[t.id] = t.x.tobytes()
            opt.tell(t.id, support.noisy(t))
    opt.save(tmp_path / "run")
    resumed = nw.Optimizer.load(tmp_path / "run", method=method)
    assert asked | support.drive(resumed) == points
    assert resumed.result().warnings == []


def test_the_model_of_failed_candidates() -> None:
    """They weigh nothing and are not kept; one that succeeded has all the weight it can have."""
    method = PEM(draws="model", n_draws=16)
    memory = method.start(support.setup(2))
    X, rng = np.random.default_rng(0).normal(size=(6, 2)), np.random.default_rng(1)
    y = np.array([1.0, np.inf, 0.5, 3.0, np.inf, 2.0])
    weights, memory = method.weigh(memory, support.population(y, X), rng)
    assert weights.covariance[[1, 4]].tolist() == [0.0, 0.0]
    assert weights.covariance.sum() == pytest.approx(1.0)
    assert memory.archive is not None
    assert memory.archive.size == 4
    alone = np.array([np.inf, 1.0, *[np.inf] * 4])
    weights, memory = method.weigh(memory, support.population(alone, X), rng)
    assert weights.covariance.argmax() == 1


@pytest.mark.parametrize("draws", [3, "f"])
def test_draws_must_be_a_function(draws: Any) -> None:
    with pytest.raises(ValueError, match="draws must be None, 'model' or a function"):
        PEM(draws=draws)


def test_wrong_shape_of_draws() -> None:
    opt = support.start(PEM(draws=lambda X, n, rng: np.zeros(len(X)), n_draws=4, population=6))
    with pytest.raises(ValueError, match=r"draws must return shape \(4, 6\), got \(6,\)"):
        support.drive(opt)
