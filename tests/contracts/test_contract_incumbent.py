"""Today's setting beside what was found, for every method: budget, turns, decision, resume."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import noisewise as nw
import support
from noisewise.methods import Method

pytestmark = pytest.mark.boxes

TODAY = np.array([1.0, 0.5])


def start(method: Method, budget: int = 40, **options: Any) -> nw.Optimizer:
    given: dict[str, Any] = {"x0": None, "incumbent": TODAY, "sigma0": 1.0} | options
    return support.start(method, d=2, budget=budget, **given)


def watched(
    opt: nw.Optimizer, value: support.Value = support.noisy, **more: Any
) -> tuple[nw.Optimizer, list[tuple[nw.Trial, float]]]:
    """Run to the end; every trial with its value, in the order in which it was handed out."""
    seen: dict[int, tuple[nw.Trial, float]] = {}

    def told(trial: nw.Trial) -> float:
        seen[trial.id] = trial, value(trial)
        return seen[trial.id][1]

    support.drive(opt, told, **more)
    return opt, [seen[id] for id in sorted(seen)]


def sides(seen: list[tuple[nw.Trial, float]]) -> tuple[list[float], list[float]]:
    """Values that compared the incumbent and the challenger."""
    last = [(t, y) for t, y in seen if t.kind == "comparison"]
    today = [y for t, y in last if (t.x == TODAY).all()]
    return today, [y for t, y in last if not (t.x == TODAY).all()]


def test_the_search_has_three_fifths_and_the_points_take_turns(method: Method) -> None:
    opt, seen = watched(start(method, budget=50))
    kinds = [trial.kind for trial, _ in seen]
    n = kinds.count("comparison")
    assert len(seen) == 50
    # The last rounds leave a few over, and points that stand out are measured again.
    assert 14 <= n <= 24
    assert kinds[-n:] == ["comparison"] * n
    turns = [(t.x == TODAY).all() for t, _ in seen[-n:]]
    # In waves: each begins with the challenger, and no point is ever three ahead.
    ahead = np.cumsum(np.where(turns, 1, -1))
    assert np.abs(ahead).max() <= 2
    assert abs(ahead[-1]) <= 1
    result = opt.result()
    assert (result.incumbent.n, result.challenger.n) == (turns.count(True), turns.count(False))
    np.testing.assert_array_equal(result.incumbent.x, TODAY)


def welch(one: list[float], other: list[float]) -> float:
    """Half the length of Welch's 95 % interval of the difference of two means."""
    u, v = (np.var(y, ddof=1) / len(y) for y in (one, other))
    freedom = (u + v) ** 2 / (u**2 / (len(one) - 1) + v**2 / (len(other) - 1))
    return float(stats.t.ppf(0.975, freedom) * np.sqrt(u + v))


def test_the_decision_is_that_of_welchs_interval(method: Method) -> None:
    for rng in range(3):
        opt, seen = watched(start(method, budget=40, rng=rng, incumbent=TODAY * (rng / 2)))
        last = [(t, y) for t, y in seen if t.kind == "comparison"]
        today = [y for t, y in last if np.allclose(t.x, TODAY * (rng / 2), atol=0.0, rtol=0.0)]
        other = [y for t, y in last if not np.array_equal(t.x, TODAY * (rng / 2))]
        r = opt.result()
        gain = np.mean(today) - np.mean(other)
        assert r.improvement == pytest.approx(gain)
        half = welch(today, other)
        low, high = r.improvement_interval
        # Degrees of freedom are rounded down, and skew makes it longer.
        assert low <= gain - half + 1e-12
        assert high >= gain + half - 1e-12
        assert high - low < 1.6 * 2.0 * half
        assert r.kept == (low <= 0.0)
        np.testing.assert_array_equal(r.x, r.incumbent.x if r.kept else r.challenger.x)
        chosen = r.incumbent if r.kept else r.challenger
        assert (r.fun, r.fun_se, r.interval, r.estimate, r.n_confirmations) == (
            chosen.value,
            chosen.se,
            chosen.interval,
            chosen.kind,
            chosen.n + chosen.failures,
        )


