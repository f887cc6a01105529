"""Candidates that gather while the search goes on: how rounds are made of them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import noisewise as nw
import support
from noisewise.measured.population import ANY, Origins, Population
from noisewise.methods import CMAES, GP, RBPEM, Racing, Resample, Watchful
from noisewise.methods.method import Distribution
from noisewise.run import pool
from noisewise.run.run import Run


def of(opt: nw.Optimizer, trials: list[nw.Trial], value: Any = support.noisy) -> None:
    """Tell these trials, one after the other."""
    for trial in trials:
        opt.tell(trial.id, value(trial))


def steadily(opt: nw.Optimizer, rng: np.random.Generator | None = None) -> None:
    """To the end, with as many trials under way as there are workers: the oldest one is told, or
    any of them."""
    held: list[nw.Trial] = []
    while not opt.done:
        held += opt.ask()
        trial = held.pop(0 if rng is None else int(rng.integers(len(held))))
        opt.tell(trial.id, support.noisy(trial))


def moved(
    X: Any,
    means: Any,
    sigmas: Any,
    search: Distribution,
    versions: Any = None,
    part: float = 0.5,
    C: Any = None,
) -> Population:
    """Candidates of these distributions, as an update from ``search`` sees them; None: C = I."""
    X = np.array(X, dtype=float)
    found = Population.of(X, X.copy())
    versions = np.zeros(len(X), dtype=int) if versions is None else np.array(versions)
    M, S = np.array(means, dtype=float), np.array(sigmas, dtype=float)
    normals = (X - M) / S[:, None] if C is None else Distribution(M[0], S[0], C).whiten(X - M)
    found.origins = Origins(M, S, versions, normals)
    pool._move(found, search, 1, part)
    return found


# -- how an update sees candidates of earlier distributions


def test_candidates_are_moved_a_part_of_the_way() -> None:
    """From the mean (0, 0) to (1, 2): by (0.5, 1), where that is half. What the present
    distribution would have sampled lies around the new mean."""
    search = Distribution(np.array([1.0, 2.0]), 1.0, np.eye(2))
    found = moved([[1.0, 0.0], [0.0, -1.0]], np.zeros((2, 2)), [1.0, 1.0], search)
    assert found.near is not None
    assert found.steps is not None
    assert_allclose(found.near, [[1.5, 1.0], [0.5, 0.0]])
    assert_allclose(found.steps, [[2.0, 2.0], [1.0, 1.0]])
    more = moved([[1.0, 0.0]], np.zeros((1, 2)), [1.0], search, part=0.75)
    assert_allclose(more.near, [[1.75, 1.5]])


@pytest.mark.parametrize(
    ("seen", "part", "share"),
    [(math.nan, 0.8, 0.5), (0.0, 0.5, 0.25), (1.0 / 6.0, 2.0 / 3.0, 0.5), (0.4, 1.0, 0.75)],
)
def test_the_noise_decides_how_far_and_how_many(seen: float, part: float, share: float) -> None:
    """Misranking of values that are nothing but noise is 1/3; nan: no re-evaluation tells.
    n / (n + r mu_eff) with mu_eff = 0.3 * 10 = n is 1/2 where ranks are right."""
    run = support.start(CMAES(), 3, 100, workers=4)._run
    if not math.isnan(seen):
        run.evidence.moved, run.evidence.weight = 10.0 * seen, 10.0
    assert pool._way(run, 3, 10) == pytest.approx(part)
    assert pool._by_noise(run, pool._SHARES) == pytest.approx(share)


def test_steps_are_cut_where_the_step_size_has_shrunk_and_never_lengthened() -> None:
    """sigma 2 -> 1 halves the step; sigma 0.5 -> 1 leaves it as it is. What the present
    distribution would have sampled is always in its units."""
    search = Distribution(np.array([1.0, 0.0]), 1.0, np.eye(2))
    found = moved([[2.0, 0.0], [0.5, 0.0]], np.zeros((2, 2)), [2.0, 0.5], search)
    assert found.near is not None
    assert found.steps is not None
    assert_allclose(found.near, [[0.5 + 1.0, 0.0], [0.5 + 0.5, 0.0]])
    assert_allclose(found.steps, [[2.0, 0.0], [2.0, 0.0]])


def test_candidates_of_the_present_distribution_are_left_alone() -> None:
    search = Distribution(np.array([0.0, 0.0]), 1.0, np.eye(2))
    X = [[9.0, 0.0], [0.0, 0.5]]
    found = moved(X, np.zeros((2, 2)), [1.0, 1.0], search, versions=[1, 1])
    assert found.near is None
    assert found.steps is None
    mixed = moved(X, [[0.0, 0.0], [1.0, 0.0]], [1.0, 1.0], search, versions=[1, 0])
    assert mixed.near is not None
    assert_array_equal(mixed.near[0], X[0])
    assert_allclose(mixed.near[1], [-0.5, 0.5])


@pytest.mark.parametrize("full", [True, False])
def test_what_was_sampled_is_compared_in_the_shape_of_now(full: bool) -> None:
    """A covariance that has shrunk along a coordinate: as they were, its old samples have more
    variance than there is, and a centred update would take all of it away, round by round."""
    rng = np.random.default_rng(1)
    old, new = np.diag([4.0, 1.0]), np.diag([4.0, 0.01])
    if not full:
        old, new = np.diagonal(old), np.diagonal(new)
    X = rng.standard_normal((200, 2)) * [2.0, 1.0]
    search = Distribution(np.array([3.0, 0.0]), 0.5, new)
    found = moved(X, np.zeros((200, 2)), np.ones(200), search, C=old)
    assert found.steps is not None
    assert_allclose(found.steps - search.mean, 0.5 * X * [1.0, 0.1])


def test_a_strategy_does_not_learn_from_candidates_of_the_model_before_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They say nothing about its distribution, and nothing of them is lost either."""
    seen, learn = [], Watchful.learn

    def watched(self: Any, memory: Any, population: Population, *rest: Any) -> Any:
        assert population.origins is not None
        seen.append(bool(population.origins.known.all()))
        return learn(self, memory, population, *rest)

    monkeypatch.setattr(Watchful, "learn", watched)
    opt = support.start("auto", 3, 600, workers=32)
    steadily(opt, np.random.default_rng(0))
    assert support.handed_over(opt) > 0
    assert len(seen) > 5
    assert all(seen)
    assert opt.result().nfev == 600


