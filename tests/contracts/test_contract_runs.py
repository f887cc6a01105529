"""What every method keeps to, whatever its parts: budget, order, reproducibility."""

from __future__ import annotations

import functools
import hashlib
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
import support
from noisewise.methods import RBPEM, Method
from noisewise.run.run import ALL_FAILED, BUDGET_SPENT

_BOUNDS = {
    "none": None,
    "scalars": (-5.0, 5.0),
    "arrays": (np.array([-5.0, -2.0, -1.0]), np.array([5.0, 2.0, 100.0])),
    "pairs": [(-5.0, None), (None, 2.5), (None, None)],
    "below": (-np.inf, 2.0),
    "tight": [(2.0, 2.0 + 1e-9), (-1e6, 1e6), (1.9, 2.1)],
}


@pytest.mark.untraced
@given(
    budget=st.integers(1, 120),
    d=st.integers(1, 6),
    population=st.none() | st.integers(2, 20),
    reserve=st.integers(0, 8),
    failing=st.sampled_from([0.0, 0.2, 0.9, 1.0]),
    seed=st.integers(0, 10**6),
)
def test_never_overspends_and_uses_the_whole_budget(
    method: Method,
    budget: int,
    d: int,
    population: int | None,
    reserve: int,
    failing: float,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    if "noise_share" in method.columns:  # a model is fitted again and again
        budget = 1 + budget % 40

    def value(trial: nw.Trial) -> float:
        if rng.random() < failing:
            return float(rng.choice([np.nan, np.inf]))
        return support.noisy(trial)

    opt = support.start(
        support.with_population(method, population), d, budget, confirm=min(reserve, budget - 1)
    )
    asked = support.drive(opt, value, rng)
    result = opt.result()
    assert len(asked) == opt.spent == result.nfev <= budget
    assert opt.spent + opt.remaining == budget
    if result.status == ALL_FAILED:
        assert result.n_failures == result.nfev or failing > 0.0
    else:
        assert result.status == BUDGET_SPENT
        assert result.nfev == budget
    assert np.isfinite(result.x).all()


def test_same_rng_same_run(method: Method) -> None:
    one, two, other = (support.start(method, rng=seed) for seed in (7, 7, 8))
    asked = support.drive(one)
    assert asked == support.drive(two)
    assert support.data_of(one) == support.data_of(two)
    assert asked != support.drive(other)


@functools.cache
def _digests() -> str:
    """One line per method: a hash of everything its run is made of."""
    lines = []
    for name, method in support.METHODS.items():
        opt = support.start(method, budget=40)
        support.drive(opt)
        lines.append(f"{name}: {hashlib.sha256(support.data_of(opt).encode()).hexdigest()}")
    return "\n".join(lines)


@pytest.mark.parametrize("hash_seed", ["1", "2"])
def test_same_rng_same_run_in_another_process(hash_seed: str) -> None:
    here = Path(__file__).parent
    code = "import test_contract_runs as t; print(t._digests())"
    path = os.pathsep.join([str(here), str(here.parent)])
    env = os.environ | {"PYTHONHASHSEED": hash_seed, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == _digests(), done.stderr


@pytest.mark.untraced
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_tells_leaves_no_trace(method: Method, seed: int) -> None:
    budget = support.affordable(method, 70)
    straight, shuffled = (support.start(method, budget=budget) for _ in range(2))
    asked = support.drive(straight)
    assert support.drive(shuffled, rng=np.random.default_rng(seed)) == asked
    assert support.data_of(shuffled) == support.data_of(straight)


@pytest.mark.untraced
@pytest.mark.parametrize("workers", [2, 5, 30])
def test_with_workers_the_same_events_make_the_same_run(method: Method, workers: int) -> None:
    """Every trial is handed out once, and all of the budget is spent."""
    budget = support.affordable(method, 70)
    runs = []
    for _ in range(2):
        opt = support.start(method, budget=budget, workers=workers)
        asked = support.drive(opt, rng=np.random.default_rng(workers))
        assert sorted(asked) == list(range(budget))
        assert (opt.spent, opt.remaining, opt._run.untold) == (budget, 0, 0)
        runs.append((asked, support.data_of(opt)))
    assert runs[0] == runs[1]


@pytest.mark.untraced
@pytest.mark.parametrize("population", [None, 2, 6])
@pytest.mark.parametrize("seed", range(3))
def test_telling_several_at_once_equals_telling_one_by_one(
    method: Method, seed: int, population: int | None
) -> None:
    method = support.with_population(method, population)
    budget = support.affordable(method, 90)
    one, many = (support.start(method, budget=budget) for _ in range(2))
    asked = support.drive(one)
    rng = np.random.default_rng(seed)
    again: dict[int, bytes] = {}
    while not many.done:
        trials = many.ask()
        again.update({t.id: t.x.tobytes() for t in trials})
        while trials:
            cut = int(rng.integers(1, len(trials) + 1))
            some, trials = trials[:cut], trials[cut:]
            many.tell([t.id for t in some], np.array([support.noisy(t) for t in some]))
    assert again == asked
    assert support.data_of(many) == support.data_of(one)


def test_translation_moves_the_run_along(method: Method) -> None:
    if "draws" in vars(method):
        pytest.skip("its free draws come from a function that does not move along")
    if "noise_share" in method.columns:
        pytest.skip("fitting a model amplifies the rounding of the shift")
    if method.lists == "all":
        pytest.skip("a list has no coordinates to move along")
    shift = np.array([100.0, -20.0, 0.5])
    here = support.start(method, budget=50)
    there = support.start(method, budget=50, x0=np.full(3, 2.0) + shift)
    a = support.drive(here)

    def value(trial: nw.Trial) -> float:
        return support.noisy(nw.Trial(trial.id, trial.x - shift, trial.kind))

    b = support.drive(there, value)
    assert a.keys() == b.keys()
    for id in a:
        np.testing.assert_allclose(
            np.frombuffer(b[id]) - shift, np.frombuffer(a[id]), rtol=0.0, atol=1e-8
        )


@pytest.mark.parametrize("transform", [np.cbrt, np.arctan, lambda v: 1e6 * v - 1e3])
def test_only_the_order_of_values_counts_where_a_method_is_rank_based(
    method: Method, transform: np.ufunc
) -> None:
    if not method.rank_based:
        pytest.skip("uses the values themselves")
    plain, bent = (support.start(method, budget=70) for _ in range(2))
    assert support.drive(plain) == support.drive(bent, lambda t: float(transform(support.noisy(t))))


@pytest.mark.parametrize("budget", range(1, 21))
def test_tiny_budgets_give_a_sensible_answer(method: Method, budget: int) -> None:
    opt = support.start(method, d=2, budget=budget, bounds=(-3.0, 3.0))
    support.drive(opt)
    result = opt.result()
    assert result.success
    assert result.nfev == budget
    assert (np.abs(result.x) <= 3.0).all()
    assert np.isfinite(result.fun)
    assert np.isfinite(result.fun_best_observed)


def test_one_dimension(named_method: Method) -> None:
    opt = support.start(named_method, d=1, budget=support.affordable(named_method, 300, most=100))
    support.drive(opt)
    # As printed, RB-PEM takes the fold that looked worse for the better one and walks away.
    walks_away = named_method == RBPEM.printed()
    assert (abs(opt.recommend().x[0]) > 1.0) == walks_away


@pytest.mark.parametrize("layout", list(_BOUNDS))
def test_every_point_lies_in_the_box(method: Method, layout: str) -> None:
    bounds = _BOUNDS[layout]
    x0 = np.array([2.0, 2.0, 2.0]) if layout != "arrays" else np.array([2.0, 1.0, 2.0])
    budget = support.affordable(method, 80)
    opt = support.start(method, budget=budget, bounds=bounds, x0=x0, sigma0=0.5)
    low, high = opt._run.setup.box.low, opt._run.setup.box.high

    def value(trial: nw.Trial) -> float:
        assert (trial.x >= low).all()
        assert (trial.x <= high).all()
        return support.noisy(trial)

    support.drive(opt, value)
    best = opt.result()
    for x in (best.x, best.x_best_observed):
        assert (x >= low).all()
        assert (x <= high).all()


def test_the_optimum_on_the_border_is_found(named_method: Method) -> None:
    if "draws" in vars(named_method):
        pytest.skip("its free draws know another optimum")
    budget = support.affordable(named_method, 300, most=100)
    opt = support.start(named_method, d=2, budget=budget, bounds=(1.5, 4.0), sigma0=0.5)
    support.drive(opt)
    assert (opt.recommend().x < 1.8).all()


@pytest.mark.untraced
@given(seed=st.integers(0, 10**6), noise=st.sampled_from([0.0, 1e-3, 1e6]))
def test_nothing_overflows(method: Method, seed: int, noise: float) -> None:
    """Flat and stepped objectives, heavy tails, failures, boxes and odd step sizes: no warning
    from the library, which pytest would turn into an error."""
    rng = np.random.default_rng(seed)
    d, bounds = int(rng.integers(1, 6)), [None, (-4.0, 4.0), (None, 3.0)][rng.integers(3)]
    flat, failing = rng.random() < 0.5, rng.choice([0.0, 0.1, 0.5])

    def value(trial: nw.Trial) -> float:
        if rng.random() < failing:
            return math.nan
        base = 1.0 if flat else float(np.floor(trial.x).sum())
        return base + noise * float(rng.standard_cauchy())

    method = support.with_population(method, [None, 2, 3, 9][rng.integers(4)])
    budget = int(rng.integers(1, 200))
    if "noise_share" in method.columns:  # a model is fitted again and again
        budget = 1 + budget % 50
    opt = support.start(method, d, budget, bounds=bounds, sigma0=10.0 ** rng.uniform(-6, 3))
    support.drive(opt, value)
    assert np.isfinite(opt.result().x).all()