def test_the_search_starts_at_the_incumbent_unless_x0_says_otherwise(named_method: Method) -> None:
    at = start(named_method)._run.setup
    np.testing.assert_allclose(at.box.outer(at.mean), TODAY)
    away = start(named_method, x0=[2.0, 2.0])._run
    np.testing.assert_allclose(away.setup.box.outer(away.setup.mean), [2.0, 2.0])
    assert away.comparison is not None
    np.testing.assert_allclose(away.setup.box.outer(away.comparison.incumbent), TODAY)


def test_maximising_is_the_mirror_image(method: Method) -> None:
    if "draws" in vars(method):
        pytest.skip("its free draws are to be minimised")
    down, _ = watched(start(method))
    up, _ = watched(start(method, maximize=True), lambda t: -support.noisy(t))
    a, b = down.result(), up.result()
    np.testing.assert_array_equal(a.x, b.x)
    assert (a.kept, a.improvement, a.verdict) == (b.kept, b.improvement, b.verdict)
    assert a.improvement_interval == b.improvement_interval
    assert a.incumbent.value == -b.incumbent.value
    assert a.challenger.interval == tuple(-end for end in reversed(b.challenger.interval))


@pytest.mark.parametrize("shuffled", [False, True])
def test_resume_after_every_tell(
    method: Method, shuffled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.fsync", lambda fd: None)

    def through_a_file(opt: nw.Optimizer) -> nw.Optimizer:
        opt.save(tmp_path / "run")
        return nw.Optimizer.load(tmp_path / "run", method)

    budget = 24
    straight, _ = watched(start(method, budget))
    opt = start(method, budget)
    rng = np.random.default_rng(3)
    while not opt.done:
        trials = opt.ask()
        picked = trials[int(rng.integers(len(trials))) if shuffled else 0]
        opt.tell(picked.id, support.noisy(picked))
        opt = through_a_file(opt)
    assert support.data_of(opt) == support.data_of(straight)
    assert repr(opt.result()) == repr(straight.result())


@pytest.mark.parametrize("options", [{"workers": 3}, {"batch": 6}])
def test_workers_and_batches_spend_all_and_compare(method: Method, options: Any) -> None:
    runs = []
    for _ in range(2):
        opt, seen = watched(start(method, budget=48, **options), rng=np.random.default_rng(1))
        assert sorted(t.id for t, _ in seen) == list(range(48))
        runs.append(support.data_of(opt))
        r = opt.result()
        if np.array_equal(r.challenger.x, TODAY):  # a single generation that did not move
            assert r.incumbent.n >= 16
            continue
        assert min(r.incumbent.n, r.challenger.n) >= 4
        assert abs(r.incumbent.n - r.challenger.n) <= 2
    assert runs[0] == runs[1]


@pytest.mark.parametrize("mode", ["independent", "common"])
def test_pairs_share_a_seed_where_trials_have_one(method: Method, mode: str) -> None:
    opt, seen = watched(start(method, seeds=mode))
    last = [t for t, _ in seen if t.kind == "comparison"]
    of_today = [t.seed for t in last if (t.x == TODAY).all()]
    of_other = [t.seed for t in last if not (t.x == TODAY).all()]
    n = min(len(of_today), len(of_other))
    assert of_today[:n] == of_other[:n]
    assert len(set(of_today)) == len(of_today)
    assert not set(of_today) & {t.seed for t, _ in seen if t.kind == "candidate"}
    today, other = sides(seen)
    d = np.array(today[:n]) - np.array(other[:n])
    low, high = opt.result().improvement_interval
    half = stats.t.ppf(0.975, n - 1) * stats.sem(d)
    assert low <= d.mean() - half + 1e-12
    assert high >= d.mean() + half - 1e-12


@pytest.mark.untraced
@given(
    budget=st.integers(10, 60),
    failing=st.sampled_from([0.0, 0.3, 0.9, 1.0]),
    workers=st.sampled_from([1, 4]),
    confirm=st.sampled_from(["auto", 4, 7]),
    seed=st.integers(0, 10**6),
)
def test_never_overspends_whatever_fails(
    named_method: Method, budget: int, failing: float, workers: int, confirm: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)

    def value(trial: nw.Trial) -> float:
        return math.nan if rng.random() < failing else support.noisy(trial)

    budget = support.affordable(named_method, budget, most=20)
    opt = start(named_method, budget, workers=workers, confirm=confirm)
    opt, seen = watched(opt, value, rng=rng)
    r = opt.result()
    assert len(seen) == opt.spent == r.nfev <= budget
    assert failing > 0.0 or r.nfev == budget
    assert np.isfinite(r.x).all()
    both = [(r.incumbent.n, r.incumbent.failures), (r.challenger.n, r.challenger.failures)]
    compared = sum(t.kind == "comparison" for t, _ in seen)
    assert sum(map(sum, both)) <= compared
    np.testing.assert_array_equal(r.x, r.incumbent.x if r.kept else r.challenger.x)


def failing_at(where: Callable[[np.ndarray[Any, Any]], bool]) -> support.Value:
    def value(trial: nw.Trial) -> float:
        last = trial.kind in ("comparison", "finalist")
        return math.nan if last and where(trial.x) else support.noisy(trial)

    return value


def test_a_challenger_that_fails_whenever_it_is_measured_does_not_win(method: Method) -> None:
    opt, _ = watched(start(method), failing_at(lambda x: not (x == TODAY).all()))
    r = opt.result()
    assert r.kept
    assert r.incumbent.n >= 2
    assert r.success


def test_an_incumbent_that_always_fails_is_given_up(method: Method) -> None:
    opt, _ = watched(start(method), failing_at(lambda x: bool((x == TODAY).all())))
    r = opt.result()
    assert not r.kept
    assert r.incumbent.n == 0
    assert r.verdict == "better than today: every evaluation of today's setting failed"


def test_a_larger_budget_goes_on_and_keeps_the_incumbents_values(method: Method) -> None:
    opt, _ = watched(start(method))
    before = opt.result()
    opt.extend(40)
    opt, more = watched(opt)
    after = opt.result()
    assert len(more) == 40
    today, other = sides(more)
    assert after.incumbent.n == before.incumbent.n + len(today)
    same = np.array_equal(after.challenger.x, before.challenger.x)
    assert after.challenger.n == (before.challenger.n if same else 0) + len(other)


def test_until_the_end_the_answer_is_todays_setting(method: Method) -> None:
    opt = start(method)
    for trial in opt.ask():
        opt.tell(trial.id, support.noisy(trial))
    r = opt.result()
    np.testing.assert_array_equal(r.x, TODAY)
    assert (r.kept, r.verdict) == (True, "not compared yet")
    opt.stop()
    stopped = opt.result()
    np.testing.assert_array_equal(stopped.x, TODAY)
    assert stopped.verdict.startswith("keep today: the ")


def test_without_noise_the_better_point_is_returned(method: Method) -> None:
    if "draws" in vars(method):
        pytest.skip("it has draws of its own, which are noisy")
    for today, kept in (([1.0, 0.5], False), ([0.0, 0.0], True)):
        opt = start(method, budget=60, incumbent=today)
        opt, _ = watched(opt, lambda t: float(t.x @ t.x))
        r = opt.result()
        assert r.kept is kept
        if not kept:
            assert r.improvement == pytest.approx(1.25 - float(r.x @ r.x))
            assert r.improvement_interval == (r.improvement, r.improvement)
