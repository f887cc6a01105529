"""How often noise puts a pair of candidates in the wrong order, and what it takes to prevent that.

| symbol | meaning |
|---|---|
| gap | f(x_j) - f(x_i) > 0 |
| s_i, s_j | standard deviation of one evaluation of each |
| k | evaluations of each candidate, averaged |
| q | share of pairs whose order differs between two independent rankings (Kendall) |
| m | share of pairs whose order differs from the true one |
| rho | variance of the noise over the variance of f among the candidates |

`bound` and `evaluations_for_pair` are about one pair and hold for sub-Gaussian noise. `misranked`
and `evaluations_for` are about all pairs of a population; they are exact where f and the noise are
Gaussian, and use ranks only, so that no monotone transformation of the values changes them.
"""

from __future__ import annotations

import math

from noisewise._check import integer, positive_real


def bound(gap: float, s_i: float, s_j: float, k: int = 1) -> float:
    """Largest probability that means of ``k`` sub-Gaussian values have the wrong order:
    exp(-k gap^2 / (2 (s_i^2 + s_j^2))) (Eq. pairwise_misrank_bound)."""
    noise = s_i * s_i + s_j * s_j
    return 1.0 if gap <= 0.0 else math.exp(-k * gap * gap / (2.0 * noise)) if noise else 0.0


def evaluations_for_pair(target: float, gap: float, s_i: float, s_j: float) -> float:
    """Evaluations of each of two candidates for which `bound` is at most ``target``; inf if they
    are tied. It grows with the inverse square of the gap (Eq. k_needed_for_delta)."""
    _share("target", target, 1.0)
    if gap <= 0.0:
        return math.inf
    noise = s_i * s_i + s_j * s_j
    return float(max(1, math.ceil(2.0 * noise / (gap * gap) * math.log(1.0 / target))))


def noise_ratio(discordance: float) -> float:
    """rho from q: two rankings of Gaussian values correlate by 1/(1 + rho) = cos(pi q).

    >>> round(noise_ratio(1 / 3), 9)  # noise as large as what it hides
    1.0
    """
    return 1.0 / math.cos(math.pi * discordance) - 1.0 if discordance < 0.5 else math.inf


def misranked(discordance: float, k: int = 1) -> float:
    """m with ``k`` evaluations of each candidate, from q of single evaluations.

    >>> round(misranked(1 / 3), 9)
    0.25
    """
    integer("k", k, least=1)
    return math.atan(math.sqrt(noise_ratio(discordance) / k)) / math.pi


def evaluations_for(target: float, discordance: float) -> float:
    """Evaluations of each candidate for which at most a share ``target`` of all pairs is in the
    wrong order, given the share of pairs (``discordance``, q) whose order changed between two
    rankings by single evaluations. inf where the rankings have nothing in common.

    >>> evaluations_for(0.05, 1 / 3), evaluations_for(0.05, 0.0), evaluations_for(0.05, 0.5)
    (40.0, 1.0, inf)
    """
    _share("target", target, 0.5)
    ratio = noise_ratio(discordance)
    if math.isinf(ratio):
        return math.inf
    return float(max(1, math.ceil(ratio / math.tan(math.pi * target) ** 2)))


def _share(name: str, value: float, most: float) -> None:
    positive_real(name, value)
    if value >= most:
        raise ValueError(f"{name} must be below {most:g}, got {value!r}")
