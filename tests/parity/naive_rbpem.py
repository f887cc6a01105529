"""RB-PEM in plain loops, straight from Appendix B of the paper: slow, and hard to get wrong.

Written for reading side by side with the text: steps 1 to 5, Eq. (29), (30), (35), (36) and (47).
Where the text gives no number or no formula, the twin has the library's: the penalty of the ridge
is the dimension, folds are candidates of even and of odd index, the scale is a least-squares line
through the sizes of the newest 128 residuals, and winsorising is at 10.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable

Vector = list[float]
M = 10.0
WINDOW = 128


def rank(values: Vector, i: int) -> int:
    """Eq. (29): ranks from 1, ties broken by index."""
    r = 1
    for j, other in enumerate(values):
        if other < values[i] or (other == values[i] and j < i):
            r += 1
    return r


def power_lift(k: int, spent: float) -> Vector:
    """Weight of each rank: (1 - (r - 1)/(k - 1))^e for r <= mu, with e from 1.2 to 4."""
    mu = k // 2
    raw = [(1.0 - r / (k - 1)) ** (1.2 + 2.8 * spent) if r < mu else 0.0 for r in range(k)]
    return [w / sum(raw) for w in raw]


class NaiveRBPEM:
    """What RB-PEM remembers between generations. ``uniform()`` is the source of randomness."""

    def __init__(self, k_max: int, b_boot: int, uniform: Callable[[], float]) -> None:
        self.k_max, self.b_boot, self.uniform = k_max, b_boot, uniform
        self.pool: Vector = []
        self.seen: list[tuple[float, float]] = []  # |f^| and size of a residual
        self.s0, self.s1 = 0.0, 0.0

    def reevaluated(self, Z: list[Vector], y: Vector, w: Vector) -> list[int]:
        """Step 1: candidates by bootstrap instability of their weight, at most K_max of them; the
        two next to the elite boundary while there is no pool."""
        k = len(y)
        if not self.pool:
            mu = sum(1 for weight in w if weight > 0.0)
            beside = [abs(rank(y, i) - mu - 0.5) for i in range(k)]
            return sorted(range(k), key=lambda i: (beside[i], i))[: self.k_max]
        drawn = self.bootstrap(self.centres(Z, y), w)
        U = []
        for i in range(k):  # Eq. (47)
            mean = sum(row[i] for row in drawn) / self.b_boot
            U.append(sum(row[i] ** 2 for row in drawn) / self.b_boot - mean**2)
        return sorted(range(k), key=lambda i: (-U[i], i))[: self.k_max]

    def weights(self, Z: list[Vector], values: list[Vector], w: Vector) -> Vector:
        """Steps 1 to 5: ``values`` are all evaluations of each candidate."""
        labels = [statistics.median(some) for some in values]  # pseudo-labels of step 2
        centre = self.centres(Z, labels)
        new = []
        for i, some in enumerate(values):
            if len(some) > 1:
                for y in some:
                    new.append((abs(centre[i]), y - labels[i]))  # step 1: raw residuals
        self.seen += [(f, abs(eps)) for f, eps in new]
        self.s0, self.s1 = line(self.seen[-WINDOW:])  # step 3
        for f, eps in new:  # steps 3 and 4
            z = eps / (self.s0 + self.s1 * f)
            self.pool.append(min(max(z, -M), M))
        drawn = self.bootstrap(centre, w)
        return [sum(row[i] for row in drawn) / self.b_boot for i in range(len(values))]

    def bootstrap(self, centre: Vector, w: Vector) -> list[Vector]:
        """Step 5: the weights of every candidate in every bootstrap ranking."""
        found = []
        for _ in range(self.b_boot):
            synthetic = []
            for f in centre:  # Eq. (35)
                z = self.pool[int(self.uniform() * len(self.pool))]
                synthetic.append(f + (self.s0 + self.s1 * abs(f)) * z)
            found.append([w[rank(synthetic, i) - 1] for i in range(len(centre))])  # Eq. (36)
        return found

    def centres(self, Z: list[Vector], y: Vector) -> Vector:
        """Step 2: two-fold cross-fitted ridge regression, without y_i in f^(x_i)."""
        k = len(y)
        out = [0.0] * k
        for fold in (0, 1):
            train = [i for i in range(k) if i % 2 != fold]
            level = sum(y[i] for i in train) / len(train)
            slope = ridge([Z[i] for i in train], [y[i] - level for i in train])
            for i in range(k):
                if i % 2 == fold:
                    out[i] = level + sum(b * z for b, z in zip(slope, Z[i], strict=True))
        return out


def ridge(Z: list[Vector], y: Vector) -> Vector:
    """Coefficients b that minimise |y - Z b|^2 + n |b|^2, by the normal equations."""
    n = len(Z[0])
    A = [[sum(z[a] * z[b] for z in Z) + n * (a == b) for b in range(n)] for a in range(n)]
    v = [sum(z[a] * t for z, t in zip(Z, y, strict=True)) for a in range(n)]
    for p in range(n):  # Gauss; A is positive definite
        for q in range(p + 1, n):
            factor = A[q][p] / A[p][p]
            A[q] = [x - factor * u for x, u in zip(A[q], A[p], strict=True)]
            v[q] -= factor * v[p]
    b = [0.0] * n
    for p in reversed(range(n)):
        b[p] = (v[p] - sum(A[p][q] * b[q] for q in range(p + 1, n))) / A[p][p]
    return b


def line(points: list[tuple[float, float]]) -> tuple[float, float]:
    """Step 3: s0 and s1 >= 0 of the least-squares line through (|f^|, |residual|)."""
    n = len(points)
    mx, my = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    square = sum((x - mx) ** 2 for x, _ in points)
    slope = sum((x - mx) * y for x, y in points) / square if square else 0.0
    if slope < 0.0:
        return my, 0.0
    if my - slope * mx < 0.0:
        return 0.0, sum(x * y for x, y in points) / sum(x * x for x, _ in points)
    return my - slope * mx, slope
