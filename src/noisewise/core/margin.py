"""A least deviation for coordinates with steps, so that a search does not stall on a plateau.

A coordinate that stands for whole numbers, steps or a choice is rounded before it is evaluated.
Once the search distribution is narrower than a step, all candidates are the same there, and
selection has nothing to choose from. CMA-ES with margin (Hamano, Saito, Nomura, Shirakawa 2022)
keeps the probability of another value above a margin; here by the deviation alone.

| symbol | meaning | shape |
|---|---|---|
| m | mean of the search distribution | (n,) |
| s | its standard deviation along each coordinate | (n,) |
| low, high | ends of the cell around m in which the value stays the same, or infinite | (n,) |
| alpha | least probability of leaving that cell, 1 / (n * population) | |
"""

from __future__ import annotations

import numpy as np

from noisewise._types import FloatArray

#: Largest margin; beyond 1/2 no deviation is enough for a cell that is open on one side.
_LARGEST = 0.4
#: Halvings of the bracket, which is less than a factor of four wide for margins below 0.4.
_HALVINGS = 52


def margin(n: int, population: int) -> float:
    """alpha for ``n`` coordinates: one candidate of ``population``, shared by all of them."""
    return min(_LARGEST, 1.0 / (n * population))


def least_deviations(
    mean: FloatArray, low: FloatArray, high: FloatArray, alpha: float
) -> FloatArray:
    """The smallest s with P(N(m, s^2) < low or > high) >= alpha, for each coordinate; 0 where the
    cell has no ends."""
    from scipy.special import ndtr, ndtri  # takes long to import

    below, above = np.maximum(mean - low, 0.0), np.maximum(high - mean, 0.0)
    near = np.minimum(below, above)
    ended = np.isfinite(near) & (near > 0.0)
    least = np.zeros(len(mean))
    if not ended.any():
        return least
    below, above, near = below[ended], above[ended], near[ended]
    # The nearer end alone has at least half of the probability, and at most all of it.
    small, large = near / -ndtri(0.5 * alpha), near / -ndtri(alpha)
    for _ in range(_HALVINGS):
        s = 0.5 * (small + large)
        enough = ndtr(-below / s) + ndtr(-above / s) >= alpha
        small, large = np.where(enough, small, s), np.where(enough, s, large)
    least[ended] = large
    return least


def widened(
    X: FloatArray, mean: FloatArray, deviations: FloatArray, least: FloatArray
) -> FloatArray:
    """Candidates sampled around ``mean`` with these ``deviations``, as if the latter were at least
    ``least``; ``X`` itself where they are. These are to be evaluated; the update learns from the
    candidates as they were sampled."""
    narrow = (deviations < least) & (deviations > 0.0)
    if not narrow.any():
        return X
    factor = np.ones(len(mean))
    factor[narrow] = least[narrow] / deviations[narrow]
    return np.asarray(mean + (X - mean) * factor)
