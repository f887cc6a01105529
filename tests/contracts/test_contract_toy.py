"""The interface suits a method without a search distribution that learns."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from contracts.toy import Toy
from noisewise._types import IntArray
from noisewise.cma.evolution import EvolutionStrategy
from noisewise.measured.population import Population
from noisewise.methods import CMAES, ProbeSwitch
from noisewise.methods.method import NOTHING, Distribution, everyone
from noisewise.report import facts
from noisewise.report.page import page

_SPREAD = np.array([0.5, 1.0, 4.0])


def _covariance(state: Any) -> Any:
    C = state.covariance.C
    return state.sigma**2 * (np.diag(C) if C.ndim == 1 else C)


def test_it_goes_through_every_contract_and_is_no_evolution_strategy() -> None:
    assert isinstance(support.METHODS["toy"], Toy)
    assert not isinstance(support.METHODS["toy"], EvolutionStrategy)
    with pytest.raises(ValueError, match="low must be an evolution strategy or None"):
        ProbeSwitch(low=Toy())  # type: ignore[arg-type]


def test_the_best_of_every_batch_are_evaluated_twice_more() -> None:
    opt = support.start(Toy(population=6, again=2), budget=30, confirm=0)
    while not opt.done:
        first = opt.ask()
        values = {t.x.tobytes(): support.noisy(t) for t in first}
        opt.tell([t.id for t in first], list(values.values()))
        again = opt.ask()
        assert [t.kind for t in again] == ["reevaluation"] * 4
        best = sorted(values, key=values.__getitem__)[:2]
        assert [t.x.tobytes() for t in again] == best * 2
        opt.tell([t.id for t in again], [support.noisy(t) for t in again])
    assert opt.result().n_reevaluations == 12


def test_it_recommends_the_smallest_mean_not_the_luckiest_draw() -> None:
    opt = support.start(Toy(population=4, again=2), budget=8, confirm=0)
    first = opt.ask()
    opt.tell([t.id for t in first], [-9.0, 1.0, 2.0, 3.0])
    again = opt.ask()
    opt.tell([t.id for t in again], [30.0, 1.0, 30.0, 4.0])
    r = opt.result()
    assert r.x.tobytes() == first[1].x.tobytes()
    assert r.x_best_observed.tobytes() == first[0].x.tobytes()
    assert (r.fun, r.fun_best_observed) == (2.0, -9.0)
    assert math.isnan(r.fun_se)
    np.testing.assert_array_equal(r.history["incumbent"], [2.0])


def test_without_bounds_it_samples_around_the_start() -> None:
    opt = support.start(Toy(), budget=600, x0=[10.0, -5.0], sigma0=0.5)
    X = np.array([np.frombuffer(x) for x in support.drive(opt).values()])
    away = np.abs(X - [10.0, -5.0])
    assert (away <= 1.5).all()
    assert (away.max(axis=0) > 1.4).all()


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_it_hands_over_to_an_evolution_strategy(covariance: str) -> None:
    opt = support.start(Toy(), budget=60)
    support.drive(opt)
    run = opt._run
    handed = opt.method.distribution(run.memory)
    method = CMAES(covariance=covariance)
    state = method.start(run.setup, handed).state
    np.testing.assert_array_equal(run.setup.box.outer(state.mean), opt.recommend().x)
    np.testing.assert_allclose(_covariance(state), 3.0 * np.eye(3))  # uniform on [-3, 3]
    X = method.propose(method.start(run.setup, handed), 5, np.empty((0, 3)), None, run.search)
    assert X.shape == (5, 3)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_it_takes_over_from_an_evolution_strategy(covariance: str) -> None:
    C = np.diag(_SPREAD**2)
    if covariance == "full":
        C[0, 1] = C[1, 0] = 0.3
    setup, mean = support.setup(3), np.array([1.0, 2.0, 3.0])
    given = Distribution(mean, 0.5, C if covariance == "full" else np.diagonal(C))
    method = CMAES(covariance=covariance)
    memory = method.start(setup, given)
    np.testing.assert_allclose(_covariance(memory.state), 0.25 * C, atol=1e-12)
    ours = Toy().start(setup, method.distribution(memory))
    np.testing.assert_array_equal(Toy().recommend(ours).x, mean)
    np.testing.assert_allclose(ours.reach, 1.5 * _SPREAD)


@pytest.mark.parametrize("options", [{"workers": 4}, {"workers": 9}, {"batch": 5}])
def test_candidates_that_gather_need_no_origin(options: dict[str, int], tmp_path: Path) -> None:
    """Also through a file at any time."""

    def through_a_file(opt: nw.Optimizer) -> nw.Optimizer:
        path = tmp_path / "run"
        opt.save(path)
        return nw.Optimizer.load(path)

    rng = np.random.default_rng(0)
    opt = support.start(Toy(population=6), budget=80, **options)
    asked: set[int] = set()
    while not opt.done:
        trials = opt.ask()
        asked |= {t.id for t in trials}
        picked = trials[int(rng.integers(len(trials)))]
        opt.tell(picked.id, support.noisy(picked))
        opt = through_a_file(opt)
    assert asked == set(range(80))
    assert opt.result().nfev == 80


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("twice", [True, False])
def test_values_find_their_candidates_in_whatever_order_they_are_requested(
    monkeypatch: pytest.MonkeyPatch, at_once: bool, twice: bool
) -> None:
    def backwards(self: Toy, memory: Any, population: Population, rng: Any) -> IntArray:
        order = everyone(len(population))[::-1]
        if population.wave > 0:
            seen = population.samples.values
            expected = np.tile(population.X[:, :1], seen.shape[1])
            np.testing.assert_array_equal(seen, np.where(np.isnan(seen), seen, expected))
            return NOTHING
        return np.repeat(order, 2) if twice else order

    monkeypatch.setattr(Toy, "request", backwards)
    opt = nw.Optimizer([1.0, 2.0], sigma0=1.0, budget=60, method=Toy(), rng=0, confirm=0)
    while not opt.done:
        trials = opt.ask()
        values = [float(t.x[0]) for t in trials]
        if at_once:
            opt.tell([t.id for t in trials], values)
        else:
            for trial, value in zip(trials, values, strict=True):
                opt.tell(trial.id, value)
    assert opt.generation > 3


def test_results_without_a_step_size_are_plotted() -> None:
    """No column of the history but those of the loop may be taken for granted."""
    pytest.importorskip("matplotlib")
    opt = support.start(Toy())
    support.drive(opt)
    assert "sigma" not in opt.result().history
    assert len(opt.result().plot()) > 0


def test_a_run_without_a_step_size_has_a_page() -> None:
    opt = support.start(Toy())
    support.drive(opt)
    text = page(facts.of(opt, "toy"))
    assert "</html>" in text
    assert "Step size" not in text
