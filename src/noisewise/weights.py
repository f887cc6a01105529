"""Expected rank weights for any evolution strategy that weighs candidates by rank.

>>> import numpy as np
>>> from noisewise.weights import expected_weights
>>> values = [0.0, 0.1, 2.0, 3.0]  # the first two are nearly tied
>>> expected_weights(values, 0.0).round(2).tolist()  # ranks taken at face value
[0.8, 0.2, 0.0, 0.0]
>>> expected_weights(values, 0.5, rng=0).round(2).tolist()
[0.54, 0.46, 0.0, 0.0]
"""

from __future__ import annotations

from typing import Any

import numpy as np

from noisewise._check import integer, real_array, shown
from noisewise._types import FloatArray
from noisewise.cma import weights as ranked
from noisewise.cma.weights import by_name
from noisewise.problem.given import generators

__all__ = ["expected_weights", "mu_eff"]


def expected_weights(
    values: Any = None,
    scale: Any = None,
    *,
    draws: Any = None,
    profile: Any = "log",
    n: int = 1000,
    rng: Any = None,
) -> FloatArray:
    """The weight of each candidate, averaged over what its rank may be.

    Give what is known about the candidates in one of two ways:

    values, scale
        Estimates of f, one per candidate (smaller is better), and their standard errors: one
        number, or one per candidate. ``n`` rankings are drawn with Gaussian errors.
    draws
        Possible values of all candidates together, shape (rankings, candidates): repeated
        evaluations, a bootstrap, or draws from the posterior of a model.

    profile
        Weight of each rank, best first: ``"log"`` (CMA-ES), ``"active"``, ``"uniform"``, or an
        array with one weight per candidate, such as those of another library.

    Returns one weight per candidate, in the order given; their sum is that of the profile. A
    candidate that failed (nan or +inf) ranks last and gets no positive weight.

    Weigh by the best estimates there are. Single noisy values with the noise as their ``scale``
    count the noise twice, once in the value and once in the draws: the weights are then those of
    noise sqrt(2) times as large.

    >>> import numpy as np
    >>> from noisewise.weights import expected_weights
    >>> expected_weights(draws=[[1.0, 2.0, 3.0], [2.0, 1.0, 3.0]], profile=[0.7, 0.3, 0.0]).tolist()
    [0.5, 0.5, 0.0]
    """
    table = _table(values, scale, draws, integer("n", n, least=1), rng)
    table = np.where(np.isnan(table), np.inf, table)
    handed_out = _profile(profile, table.shape[1])
    weights = ranked.expected_weights(table.argsort(axis=1, kind="stable"), handed_out)
    failed = (table == np.inf).all(axis=0) & (weights > 0.0)
    if not failed.any():
        return weights
    total = float(np.maximum(weights, 0.0).sum())
    weights[failed] = 0.0
    return ranked.normalised(weights) * np.where(weights > 0.0, total, 1.0)


def mu_eff(weights: Any) -> float:
    """Effective number of parents, (sum w)^2 / sum w^2 over the positive weights. Rates that were
    derived from other weights should follow it.

    >>> from noisewise.weights import mu_eff
    >>> mu_eff([0.5, 0.5, 0.0]), mu_eff([1.0, 0.0, 0.0])
    (2.0, 1.0)
    """
    positive = np.maximum(_array("weights", weights), 0.0)
    return float(positive.sum() ** 2 / (positive @ positive))


def _array(name: str, value: Any) -> FloatArray:
    try:
        return real_array(value)
    except ValueError as error:
        raise ValueError(f"{name} must be real numbers, got {shown(value)} ({error})") from None


def _table(values: Any, scale: Any, draws: Any, n: int, rng: Any) -> FloatArray:
    """Possible values, (rankings, candidates)."""
    if draws is not None:
        if values is not None or scale is not None:
            raise ValueError("values and scale must not be given with draws, got both")
        table = _array("draws", draws)
        if table.ndim != 2 or 0 in table.shape:
            raise ValueError(
                f"draws must have shape (rankings, candidates), got shape {table.shape}"
            )
        return table
    if values is None or scale is None:
        raise ValueError("values and scale, or draws, must be given, got neither")
    y, s = _array("values", values), _array("scale", scale)
    if y.ndim != 1 or len(y) == 0:
        raise ValueError(f"values must be one number per candidate, got shape {y.shape}")
    if s.shape not in ((), y.shape):
        raise ValueError(
            f"scale must be one number or one per candidate ({len(y)}), got shape {s.shape}"
        )
    if not (np.isfinite(s).all() and (s >= 0.0).all()):
        raise ValueError(f"scale must be finite and not negative, got {shown(scale)}")
    if not s.any():  # ranks at face value
        return y[None]
    return np.asarray(y + s * generators(rng)[0].normal(size=(n, len(y))))


def _profile(profile: Any, k: int) -> FloatArray:
    """Weight of each of ``k`` ranks, best first."""
    if isinstance(profile, str) or hasattr(profile, "weights"):
        return by_name(profile).weights(k)
    w = _array("profile", profile)
    if w.shape != (k,):
        raise ValueError(f"profile must have one weight per candidate ({k}), got shape {w.shape}")
    return w
