"""The update in plain loops, straight from the equations: slow, and hard to get wrong.

Written for reading side by side with Hansen's tutorial (arXiv 1604.00772), eq. 36-58. Vectors
are lists, matrices are lists of rows.
"""

from __future__ import annotations

import math

Vector = list[float]
Matrix = list[Vector]


class Naive:
    """A strategy of dimension ``n``; ``diagonal`` forgets everything off the diagonal,
    ``weiszfeld`` divides the weights of a step by its length."""

    def __init__(self, mean: Vector, sigma: float, diagonal: bool, weiszfeld: bool = False) -> None:
        self.n, self.diagonal, self.weiszfeld = len(mean), diagonal, weiszfeld
        self.mean, self.sigma = list(mean), sigma
        self.C = [[float(i == j) for j in range(self.n)] for i in range(self.n)]
        self.p_sigma, self.p_c = [0.0] * self.n, [0.0] * self.n
        self.unfilled = 1.0

    def update(
        self,
        X: Matrix,
        weights: Vector,
        c_mean: float,
        mean_weights: Vector | None = None,
        sampled: Matrix | None = None,
    ) -> None:
        """With ``sampled`` (the candidates before repair) centred, see `Strategy.update`."""
        n, k = self.n, len(X)
        Y = [[(X[i][a] - self.mean[a]) / self.sigma for a in range(n)] for i in range(k)]
        # Rounded to ten digits, so that rates do not depend on the order of the weights.
        mu_eff = round(1.0 / sum(w * w for w in weights if w > 0.0), 10)
        c_1, c_mu, c_c, c_sigma, d_sigma = rates(n, mu_eff, self.diagonal)

        pull = [max(w, 0.0) for w in weights]
        if self.weiszfeld:
            pull = [p / math.sqrt(sum(y * y for y in Y[i])) for i, p in enumerate(pull)]
            pull = [p / sum(pull) for p in pull]
        y_w = [sum(pull[i] * Y[i][a] for i in range(k)) for a in range(n)]
        y_m, y_c, R = y_w, y_w, None
        if sampled is not None:
            R = [[(sampled[i][a] - self.mean[a]) / self.sigma for a in range(n)] for i in range(k)]
            drawn = [sum(R[i][a] for i in range(k)) / k for a in range(n)]
            y_m = y_c = [y_w[a] - drawn[a] for a in range(n)]
            if mean_weights is not None:
                y_m = [
                    sum((mean_weights[i] + 1.0 / k) * Y[i][a] for i in range(k)) - drawn[a]
                    for a in range(n)
                ]
        mean = [self.mean[a] + c_mean * self.sigma * y_m[a] for a in range(n)]

        root = inverse_root(self.C)
        white = [sum(root[a][b] * y_w[b] for b in range(n)) for a in range(n)]
        gain = math.sqrt(c_sigma * (2.0 - c_sigma) * mu_eff)
        p_sigma = [(1.0 - c_sigma) * self.p_sigma[a] + gain * white[a] for a in range(n)]
        length = math.sqrt(sum(p * p for p in p_sigma))
        chi_n = math.sqrt(n) * (1.0 - 1.0 / (4.0 * n) + 1.0 / (21.0 * n**2))
        sigma = self.sigma * math.exp(min(1.0, c_sigma / d_sigma * (length / chi_n - 1.0)))

        # h_sigma looks one generation ahead, as in the tutorial: exponent 2 (g + 1).
        self.unfilled *= (1.0 - c_sigma) ** 2
        bound = (1.4 + 2.0 / (n + 1.0)) * chi_n
        moving = length / math.sqrt(1.0 - self.unfilled * (1.0 - c_sigma) ** 2) < bound
        # The variance of the centred step under no selection is 1/mu_eff - 1/k.
        length = mu_eff if R is None else 1.0 / (1.0 / mu_eff - 1.0 / k)
        gain = math.sqrt(c_c * (2.0 - c_c) * length) if moving else 0.0
        p_c = [(1.0 - c_c) * self.p_c[a] + gain * y_c[a] for a in range(n)]

        w = self.scaled(weights, mu_eff, c_1, c_mu)
        keep = 1.0 - c_1 - c_mu * sum(w)
        if not moving:
            keep += c_1 * c_c * (2.0 - c_c)
        for i in range(k):
            if w[i] < 0.0:
                z = [sum(root[a][b] * Y[i][b] for b in range(n)) for a in range(n)]
                w[i] *= n / (sum(e * e for e in z) + 1e-8)
        C = [[0.0] * n for _ in range(n)]
        for a in range(n):
            for b in range(n):
                if a == b or not self.diagonal:
                    rank_mu = sum(w[i] * Y[i][a] * Y[i][b] for i in range(k))
                    C[a][b] = keep * self.C[a][b] + c_1 * p_c[a] * p_c[b] + c_mu * rank_mu
                    if R is not None:
                        drawn_square = sum(R[i][a] * R[i][b] for i in range(k)) / k
                        C[a][b] += c_mu * (self.C[a][b] - drawn_square)
        if R is not None:
            C = self.floored(C)
        self.mean, self.sigma, self.C = mean, sigma, C
        self.p_sigma, self.p_c = p_sigma, p_c

    def floored(self, C: Matrix) -> Matrix:
        """No variance of a centred update shrinks below a fifth: of its own, if diagonal, else
        of the smallest."""
        n = self.n
        if self.diagonal:
            return [
                [max(C[a][a], 0.2 * self.C[a][a]) if a == b else 0.0 for b in range(n)]
                for a in range(n)
            ]
        least = 0.2 * min(eigen(self.C)[0])
        values, V = eigen(C)
        if min(values) >= least:
            return C
        values = [max(v, least) for v in values]
        return [
            [sum(V[a][e] * values[e] * V[b][e] for e in range(n)) for b in range(n)]
            for a in range(n)
        ]

    def scaled(self, weights: Vector, mu_eff: float, c_1: float, c_mu: float) -> Vector:
        """Negative weights scaled to the largest mass that keeps C positive definite."""
        negative = [w for w in weights if w < 0.0]
        if not negative:
            return list(weights)
        if c_mu <= 0.0:
            return [max(w, 0.0) for w in weights]
        mass = -sum(negative)
        mu_eff_minus = mass**2 / sum(w * w for w in negative)
        alpha = min(
            1.0 + c_1 / c_mu,
            1.0 + 2.0 * mu_eff_minus / (mu_eff + 2.0),
            (1.0 - c_1 - c_mu) / (self.n * c_mu),
        )
        return [w if w >= 0.0 else w * alpha / mass for w in weights]