def test_candidates_of_no_distribution_stay_where_they_are() -> None:
    """Those of a model: only their length is limited."""
    search = Distribution(np.array([1.0, 0.0]), 1.0, np.eye(2))
    found = moved([[1.5, 0.5], [101.0, 0.0]], np.full((2, 2), np.nan), [np.nan] * 2, search)
    assert found.near is not None
    assert found.steps is not None
    longest = math.sqrt(2.0) + 1.0
    assert_allclose(found.near, [[1.5, 0.5], [1.0 + longest, 0.0]])
    assert_allclose(found.steps, found.near)


@pytest.mark.parametrize("C", [np.array([4.0, 1.0]), np.array([[4.0, 0.0], [0.0, 1.0]])])
def test_injected_steps_are_at_most_as_long_as_those_of_samples(C: Any) -> None:
    """Lengths are those of sigma^2 C; 2 coordinates: sqrt(2) + 2 * 2 / (2 + 2)."""
    search = Distribution(np.array([1.0, 1.0]), 0.5, C)
    longest = math.sqrt(2.0) + 1.0
    X = np.array([[1.0 + 10.0, 1.0], [1.0, 1.0 - 10.0], [2.0, 1.5], [1.0, 1.0]])
    found = pool.injected(search, X)
    assert_allclose(found[0], [1.0 + longest * 0.5 * 2.0, 1.0])
    assert_allclose(found[1], [1.0, 1.0 - longest * 0.5])
    assert_array_equal(found[2:], X[2:])


def test_the_update_sees_a_point_of_the_user_where_a_sample_could_be() -> None:
    """Its place and its step alike; candidates beside it stay as they are."""
    search = Distribution(np.zeros(2), 1.0, np.eye(2))
    population = support.population([1.0, 2.0], np.array([[30.0, 0.0], [0.5, 0.0]]))
    population.placed = [0]
    pool._inject(search, population)
    near = [[math.sqrt(2.0) + 1.0, 0.0], [0.5, 0.0]]
    assert_allclose(population.near, near)
    assert_allclose(population.steps, near)
    assert_array_equal(population.X, [[30.0, 0.0], [0.5, 0.0]])


