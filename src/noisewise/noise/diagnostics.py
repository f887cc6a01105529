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
from noisewise._types import FloatArray
from noisewise.history import History
from noisewise.noise.pool import Pool
from noisewise.noise.samples import Samples
from noisewise.noise.scales import LEAST

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
#: Memory of the running averages, in generations.
_RECALL = 20
#: Larger ratios of residuals to what was predicted for them count as this.
_FAR_OFF = 10.0


@data
@dataclass(slots=True)
class Diagnostics:
    """Running averages and a table of the checks, one row per computed generation."""

    correlation: float = math.nan
    #: Mean change between two evaluations, in units of its size.
    regression: float = 0.0
    centre: float = math.nan
    #: Size of held-out residuals over what was predicted for them.
    ratio: float = math.nan
    #: Generations with repeated evaluations.
    seen: int = 0
    table: History = field(
        default_factory=lambda: History(("generation", *CHECKS), np.empty((0, 1 + len(CHECKS))), 0)
    )

    def observe(self, samples: Samples, eps: FloatArray, expected: FloatArray) -> None:
        """Take note of a generation with repeated evaluations; ``expected`` is the scale that
        was predicted for each residual before it was seen."""
        self.seen += 1
        pair = samples.values[:, :2]
        pair = pair[np.isfinite(pair).all(axis=1)]
        change = pair[:, 1] - pair[:, 0]
        size = math.sqrt(float(change @ change) / max(1, len(change)))
        if len(change) >= 2 and size > 0.0:
            # Candidates looked at again because of their rank regress towards the others. That
            # is the same in every generation, while shared noise comes and goes.
            shared = _intra_class(change - self.regression * size)
            self.correlation = self._average(self.correlation, shared)
            self.regression += (float(change.mean()) / size - self.regression) / _RECALL
        first = samples.first[np.isfinite(samples.first)]
        spread = float(np.abs(first - np.median(first)).mean())
        if len(change) and spread > 0.0:
            # Two Gaussian values differ by sqrt(2) times as much as one from the median.
            apart = math.sqrt(2.0) * spread
            self.centre = self._average(self.centre, float(np.abs(change).mean()) / apart)
        if expected.min() > LEAST:  # there was a prediction
            off = np.minimum(np.abs(eps), _FAR_OFF * expected) / expected
            self.ratio = self._average(self.ratio, float(off.mean()))

    @property
    def scale(self) -> float:
        """|log| of the ratio of held-out residuals to what was predicted for them."""
        return abs(math.log(self.ratio)) if self.ratio > 0.0 else math.nan

    def _average(self, old: float, new: float) -> float:
        """Running mean in which the first generations count equally."""
        return new if math.isnan(old) else old + (new - old) / min(self.seen, _RECALL)

    def compute(self, generation: int, pool: Pool, clip: float, gaps: FloatArray) -> None:
        """Add a row; ``gaps`` are distances between pairs of candidates in typical residuals."""
        rows = pool.by_age()
        z = rows[:, 0]
        by_size = z[rows[:, 1].argsort(kind="stable")]
        half = len(z) // 2
        small, large = np.sort(by_size[:half]), np.sort(by_size[half:])
        old, new = np.sort(z[:half]), np.sort(z[half:])
        self.table.append(
            (
                generation,
                self.correlation,
                float((np.abs(z) >= clip).mean()) if len(z) else math.nan,
                len(z),
                ks(small, large) / ks_critical(len(small), len(large)) if half >= 8 else math.nan,
                wasserstein(small, large) if half >= 8 else math.nan,
                wasserstein(old, new) if half >= 8 else math.nan,
                self.centre,
                self.scale,
                float((gaps < 1.0).mean()) if len(gaps) else math.nan,
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


def wasserstein(a: FloatArray, b: FloatArray) -> float:
    """W1 of two *sorted* samples, equal to ``scipy.stats.wasserstein_distance``."""
    both = np.concatenate((a, b))
    both.sort()
    gaps = np.diff(both)
    below_a = a.searchsorted(both[:-1], side="right") / len(a)
    below_b = b.searchsorted(both[:-1], side="right") / len(b)
    return float(np.abs(below_a - below_b) @ gaps)


def ks(a: FloatArray, b: FloatArray) -> float:
    """Kolmogorov-Smirnov distance of two *sorted* samples, equal to ``scipy.stats.ks_2samp``."""
    both = np.concatenate((a, b))
    below_a = a.searchsorted(both, side="right") / len(a)
    below_b = b.searchsorted(both, side="right") / len(b)
    return float(np.abs(below_a - below_b).max())


def ks_critical(n: int, m: int) -> float:
    """Distance that samples of one law exceed in one case of a hundred."""
    return 1.628 * math.sqrt((n + m) / (n * m)) if n and m else math.inf


def _intra_class(change: FloatArray) -> float:
    """Correlation of the entries of ``change`` with each other: 1 if all are the same."""
    k, square = len(change), float(change @ change)
    if square == 0.0:
        return 0.0
    return (float(change.sum()) ** 2 - square) / ((k - 1) * square)
