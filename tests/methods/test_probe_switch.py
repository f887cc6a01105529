"""Probe-and-switch as a method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise._types import FloatArray
from noisewise.measured.samples import footrule, ranks
from noisewise.methods import CMAES, LRACMAES, RBPEM, Auto, ProbeSwitch, Racing, Resample, Watchful
from noisewise.methods.method import Now
from noisewise.methods.probe_switch import FEW

LAMBDA = 10
Fun = Callable[[FloatArray], float]


def _noisy(level: float, seed: int = 0) -> Fun:
    rng = np.random.default_rng(seed)
    return lambda x: float(x @ x) + level * rng.normal()


def _first_generations(
    method: ProbeSwitch, fun: Fun, generations: int = 2, budget: int = 400
) -> tuple[nw.Optimizer, list[list[str]]]:
    """The optimizer after that many generations, and the kinds of trials of each."""
    opt = nw.Optimizer(np.full(5, 3.0), budget=budget, sigma0=1.0, method=method, rng=0)
    kinds: list[list[str]] = []
    while opt.generation < generations:
        kinds.append([])
        now = opt.generation
        while opt.generation == now:
            for trial in opt.ask():
                kinds[-1].append(trial.kind)
                opt.tell(trial.id, fun(trial.x))
    return opt, kinds


def _branch(opt: nw.Optimizer) -> str:
    return str(opt._run.memory.branch)


def _method(**options: Any) -> ProbeSwitch:
    return ProbeSwitch(**({"population": LAMBDA} | options))


def test_noisy_objectives_go_high_at_two_lambda() -> None:
    """Everyone twice, P above the threshold, RB-PEM from then on."""
    opt, kinds = _first_generations(_method(), _noisy(1e6))
    assert [len(k) for k in kinds] == [2 * LAMBDA, LAMBDA + 1]
    assert kinds[0].count("reevaluation") == LAMBDA
    assert _branch(opt) == "high"
    assert opt.result().history["misranking"][0] >= 0.12


def test_slightly_noisy_objectives_go_low_at_two_lambda() -> None:
    """Everyone twice, P below the threshold, CMA-ES from then on."""
    opt, kinds = _first_generations(_method(), _noisy(1e-3))
    assert [len(k) for k in kinds] == [2 * LAMBDA, LAMBDA]
    assert _branch(opt) == "low"


def test_deterministic_objectives_go_low_after_four_repeats() -> None:
    """The early exit: four re-evaluations that agree are enough."""
    opt, kinds = _first_generations(_method(), lambda x: float(x @ x))
    assert [len(k) for k in kinds] == [LAMBDA + FEW, LAMBDA]
    assert FEW == 4
    assert _branch(opt) == "low"
    assert opt.result().misranking == 0.0


def test_the_four_are_the_farthest() -> None:
    """They are farthest from the mean, where noise that grows with the distance is largest."""
    opt = nw.Optimizer(np.full(5, 3.0), budget=400, sigma0=1.0, method=_method(), rng=0)
    first = opt.ask()
    opt.tell([t.id for t in first], np.array([float(t.x @ t.x) for t in first]))
    distance = {t.x.tobytes(): float(((t.x - 3.0) ** 2).sum()) for t in first}
    found = [distance[t.x.tobytes()] for t in opt.ask()]
    assert sorted(found) == sorted(distance.values())[-FEW:]


def test_failing_twice_is_no_proof_of_determinism() -> None:
    """If the four farthest fail both times, nothing is known yet: the probe goes on."""
    rng = np.random.default_rng(0)

    def fun(x: FloatArray) -> float:
        far = float(((x - 3.0) ** 2).sum()) > 4.0
        return np.nan if far else float(x @ x) + 1e6 * rng.normal()

    opt, kinds = _first_generations(_method(), fun)
    assert len(kinds[0]) == 2 * LAMBDA
    assert _branch(opt) == "high"


@pytest.mark.parametrize(("level", "noisy"), [(0.0, False), (1e-3, False), (1e6, True)])
def test_warm_start_uses_the_probed_generation(level: float, noisy: bool) -> None:
    """In both branches the probe is a generation like any other: it updates and it counts."""
    opt, _ = _first_generations(_method(), _noisy(level), generations=1)
    memory = opt._run.memory
    assert opt.result().nit == 1
    assert not np.array_equal(memory.state.mean, np.full(5, 3.0))
    assert memory.state.sigma != 1.0
    assert memory.high.pool.size == (2 * LAMBDA if noisy else 0)


@pytest.mark.parametrize("level", [1e-3, 1e6])
def test_cold_start_throws_the_probe_away(level: float) -> None:
    """Distribution and noise model are as before the probe; only the evaluations are gone."""
    opt, kinds = _first_generations(_method(warm_start=False), _noisy(level), generations=1)
    memory = opt._run.memory
    assert kinds[0] == ["candidate"] * LAMBDA + ["reevaluation"] * LAMBDA
    np.testing.assert_array_equal(memory.state.mean, np.full(5, 3.0))
    assert memory.state.sigma == 1.0
    assert memory.high.pool.size == 0
    assert opt.spent == 2 * LAMBDA
    assert _branch(opt) == ("high" if level > 1.0 else "low")


def test_cold_start_has_no_early_exit() -> None:
    """As described without warm start: 2 lambda whatever comes."""
    _, kinds = _first_generations(_method(warm_start=False), lambda x: float(x @ x), 1)
    assert len(kinds[0]) == 2 * LAMBDA


def test_after_a_cold_start_the_low_branch_is_cma_es() -> None:
    """On the points it draws, to the bit."""
    method = _method(warm_start=False, threshold=0.5)
    opt, _ = _first_generations(method, lambda x: float(x @ x), generations=6)
    plain = CMAES(covariance="diagonal", population=LAMBDA)
    other = nw.Optimizer(np.full(5, 3.0), budget=400, sigma0=1.0, method=plain, rng=0)
    other._run.search.standard_normal((LAMBDA, 5))  # what the probe drew
    while other.generation < 5:
        for trial in other.ask():
            other.tell(trial.id, float(trial.x @ trial.x))
    assert opt.recommend().x.tobytes() == other.recommend().x.tobytes()


def test_reprobe_at_checkpoints() -> None:
    """Noise that only shows late is missed at the start and found at the checkpoint."""
    rng, count = np.random.default_rng(0), 0

    def fun(x: FloatArray) -> float:
        nonlocal count
        count += 1
        return float(x @ x) + (1e6 * rng.normal() if count > 150 else 0.0)

    method = _method(reprobe=(0.25, 0.5), warm_start=True)
    opt = nw.Optimizer(np.full(5, 3.0), budget=400, sigma0=1.0, method=method, rng=0)
    branches: list[tuple[int, str]] = []
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, fun(trial.x))
        if len(branches) < opt.generation:
            branches.append((opt.spent, _branch(opt)))
    probes = [spent for spent, branch in branches if branch == "probe"]
    assert len(probes) == 2  # after the first probe, two more
    assert 0.25 * 400 <= probes[0] <= 0.25 * 400 + 3 * LAMBDA
    assert 0.5 * 400 <= probes[1] <= 0.5 * 400 + 3 * LAMBDA
    before = [branch for spent, branch in branches if spent < probes[1] and branch != "probe"]
    after = [branch for spent, branch in branches if spent > probes[1]]
    assert set(before) == {"low"}
    assert set(after) == {"high"}


def test_without_reprobe_late_noise_is_missed() -> None:
    """One probe at the start is blind to what comes later."""
    count = 0
    rng = np.random.default_rng(0)

    def fun(x: FloatArray) -> float:
        nonlocal count
        count += 1
        return float(x @ x) + (1e6 * rng.normal() if count > 150 else 0.0)

    opt, _ = _first_generations(_method(), fun, generations=30)
    assert _branch(opt) == "low"


def test_branches_bring_their_own_ways() -> None:
    """Selection, re-evaluations, learning rate of the mean and population are the branch's."""
    low = CMAES(covariance="diagonal", c_mean=0.5, population=7)
    high = Resample(covariance="diagonal", k=3, population=6)
    for level, sizes, c_mean in ((0.0, 7, 0.5), (1e6, 18, 1.0)):
        method = ProbeSwitch(low=low, high=high)
        opt, kinds = _first_generations(method, _noisy(level))
        assert len(kinds[1]) == sizes
        assert opt.result().history["c_mean"][1] == c_mean


