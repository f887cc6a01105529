"""auto: which method is in charge, when the model hands over, and that a run survives it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.methods import GP, Auto, Watchful
from noisewise.methods.auto import AutoMemory
from noisewise.methods.auto_tuning import AutoTuning
from noisewise.methods.method import Handover


def pure_noise(trial: nw.Trial) -> float:
    """A value that says nothing about the point."""
    return float(np.random.default_rng([trial.id, 3]).normal())


def noiseless(trial: nw.Trial) -> float:
    return float(trial.x @ trial.x)


def in_charge(d: int, budget: int, **options: Any) -> str:
    memory = Auto(**options).start(support.setup(d, budget))
    if isinstance(memory, Handover):
        return memory.method.name
    return f"gp opens for {memory.opening}" if memory.opening else "gp"


@pytest.mark.parametrize(
    ("d", "least", "most", "beyond"),
    [
        (1, 2, 100, "gp opens for 50"),
        (2, 4, 200, "gp opens for 100"),
        (3, 6, 300, "gp opens for 100"),
        (5, 10, 300, "gp opens for 125"),
        (6, 12, 300, "gp opens for 150"),
        (7, 14, 300, "gp opens for 150"),
        (8, 40, 300, "gp opens for 150"),
        (10, 50, 300, "gp opens for 150"),
    ],
)
def test_the_model_is_in_charge_of_few_evaluations(
    d: int, least: int, most: int, beyond: str
) -> None:
    """Between 2 (5 beyond seven) and 100 per coordinate, and at most 300. It opens longer runs: in
    at most five dimensions for 25 evaluations per coordinate, at least 100, and at most half of the
    budget; in up to ten for half of it."""
    found = [in_charge(d, budget) for budget in (least - 1, least, most, most + 1)]
    assert found == ["watchful", "gp", "gp", beyond]


@pytest.mark.parametrize("budget", [55, 100, 300, 1000])
def test_the_model_is_in_charge_of_few_dimensions(budget: int) -> None:
    assert in_charge(11, budget) == "watchful"


def test_the_model_can_be_left_out() -> None:
    assert in_charge(3, 100) == "gp"
    assert in_charge(3, 100, model=False) == "watchful"
    assert in_charge(3, 100, population=8) == "watchful"
    assert in_charge(3, 400, model=False) == "watchful"


def test_the_model_does_not_open_a_run_with_common_seeds() -> None:
    setup = replace(support.setup(3, 400), common=True)
    assert isinstance(Auto().start(setup), Handover)


@pytest.mark.parametrize(
    ("budget", "options", "other"),
    [
        (60, {}, GP()),
        (400, {}, Watchful()),
        (60, {"population": 5}, Watchful(population=5)),
        (60, {"model": False, "covariance": "full"}, Watchful(covariance="full")),
        (400, {"covariance": "diagonal"}, Watchful(covariance="diagonal")),
        (400, {"grow": False}, Watchful(grow=False)),
        (400, {"centred": False, "scores": 0.0}, Watchful(centred=False, scores=0.0)),
    ],
)
def test_auto_is_the_method_in_charge(
    budget: int, options: dict[str, Any], other: nw.methods.Method
) -> None:
    """The same trials and the same answer, to the bit, whatever options are forwarded."""
    d = 3 if budget < 400 else 11
    pair = [support.start(method, d, budget) for method in (Auto(**options), other)]
    asked = [support.drive(opt) for opt in pair]
    assert asked[0] == asked[1]
    a, b = (opt.recommend() for opt in pair)
    assert a.x.tobytes() == b.x.tobytes()
    assert (a.fun, a.fun_se, a.interval) == (b.fun, b.fun_se, b.interval)


@pytest.mark.parametrize("option", ["covariance", "population", "grow", "centred", "scores"])
def test_every_option_reaches_the_strategy(option: str) -> None:
    value = {"covariance": "diagonal", "population": 9, "scores": 0.25}.get(option, False)
    expected = replace(Watchful(), **{option: value})
    assert Auto(**{option: value})._watchful == expected
    assert expected != Watchful()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_model_that_does_not_predict_hands_over(seed: int) -> None:
    """From then on the history has step sizes and populations of the strategy."""
    opt = support.start(Auto(), 6, 200, rng=seed, confirm=0)
    support.drive(opt, lambda trial: pure_noise(trial) + seed)
    r, handed_over = opt.result(), support.handed_over(opt)
    assert 72 <= handed_over < 200
    assert r.nfev == 200
    assert f"a model handed over after {handed_over} evaluations" in r.message
    model = r.history["evaluations"] <= handed_over
    assert model.any()
    assert not model.all()
    assert np.isnan(r.history["sigma"][model]).all()
    assert (r.history["sigma"][~model] > 0.0).all()
    assert np.isnan(r.history["noise_share"][~model]).all()
    assert (r.history["population"][model][1:] == 1).all()
    assert (r.history["population"][~model] > 1).all()


def test_the_strategy_goes_on_where_the_model_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """It starts from the model's search distribution and knows the best values so far."""
    found: list[Any] = []
    hand_over = Auto._hand_over

    def watched(self: Auto, memory: Any, free: int, anew: str = "") -> Handover:
        found.append(GP().distribution(memory))
        handover = hand_over(self, memory, free, anew)
        found.append(Watchful().distribution(handover.memory))
        assert handover.memory.budget == free
        return handover

    monkeypatch.setattr(Auto, "_hand_over", watched)
    seen: list[tuple[float, bytes]] = []
    opt = support.start(Auto(), 6, 310, bounds=(-5.0, 5.0), confirm=0)
    while not (found or opt.done):
        for trial in opt.ask():
            seen.append((pure_noise(trial), trial.x.tobytes()))
            opt.tell(trial.id, seen[-1][0])
    memory, (before, after) = opt._run.memory, found
    assert support.handed_over(opt) == len(seen)
    np.testing.assert_array_equal(after.mean, before.mean)
    box, best = opt._run.setup.box, memory.best
    kept = {(y, box.outer(x).tobytes()) for y, x in zip(best.values, best.X, strict=True)}
    assert len(kept) >= 5
    assert kept == set(sorted(seen)[: len(kept)])


