"""Seven checks of the assumptions behind the residual pool.

| name | assumption | fires when |
|---|---|---|
| correlation | noise is independent between candidates | intra-class correlation of the changes between two evaluations of several candidates > 0.5 |
| clipping | few residuals are clipped | share of clipped residuals > 0.05 |
| pool_size | the pool is large enough | fewer than 30 residuals |
| shape_ks, shape_w1 | the noise has one shape | residuals at small and at large values differ |
| drift_w1 | the noise does not change over time | residuals of the older and the newer half differ |
| centre, scale | centres and scales are well estimated | two evaluations of a candidate differ by more than 0.7 of what two candidates do; held-out residuals are twice or half the predicted scale |
| near_ties | few candidates are nearly tied | more than 0.3 of the pairs are closer than a typical residual |
"""  # noqa: E501

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from noisewise._data import data
from noisewise._types import BoolArray, FloatArray
from noisewise.measured.evidence import History
from noisewise.measured.noise import RECALL, Pool, Running

#: Name, threshold, which side of it fires, and what that means in plain words.
CHECKS: dict[str, tuple[float, str, str]] = {
    "correlation": (
        0.5,
        "above",
        "repeated evaluations of different candidates change together: the noise is shared "
        "(common random numbers?), so ranks are more reliable than the bootstrap believes",
    ),
    "clipping": (
        0.05,
        "above",
        "many residuals are clipped: the noise has tails that the weights do not see",
    ),
    "pool_size": (
        30.0,
        "below",
        "the residual pool is small: the expected weights are themselves uncertain",
    ),
    "shape_ks": (
        1.0,
        "above",
        "the noise has another shape at large values than at small ones",
    ),
    "shape_w1": (
        0.5,
        "above",
        "the noise at large values differs from that at small ones by more than scaling",
    ),
    "drift_w1": (0.5, "above", "the noise changes during the run: old residuals mislead"),
    "centre": (
        0.7,  # noise as large as what it hides gives 0.71, pure noise 1
        "above",
        "two evaluations of one candidate differ almost as much as two candidates do: the "
        "centres are mostly noise",
    ),
    "scale": (
        math.log(2.0),
        "above",
        "the predicted scale of the noise is off by more than a factor of two",
    ),
    "near_ties": (
        0.3,  # noise as large as what it hides gives 0.31, pure noise 0.43
        "above",
        "many pairs of candidates are nearly tied compared with the noise",
    ),
}


@data
@dataclass(slots=True)
class Diagnostics:
    """A table of the checks, one row per computed generation."""

    near_ties: float = math.nan
    table: History = field(
        default_factory=lambda: History(("generation", *CHECKS), np.empty((0, 1 + len(CHECKS))), 0)
    )

    def compute(
        self, generation: int, pool: Pool, running: Running, clip: float, near: float
    ) -> None:
        """Add a row; ``near`` is this generation's share of `near_ties`, nan if unknown."""
        rows = pool.by_age()
        n, half = len(rows), len(rows) // 2
        order = rows[:, 0].argsort(kind="stable")
        z = rows[order, 0]
        # Residuals seen at the smaller values.
        smaller = np.zeros(n, dtype=bool)
        smaller[rows[:, 1].argsort(kind="stable")[:half]] = True
        enough = half >= 8
        small = difference(smaller[order])
        critical = ks_critical(half, n - half)
        if not math.isnan(near):
            old = near if math.isnan(self.near_ties) else self.near_ties
            self.near_ties = old + (near - old) / min(self.table.n + 1, RECALL)
        self.table.append(
            (
                generation,
                running.correlation,
                float((np.abs(z) >= clip).mean()) if n else math.nan,
                n,
                ks(z, small) / critical if enough else math.nan,
                wasserstein(z, small) if enough else math.nan,
                wasserstein(z, difference(order < half)) if enough else math.nan,
                running.centre,
                running.scale,
                self.near_ties,
            )
        )

    def firing(self) -> list[str]:
        """Names of the checks that fire in the newest row."""
        if self.table.n == 0:
            return []
        row = self.table.rows[self.table.n - 1, 1:]
        return [
            name
            for (name, (threshold, side, _)), value in zip(CHECKS.items(), row, strict=True)
            if (value > threshold if side == "above" else value < threshold)
        ]


def difference(first: BoolArray) -> FloatArray:
    """|F - G| after each value of a sorted sample, F and G being the distribution functions of
    those that belong to the ``first`` part and of the others."""
    n = int(np.count_nonzero(first))
    steps = np.where(first, 1.0 / max(1, n), -1.0 / max(1, len(first) - n))
    return np.abs(np.add.accumulate(steps))


def wasserstein(z: FloatArray, apart: FloatArray) -> float:
    """W1 of two parts of the *sorted* sample ``z``, given their `difference`."""
    return float(apart[:-1] @ np.diff(z))


def ks(z: FloatArray, apart: FloatArray) -> float:
    """Kolmogorov-Smirnov distance of two parts of the *sorted* sample ``z``, given their
    `difference`. Within equal values the difference does not count."""
    return float((apart[:-1] * (np.diff(z) > 0.0)).max())


def near_ties(y: FloatArray, noise: float) -> float:
    """Share of the pairs of *sorted* values that are less than ``noise`` apart."""
    k = len(y)
    closer = int(y.searchsorted(y + noise).sum()) - k * (k + 1) // 2
    return 2.0 * closer / (k * (k - 1)) if k > 1 else math.nan


def ks_critical(n: int, m: int) -> float:
    """Distance that samples of one law exceed in one case of a hundred."""
    return 1.628 * math.sqrt((n + m) / (n * m)) if n and m else math.inf
