"""How often noise puts a pair of candidates in the wrong order, and what it takes to prevent that.

| symbol | meaning |
|---|---|
| q | share of pairs whose order differs between two independent rankings (Kendall) |
| rho | variance of the noise over the variance of f among the candidates |

Both functions are about all pairs of a population. They are exact where f and the noise are
Gaussian, and use ranks only, so that no monotone transformation of the values changes them.
"""

from __future__ import annotations

import math

from noisewise._check import positive_real


def noise_ratio(discordance: float) -> float:
    """rho from q: two rankings of Gaussian values correlate by 1/(1 + rho) = cos(pi q).

    >>> round(noise_ratio(1 / 3), 9)  # noise as large as what it hides
    1.0
    """
    return 1.0 / math.cos(math.pi * discordance) - 1.0 if discordance < 0.5 else math.inf


def evaluations_for(target: float, discordance: float) -> float:
    """Evaluations of each candidate for which at most a share ``target`` of all pairs is in the
    wrong order, given the share of pairs (``discordance``, q) whose order changed between two
    rankings by single evaluations. inf where the rankings have nothing in common.

    >>> evaluations_for(0.05, 1 / 3), evaluations_for(0.05, 0.0), evaluations_for(0.05, 0.5)
    (40.0, 1.0, inf)
    """
    if positive_real("target", target) >= 0.5:
        raise ValueError(f"target must be below 0.5, got {target!r}")
    ratio = noise_ratio(discordance)
    if math.isinf(ratio):
        return math.inf
    return float(max(1, math.ceil(ratio / math.tan(math.pi * target) ** 2)))
