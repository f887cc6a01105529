"""Known standard errors change what methods do: how they rank, model and estimate."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
import support
from noisewise.measured.known import discounted, posterior
from noisewise.measured.population import Population
from noisewise.measured.samples import Samples
from noisewise.methods import CMAES, PEM, Method
from noisewise.select import race

#: Methods that do not look at the values told: exact PEM, here with draws of its own (without them
#: errors matter to it, see below); the toy moves to the best point of all; probe-switch as printed
#: throws the probe away.
CANNOT_MATTER = {"pem", "toy", "probe-switch-printed"}


def proposals(method: Method, factor: float, common: float | None = None) -> np.ndarray[Any, Any]:
    """Candidates of the next generation after one in which the values of the best candidate have
    ``factor`` times the error of the others; ``common``: the error of these, None: unknown."""
    opt = support.start(method, d=3, budget=200, confirm=0)
    best = None
    while opt.generation == 0:
        trials = opt.ask()
        values = [support.noisy(t) for t in trials]
        best = trials[int(np.argmin(values))].x if best is None else best
        for value, trial in zip(values, trials, strict=True):
            se = factor if np.array_equal(trial.x, best) else 1.0
            opt.tell(trial.id, value, None if common is None else common * se)
    if method.lists == "all":  # after the first look one option at a time
        asked: list[Any] = []
        while len(asked) < 9:
            trials = opt.ask()
            for trial in trials:
                vague = len(trials) > 1 and np.array_equal(trial.x, best)
                se = None if common is None else common * (factor if vague else 1.0)
                opt.tell(trial.id, support.noisy(trial), se)
            asked += [trial.x for trial in trials if len(trials) == 1]
        return np.array(asked)
    return np.array([t.x for t in opt.ask()])


def test_a_value_with_a_hundred_times_the_error_changes_the_next_proposal(method: Method) -> None:
    precise, vague = proposals(method, 1.0, 0.1), proposals(method, 100.0, 0.1)
    printed = method == nw.methods.get("probe-switch-printed")
    name = "probe-switch-printed" if printed else method.name
    assert (name in CANNOT_MATTER) == (
        precise.shape == vague.shape and bool((precise == vague).all())
    )


def test_equal_errors_change_no_evolution_strategy(method: Method) -> None:
    if method.name in ("auto", "gp", "select"):
        pytest.skip("a model and a selection believe them")
    np.testing.assert_array_equal(proposals(method, 1.0, 1.0), proposals(method, 1.0))


def test_pem_without_draws_expects_ranks_from_known_errors() -> None:
    pem, hard = PEM(n_draws=64), CMAES(covariance="diagonal")
    precise, vague = proposals(pem, 1.0, 0.1), proposals(pem, 100.0, 0.1)
    assert not np.array_equal(precise, vague)
    # Errors that are small change no rank; without any, ranks are taken as they are.
    np.testing.assert_allclose(proposals(pem, 1.0, 1e-9), proposals(hard, 1.0), rtol=1e-12)
    np.testing.assert_array_equal(proposals(pem, 1.0), proposals(hard, 1.0))


def test_pem_without_errors_says_so() -> None:
    r = nw.minimize(lambda x: float(x @ x), **_GOOD | {"method": "pem"})
    assert any("pem got no standard errors" in said for said in r.warnings)
    r = nw.minimize(measured, **_GOOD | {"method": "pem"})
    assert not any("pem" in said for said in r.warnings)


@given(st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(1e-2, 1e2)), min_size=2, max_size=6))
def test_the_posterior_has_the_order_of_discounted_values(pairs: list[tuple[float, float]]) -> None:
    y, e = np.array(pairs).T[:, :, None]
    known = posterior(Samples(y, e))
    assert known is not None
    centre, sd = known
    assert (sd <= e[:, 0]).all()
    out = shrunk(y, e)[:, 0]
    lower = out[:, None] < out - 1e-9 * np.abs(out).max()
    assert (centre[:, None] <= centre + 1e-9 * np.abs(centre).max())[lower].all()


def test_a_failed_candidate_of_pem_has_no_weight() -> None:
    samples = Samples(np.array([[1.0], [math.inf], [2.0]]), np.full((3, 1), 0.5))
    known = posterior(samples)
    assert known is not None
    assert known[0][1] == math.inf
    assert np.isfinite(known[0][[0, 2]]).all()
    population = Population.of(np.zeros((3, 2)), np.zeros((3, 2)))
    population.samples = samples
    memory = PEM().start(support.setup(2))
    weights = PEM().weigh(memory, population, np.random.default_rng(0))[0].covariance
    assert weights[1] == 0.0
    assert weights.sum() == pytest.approx(1.0)


# -- the race between finalists


def test_a_hundred_times_the_error_changes_the_race() -> None:
    """The second finalist looks better by 3 in both waves."""
    y = np.array([3.0, 3.0, 0.0, 0.0])
    for errors, winner in (
        (None, 1),
        (np.full(4, 0.1), 1),
        (np.full(4, math.nan), 1),
        (np.array([0.1, 0.1, 10.0, 10.0]), 0),
    ):
        assert race.settle(race.start(2, 4), y, errors).winner == winner
    # ... and the next wave: who looks worse after the discount is not evaluated again.
    y = np.array([3.0, 3.0, -9.0, 9.0, 2.0, 2.0])
    again = race.settle(race.start(3, 12), y, np.array([0.1, 0.1, 30.0, 30.0, 0.1, 0.1]))
    assert race.request(again).tolist() == [0, 0, 0, 2, 2, 2]
    # Where errors are not known, it may be the best and varies most.
    assert race.request(race.settle(race.start(3, 12), y)).tolist() == [0, 1, 1, 1, 2, 2]


def test_the_difference_weighs_values_by_their_errors() -> None:
    values = np.array([[5.0, 9.0], [1.0, 7.0]])
    errors = np.array([[0.3, 30.0], [0.4, 40.0]])
    se, lead = race.difference(values, errors, 1)
    assert se == pytest.approx(0.5, rel=1e-3)
    assert lead == pytest.approx(4.0, abs=1e-2)
    errors[0, 1] = math.nan  # not all are known: the spread decides
    assert race.difference(values, errors, 1) == race.difference(values, None, 1)


def test_a_run_races_with_known_errors() -> None:
    """Errors told in the race alone change who wins it."""

    def winner(se: float) -> int:
        opt = nw.Optimizer([2.0, 2.0], sigma0=1.0, budget=400, method="watchful", rng=1)
        while not opt.done:
            for trial in opt.ask():
                first = opt._search.run.final
                mine = first is not None and np.array_equal(
                    trial.x, opt._search.run.setup.box.outer(first.finalists[1])
                )
                better = -5.0 if mine else 0.0
                known = None if trial.kind != "finalist" else se if mine else 0.1
                opt.tell(trial.id, support.noisy(trial) + better, known)
        assert opt._search.run.final is not None
        return opt._search.run.final.race.winner

    assert (winner(0.1), winner(100.0)) == (1, 0)


# -- how values are discounted


def shrunk(values: Any, errors: Any) -> Any:
    return discounted(Samples(np.array(values, float), np.array(errors, float))).values


def test_a_lucky_value_with_a_large_error_moves_to_the_middle() -> None:
    y = np.array([[-50.0], [1.0], [2.0], [3.0], [4.0]])
    out = shrunk(y, [[30.0], [0.1], [0.1], [0.1], [0.1]])[:, 0]
    assert out[0] == pytest.approx(2.5, abs=0.6)
    np.testing.assert_array_equal(out[1:], y[1:, 0])


def test_the_mean_of_a_candidates_values_is_weighted_by_precision() -> None:
    out = shrunk([[1.0, 9.0], [2.0, 2.0], [3.0, 3.0]], [[0.1, 10.0], [0.1, 0.1], [0.1, 0.1]])
    assert out[0].mean() == pytest.approx(1.0, abs=0.1)


def test_unknown_errors_count_as_the_median_and_failures_stay() -> None:
    y = [[1.0], [2.0], [math.inf], [4.0], [math.nan], [1.0]]
    out = shrunk(y, [[0.1], [math.nan], [0.1], [5.0], [math.nan], [0.1]])[:, 0]
    assert out[2] == math.inf
    assert math.isnan(out[4])
    assert out[3] < 3.0
    np.testing.assert_array_equal(out[:2], [1.0, 2.0])


@given(
    st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3)), min_size=2, max_size=8),
    st.floats(0.1, 10.0),
    st.floats(-100.0, 100.0),
)
def test_the_order_does_not_depend_on_units(
    pairs: list[tuple[float, float]], scale: float, shift: float
) -> None:
    y, e = np.array(pairs).T[:, :, None]
    one, two = shrunk(y, e), shrunk(scale * y + shift, scale * e)
    np.testing.assert_allclose(two, scale * one + shift, rtol=1e-6, atol=1e-6 * scale)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=8), st.floats(0.0, 1e3))
def test_equal_errors_change_nothing(values: list[float], se: float) -> None:
    y = np.array(values)[:, None]
    np.testing.assert_array_equal(shrunk(y, np.full(y.shape, se)), y)


def test_against_the_posterior_mean() -> None:
    """The order is that of the posterior means under the estimated prior."""
    rng = np.random.default_rng(0)
    f, e = rng.normal(size=4000), rng.choice([0.3, 3.0], size=4000)
    y = f + e * rng.normal(size=4000)
    out = shrunk(y[:, None], e[:, None])[:, 0]
    posterior = y / (1.0 + e * e)
    assert np.corrcoef(np.argsort(np.argsort(out)), np.argsort(np.argsort(posterior)))[0, 1] > 0.99
    kept = np.argsort(out)[:400]
    assert f[kept].mean() < f[np.argsort(y)[:400]].mean() - 0.5


# -- an objective that knows its error


def measured(x: Any) -> tuple[float, float]:
    se = 0.01 if x[0] > 0.0 else 3.0
    noise = np.random.default_rng(np.abs(x).view(np.uint32)).normal()
    return float(x @ x) + se * float(noise), se


_GOOD: dict[str, Any] = {"x0": [2.0] * 3, "sigma0": 1.0, "budget": 300, "rng": 0}


def many(X: Any) -> tuple[Any, Any]:
    pairs = [measured(x) for x in X]
    return np.array([y for y, _ in pairs]), np.array([e for _, e in pairs])


def test_fun_returns_a_value_and_its_error(tmp_path: Path) -> None:
    given = _GOOD | {"method": "watchful"}
    r = nw.minimize(measured, **given)
    other = nw.minimize(lambda x: measured(x)[0], **given)
    assert not np.array_equal(r.x, other.x)
    again = nw.minimize(many, vectorized=True, **given)
    np.testing.assert_array_equal(r.x, again.x)
    assert (r.fun, r.fun_se) == (again.fun, again.fun_se)


def test_errors_survive_a_resume(tmp_path: Path) -> None:
    given = _GOOD | {"method": "watchful", "checkpoint": tmp_path / "run"}
    straight = nw.minimize(measured, **given | {"checkpoint": None})
    calls = 0

    def dies(x: Any) -> tuple[float, float]:
        nonlocal calls
        calls += 1
        if calls == 101:
            raise RuntimeError("power cut")
        return measured(x)

    with pytest.raises(nw.EvaluationError):
        nw.minimize(dies, **given)
    with pytest.warns(UserWarning, match="another objective"):
        r = nw.minimize(measured, **given)
    np.testing.assert_array_equal(r.x, straight.x)
    assert r.fun_se == straight.fun_se


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ((1.0, -0.1), "standard error"),
        ((1.0, math.inf), "standard error"),
        ((1.0, "a"), "one real number"),
        ((1.0, 0.1, 0.2), r"a tuple \(value, se\)"),
        ((), r"a tuple \(value, se\)"),
    ],
)
def test_what_is_refused(value: Any, said: str) -> None:
    with pytest.raises(nw.EvaluationError, match=said):
        nw.minimize(lambda x: value, **_GOOD)


def test_an_unknown_error_and_a_failure_have_none() -> None:
    r = nw.minimize(lambda x: (float(x @ x), None), **_GOOD | {"method": "cma-es"})
    plain = nw.minimize(lambda x: float(x @ x), **_GOOD | {"method": "cma-es"})
    np.testing.assert_array_equal(r.x, plain.x)
    r = nw.minimize(lambda x: (math.nan, 0.1), **_GOOD | {"method": "cma-es", "budget": 20})
    assert r.n_failures == 20


@pytest.mark.parametrize("answer", [(np.ones(3), 1.0), (np.ones((3, 2)), np.ones(3)), ("a", "b")])
def test_vectorised_pairs_must_fit(answer: Any) -> None:
    with pytest.raises(nw.EvaluationError, match="standard errors"):
        nw.minimize(lambda X: answer, vectorized=True, **_GOOD)


def test_precise_values_are_worth_more() -> None:
    """Half of the measurements are thirty times worse; who says so finds a better point."""
    gains = []
    for seed in range(8):

        def fun(x: Any, seed: int) -> tuple[float, float]:
            rng = np.random.default_rng(seed)
            se = float(rng.choice([0.1, 3.0]))
            return float(x @ x + se * rng.normal()), se

        def hides(x: Any, seed: int) -> float:
            return fun(x, seed)[0]

        given = _GOOD | {"rng": seed, "method": "watchful", "seeds": "independent", "confirm": 0}
        told, silent = nw.minimize(fun, **given).x, nw.minimize(hides, **given).x
        gains.append(math.log10(float(told @ told) / float(silent @ silent)))
    assert np.mean(gains) < -0.2
