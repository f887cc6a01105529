"""Rules of the search for policies, one by one."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from noisewise import executors
from noisewise.methods import Pairs
from noisewise.policy import environment, look
from noisewise.policy.actions import Bounded, Numbered, from_dict, of_space
from noisewise.policy.environment import Environment, episode
from noisewise.policy.look import Look, Start, blind, episodes, first_look, moved, stream
from noisewise.policy.network import Network
from noisewise.policy.scaling import Scaling, moments, of_moments
from noisewise.policy.search import _chosen, _step_size
from noisewise_bench.policies.rollouts import acts, unpacked

INF = math.inf


def scaled(shift: list[float], scale: list[float]) -> Scaling:
    return Scaling(np.array(shift), np.array(scale))


# -- actions


@pytest.mark.parametrize("k", [2, 3, 5])
def test_numbered_actions_are_the_nearest_corners_of_a_simplex(k: int) -> None:
    """Outputs at a corner choose its action; all corners are equally far from each other."""
    kind = Numbered(k, start=10)
    Z = np.random.default_rng(k).normal(size=(200, k - 1))
    assert kind.actions(Z).tolist() == [kind.action(z) for z in Z]
    middles = np.array([Z[kind.actions(Z) == 10 + i].mean(axis=0) for i in range(k)])
    assert [kind.action(middle) for middle in middles] == list(range(10, 10 + k))
    if k > 2:
        from noisewise.policy.actions import _corners

        corners = _corners(k)
        assert corners.shape == (k, k - 1)
        np.testing.assert_allclose(corners @ corners.T, np.eye(k) - 1.0 / k, atol=1e-12)


def test_an_output_of_zero_is_the_first_of_two_actions() -> None:
    assert Numbered(2).action(np.zeros(1)) == Numbered(2).actions(np.zeros((1, 1)))[0] == 0


@pytest.mark.parametrize(
    ("low", "high", "z", "action"),
    [
        (0.0, 4.0, 0.0, 2.0),
        (0.0, 4.0, -1.0, 0.0),
        (0.0, 4.0, 9.0, 4.0),
        (0.0, 4.0, -9.0, 0.0),
        (-INF, 4.0, -9.0, -9.0),  # open: the output is the action
        (-INF, 4.0, 9.0, 4.0),
        (3.0, INF, 5.0, 5.0),
        (3.0, INF, 0.0, 3.0),
    ],
)
def test_bounded_actions(low: float, high: float, z: float, action: float) -> None:
    kind = Bounded((low,), (high,))
    assert kind.action(np.array([z])).tolist() == [action]
    again = from_dict(kind.as_dict())
    assert again == kind
    assert again.actions(np.array([[z], [z]])).tolist() == [[action]] * 2


def test_actions_of_a_space_have_its_shape_and_type() -> None:
    space = SimpleNamespace(low=np.zeros((2, 2)), high=np.ones((2, 2)), dtype=np.float32)
    kind = of_space(space)
    assert kind.outputs == 4
    found = kind.action(np.array([-1.0, 0.0, 1.0, 5.0]))
    assert found.dtype == np.float32
    assert found.tolist() == [[0.0, 0.5], [1.0, 1.0]]
    assert of_space(SimpleNamespace(n=3)) == Numbered(3, 0)


# -- episodes


class Counting:
    """Pays 1, 2, 3, ... until it ends after ``steps``, or never."""

    def __init__(self, steps: float, cut: bool = False) -> None:
        self.steps, self.cut, self.closed = steps, cut, 0

    def reset(self, *, seed: int) -> Any:
        self.n, self.seed = 0, seed
        return np.zeros(1), {}

    def step(self, action: Any) -> Any:
        self.n += 1
        over = self.n >= self.steps
        return np.full(1, self.n), float(self.n), over and not self.cut, over and self.cut, {}

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(
    ("steps", "cut", "horizon", "total"),
    [
        (4, False, None, 10.0),
        (4, True, None, 10.0),
        (4, False, 3, 6.0),
        (4, False, 9, 10.0),
        (INF, False, 1, 1.0),
    ],
)
def test_rewards_are_summed_up_to_the_horizon(
    steps: float, cut: bool, horizon: int | None, total: float
) -> None:
    env, asked = Counting(steps, cut), []
    assert episode(env, lambda seen: asked.append(float(seen[0])), 7, horizon) == total
    assert env.seed == 7
    assert asked == [float(i) for i in range(env.n)]  # each action from the newest observation


def test_an_episode_that_never_ends_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "_ENDLESS", 5)
    with pytest.raises(ValueError, match=r"did not end within 5 steps: set horizon"):
        episode(Counting(INF), lambda seen: 0, 0)
    env = Counting(6)
    with pytest.raises(ValueError, match="did not end"):
        episode(env, lambda seen: 0, 0)
    assert env.n == 5
    assert episode(Counting(5), lambda seen: 0, 0) == 15.0


@pytest.mark.parametrize(
    ("low", "high", "middle", "half"),
    [
        (0.0, 4.0, 2.0, 2.0),
        (-INF, 4.0, 0.0, 1.0),
        (-1e7, 1e7, 0.0, 1.0),  # what is meant as no limit
        (3.0, 3.0, 0.0, 1.0),
        (-0.1, 0.3, 0.1, 0.2),
    ],
)
def test_declared_ranges(low: float, high: float, middle: float, half: float) -> None:
    space = SimpleNamespace(low=np.array([low]), high=np.array([high]))
    assert [side.tolist() for side in environment.ranges(space)] == [
        pytest.approx([middle]),
        pytest.approx([half]),
    ]
    guessed = environment.guess(space)
    assert guessed.shift.tolist() == [0.0]
    assert guessed.scale.tolist() == pytest.approx([min(half, 1.0)])


# -- scaling


def test_what_is_too_large_to_be_squared_is_left_out() -> None:
    S = moments([[1.0, 2.0], [3.0, 1e101], [np.nan, 0.0], [5.0, -2.0]])
    assert S.tolist() == [2.0, 6.0, 0.0, 26.0, 8.0, -1.0, 2.0, 5.0, 2.0]
    assert moments([[9e99]])[0] == 1.0


@pytest.mark.parametrize(
    ("sd", "mean", "scale"),
    [
        (2.0, 100.0, 2.0),
        (2e-4, 100.0, 2e-4),
        (5e-5, 100.0, 1.0),  # less than a millionth of the mean: constant up to rounding
        (1e-11, 0.0, 1e-11),
        (1e-13, 0.0, 1.0),
    ],
)
def test_what_does_not_vary_is_not_scaled(sd: float, mean: float, scale: float) -> None:
    # Two observations, at one standard deviation to either side.
    S = np.array([2.0, 2.0 * mean, 2.0 * (mean * mean + sd * sd), sd - mean, mean + sd])
    found = of_moments(S)
    assert found.shift.tolist() == [mean]
    assert found.scale[0] == pytest.approx(scale, rel=1e-3)


@pytest.mark.parametrize(
    ("guess", "seen", "is_blind"),
    [
        ([1.0, 1.0], [0.019, 0.001], True),
        ([1.0, 1.0], [0.021, 0.001], False),  # one of them is seen
        ([1.0, 1.0], [0.001, 1.0], True),  # a scale of one means that it does not vary
        ([1.0, 1.0], [1.0, 1.0], False),
        ([0.01, 0.01], [0.001, 0.001], False),
    ],
)
def test_when_policies_were_blind(guess: list[float], seen: list[float], is_blind: bool) -> None:
    zero = [0.0, 0.0]
    assert blind(scaled(zero, guess), scaled(zero, seen)) == is_blind


def test_in_another_scaling_a_policy_is_no_larger_than_a_random_one() -> None:
    net = Network(1, Bounded((-INF,), (INF,)))
    old, x = scaled([0.0], [1.0]), np.array([1.0, 0.5])
    same = moved(net, x, old, scaled([0.0], [0.5]))
    np.testing.assert_allclose(same, [0.5, 0.5])
    larger = moved(net, x, old, scaled([0.0], [100.0]))
    np.testing.assert_allclose(larger, np.array([100.0, 0.5]) / math.sqrt((1e4 + 0.25) / 2.0))


# -- the first look


@pytest.mark.parametrize(
    ("budget", "n"), [(9, 0), (10, 2), (14, 2), (15, 3), (49, 9), (50, 10), (1000, 10)]
)
def test_a_fifth_of_the_budget_and_at_most_ten_episodes_are_random(budget: int, n: int) -> None:
    assert episodes(budget) == n


def test_random_numbers_of_the_look_depend_on_the_seed_only() -> None:
    one, again, other = (stream(seed).random() for seed in (3, np.int64(3), 4))
    assert one == again != other
    sequence = np.random.SeedSequence(3)
    assert stream(sequence).random() == stream(np.random.SeedSequence(3)).random()
    assert stream(sequence).random() != np.random.default_rng(sequence).random()
    child = np.random.SeedSequence(3, spawn_key=(1,))
    assert stream(child).random() != stream(sequence).random()
    assert stream(np.random.default_rng(3)).random() != np.random.default_rng(3).random()


class Target:
    """One step: pays minus the distance of the action from ``goal``; fails for actions below 0."""

    goal = 0.5

    def reset(self, *, seed: int) -> Any:
        return np.array([1.0 + seed]), {}

    def step(self, action: Any) -> Any:
        if float(action[0]) < 0.0:
            raise RuntimeError("below zero")
        return np.array([5.0]), -abs(float(action[0]) - self.goal), True, False, {}


def looked(X: list[list[float]], on_error: str = "worst") -> look.Start:
    net = Network(1, Bounded((-INF,), (INF,)))
    spec = Environment(Target)
    first = Look(spec, net, scaled([0.0], [1.0]), np.array(X), list(range(len(X))))
    return first_look(first, 1, None, executors.Limits(), on_error)


def test_the_search_starts_at_the_best_random_policy() -> None:
    """Weights and biases are divided by the root of two; observations were 1, 2 and 3."""
    root = math.sqrt(2.0)
    found = looked([[0.0, 0.3 * root], [0.0, 0.6 * root], [0.0, 2.0 * root]])
    assert found.episodes == 3
    assert found.scaling is not None
    assert found.scaling.shift[0] == 2.0
    assert found.scaling.scale[0] == pytest.approx(math.sqrt(2.0 / 3.0))
    np.testing.assert_allclose(found.x, [0.0, 0.6 * root])


def test_episodes_that_fail_are_left_out() -> None:
    found = looked([[0.0, 0.3], [0.0, -1.0], [0.0, 0.2]])
    assert found.scaling is not None
    assert found.scaling.shift[0] == 2.0  # of 1 and 3
    nothing = looked([[0.0, -0.3], [0.0, -1.0]])
    assert (nothing.x.tolist(), nothing.episodes) == ([0.0, 0.0], 2)
    assert nothing.scaling is not None
    assert (nothing.scaling.shift.tolist(), nothing.scaling.scale.tolist()) == ([0.0], [1.0])
    with pytest.raises(Exception, match="an episode of a random policy failed"):
        looked([[0.0, -0.3], [0.0, -1.0]], on_error="raise")


# -- networks


@pytest.mark.parametrize("hidden", [(), (3,), (4, 2)])
def test_many_policies_at_once_act_like_each_of_them(hidden: tuple[int, ...]) -> None:
    net = Network(2, Numbered(3), hidden)
    rng = np.random.default_rng(1)
    X, seen = rng.normal(size=(20, net.size)), rng.normal(size=(20, 2))
    assert net.size == sum((n + 1) * m for n, m in net.layers)
    several = acts(net, unpacked(net, X), seen)
    assert several.tolist() == [net.act(x, o) for x, o in zip(X, seen, strict=True)]


# -- what searches, and from where


@pytest.mark.parametrize(
    ("layers", "budget", "method"),
    [
        ((), 199, "auto"),  # 2 x 4 + 2 parameters and fewer than 200 episodes
        ((), 200, "pairs"),
        ((5,), 199, "pairs"),
    ],
)
def test_few_parameters_and_episodes_are_for_a_model(
    layers: tuple[int, ...], budget: int, method: str
) -> None:
    form = Network(4, Numbered(3), layers)
    assert (form.size <= 10) == (not layers)
    found = _chosen(None, form, Start(np.zeros(form.size), None, 0), budget)
    assert (found if isinstance(found, str) else found.name) == method


@pytest.mark.parametrize(
    ("budget", "returns", "searches"),
    [(1999, (1.0, 5.0), 1), (2000, (1.0, 5.0), 3), (2000, (), 1)],
)
def test_pairs_hear_how_good_random_policies_are(
    budget: int, returns: tuple[float, ...], searches: int
) -> None:
    """Returns are maximised, values minimised."""
    form = Network(4, Numbered(2), (5,))
    found = _chosen("pairs", form, Start(np.zeros(form.size), None, 2, returns), budget)
    assert found == Pairs(searches=searches, baseline=tuple(-r for r in returns))


def test_step_sizes_of_the_built_in_policies() -> None:
    small, large = Network(4, Numbered(2), (5,)), Network(20, Numbered(2), (8,))
    assert small.size < 100 <= large.size
    pairs = Pairs()
    assert [_step_size(form, pairs) for form in (small, large)] == [1.0, 0.25]
    assert _step_size(small, "auto") == 0.5