def weak_noise(trial: nw.Trial) -> float:
    return float(trial.x @ trial.x) + 0.01 * pure_noise(trial)


@pytest.mark.parametrize("noise", [0.5, 3.0])
def test_the_model_keeps_a_noisy_run_of_few_parameters(noise: float) -> None:
    def value(trial: nw.Trial) -> float:
        return float(trial.x @ trial.x) + noise * pure_noise(trial)

    opt = support.start(Auto(), 2, 250, confirm=0, bounds=(-5.0, 5.0))
    assert opt._run.memory.opening == 100
    while opt.spent < 100:
        for trial in opt.ask():
            opt.tell(trial.id, value(trial))
    assert opt._run.memory.opening == 0
    opt.extend(100)  # a longer budget, but none for the strategy
    support.drive(opt, value)
    r = opt.result()
    assert r.nfev == 350
    assert "handed over" not in r.message
    assert "began anew" not in r.message


def test_rare_outliers_are_for_the_strategy() -> None:
    """Ranks ignore them; a model would take them for noise that all values have."""
    noise = np.random.default_rng(0)

    def value(trial: nw.Trial) -> float:
        off = abs(float(noise.standard_cauchy())) if noise.random() < 0.2 else 0.0
        return float(trial.x @ trial.x) + off

    opt = support.start(Auto(), 2, 400, confirm=0, bounds=(-5.0, 5.0))
    support.drive(opt, value)
    assert 15 <= support.handed_over(opt) <= 100
    assert opt.result().x @ opt.result().x < 1e-4


def test_noise_that_falls_with_the_values_is_for_the_strategy() -> None:
    def value(trial: nw.Trial) -> float:
        return float(trial.x @ trial.x) * math.exp(pure_noise(trial))

    opt = support.start(Auto(), 2, 400, confirm=0, bounds=(-5.0, 5.0))
    support.drive(opt, value)
    assert 15 <= support.handed_over(opt) <= 100


def test_a_long_run_is_opened_by_the_model() -> None:
    """The strategy goes on from its minimum, with steps as long as that is uncertain."""
    opt = support.start(Auto(), 2, 1200, confirm=0, bounds=(-5.0, 5.0))
    while opt.spent < 100:
        for trial in opt.ask():
            opt.tell(trial.id, weak_noise(trial))
    memory = opt._run.memory
    assert support.handed_over(opt) == 100
    assert np.abs(memory.state.mean).max() < 0.1
    assert memory.state.sigma < 0.1
    support.drive(opt, weak_noise)
    assert opt.result().nfev == 1200
    assert "a model handed over after 100 evaluations" in opt.result().message


def noisier(trial: nw.Trial) -> float:
    return weak_noise(trial) + 10.0 * pure_noise(trial)


