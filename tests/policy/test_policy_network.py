"""Networks, actions and scalings: against loops that are written for reading."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewise.policy.actions import Bounded, Numbered, from_dict, of_space
from noisewise.policy.environment import guess, ranges
from noisewise.policy.network import Network, network_from
from noisewise.policy.scaling import Scaling, combined, moments, of_moments
from noisewise_bench.policies.rollouts import acts, unpacked

NETWORKS = st.builds(
    Network,
    st.integers(1, 4),
    st.one_of(
        st.builds(Numbered, st.integers(2, 5), st.integers(0, 3)),
        st.just(Bounded((-1.0, 0.0), (1.0, 4.0))),
        st.just(Bounded((-math.inf,), (math.inf,))),
    ),
    st.lists(st.integers(1, 3), max_size=2).map(tuple),
)


def twin(network: Network, x, o):
    """Outputs of a network, one unit after the other."""
    values, x = list(o), list(x)
    for layer, (n, m) in enumerate(network.layers):
        weights = [[x.pop(0) for _ in range(n)] for _ in range(m)]
        biases = [x.pop(0) for _ in range(m)]
        values = [math.tanh(v) for v in values] if layer else values
        values = [
            (sum(w * v for w, v in zip(row, values, strict=True)) + b) / math.sqrt(n + 1)
            for row, b in zip(weights, biases, strict=True)
        ]
    return np.array(values)


@settings(max_examples=60, deadline=None)
@given(NETWORKS, st.integers(0, 2**31))
def test_a_network_is_what_a_loop_over_units_computes(network, seed):
    rng = np.random.default_rng(seed)
    X, O = rng.normal(size=(3, network.size)), rng.normal(size=(3, network.inputs))  # noqa: E741
    expected = [network.actions.action(twin(network, x, o)) for x, o in zip(X, O, strict=True)]
    single = [network.act(x, o) for x, o in zip(X, O, strict=True)]
    assert np.allclose(single, expected, atol=1e-12)
    assert np.allclose(acts(network, unpacked(network, X), O), expected, atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(NETWORKS, st.integers(0, 2**31))
def test_another_scaling_with_other_parameters_is_the_same_policy(network, seed):
    rng = np.random.default_rng(seed)
    old, new = (
        Scaling(rng.normal(size=network.inputs), rng.uniform(0.1, 9.0, network.inputs))
        for _ in range(2)
    )
    x, o = rng.normal(size=network.size), rng.normal(size=network.inputs)
    moved = network.rescale(x, old, new)
    assert np.allclose(network.bind(moved, new)(o), network.bind(x, old)(o), atol=1e-9)


@settings(max_examples=40, deadline=None)
@given(NETWORKS)
def test_a_network_survives_json(network):
    again = network_from(json.loads(json.dumps(network.as_dict(), allow_nan=False)))
    assert again == network


@pytest.mark.parametrize("k", [2, 3, 4, 7])
def test_numbered_actions_are_all_reached_equally_often(k):
    Z = np.random.default_rng(0).normal(size=(20_000, k - 1))
    counts = np.bincount(Numbered(k, start=2).actions(Z) - 2, minlength=k)
    assert np.all(np.abs(counts / len(Z) - 1.0 / k) < 0.02)


def test_bounded_actions_span_the_box_and_stay_in_it():
    space = Bounded((-1.0, 0.0), (1.0, 4.0), dtype="<f4")
    assert space.action(np.array([0.0, 0.0])).tolist() == [0.0, 2.0]
    assert space.action(np.array([9.0, -9.0])).tolist() == [1.0, 0.0]
    assert space.action(np.zeros(2)).dtype == np.float32


def test_actions_of_what_is_no_known_space():
    with pytest.raises(ValueError, match="must be Discrete or Box"):
        of_space(object())
    with pytest.raises(ValueError, match="must be a Box"):
        ranges(object())


def test_a_box_without_a_dtype_is_of_floats():
    class Space:
        low, high = -np.ones(2), np.ones(2)

    assert of_space(Space).action(np.zeros(2)).dtype == np.float64


def test_from_dict_is_the_inverse():
    for actions in (Numbered(3, 1), Bounded((-math.inf, 0.0), (math.inf, 1.0), (2, 1))):
        assert from_dict(actions.as_dict()) == actions


def test_moments_give_mean_and_deviation_and_leave_constants_alone():
    rows = np.random.default_rng(0).normal(3.0, 2.0, (50, 3))
    rows[:, 1] = 7.0
    rows = np.clip(rows, -3.0, 9.0)
    scaling = of_moments(combined(np.array([moments(rows[:20]), moments(rows[20:])])))
    assert np.allclose(scaling.shift, rows.mean(axis=0))
    assert np.allclose(scaling.scale, [rows[:, 0].std(), 1.0, rows[:, 2].std()])


def test_what_is_rarely_other_than_usual_is_scaled_by_more():
    """A flag that is set in one of 1,000 steps is about 3 where it is set, not 30."""
    rows = np.zeros((1000, 2))
    rows[7], rows[9] = (1.0, 0.0), (0.0, -1.0)
    scaling = of_moments(moments(rows))
    assert np.allclose(scaling.scale, 0.3, rtol=1e-2)
    assert np.allclose((rows[7] - scaling.shift) / scaling.scale, [3.33, 0.0], atol=0.01)


def test_declared_ranges_scale_down_only():
    class Space:
        low, high = np.array([-0.1, -20.0, -np.inf, -3e38]), np.array([0.3, 20.0, np.inf, 3e38])

    assert np.allclose(guess(Space).scale, [0.2, 1.0, 1.0, 1.0])
    middle, half = ranges(Space)
    assert np.allclose(middle, [0.1, 0.0, 0.0, 0.0])
    assert np.allclose(half, [0.2, 20.0, 1.0, 1.0])
