"""Candidates handed out early and values that come late: nothing is lost, and unless the user
wants it so, the order of values leaves no trace."""

from __future__ import annotations

import concurrent.futures as cf
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.checkpoint import Journal
from noisewise.methods import CMAES, Method
from noisewise.population import Population
from noisewise_bench.reliability import virtual
from noisewise_bench.reliability.objective import bumpy, seconds


def start(method: Method, **options: Any) -> nw.Optimizer:
    budget = support.affordable(method, 80)
    return support.start(support.with_population(method, 6), budget=budget, **options)


def test_the_order_of_values_leaves_no_trace(named_method: Method) -> None:
    a, b = (start(named_method, lookahead=4) for _ in range(2))
    asked = support.drive(a)
    assert support.drive(b, rng=np.random.default_rng(1)) == asked
    assert support.same_result(a.result(), b.result())
    assert a.spent == a.budget
    assert sorted(asked) == list(range(a.budget))


@pytest.mark.parametrize("late", [0, 2])
def test_saved_and_loaded_after_every_value(
    named_method: Method, late: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda fd: None)
    monkeypatch.setattr("noisewise.optimizer.rehearse", lambda method, run: None)
    a, b = (start(named_method, lookahead=2, late=late, confirm=3) for _ in range(2))
    support.drive(a)
    while not b.done:
        for trial in b.ask():
            b.tell(trial.id, support.noisy(trial))
            waiting = b._search.waiting
            b.save(tmp_path / "run")
            b = nw.Optimizer.load(tmp_path / "run", b.method)
            b._search.waiting = waiting  # this driver does not want to be asked again
    assert support.same_result(a.result(), b.result())


@pytest.mark.parametrize("seed", range(3))
def test_never_more_than_the_budget(named_method: Method, seed: int) -> None:
    """Whatever is early, late or failing: all of it is spent, and no more."""
    rng = np.random.default_rng(seed)
    budget = int(rng.integers(7, 120))
    opt = nw.Optimizer(
        [2.0, 2.0],
        sigma0=1.0,
        budget=budget,
        rng=seed,
        method=support.with_population(named_method, [None, 4, 7][seed]),
        workers=int(rng.integers(1, 9)),
        lookahead=int(rng.integers(0, 12)),
        late=int(rng.integers(0, 6)),
    )
    asked = support.drive(
        opt, lambda t: float("nan") if t.id % 9 == 0 else support.noisy(t), rng=rng
    )
    assert opt.spent == budget == len(asked)
    assert np.isfinite(opt.result().x).all()


def test_candidates_of_the_next_generation_are_handed_out() -> None:
    opt = nw.Optimizer(
        [2.0] * 3, sigma0=1.0, budget=80, rng=0, method=CMAES(population=6), lookahead=4
    )
    first = opt.ask()
    assert [t.id for t in first] == list(range(10))
    for trial in first[6:]:  # nobody minds
        opt.tell(trial.id, support.noisy(trial))
    assert opt.generation == 0
    assert opt.result().fun_best_observed == min(map(support.noisy, first[6:]))
    opt.tell([t.id for t in first[:6]], [support.noisy(t) for t in first[:6]])
    assert opt.generation == 1
    second = opt.ask()
    assert [t.id for t in second] == list(range(10, 16))  # 2 of this generation, 4 of the next
    run = opt._run.current
    assert run is not None
    assert np.array_equal(run.X[:4], np.array([t.x for t in first[6:]]))
    assert np.isfinite(run.samples.values[:4, 0]).all()
    opt.tell([10, 11], [support.noisy(t) for t in second[:2]])
    assert opt.generation == 2
    lucky = min((support.noisy(t), t.id) for t in first + second[:2])
    assert opt.result().fun_best_observed == lucky[0]


def test_early_candidates_step_from_the_mean_they_were_sampled_around() -> None:
    opt = nw.Optimizer(
        [0.0] * 3, sigma0=1.0, budget=80, rng=0, method=CMAES(population=6), lookahead=4
    )
    for trial in opt.ask():
        opt.tell(trial.id, support.noisy(trial))
    opt.ask()
    run, mean = opt._run.current, opt._run.memory.state.mean
    assert run is not None
    moved = run.steps_from(mean, run.X)
    assert not np.array_equal(mean, np.zeros(3))
    assert np.allclose(moved[:4] - mean, run.X[:4])
    assert np.array_equal(moved[4:], run.X[4:])