@pytest.mark.parametrize(
    ("fun", "why"),
    [
        (noisier, "a model explained too little"),
        (lambda trial: 3.0, "all values were equal"),
        (lambda trial: math.nan if trial.id < 30 else weak_noise(trial), "nothing had succeeded"),
    ],
)
def test_a_run_that_begins_anew_says_why(fun: Callable[[nw.Trial], float], why: str) -> None:
    opt = support.start(Auto(), 2, 1200, confirm=0, bounds=(-5.0, 5.0))
    support.drive(opt, fun)
    handed_over = support.handed_over(opt)
    assert 15 <= handed_over < 100
    said = f"{why} after {handed_over} evaluations, so a strategy began anew; "
    assert said in opt.result().message


@pytest.mark.parametrize("d", [1, 2, 4])
def test_a_model_of_few_parameters_does_not_hand_over(d: int) -> None:
    opt = support.start(Auto(), d, 100, confirm=0)
    support.drive(opt, pure_noise)
    assert support.handed_over(opt) == 0


def test_more_budget_does_not_end_an_opening() -> None:
    opt = support.start(Auto(), 2, 1200, confirm=0, bounds=(-5.0, 5.0))
    while opt.spent < 100:
        for trial in opt.ask():
            opt.tell(trial.id, weak_noise(trial))
        if opt.spent == 20:
            opt.extend(1200)
    assert support.handed_over(opt) == 100


@pytest.mark.parametrize("workers", [4, 16])
def test_what_the_model_proposed_does_not_widen_the_strategy(workers: int) -> None:
    """Its candidates that are under way at the hand-over come from no distribution of a strategy:
    their steps are as long as those of samples at most."""
    opt = support.start(Auto(), 2, 1200, confirm=0, bounds=(-5.0, 5.0), workers=workers)
    while isinstance(opt._run.memory, AutoMemory):
        for trial in opt.ask():
            opt.tell(trial.id, weak_noise(trial))
    assert 100 <= support.handed_over(opt) < 108
    assert opt._run.memory.state.sigma < 0.1
    while opt.spent < 200:
        for trial in opt.ask():
            opt.tell(trial.id, weak_noise(trial))
    assert opt._run.memory.state.sigma < 0.1


def test_candidates_of_the_model_reach_the_strategy_that_takes_over() -> None:
    """They wait for their values, and are learnt from when these are there."""
    opt = support.start(Auto(), 2, 1200, confirm=0, bounds=(-5.0, 5.0), workers=8)
    held: list[nw.Trial] = []
    while isinstance(opt._run.memory, AutoMemory):
        held += opt.ask()
        trial = held.pop(0)
        opt.tell(trial.id, weak_noise(trial))
    [group] = opt._run.pool
    assert sorted(group.pending) == [t.id for t in held]
    assert group.origins is not None
    assert np.isnan(group.origins.sigmas).all()
    support.drive_on(opt, held, weak_noise)
    assert opt.spent == 1200
    assert opt.result().history["population"][support.handed_over(opt)] > 1


@pytest.mark.parametrize("value", [pure_noise, lambda trial: float("nan")])
def test_the_strategy_begins_anew_where_noise_is_strong(value: Any) -> None:
    """After 15 values, from the start of the run; without any success, too."""
    opt = support.start(Auto(), 2, 1200, confirm=0, bounds=(-5.0, 5.0))
    while isinstance(opt._run.memory, AutoMemory):
        for trial in opt.ask():
            opt.tell(trial.id, value(trial))
    memory, first = opt._run.memory, Watchful().start(opt._run.setup)
    assert 15 <= support.handed_over(opt) <= 60
    assert memory.state.mean.tolist() == first.state.mean.tolist()
    assert memory.state.sigma == first.state.sigma


def _with_data(y_of: Any, value: Any, budget: int = 1200) -> tuple[nw.Optimizer, dict[int, bytes]]:
    X = np.random.default_rng(0).uniform(-5.0, 5.0, (40, 2))
    data = None if y_of is None else (X, y_of(X))
    opt = support.start(Auto(), 2, budget, confirm=0, bounds=(-5.0, 5.0), data=data)
    return opt, support.drive(opt, value)


@pytest.mark.parametrize("noise", [0.01, 5.0])
def test_data_that_are_not_used_change_nothing(noise: float) -> None:
    """Whether the strategy begins anew or goes on from the model."""

    def value(trial: nw.Trial) -> float:
        return float(trial.x @ trial.x) + noise * pure_noise(trial)

    opposite, plain = (_with_data(y, value) for y in (lambda X: -np.sum(X * X, axis=1), None))
    assert "dropped" in opposite[0].result().message
    assert opposite[1] == plain[1]
    assert (support.handed_over(plain[0]) < 100) == (noise > 1.0)