def test_the_probed_generation_is_one_of_its_branch_to_the_adaptation_too() -> None:
    """A warm start counts in every respect: what adapts has seen that generation."""
    lra = LRACMAES(covariance="diagonal")
    for level, branch in ((0.0, "low"), (1e6, "high")):
        opt, _ = _first_generations(ProbeSwitch(**{branch: lra}), _noisy(level), generations=1)
        untouched = lra.start(opt._run.setup).signals
        assert _branch(opt) == branch
        assert repr(getattr(opt._run.memory, branch).signals) != repr(untouched)


def test_branches_left_out_have_the_engine_of_the_method() -> None:
    """ProbeSwitch(covariance="full") runs on a full matrix in both branches."""
    for level in (0.0, 1e6):
        opt, _ = _first_generations(ProbeSwitch(covariance="full"), _noisy(level))
        assert opt._run.memory.state.covariance.C.shape == (5, 5)


def test_a_branch_left_out_has_the_options_that_both_share() -> None:
    """rates and recombination of the branch that is given."""
    method = ProbeSwitch(high=RBPEM(rates="fixed", recombination="weiszfeld"))
    low, _ = method._methods
    assert low == CMAES(covariance="diagonal", rates="fixed", recombination="weiszfeld")


def test_watchful_may_be_a_branch() -> None:
    """It adapts its own population and re-evaluations, and leaves the branch alone."""
    method = ProbeSwitch(low=Watchful(covariance="diagonal"))
    opt = nw.Optimizer(np.full(5, 3.0), budget=2000, sigma0=1.0, method=method, rng=0)
    branches = []
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x @ trial.x))
        if opt.generation > len(branches):
            branches.append(_branch(opt))
    assert len(branches) > 200
    assert set(branches) == {"low"}