def test_a_covariance_that_is_no_longer_positive_is_no_end_of_the_run() -> None:
    """Updates may take more from a direction than there was, until C is decomposed again."""
    C = np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues 3 and -1
    search = Distribution(np.zeros(2), 1.0, C)
    found = pool.injected(search, np.array([[1.0, -1.0], [30.0, -30.0], [30.0, 30.0]]))
    longest = math.sqrt(2.0) + 1.0
    assert_allclose(found[0], [1.0, -1.0])
    assert_allclose(np.linalg.norm(found[1:], axis=1), [longest, longest * math.sqrt(3.0)])


def test_old_samples_of_a_covariance_that_is_no_longer_positive() -> None:
    C = np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues 3, along (1, 1), and -1
    found = moved([[1.0, 0.0]], np.zeros((1, 2)), [1.0], Distribution(np.zeros(2), 1.0, C))
    assert found.steps is not None
    assert_allclose(abs(found.steps[0, 0]), abs(found.steps[0, 1]))
    assert np.linalg.norm(found.steps) <= math.sqrt(3.0) + 1e-9


def test_injected_steps_keep_their_direction() -> None:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(4, 4))
    search = Distribution(rng.normal(size=4), 0.7, A @ A.T)
    X = search.mean + 20.0 * rng.normal(size=(30, 4))
    found = pool.injected(search, X)
    Z = np.linalg.solve(np.linalg.cholesky(search.C), (found - search.mean).T) / 0.7
    assert np.sqrt((Z * Z).sum(axis=0)).max() <= 2.0 + 8.0 / 6.0 + 1e-9
    share = (found - search.mean) / (X - search.mean)
    assert_allclose(share, np.tile(share[:, :1], (1, 4)))
    assert (share <= 1.0).all()


def test_what_leaves_the_box_on_its_way_is_repaired() -> None:
    opt = support.start(CMAES(population=6), 2, 300, bounds=(-0.2, 4.0), sigma0=1.0, workers=12)
    seen = 0
    original = pool.see

    def see(method: Any, run: Run, population: Population) -> None:
        nonlocal seen
        original(method, run, population)
        if population.near is not None:
            seen += 1
            assert (population.near >= run.setup.box.low - 1e-12).all()
            assert (population.near <= run.setup.box.high + 1e-12).all()

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(pool, "see", see)
        support.drive(opt, rng=np.random.default_rng(0))
    assert seen > 5


# -- which candidates make a round


def test_a_round_takes_the_oldest_complete_candidates() -> None:
    opt = support.start(CMAES(population=4), 3, 200, workers=6, confirm=0)
    first = opt.ask()
    assert [t.id for t in first] == list(range(6))
    of(opt, [first[5], first[3], first[1]])
    assert opt.generation == 0  # three complete, and a round has at least four
    more = opt.ask(7)
    assert [t.id for t in more] == list(range(6, 13))
    of(opt, [more[2]])
    assert opt.generation == 0  # four, but nine are under way
    of(opt, [first[4]])
    assert opt.generation == 1
    assert opt.result().history["population"].tolist() == [4]
    [left] = opt._run.pool
    assert sorted(left.pending) == [0, 2, 6, 7, 9, 10, 11, 12]
    assert len(left) == 9  # the newest one is complete and waits for the next round
    assert left.complete.tolist() == [False] * 4 + [True] + [False] * 4


def test_a_round_is_at_least_half_as_large_as_what_is_under_way() -> None:
    opt = support.start(CMAES(population=4), 3, 400, workers=20, confirm=0)
    trials = opt.ask()
    while not opt.generation:
        of(opt, [trials.pop(0)])
    assert (opt.spent, len(trials)) == (7, 13)
    assert opt.result().history["population"].tolist() == [7]


def test_nobody_waits() -> None:
    """Whoever is free has something to do until the budget is used, whatever is still under way."""
    opt = support.start(CMAES(population=6), 3, 120, workers=5, confirm=0)
    held = opt.ask()
    stuck = held.pop()
    while opt.remaining:
        of(opt, [held.pop(0)])
        new = opt.ask()
        assert len(new) == 1
        held += new
    assert stuck.id not in {t.id for t in held}
    assert opt.generation > 5
    of(opt, [*held, stuck])
    assert opt.done


def test_all_of_the_next_batch_waits_until_all_of_one_is_told() -> None:
    opt = support.start(CMAES(population=6), 3, 60, batch=6, confirm=0)
    trials = opt.ask()
    of(opt, trials[1:])
    assert (opt.generation, opt.ask()) == (0, [])
    of(opt, trials[:1])
    assert opt.generation == 1
    assert len(opt.ask()) == 6