def test_data_that_help_are_not_given_up() -> None:
    """Noise lets the strategy begin anew, but with data it goes on from the model."""

    def noisy(trial: nw.Trial) -> float:
        return float(trial.x @ trial.x) + 5.0 * pure_noise(trial)

    with_data, plain = (_with_data(y, noisy)[0] for y in (lambda X: np.sum(X * X, axis=1), None))
    assert support.handed_over(plain) < 100
    assert support.handed_over(with_data) == 100
    assert "the model uses 40 rows" in with_data.result().message


def test_data_help_a_run_in_which_everything_fails() -> None:
    noise = np.random.default_rng(1)
    opt, _ = _with_data(
        lambda X: np.sum(X * X, axis=1) + 5.0 * noise.normal(size=len(X)), _failed, 400
    )
    assert opt._run.ledger.charged > 0
    assert np.isfinite(opt.result().x).all()


def _failed(trial: nw.Trial) -> float:
    return math.nan


def test_a_model_that_predicts_stays() -> None:
    opt = support.start(Auto(), budget=80, confirm=0)
    support.drive(opt, noiseless)
    assert support.handed_over(opt) == 0
    assert "Gaussian process" in opt.result().message


def test_a_small_feasible_corner_is_found() -> None:
    """The model proposes one point at a time; a few failures in a row do not end the run."""
    for seed in range(5):
        r = nw.minimize(
            lambda x: np.nan if x.max() > 0.45 else float(x @ x),
            bounds=[(0, 1)] * 2,
            budget=40,
            rng=seed,
        )
        assert r.nfev == 40
        assert r.x.max() <= 0.45


def test_open_bounds_do_not_send_the_model_away() -> None:
    """From x0 = 2 with steps of 1, no evaluation lies dozens of steps away."""
    far: list[float] = []

    def sphere(x: np.ndarray) -> float:
        far.append(float(np.abs(x - 2.0).max()))
        return float(x @ x)

    for seed in range(3):
        nw.minimize(sphere, [2.0] * 3, sigma0=1.0, budget=40, rng=seed)
    assert max(far) < 20.0


@pytest.mark.parametrize(("d", "budget"), [(6, 160), (5, 400)])
def test_resume_is_exact_across_the_hand_over(tmp_path: Path, d: int, budget: int) -> None:
    """Saved and loaded again and again, before and after the model hands over."""
    path, told = tmp_path / "run", 0

    def saved(opt: nw.Optimizer) -> nw.Optimizer:
        nonlocal told
        told += 1
        if told % 7:
            return opt
        opt.save(path)
        return nw.Optimizer.load(path)

    method = Auto(tuning=AutoTuning(hands_over_each=1))
    whole, parts = (support.start(method, d, budget, bounds=(-5.0, 5.0)) for _ in range(2))
    asked = support.drive(whole, pure_noise)
    again: dict[int, bytes] = {}
    while not parts.done:
        for trial in parts.ask():
            again[trial.id] = trial.x.tobytes()
            parts.tell(trial.id, pure_noise(trial))
        parts = saved(parts)
    assert 7 < support.handed_over(whole) < 100
    assert again == asked
    assert support.data_of(parts) == support.data_of(whole)
    assert support.same_result(parts.result(), whole.result())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariance": "none"}, "covariance must be one of 'auto', 'full', 'diagonal'"),
        ({"population": 1}, "population must be"),
        ({"scores": 2.0}, "scores must be a number between 0 and 1, got 2.0"),
    ],
)
def test_options_check_themselves(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Auto(**options)


def test_steep_functions_without_noise_are_found_exactly() -> None:
    """Values over three decades are not taken for noise that falls with them."""
    for seed in range(3):
        r = nw.minimize(
            lambda x: float(np.expm1(8.0 * np.sum((x - 0.3) ** 2))),
            [0.5] * 3, bounds=[(0, 1)] * 3, budget=60, rng=seed,
        )  # fmt: skip
        assert np.abs(r.x - 0.3).max() < 0.005


def test_under_strong_noise_the_answer_can_lie_in_a_corner() -> None:
    """The average of good points, which lies inside, does not pull it out of the box's corner."""
    near = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        r = nw.minimize(
            lambda x, rng=rng: float(x.sum() + rng.normal()),
            [0.5] * 3, bounds=[(0, 1)] * 3, budget=100, rng=seed,
        )  # fmt: skip
        near.append(r.x.sum())
    assert np.median(near) < 0.15
