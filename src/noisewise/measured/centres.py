"""Centres: an estimate of f at each candidate, about which the bootstrap scatters.

| symbol | meaning | shape |
|---|---|---|
| Z | candidates in units of the search distribution | (k, n) |
| y | label of each candidate: its median | (k,) |
| c | centre | (k,) |

- ``observed``: c = y. Unbiased, but as noisy as one evaluation.
- ``ridge``: two-fold cross-fitted ridge regression on this generation: apart from a level that
  all candidates share, c_i never uses y_i.
- ``cross-fitted``: the same as the paper prints it (App. B, step 2), in coordinates (x - m) / sigma
  and with a level per fold, so that c_i does not use y_i at all.
- ``archive``: ridge regression with linear and squared features on the newest points of all
  generations, in current coordinates; c is the prediction plus as much of the candidate's own
  deviation from it as is likely to be signal.
"""

from __future__ import annotations

import numpy as np

from noisewise._types import FloatArray

CENTRES = ("observed", "ridge", "cross-fitted", "archive")


def ridge(Z: FloatArray, y: FloatArray, shared_level: bool = True) -> FloatArray:
    """Two-fold cross-fitted ridge regression. The penalty n is that of coefficients which
    together explain as much as the noise does.

    The level is common to both folds. With a level of its own, each fold would be believed to
    be as good as the other one looked, which is the opposite of selection; that is what
    ``shared_level=False`` does, where the level of a fold is the mean of the other one.
    """
    k, n = Z.shape
    c = np.full(k, y.mean())
    for held_out in (np.arange(0, k, 2), np.arange(1, k, 2)):
        used = np.setdiff1d(np.arange(k), held_out)
        if len(used) == 0:
            continue
        if not shared_level:
            c[held_out] = y[used].mean()
        A = Z[used]
        gram = A @ A.T  # the dual form: k is smaller than n
        gram[np.diag_indices_from(gram)] += n
        dual = np.linalg.solve(gram, y[used] - y[used].mean())
        c[held_out] += (Z[held_out] @ A.T) @ dual
    return c


def archive(
    Z: FloatArray, y: FloatArray, past_Z: FloatArray, past_y: FloatArray, noise: FloatArray
) -> FloatArray:
    """Prediction from earlier points, shrunk towards the observation.

    ``noise`` is the standard deviation of the noise at each candidate. With prediction p, the
    deviation y - p is model error plus noise; the share of model error in its variance is kept.
    An error that all candidates share does not matter to their ranks.
    """
    p = _predict(past_Z, past_y, Z)
    p += float((y - p).mean())
    deviation = y - p
    noise_share = float(np.mean(noise * noise)) / max(float(np.mean(deviation**2)), 1e-300)
    return np.asarray(p + max(0.0, 1.0 - noise_share) * deviation)


def _predict(Z: FloatArray, y: FloatArray, at: FloatArray) -> FloatArray:
    """Weighted ridge prediction; near points count more, outliers are clipped."""
    from scipy.linalg import cho_factor, cho_solve  # takes long to import

    n = Z.shape[1]
    low, middle, high = np.quantile(y, (0.25, 0.5, 0.75))
    reach = 3.0 * max(high - low, 1e-300)
    target = np.clip(y, middle - reach, middle + reach)
    # A point at distance sqrt(n), where samples lie, has weight about one half.
    weight = 1.0 / (1.0 + (Z * Z).mean(axis=1))
    mean = float(weight @ target) / float(weight.sum())
    A = np.hstack((Z, (Z * Z - 1.0) / np.sqrt(2.0)))
    # Old points lie where the mean was: without centring, the slopes would explain the intercept.
    middle_A = (weight @ A) / weight.sum()
    A -= middle_A
    normal = (A.T * weight) @ A
    normal[np.diag_indices_from(normal)] += n
    coefficients = cho_solve(cho_factor(normal, lower=True), A.T @ (weight * (target - mean)))
    features = np.hstack((at, (at * at - 1.0) / np.sqrt(2.0)))
    return np.asarray(mean + (features - middle_A) @ coefficients)