@pytest.mark.parametrize(("level", "reevaluations"), [(0.0, 0), (1e6, 1)])
def test_population_is_that_of_both_branches(level: float, reevaluations: int) -> None:
    low, high = CMAES(covariance="diagonal", population=7), RBPEM(population=6)
    method = ProbeSwitch(population=12, low=low, high=high)
    _, kinds = _first_generations(method, _noisy(level), generations=5)
    assert kinds[0].count("candidate") == 12
    assert {len(k) for k in kinds[1:]} == {12 + reevaluations}


@pytest.mark.parametrize(
    "low",
    [
        Watchful(covariance="diagonal"),
        CMAES(covariance="diagonal", rates="fixed"),
        Racing(covariance="diagonal"),
    ],
)
def test_what_follows_from_the_population_follows_from_the_one_given(low: Any) -> None:
    """Smallest population, fixed learning rates and re-evaluations are those of the branch with
    this population from the start."""
    whole = replace(low, population=20)
    method = ProbeSwitch(population=20, low=low)
    starts = [m.start(support.setup(5)) for m in (whole, method)]
    assert repr(starts[1].low) == repr(starts[0])


@pytest.mark.parametrize("threshold", [0.0, 0.5])
def test_threshold_decides(threshold: float) -> None:
    """0 always goes high, 1/2 (almost) never."""
    opt, _ = _first_generations(_method(threshold=threshold), _noisy(10.0))
    assert _branch(opt) == ("high" if threshold == 0.0 else "low")


@pytest.mark.parametrize("moved", [1, 2, 3])
def test_at_the_threshold_it_goes_high(moved: int) -> None:
    """P >= tau: as many neighbours change places as make P equal to tau; one fewer go low."""
    k = 10
    first = np.arange(float(k))
    for pairs, expected in ((moved, "high"), (moved - 1, "low")):
        second = first.copy()
        for i in range(pairs):
            second[[2 * i, 2 * i + 1]] = second[[2 * i + 1, 2 * i]]
        method = _method(threshold=2 * moved / k**2)
        memory = method.start(support.setup())
        population = support.population(np.column_stack((first, second)))
        assert footrule(ranks(first), ranks(second)) == 2 * pairs / k**2
        memory, _ = method.learn(memory, population, Now(100, 100), np.random.default_rng(0))
        assert memory.branch == expected


