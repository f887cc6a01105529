"""When a threshold on the probe is the best rule that sees only the probe.

| symbol | meaning |
|---|---|
| p | value of the probe statistic, one of finitely many, with probability prob[p] |
| D | E[L_0 - L_1 | P = p], the advantage of action 1 (the method for noise) |
| rule | action for every p; its risk is E L_0 - sum prob[p] D[p] rule[p] |
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise._types import FloatArray

_SHAPES = st.integers(1, 8)


def _risk(rule: FloatArray, prob: FloatArray, D: FloatArray) -> float:
    """Risk up to E L_0, which no rule changes."""
    return float(-(prob * D * rule).sum())


def _best(prob: FloatArray, D: FloatArray) -> float:
    return min(_risk(np.array(rule), prob, D) for rule in product((0.0, 1.0), repeat=len(D)))


def _best_threshold(prob: FloatArray, D: FloatArray) -> float:
    m = len(D)
    return min(_risk((np.arange(m) >= t).astype(float), prob, D) for t in range(m + 1))


@given(seed=st.integers(0, 10**6), m=_SHAPES)
def test_the_sign_of_the_advantage_is_the_best_rule(seed: int, m: int) -> None:
    """Prop. threshold_optimality, first half: no rule has a smaller risk than 1{D >= 0}."""
    rng = np.random.default_rng(seed)
    prob, D = rng.dirichlet(np.ones(m)), rng.normal(size=m)
    assert _risk((D >= 0.0).astype(float), prob, D) == pytest.approx(_best(prob, D), abs=1e-12)


@given(seed=st.integers(0, 10**6), m=_SHAPES)
def test_a_threshold_is_best_if_the_advantage_crosses_once(seed: int, m: int) -> None:
    """Second half: D <= 0 below some p, D >= 0 from there on, zeros anywhere."""
    rng = np.random.default_rng(seed)
    crossing = rng.integers(0, m + 1)
    D = np.abs(rng.normal(size=m)) * np.where(np.arange(m) < crossing, -1.0, 1.0)
    D[rng.random(m) < 0.2] = 0.0
    prob = rng.dirichlet(np.ones(m))
    assert _best_threshold(prob, D) == pytest.approx(_best(prob, D), abs=1e-12)


def test_the_best_rule_itself_need_not_be_a_threshold() -> None:
    """With D = 0 below the crossing, 1{D >= 0} is no threshold rule, only as good as one."""
    D, prob = np.array([0.0, -1.0, 1.0]), np.full(3, 1.0 / 3.0)
    rule = (D >= 0.0).astype(float)
    assert rule.tolist() == [1.0, 0.0, 1.0]
    assert _risk(rule, prob, D) == _best_threshold(prob, D)


def test_no_threshold_is_best_if_the_advantage_crosses_twice() -> None:
    D, prob = np.array([-1.0, 2.0, -1.5, 1.0]), np.full(4, 0.25)
    assert _best_threshold(prob, D) > _best(prob, D) + 0.2


def _advantage(likelihood: FloatArray, gain: FloatArray) -> FloatArray:
    """D by p for severities with these gains, equally likely, seen through P(p | severity)."""
    return np.asarray(gain @ likelihood / likelihood.sum(axis=0))


def _crossings(D: FloatArray) -> int:
    return int((np.diff(np.sign(D[D != 0.0])) != 0.0).sum())


def test_a_probe_that_only_rises_on_average_is_not_enough() -> None:
    """P stochastically larger where the noise is more severe, advantage increasing in severity,
    and still D changes sign three times: the sufficient condition needs a monotone likelihood
    ratio, not only stochastic order."""
    likelihood = np.array([[0.5, 0.1, 0.4, 0.0], [0.2, 0.4, 0.1, 0.3]])
    assert (np.cumsum(likelihood[1]) <= np.cumsum(likelihood[0]) + 1e-12).all()
    D = _advantage(likelihood, np.array([-1.0, 1.0]))
    assert _crossings(D) == 3
    prob = likelihood.mean(axis=0)
    assert _best_threshold(prob, D) > _best(prob, D) + 0.1


@given(seed=st.integers(0, 10**6))
def test_a_monotone_likelihood_ratio_is_enough(seed: int) -> None:
    """If gains change sign once in severity and the likelihood ratio is monotone (here: binomial
    counts), D changes sign at most once."""
    rng = np.random.default_rng(seed)
    severity = np.sort(rng.uniform(0.02, 0.98, size=5))
    gain = np.sort(rng.normal(size=5))
    n = np.arange(9)
    likelihood = severity[:, None] ** n * (1.0 - severity[:, None]) ** (8 - n)
    likelihood *= np.array([1, 8, 28, 56, 70, 56, 28, 8, 1])
    D = _advantage(likelihood, gain)
    assert _crossings(D) <= 1
    prob = likelihood.mean(axis=0)
    assert _best_threshold(prob, D) == pytest.approx(_best(prob, D), abs=1e-12)


def test_winning_more_often_is_not_losing_less() -> None:
    """D is about mean losses. A method that wins two times in three can still have the larger mean
    loss, so a curve of win rates does not show where D changes sign."""
    gain = np.array([0.1, 0.1, -1.0])  # L_0 - L_1 on three equally likely problems
    assert np.mean(gain > 0.0) > 0.5
    assert gain.mean() < 0.0
