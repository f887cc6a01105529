"""Widened OCBA in plain loops, from the table of symbols in `noisewise.select.allocation`."""

from __future__ import annotations

import math
import statistics


class Twin:
    """Values of each option, and what the rule makes of them."""

    def __init__(self, values: list[list[float]]) -> None:
        self.values = values
        self.K = range(len(values))
        self.m = [statistics.fmean(y) for y in values]
        self.SS = [sum((one - m) ** 2 for one in y) for y, m in zip(values, self.m, strict=True)]
        self.n = [len(y) for y in values]

    def v(self) -> list[float]:
        degrees = sum(n - 1 for n in self.n)
        pooled = sum(self.SS) / degrees if degrees else statistics.variance(self.m)
        return [(8.0 * pooled + self.SS[i]) / (8.0 + self.n[i] - 1) for i in self.K]

    def w(self) -> list[float]:
        v = self.v()
        b = min(self.K, key=lambda i: (self.m[i], -self.n[i]))
        w = [0.0 for _ in self.K]
        for i in self.K:
            if i != b:
                widened = (self.m[i] - self.m[b]) ** 2 + v[i] / self.n[i] + v[b] / self.n[b]
                w[i] = v[i] / widened
        w[b] = math.sqrt(v[b] * sum(w[i] ** 2 / v[i] for i in self.K))
        return w

    def next(self, p: list[int]) -> int:
        w = self.w()
        return max(self.K, key=lambda i: w[i] / (self.n[i] + p[i]))

    def e(self) -> list[float]:
        s = [v / n for v, n in zip(self.v(), self.n, strict=True)]
        usual = sum(s) / len(s)
        u = [1.0 / one for one in s]
        a = sum(x * y for x, y in zip(u, self.m, strict=True)) / sum(u)
        excess = sum(x * (y - a) ** 2 for x, y in zip(u, self.m, strict=True)) - (len(s) - 1)
        t2 = max(0.1 * usual, excess / (sum(u) - sum(x * x for x in u) / sum(u)))
        u = [1.0 / (t2 + one) for one in s]
        a = sum(x * y for x, y in zip(u, self.m, strict=True)) / sum(u)
        return [a + t2 / (t2 + one) * (y - a) for one, y in zip(s, self.m, strict=True)]