def test_printed_preset_is_the_text_of_the_paper() -> None:
    """Appendix D: the probe is thrown away; full CMA-ES and RB-PEM as printed."""
    high = RBPEM.printed()
    expected = ProbeSwitch(covariance="full", warm_start=False, low=CMAES(), high=high)
    assert ProbeSwitch.printed() == nw.methods.get("probe-switch-printed") == expected
    assert (expected.threshold, expected.reprobe) == (0.12, ())
    diagonal = ProbeSwitch.printed("diagonal", threshold=0.22)
    assert diagonal.threshold == 0.22
    assert diagonal._methods == (CMAES(covariance="diagonal"), RBPEM.printed(covariance="diagonal"))


@pytest.mark.parametrize(("level", "high"), [(1e6, True), (1e-3, False)])
def test_as_printed_the_probe_costs_two_lambda_and_leaves_nothing(level: float, high: bool) -> None:
    """What follows is the chosen method on B - 2 lambda, to the bit, from where it would start."""
    method = ProbeSwitch.printed(population=LAMBDA)
    opt, kinds = _first_generations(method, _noisy(level), generations=4)
    assert [len(k) for k in kinds] == [2 * LAMBDA, *[LAMBDA + high] * 3]
    alone: Any = RBPEM.printed() if high else CMAES()
    budget = 400 - 2 * LAMBDA
    options: dict[str, Any] = {"sigma0": 1.0, "method": replace(alone, population=LAMBDA)}
    other = nw.Optimizer(np.full(5, 3.0), budget=budget, rng=0, **options)
    other._run.search.standard_normal((LAMBDA, 5))  # what the probe drew
    fun = _noisy(level)
    for _ in range(2 * LAMBDA):
        fun(np.zeros(5))
    points = [trial.x.tobytes() for trial in other.ask()]
    assert points == [trial.x.tobytes() for trial in _first_after_the_probe(method, level)]
    assert opt.spent == 2 * LAMBDA + 3 * (LAMBDA + high)


def _first_after_the_probe(method: ProbeSwitch, level: float) -> list[nw.Trial]:
    opt, _ = _first_generations(method, _noisy(level), generations=1)
    assert opt.remaining == 400 - 2 * LAMBDA
    return opt.ask()


def test_probe_of_the_method_is_nw_probe() -> None:
    """Same rng, same points: the method measures what `nw.probe` reports."""
    report = nw.probe(_noisy(20.0), np.full(5, 3.0), sigma0=1.0, n=LAMBDA, rng=0)
    method = _method(warm_start=False)
    opt, _ = _first_generations(method, _noisy(20.0), generations=1)
    assert opt.result().misranking == pytest.approx(report.P)
    assert 0.0 < report.P < 0.5


@pytest.mark.parametrize("budget", [1, 3, 4, 7, 19, 20, 21, 45])
@pytest.mark.parametrize("warm_start", [True, False])
def test_any_budget(budget: int, warm_start: bool) -> None:
    """Budgets too small for a probe are spent all the same."""
    opt = support.start(_method(warm_start=warm_start), budget=budget)
    support.drive(opt)
    assert opt.spent == budget


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.5}, "threshold must be a number between 0 and 1, got 1.5"),
        ({"low": "cma-es"}, "low must be an evolution strategy or None, got 'cma-es'"),
        ({"high": RBPEM}, "high must be an evolution strategy"),
        ({"low": Auto()}, "low must be an evolution strategy or None, got Auto"),
        ({"low": CMAES()}, "low must have covariance='diagonal' as here, got 'full'"),
        (
            {"low": CMAES(covariance="diagonal"), "high": RBPEM(rates="fixed")},
            "low and high must have the same rates, got 'per-generation' and 'fixed'",
        ),
        (
            {
                "low": CMAES(covariance="diagonal"),
                "high": RBPEM(recombination="weiszfeld"),
            },
            "low and high must have the same recombination, got 'arithmetic' and 'weiszfeld'",
        ),
        ({"reprobe": (0.5, 0.2)}, "reprobe must be increasing fractions"),
        ({"reprobe": (0.5, 1.2)}, "reprobe must be a number between 0 and 1, got 1.2"),
    ],
)
def test_options_check_themselves(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ProbeSwitch(**options)
