"""Rules of the search with a Gaussian process that whole runs rarely show."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import support
from noisewise._types import FloatArray
from noisewise.gp import answer, search
from noisewise.gp.past import PLAIN, UNUSED
from noisewise.gp.search import Memory
from noisewise.methods import GP
from noisewise.methods.method import Now, Size


def box(d: int = 3) -> Memory:
    return search.start(np.zeros(d), np.ones(d), np.full(d, 0.5), 0.3)


def measured(memory: Memory, values: list[float], seed: int = 0) -> Memory:
    """With these values at random points, one by one; nan failed."""
    rng = np.random.default_rng(seed)
    for value in values:
        memory = search.learn(memory, rng.random((1, len(memory.x0))), np.array([value]))
    return memory


# -- the start design


@pytest.mark.parametrize(
    ("done", "pending", "n", "spread"),
    [(2, 0, 1, 1), (4, 0, 4, 2), (4, 1, 4, 1), (5, 1, 2, 0), (6, 0, 3, 0), (9, 2, 1, 0)],
)
def test_the_start_design_has_two_points_for_each_coordinate(
    done: int, pending: int, n: int, spread: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was measured and what is under way are part of it; the model chooses the others."""
    asked: list[str] = []

    def choose(how: str) -> Any:
        def point(*args: Any) -> Any:
            asked.append(how)
            x = np.full(3, 0.1 * len(asked))
            return (x, None) if how == "model" else x

        return point

    monkeypatch.setattr(search, "_spaced", choose("spread"))
    monkeypatch.setattr(search, "_valuable", choose("model"))
    memory = measured(box(), [float(i) for i in range(done)])
    rng = np.random.default_rng(1)
    found = search.propose(memory, n, rng.random((pending, 3)), rng)
    assert asked == ["spread"] * spread + ["model"] * (n - spread)
    np.testing.assert_allclose(found[:, 0], 0.1 * np.arange(1, n + 1))


# -- after failures in a row


@pytest.mark.parametrize(
    ("values", "first"),
    [
        ([1.0, np.nan, np.nan], 0),  # one of the last three has succeeded: worth times chance^6
        ([1.0, np.nan, np.nan, np.nan], 1),  # what will probably succeed comes first
        ([np.nan, np.nan, np.nan, 1.0], 0),
    ],
)
def test_patience_ends_after_three_failures_in_a_row(values: list[float], first: int) -> None:
    worth, chance = np.array([100.0, 0.9, 3.0]), np.array([0.49, 0.95, 0.2])
    found = search._discounted(measured(box(), values), worth, chance)
    assert int(np.argmax(found)) == first
    if first == 1:  # without any likely one, the likeliest would be tried
        np.testing.assert_allclose(found, [0.49 - 1.0, 0.9 * 0.95**6, 0.2 - 1.0])
    else:
        np.testing.assert_allclose(found, worth * chance**6)


# -- what was foretold


def test_predictions_are_remembered_once_there_is_a_model() -> None:
    memory = measured(box(), [3.0, 1.0, 2.0, 2.5, 1.5])
    assert len(memory.told) == 0  # the start design has six points
    memory = measured(memory, [0.5, np.nan, 1.0], seed=1)
    assert memory.told[:, 2].tolist() == [1.0]
    memory = measured(memory, [float(i % 7) for i in range(60)], seed=2)
    assert len(memory.told) == 40  # the newest; what the model was like before is forgotten
    assert memory.told[-1, 2] == 3.0