def test_steps_from_elsewhere_would_not_survive_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where ranks are noise, candidates around the old mean would pull the new one back, and the
    step size, which sees steps undone, would collapse."""

    def regret(seed: int) -> float:
        opt = nw.Optimizer(
            [3.0] * 10,
            sigma0=1.0,
            budget=2000,
            rng=seed,
            method=CMAES(population=16),
            lookahead=8,
        )
        noise = np.random.default_rng(seed)
        while not opt.done:
            for trial in opt.ask():
                opt.tell(trial.id, float(trial.x @ trial.x) * noise.lognormal())
        x = opt.recommend().x
        return float(np.log10(x @ x))

    ours = np.mean([regret(seed) for seed in range(3)])
    monkeypatch.setattr(Population, "steps_from", lambda population, origin, X: X)
    assert np.mean([regret(seed) for seed in range(3)]) > ours + 0.5


def test_late_values_count_in_the_next_generation() -> None:
    opt = nw.Optimizer([2.0] * 3, sigma0=1.0, budget=80, rng=0, method=CMAES(population=6), late=2)
    first = opt.ask()
    for trial in first[:4]:
        opt.tell(trial.id, support.noisy(trial), se=0.5)
    assert opt.generation == 1
    assert opt.spent == 4
    second = opt.ask()
    assert len(second) == 4  # with the two that are late, six
    opt.tell(first[5].id, -7.0, se=0.25)
    assert opt.result().fun_best_observed == -7.0
    run = opt._run.current
    assert run is not None
    assert run.samples.values[1, 0] == -7.0
    assert run.samples.errors is not None
    assert run.samples.errors[1, 0] == 0.25
    with pytest.raises(ValueError, match="already told"):
        opt.tell(first[5].id, 1.0)
    opt.tell([t.id for t in second], [support.noisy(t) for t in second])
    assert opt.generation == 2
    assert opt.spent == 9  # first[4] is still late
    opt.tell(first[4].id, 3.0)
    assert opt.spent == 10


def test_a_value_may_be_late_more_than_once() -> None:
    """Each candidate keeps the mean that it was sampled around."""
    opt = nw.Optimizer([2.0] * 3, sigma0=1.0, budget=80, rng=0, method=CMAES(population=6), late=2)
    first = opt.ask()
    for trial in first[1:5]:
        opt.tell(trial.id, support.noisy(trial))
    second, mean = opt.ask(), opt._run.memory.state.mean.copy()
    opt.tell(first[5].id, 9.0)
    for trial in second[:3]:
        opt.tell(trial.id, support.noisy(trial))
    ahead = opt._run.next
    assert opt.generation == 2
    assert ahead is not None
    assert list(ahead.pending) == [first[0].id, second[3].id]
    assert np.array_equal(ahead.X, [first[0].x, second[3].x])
    assert np.array_equal(ahead.origins, [[2.0] * 3, mean])


def test_nobody_is_late_who_was_not_asked() -> None:
    """One who asks for one trial at a time is always waited for."""
    a, b = (start(CMAES(), late=late) for late in (0, 2))
    for opt in (a, b):
        while not opt.done:
            [trial] = opt.ask(1)
            opt.tell(trial.id, support.noisy(trial))
    assert support.same_result(a.result(), b.result())


@dataclass(frozen=True, kw_only=True)
class Greedy(CMAES):
    """Wants all that is left, after every candidate was evaluated once."""

    name: ClassVar[str] = "greedy"

    def request(self, memory: Any, population: Population, rng: np.random.Generator) -> Any:
        once, wave = np.arange(len(population)), population.wave
        return once if wave == 0 else np.tile(once, 100 * (wave == 1))


def test_a_greedy_method_leaves_company_for_early_candidates() -> None:
    """They would be a generation of nobody else, and all of its weight theirs."""
    opt = start(Greedy(), lookahead=3)
    support.drive(opt)
    assert opt.spent == 80
    assert list(opt.result().history["population"]) == [6.0, 7.0]


def test_a_run_with_late_values_can_be_replayed(tmp_path: Path) -> None:
    """Its journal has the order in which values came, which is all that it depends on."""
    given: dict[str, Any] = {
        "x0": [2.0] * 3,
        "sigma0": 1.0,
        "budget": 90,
        "rng": 0,
        "method": CMAES(population=8),
        "lookahead": 2,
        "late": 3,
    }
    opt, rng = nw.Optimizer(**given), np.random.default_rng(5)
    journal = Journal(tmp_path / "run")
    journal.open(opt.method, opt._run)
    waiting: list[nw.Trial] = []
    while opt.spent < 70:
        waiting += opt.ask()
        trial = waiting.pop(int(rng.integers(len(waiting))))
        journal.append([trial.id], [support.noisy(trial)])
        opt.tell(trial.id, support.noisy(trial))
    journal.close()
    opt.ask()
    loaded = nw.Optimizer.load(tmp_path / "run")
    loaded.ask()
    assert support.data_of(loaded) == support.data_of(opt)
    assert opt.generation > 8
    with cf.ThreadPoolExecutor(4) as pool:
        r = nw.minimize(support.bumpy, **given, executor=pool)
    assert r.nfev == 90


@pytest.mark.parametrize("name", ["lookahead", "late"])
def test_as_many_as_a_float_can_count_can_be_saved(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a whole number of at most"):
        start(CMAES(), **{name: 10**400})
    opt = start(CMAES(), **{name: 2**53})
    opt.save(tmp_path / "run")
    opt = nw.Optimizer.load(tmp_path / "run")
    support.drive(opt, rng=np.random.default_rng(0))
    assert opt.spent == 80


def test_what_is_handed_out_early_by_default() -> None:
    def lookahead(method: Any, **options: Any) -> int:
        given = {"x0": [0.0] * 10, "sigma0": 1.0, "budget": 2000} | options
        return int(nw.Optimizer(method=method, **given)._run.setup.lookahead)

    assert lookahead("auto") == 0
    assert lookahead("auto", workers=8) == 4
    assert lookahead("cma-es", workers=8) == 4
    assert lookahead(CMAES(population=16), workers=8) == 0  # what the user chose stays as it is
    assert lookahead(CMAES(population=16), workers=8, lookahead=3) == 3
    assert lookahead("cma-es", workers=100, budget=500) == 0  # too few for half of them
    for name in ("lookahead", "late"):
        with pytest.raises(ValueError, match=f"^{name} must be"):
            lookahead("auto", **{name: -1})


@pytest.mark.parametrize("method", ["auto", "cma-es"])
@pytest.mark.parametrize("d", [3, 10])
@pytest.mark.parametrize(("sd", "least"), [(0.0, 0.9), (0.5, 0.75)])
def test_eight_workers_are_busy(method: str, d: int, sd: float, least: float) -> None:
    opt = nw.Optimizer([2.0] * d, sigma0=1.0, budget=600, rng=1, method=method, workers=8)
    shift = virtual.run(opt, bumpy, lambda x: seconds(x, 1.0, sd), 8)
    assert shift.result.nfev == 600
    assert least < shift.utilisation <= 1.0