def rates(n: int, mu_eff: float, diagonal: bool) -> tuple[float, float, float, float, float]:
    """c_1, c_mu, c_c, c_sigma, d_sigma."""
    c_1 = 2.0 / ((n + 1.3) ** 2 + mu_eff)
    c_mu = min(1.0 - c_1 - 1e-8, 2.0 * (mu_eff - 2.0 + 1.0 / mu_eff) / ((n + 2.0) ** 2 + mu_eff))
    if diagonal:
        c_1, c_mu = min(0.5, (n + 2.0) / 3.0 * c_1), (n + 2.0) / 3.0 * c_mu
        c_mu = min(1.0 - c_1 - 1e-8, c_mu)
    c_c = (4.0 + mu_eff / n) / (n + 4.0 + 2.0 * mu_eff / n)
    c_sigma = (mu_eff + 2.0) / (n + mu_eff + 5.0)
    d_sigma = 1.0 + 2.0 * max(0.0, math.sqrt((mu_eff - 1.0) / (n + 1.0)) - 1.0) + c_sigma
    return c_1, c_mu, c_c, c_sigma, d_sigma


def inverse_root(C: Matrix) -> Matrix:
    """C^(-1/2)."""
    values, V = eigen(C)
    n = len(C)
    return [
        [sum(V[i][e] * V[j][e] / math.sqrt(values[e]) for e in range(n)) for j in range(n)]
        for i in range(n)
    ]


def eigen(C: Matrix) -> tuple[Vector, Matrix]:
    """Eigenvalues and, as columns, eigenvectors by Jacobi rotations."""
    n = len(C)
    A = [list(row) for row in C]
    V = [[float(i == j) for j in range(n)] for i in range(n)]
    for _ in range(30):
        for p in range(n):
            for q in range(p + 1, n):
                if A[p][q] != 0.0:
                    _rotate(A, V, p, q)
    return [A[e][e] for e in range(n)], V


def _rotate(A: Matrix, V: Matrix, p: int, q: int) -> None:
    """One rotation that makes A[p][q] zero; V gathers the rotations."""
    theta = (A[q][q] - A[p][p]) / (2.0 * A[p][q])
    t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for M in (A, V):
        for row in M:
            row[p], row[q] = c * row[p] - s * row[q], s * row[p] + c * row[q]
    A[p], A[q] = (
        [c * a - s * b for a, b in zip(A[p], A[q], strict=True)],
        [s * a + c * b for a, b in zip(A[p], A[q], strict=True)],
    )