def test_leftovers_share_the_last_round() -> None:
    """25 evaluations in rounds of 6: the last one has 7 candidates, not one that is left over."""
    opt = support.start(CMAES(population=6), 3, 25, workers=4, confirm=0)
    steadily(opt)
    assert opt.result().history["population"].tolist() == [6, 6, 6, 7]


@pytest.mark.parametrize("left", [1, 2, 3])
def test_fewer_than_four_candidates_make_no_round(left: int) -> None:
    """They are evaluated, and may be the luckiest draw, but nothing is learnt from them."""
    opt = support.start(CMAES(population=6), 3, left, workers=2, confirm=0)
    while not opt.done:
        of(opt, opt.ask())
    assert (opt.spent, opt.generation) == (left, 0)
    assert math.isfinite(opt.result().fun_best_observed)


def test_a_model_learns_from_every_value() -> None:
    opt = support.start(GP(), 2, 20, workers=3, confirm=0, bounds=(-5.0, 5.0))
    told = 0
    while not opt.done:
        for trial in opt.ask():
            of(opt, [trial])
            told += 1
            assert opt.generation == told
    assert opt.result().history["population"].tolist() == [1] * 20


def test_a_strategy_that_learns_is_told_of_what_is_under_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A model must not propose twice what is being evaluated."""
    seen: list[int] = []
    propose = GP.propose

    def spy(self: GP, memory: Any, n: int, pending: Any, now: Any, rng: Any) -> Any:
        seen.append(len(pending))
        return propose(self, memory, n, pending, now, rng)

    monkeypatch.setattr(GP, "propose", spy)
    opt = support.start(GP(), 2, 20, workers=4, confirm=0, bounds=(-5.0, 5.0))
    first = opt.ask()
    of(opt, first[:1])
    opt.ask()
    assert seen == [0, 3]


# -- evaluations that are asked for later


@pytest.mark.parametrize("method", [RBPEM(population=6), Racing(population=6)])
@pytest.mark.parametrize("workers", [2, 5])
def test_re_evaluations_that_are_owed_are_kept(method: Any, workers: int) -> None:
    """New candidates are not so many that nothing is left to evaluate the old ones again."""
    alone = support.start(method, 3, 160, confirm=4)
    support.drive(alone)
    again, confirmed = [], []
    for seed in range(4):  # in which order values come moves it by a tenth
        opt = support.start(method, 3, 160, workers=workers, confirm=4)
        steadily(opt, np.random.default_rng(seed))
        assert opt.spent == 160
        again.append(opt._run.ledger.reevaluation)
        confirmed.append(opt.result().n_confirmations)
    assert min(confirmed) >= 4
    assert np.mean(confirmed) <= 8.0
    assert np.mean(again) > 0.75 * alone._run.ledger.reevaluation


def test_no_more_candidates_than_the_search_can_pay_for() -> None:
    """What gathers may be owed more than is left: nothing new then, not less than nothing."""
    opt = support.start(RBPEM(population=6), 3, 60, workers=8, confirm=0)
    opt.ask()
    run = opt._run
    run.ledger.charge(base=run.ledger.free - 1)
    assert pool.affordable(opt.method, run, 5) == 0
    run.ledger.charge(base=1)
    assert pool.affordable(opt.method, run, 5) == 0


def test_a_late_re_evaluation_holds_up_its_own_round_only() -> None:
    """Others are learnt from meanwhile; else hundreds of candidates of one distribution would
    gather behind a single straggler."""
    opt = support.start(RBPEM(population=6), 3, 400, workers=8, confirm=0)
    held = opt.ask()
    stuck = None
    while opt.spent < 300:
        if stuck is None:
            again = [t for t in held if t.kind == "reevaluation"]
            stuck = held.pop(held.index(again[0])) if again else None
        trial = held.pop(0)
        opt.tell(trial.id, support.noisy(trial))
        held += opt.ask()
    assert stuck is not None
    assert opt.generation > 20
    assert max(opt.result().history["population"]) < 20
    assert any(stuck.id in one.pending for one in opt.state.rounds)
    done = opt.generation
    opt.tell(stuck.id, 1.0)
    assert opt.generation == done + 1
    while not opt.done:
        of(opt, held)
        held = opt.ask()
    assert opt.spent == 400


# -- common seeds


def test_blocks_of_candidates_share_a_seed() -> None:
    opt = support.start(CMAES(population=6), 3, 120, workers=3, seeds="common", confirm=0)
    seeds: dict[int, int | None] = {}
    while not opt.done:
        for trial in opt.ask():
            seeds[trial.id] = trial.seed
            of(opt, [trial])
    blocks = [{seeds[id] for id in range(first, first + 6)} for first in range(0, 120, 6)]
    assert all(len(block) == 1 for block in blocks)
    assert len(set.union(*blocks)) == 20


def test_a_block_closes_when_all_of_it_is_there() -> None:
    opt = support.start(CMAES(population=6), 3, 120, workers=3, seeds="common", confirm=0)
    held = opt.ask()
    late = held.pop(0)
    while not opt.generation:
        of(opt, held)
        held = opt.ask()
    first, *later = opt._run.pool  # the second block was closed before the first one
    assert list(first.pending) == [late.id]
    assert first.complete.sum() == 5
    of(opt, [late])
    assert opt.generation == 2
    assert opt._run.pool == later
    assert opt.result().history["population"].tolist() == [6, 6]


def test_a_model_has_no_blocks() -> None:
    opt = support.start(GP(), 2, 20, workers=3, seeds="common", bounds=(-5.0, 5.0))
    opt.ask()
    assert [group.room for group in opt._run.pool] == [ANY]


# -- the end


def test_the_last_phase_begins_while_the_last_trials_are_out() -> None:
    opt = support.start(CMAES(population=6), 3, 100, workers=4, confirm=10)
    held = opt.ask()
    stuck = held.pop(0)
    kinds = []
    while opt.remaining:
        of(opt, held)
        held = opt.ask()
        kinds += [t.kind for t in held]
    assert kinds[-4:] == ["confirmation"] * 4
    of(opt, held)
    assert not opt.done
    before = opt.recommend()
    assert opt.ask() == []
    of(opt, [stuck], lambda trial: -100.0)
    after = opt.result()
    assert opt.done
    assert after.x.tolist() == before.x.tolist()  # too late for the answer
    assert after.fun_best_observed == -100.0
    assert (after.nfev, after.n_confirmations) == (100, 10)


def test_the_last_phase_waits_while_more_than_a_tenth_of_the_search_is_out() -> None:
    """Nine of ninety may be out; ten would be missed too much by the answer."""
    opt = support.start(CMAES(population=6), 3, 100, workers=12, confirm=10)
    held = opt.ask()
    stuck, held = held[:10], held[10:]
    while held:
        of(opt, held)
        held = opt.ask()
        assert "confirmation" not in {trial.kind for trial in held}
    assert opt.remaining == 10  # all of the search is handed out
    of(opt, stuck[:1])
    assert {trial.kind for trial in opt.ask()} == {"confirmation"}


def test_an_ended_last_phase_is_not_begun_again() -> None:
    """One trial of the search is still out when the answer is measured: whoever asks meanwhile
    gets nothing, and nothing is added to what was measured."""
    opt = support.start(RBPEM(population=6), 3, 100, workers=8, confirm=10)
    held = opt.ask()
    stuck = held.pop(0)
    while held:
        of(opt, [held.pop()])
        held += opt.ask()
    measured = opt._run.confirmed
    assert len(measured) >= 10
    assert (opt.ask(), opt.ask(3)) == ([], [])
    of(opt, [stuck])
    assert opt.done
    assert opt._run.confirmed.tolist() == measured.tolist()
    assert opt.spent == opt.result().nfev == 100


def test_a_batch_that_was_told_without_asking_again_is_over(tmp_path: Path) -> None:
    """After a load, those who have the trials still may tell them at once."""
    opt = support.start(CMAES(population=6), 3, 60, batch=6, confirm=0)
    trials = opt.ask()
    of(opt, trials[:2])
    opt.save(tmp_path / "run")
    opt = nw.Optimizer.load(tmp_path / "run")
    of(opt, trials[2:])
    assert len(opt.ask()) == 6


# -- the same events make the same run


@pytest.mark.parametrize("workers", [2, 3, 8, 40])
def test_the_order_of_values_counts_and_nothing_else(workers: int) -> None:
    runs = []
    for seed in (0, 0, 1):
        opt = support.start(Resample(k=2, population=5), 3, 150, workers=workers)
        asked = support.drive(opt, rng=np.random.default_rng(seed))
        assert sorted(asked) == list(range(150))
        runs.append((asked, support.data_of(opt)))
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]