def test_predictions_of_another_model_are_forgotten() -> None:
    """When earlier data come into use, the model is another one."""

    def sphere(X: FloatArray) -> FloatArray:
        return np.asarray(np.sum((X - 0.4) ** 2, axis=1))

    rng = np.random.default_rng(3)
    X = rng.random((30, 2))
    memory = search.absorb(box(2), X, sphere(X), np.zeros(30))
    assert memory is not None
    memory = replace(memory, told=np.ones((5, 3)))  # as if another model had foretold values
    uses = []
    for _ in range(8):
        x = rng.random((1, 2))
        assert memory.past is not None
        before = memory.past.use
        memory = search.learn(memory, x, sphere(x))
        assert memory.past is not None
        uses.append(memory.past.use)
        if memory.past.use == before == UNUSED:
            assert len(memory.told) == 5
        elif memory.past.use != before:
            assert len(memory.told) == 0
    assert uses[0] == UNUSED
    assert uses[-1] == PLAIN
    assert 0 < len(memory.told) < 8
    assert not (memory.told == 1.0).all(axis=1).any()


# -- the answer under strong noise


@pytest.mark.parametrize(
    ("x", "average", "expected"),
    [
        # Inside the box: halfway between the model's minimum and the average of the best.
        ([0.4, 0.4, 0.4], [0.6, 0.2, 0.4], [0.5, 0.3, 0.4]),
        # On a face, with the average less than a quarter of the box away: it stays there.
        ([0.0, 1.0, 0.4], [0.24, 0.76, 0.6], [0.0, 1.0, 0.5]),
        # Farther away: the face was a mistake.
        ([0.0, 1.0, 0.4], [0.26, 0.74, 0.6], [0.13, 0.87, 0.5]),
    ],
)
def test_a_minimum_on_a_face_stays_there_if_the_best_points_are_beside_it(
    x: list[float], average: list[float], expected: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = measured(box(), [float(i % 4) for i in range(8)])
    process = search.modelled(memory).posterior
    monkeypatch.setattr(answer, "minimum", lambda memory, process: np.array(x))
    monkeypatch.setattr(answer, "average_of_best", lambda X, y, n: np.array(average))
    monkeypatch.setattr(answer, "noise_share", lambda memory: 0.7)
    np.testing.assert_allclose(answer.favourite(memory, process), expected)
    # Three coordinates times the share: noise is strong above two.
    monkeypatch.setattr(answer, "noise_share", lambda memory: 0.66)
    np.testing.assert_allclose(answer.favourite(memory, process), x)


@pytest.mark.parametrize(("n", "best"), [(8, 3), (30, 3), (31, 4), (55, 6)])
def test_the_best_are_a_tenth_of_the_successes_and_at_least_three(
    n: int, best: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []

    def average(X: FloatArray, y: FloatArray, count: int) -> FloatArray:
        asked.append(count)
        assert len(X) == len(y) == n
        return np.full(3, 0.5)

    memory = measured(box(), [float(i % 4) for i in range(n)] + [np.nan])
    monkeypatch.setattr(answer, "minimum", lambda memory, process: np.full(3, 0.4))
    monkeypatch.setattr(answer, "average_of_best", average)
    monkeypatch.setattr(answer, "noise_share", lambda memory: 0.9)
    answer.favourite(memory, search.modelled(memory).posterior)
    assert asked == [best]


@pytest.mark.parametrize("known", ["var", "seed", "limits"])
def test_where_the_model_knows_more_than_values_its_minimum_counts(
    known: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = measured(box(), [float(i % 4) for i in range(8)])
    change: dict[str, Any] = {
        "var": {"measured": replace(memory.measured, var=np.array([0.0] * 7 + [0.1]))},
        "seed": {"measured": replace(memory.measured, seed=np.arange(8))},
        "limits": {"limits": object()},
    }[known]
    process = search.modelled(memory).posterior
    monkeypatch.setattr(answer, "minimum", lambda memory, process: np.full(3, 0.4))
    monkeypatch.setattr(answer, "noise_share", lambda memory: 0.9)
    assert not np.allclose(answer.favourite(memory, process), 0.4)
    np.testing.assert_array_equal(answer.favourite(replace(memory, **change), process), 0.4)


# -- shares of noise, and what the model sees nothing of


def test_the_share_of_noise_follows_the_noise() -> None:
    rng = np.random.default_rng(1)
    X = rng.random((60, 2))
    line = 10.0 * X[:, 0]
    shares = []
    for sd in (0.0, 1.0, 3.0):
        memory = search.learn(box(2), X, line + sd * rng.normal(size=60))
        shares.append(search.noise_share(memory))
    variance = float(np.var(line))
    assert shares[0] < 0.01
    assert shares[1] == pytest.approx(1.0 / (1.0 + variance), abs=0.06)
    assert shares[2] > 2.0 * shares[1]


@pytest.mark.parametrize(
    ("values", "known"),
    [
        ([], False),
        ([1.0, 2.0, 3.0], False),  # the start design of two coordinates has four points
        ([1.0, 2.0, 3.0, 5.0], True),
        ([1.0, np.nan, 3.0, 5.0], True),
        ([np.nan] * 4, False),  # nothing has succeeded
    ],
)
def test_from_when_on_the_share_is_known(values: list[float], known: bool) -> None:
    assert bool(np.isfinite(search.noise_share(measured(box(2), values)))) == known


@pytest.mark.parametrize(("share", "blind"), [(0.89, False), (0.91, True)])
def test_a_model_is_blind_above_nine_tenths(
    share: float, blind: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "noise_share", lambda memory: share)
    assert search.blind(measured(box(), [0.0, 1.0, 2.0, 3.0])) == blind
    # Two outcomes, such as won and lost, have such a share whatever the function.
    assert not search.blind(measured(box(), [0.0, 1.0] * 6))


# -- the method around it


@pytest.mark.parametrize("seeds", [None, "independent", "common"])
def test_only_common_seeds_are_told_to_the_model(seeds: str | None) -> None:
    opt = support.start(GP(), 2, 30, confirm=0, seeds=seeds)
    handed: list[int | None] = []
    while opt.spent < 12:
        for trial in opt.ask():
            handed.append(trial.seed)
            opt.tell(trial.id, float(trial.x @ trial.x))
    found = opt._run.memory.model.measured.seed
    if seeds == "common":
        assert found.tolist() == handed
    else:
        assert found is None


def test_known_errors_are_told_to_the_model_as_variances() -> None:
    opt = support.start(GP(), 2, 30, confirm=0)
    for trial in opt.ask():
        opt.tell(trial.id, float(trial.x @ trial.x), se=0.5)
    assert opt._run.memory.model.measured.var.tolist() == [0.25] * 4


@pytest.mark.parametrize(
    ("done", "batch", "free", "size"),
    [
        (0, 1, 100, 4),  # the start design of two coordinates in one round
        (0, 1, 3, 3),
        (0, 9, 100, 9),
        (3, 1, 100, 1),
        (4, 1, 100, 1),
        (4, 5, 100, 5),
    ],
)
def test_the_start_design_comes_in_one_round(done: int, batch: int, free: int, size: int) -> None:
    method = GP(population=batch)
    memory = method.start(support.setup(2, 100))
    memory.model = measured(memory.model, [float(i) for i in range(done)])
    assert method.size(memory, Now(free, 100)) == Size(size, singly=True)


@pytest.mark.parametrize(("own", "size"), [(0, 3), (2, 1), (7, 3)])
def test_with_earlier_data_the_first_round_ends_where_they_are_looked_at(
    own: int, size: int
) -> None:
    """In five coordinates after three own values. These disagree with the data, which are dropped:
    the next round is what is missing of a start design of ten."""
    method, rng = GP(), np.random.default_rng(3)
    X = rng.random((20, 5))
    memory = method.start(support.setup(5, 100))
    with_data = search.absorb(memory.model, X, 1000.0 + X.sum(axis=1), np.zeros(20))
    assert with_data is not None
    memory.model = measured(with_data, [float(i) for i in range(own)])
    assert method.size(memory, Now(100, 100)) == Size(size, singly=True)


def test_what_is_foretold_includes_what_the_seed_adds() -> None:
    """Offsets a hundred times as large as what there is to gain."""
    opt = support.start(GP(), 2, 60, confirm=0, seeds="common", bounds=(-5.0, 5.0))
    while opt.spent < 40:
        for trial in opt.ask():
            assert trial.seed is not None
            opt.tell(trial.id, float(trial.x @ trial.x) + 1000.0 * (trial.seed % 3))
    foretold, _, value = opt._run.memory.model.told[-20:].T
    assert np.median(np.abs(foretold - value)) < 100.0


# -- what is handed over and said


@pytest.mark.parametrize("lengths", [[1.0, 1.0], [0.2, 3.0]])
@pytest.mark.parametrize(
    ("curvature", "kept"),
    [
        ([2.0, 1.0], [2.0, 1.0]),
        ([2.0, 1e-9], [2.0, 2e-4]),  # by at most ten thousand, in units of the length scales
        ([2.0, -1.0], [2.0, 2e-4]),  # what curves downwards has no minimum
        ([-2.0, -1.0], [1e-12, 1e-12]),
    ],
)
def test_curvatures_differ_by_a_limited_factor(
    curvature: list[float], kept: list[float], lengths: list[float]
) -> None:
    scale = np.array(lengths)
    A = np.diag(np.array(curvature) / scale**2)
    process: Any = SimpleNamespace(lengths=lambda x: scale, mean_slope=lambda x: (0.0, A @ x))
    found = answer._hessian(process, np.array([0.3, 0.4])) * np.outer(scale, scale)
    np.testing.assert_allclose(found, np.diag(kept), rtol=1e-6, atol=1e-15)


def quadratic(n: int = 25, noise: float = 0.05) -> Memory:
    rng = np.random.default_rng(7)
    X = rng.random((n, 2))
    y = 4.0 * (X[:, 0] - 0.4) ** 2 + (X[:, 1] - 0.6) ** 2 + noise * rng.normal(size=n)
    return search.learn(box(2), X, y)


@pytest.mark.untraced
def test_the_expected_improvement_is_that_of_joint_draws() -> None:
    """Two hundred of them, always the same; against three thousand others."""
    memory = quadratic()
    found = answer.improvement(memory)
    assert answer.improvement(memory) == found
    process = search.modelled(memory).posterior
    x = answer.favourite(memory, process)
    rng = np.random.default_rng(0)
    X = np.vstack([x, search.candidates(memory, process, x, rng)])
    mean, covariance = process.joint(X)
    values, B = np.linalg.eigh(covariance)
    root = B * np.sqrt(np.maximum(values, 0.0))

    def gain(draws: np.ndarray) -> float:
        drawn = mean + draws @ root.T
        model = search.modelled(memory)
        less = float(np.mean(drawn[:, 0] - drawn.min(axis=1)))
        return (
            model.expected(float(mean[0]), 0.0)[0] - model.expected(float(mean[0]) - less, 0.0)[0]
        )

    assert found == pytest.approx(gain(rng.standard_normal((200, len(X)))), rel=1e-9)
    assert found == pytest.approx(gain(rng.standard_normal((3000, len(X)))), rel=0.2)


def test_sensitivities_are_shares_of_the_variance() -> None:
    """Of 4 (x - 0.4)^2 + (y - 0.6)^2 over the unit square: the variances are as 16 to 1."""
    first, second = answer.sensitivities(quadratic(60, 0.005), [np.array([0]), np.array([1])])
    assert first.share == pytest.approx(16.0 / 17.0, abs=0.06)
    assert second.share == pytest.approx(1.0 / 17.0, abs=0.02)
    assert first.clear
    assert second.clear
    (both,) = answer.sensitivities(quadratic(60, 0.005), [np.array([0, 1])])
    assert both.share == pytest.approx(1.0, abs=0.15)
    assert answer.sensitivities(measured(box(2), [1.0, 2.0, 3.0]), [np.array([0])]) == []
