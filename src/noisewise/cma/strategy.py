"""The strategy: sample a population, update the distribution from one weight per candidate.

| symbol | meaning | shape |
|---|---|---|
| m, sigma, C | mean, step size, covariance of N(m, sigma^2 C) | (n,), (), |
| x_i | candidate i, in ask order, inside the box | (n,) |
| y_i | (x_i - m) / sigma | (n,) |
| w_i | weight of candidate i, positive part summing to one | (k,) |
| p_sigma, p_c | evolution paths of the step size and of the rank-one update | (n,) |
| r, b | reliability of the ranks; share of the sampled average that is subtracted | |

The strategy never sees an objective value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.cma.covariance import Covariance, Rates
from noisewise.problem.box import SIGMA_MAX, SIGMA_MIN

#: The weighted mean of the candidates, or one step from the mean towards their weighted
#: geometric median.
RECOMBINATIONS = ("arithmetic", "weiszfeld")


@data
@dataclass(slots=True)
class State:
    """The search distribution and its paths. Never changed in place."""

    mean: FloatArray
    sigma: float
    covariance: Any
    p_sigma: FloatArray
    p_c: FloatArray
    #: Product of (1 - c_sigma)^2 so far: what p_sigma still lacks of its stationary length.
    unfilled: float = 1.0


class Update(NamedTuple):
    """What one update was made of."""

    mu_eff: float
    rates: Rates
    step: FloatArray  # y_w
    #: h_sigma: the step-size path was short enough for p_c to move.
    moving: bool


@dataclass(slots=True)
class Strategy:
    """An evolution strategy of dimension ``n``.

    ``mu_eff``: None derives mu_eff and all rates from the weights of each update; a number
    fixes them. ``recombination``: one of `RECOMBINATIONS`.
    """

    n: int
    covariance: Covariance
    mu_eff: float | None = None
    recombination: str = "arithmetic"

    def start(self, mean: FloatArray, sigma: float, C: FloatArray | None = None) -> State:
        """The initial distribution N(mean, sigma^2 C); None: C = I."""
        zero, cov = np.zeros(self.n), self.covariance
        shape = cov.start(self.n) if C is None else cov.of(C)
        return State(mean.copy(), sigma, shape, zero, zero)

    def standardise(self, state: State, X: FloatArray) -> FloatArray:
        """Rows of inner coordinates in units of the search distribution."""
        return self.covariance.whiten(state.covariance, (X - state.mean) / state.sigma)

    def sample(self, state: State, k: int, rng: np.random.Generator) -> FloatArray:
        """``k`` candidates from N(m, sigma^2 C), as rows; they may lie outside the box."""
        X = self.covariance.stretch(state.covariance, rng.standard_normal((k, self.n)))
        X *= state.sigma
        X += state.mean
        return X

    def update(
        self,
        state: State,
        X: FloatArray,
        weights: FloatArray,
        c_mean: float = 1.0,
        mean_weights: FloatArray | None = None,
        sampled: FloatArray | None = None,
        reliability: float = 0.0,
        shape_weights: FloatArray | None = None,
    ) -> tuple[State, Update]:
        """The distribution after candidates ``X`` (rows, ask order) earned ``weights``.

        ``mean_weights`` move the mean if they differ from the positive part of ``weights``; they
        sum to zero and may be negative. ``sampled``, the candidates as they were before repair,
        makes the update *centred*: mean, p_c and variances are measured against the average of
        what was sampled instead of its expectation, a control variate that takes out the part of
        the sampling noise in which selection has no share. How much of it that is depends on the
        ``reliability`` of the ranks, see `centring`. ``shape_weights`` change the covariance
        in place of ``weights``; where they sum to less than one, the rest of it stays as it is,
        and the rank-one update is weaker by as much.
        """
        n, cov = self.n, self.covariance
        positive, negative = _split(weights)
        # Rounded, so that permuted weights find the rates that are already computed.
        mu_eff = self.mu_eff or round(1.0 / float(positive.dot(positive)), 10)
        rates = cov.rates(n, mu_eff)
        total = 1.0
        if shape_weights is not None:
            total = float(shape_weights.sum())
            rates = rates._replace(c_1=total * rates.c_1)
        c_sigma, c_c = rates.c_sigma, rates.c_c

        # Selection and recombination
        Y = X - state.mean
        Y /= state.sigma
        pull = positive if self.recombination == "arithmetic" else nearness(positive, Y)
        y_w = pull.dot(Y)
        y_m = y_c = y_w
        R = None
        b = 0.0
        if sampled is not None:
            # Rows that needed no repair are the same; np.add.reduce is much faster than mean().
            R = Y if sampled is X else (sampled - state.mean) / state.sigma
            b = centring(n, mu_eff, reliability)
            drawn = np.add.reduce(R) / len(R)
            drawn *= b
            y_m = y_c = y_w - drawn
            if mean_weights is not None:
                y_m = mean_weights.dot(Y) + (np.add.reduce(Y) / len(Y) - drawn)
        mean = state.mean + (c_mean * state.sigma) * y_m

        # Step-size control
        p_sigma = cov.whiten(state.covariance, y_w)
        p_sigma *= rates.g_sigma
        p_sigma += (1.0 - c_sigma) * state.p_sigma
        length, chi_n = math.sqrt(float(p_sigma.dot(p_sigma))), rates.chi_n
        change = (c_sigma / rates.d_sigma) * (length / chi_n - 1.0)
        sigma = state.sigma * math.exp(change if change < 1.0 else 1.0)
        if not SIGMA_MIN <= sigma <= SIGMA_MAX:
            sigma = safe_sigma(sigma)

        # Covariance adaptation
        fade = (1.0 - c_sigma) ** 2
        unfilled = state.unfilled * fade
        filled = math.sqrt(1.0 - unfilled * fade)
        moving = length < (1.4 + 2.0 / (n + 1.0)) * chi_n * filled  # h_sigma
        p_c = (1.0 - c_c) * state.p_c
        if moving:
            gain = rates.g_c
            if sampled is not None:
                # Centred weights have less variance; the path keeps its length under no selection.
                # Without any selection left there is no variance either, and nothing to lengthen.
                gain /= math.sqrt(max(1e-9, 1.0 - b * (2.0 - b) * mu_eff / len(X)))
            p_c += gain * y_c
        w = positive
        if shape_weights is not None:
            w = shape_weights
            b *= total
        elif negative is not None:
            w = self._with_negative(state, positive, negative, mu_eff, rates, Y)
            total -= self._alpha(negative, mu_eff, rates)
        keep = 1.0 - rates.c_1 - rates.c_mu * total
        if not moving:  # what the path did not learn
            keep += rates.c_1 * c_c * (2.0 - c_c)
        covariance = cov.update(state.covariance, keep, rates, p_c, w, Y, R, b)
        new = State(mean, sigma, covariance, p_sigma, p_c, unfilled)
        return new, Update(mu_eff, rates, y_w, moving)

    def move(
        self, state: State, X: FloatArray, weights: FloatArray, mu_eff: float
    ) -> tuple[State, Update]:
        """The distribution after candidates ``X`` earned ``weights`` that sum to zero: its mean
        and its step size change, at the rates of ``mu_eff``; its shape stays."""
        cov = self.covariance
        rates = cov.rates(self.n, mu_eff)
        y = weights.dot(X - state.mean)
        y /= state.sigma
        p_sigma = cov.whiten(state.covariance, y)
        p_sigma *= rates.g_sigma / math.sqrt(mu_eff * max(1e-300, float(weights.dot(weights))))
        p_sigma += (1.0 - rates.c_sigma) * state.p_sigma
        length = math.sqrt(float(p_sigma.dot(p_sigma)))
        change = (rates.c_sigma / rates.d_sigma) * (length / rates.chi_n - 1.0)
        sigma = safe_sigma(state.sigma * math.exp(min(1.0, change)))
        mean = state.mean + state.sigma * y
        new = replace(state, mean=mean, sigma=sigma, p_sigma=p_sigma)
        return new, Update(mu_eff, rates, y, False)

    def _alpha(self, negative: FloatArray, mu_eff: float, rates: Rates) -> float:
        """Total mass of the negative weights (tutorial eq. 50-53)."""
        if rates.c_mu <= 0.0:
            return 0.0
        mass = -float(negative.sum())
        mu_eff_minus = mass * mass / float(negative @ negative)
        return min(
            1.0 + rates.c_1 / rates.c_mu,
            1.0 + 2.0 * mu_eff_minus / (mu_eff + 2.0),
            max(0.0, 1.0 - rates.c_1 - rates.c_mu) / (self.n * rates.c_mu),
        )

    def _with_negative(
        self,
        state: State,
        positive: FloatArray,
        negative: FloatArray,
        mu_eff: float,
        rates: Rates,
        Y: FloatArray,
    ) -> FloatArray:
        """Positive weights plus negative ones, these per unit of Mahalanobis length."""
        Z = self.covariance.whiten(state.covariance, Y)
        lengths = np.einsum("ij,ij->i", Z, Z)
        alpha = self._alpha(negative, mu_eff, rates)
        scaled = negative * (alpha / -float(negative.sum()))
        return np.asarray(positive + scaled * (self.n / (lengths + 1e-8)))


def centring(n: int, mu_eff: float, reliability: float) -> float:
    """Share b of the sampled average that the centred update subtracts: n / (n + r mu_eff).

    b is the regression coefficient of the weighted mean on the plain one, that is, by how much
    the weighted mean follows when all candidates are shifted. Where ranks are noise (r = 0) it
    follows all the way; where they are right, selection pulls it back to where it was, the more
    the fewer dimensions and the more parents there are.

    >>> [round(centring(n, 3.0, 1.0), 2) for n in (2, 10, 40)]
    [0.4, 0.77, 0.93]
    """
    return n / (n + reliability * mu_eff)


def nearness(weights: FloatArray, Y: FloatArray) -> FloatArray:
    """Weights of a Weiszfeld step from the origin, w_i / |y_i|, summing to one."""
    a = weights / np.maximum(np.sqrt(np.einsum("ij,ij->i", Y, Y)), 1e-100)
    return np.asarray(a / a.sum())


def safe_sigma(sigma: float) -> float:
    """``sigma``, or the nearest step size that cannot overflow."""
    return min(max(sigma, SIGMA_MIN), SIGMA_MAX)


def _split(weights: FloatArray) -> tuple[FloatArray, FloatArray | None]:
    """The positive part and the negative part, None if there is none."""
    # For few candidates the built-in is several times faster than numpy's reduction.
    smallest = min(weights.tolist()) if len(weights) < 64 else weights.min()
    if smallest >= 0.0:
        return weights, None
    return np.maximum(weights, 0.0), np.minimum(weights, 0.0)
