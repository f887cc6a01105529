"""The families with which methods are tuned. Each docstring says what a user would want there."""

from __future__ import annotations

import numpy as np

from ...problem import FloatArray
from ._kind import Family, Parts, anywhere, law, mean_of, scenarios


def queue(rng: np.random.Generator, d: int) -> Parts:
    """Service rates of stations in a row: capacity costs against the mean time that a few customers
    take. In a steady M/M/1 station that time is exponential."""
    arrivals, price = rng.uniform(0.5, 1.5, d), rng.uniform(0.5, 2.0, d)
    wait, n = float(rng.uniform(1.0, 4.0)), int(rng.integers(2, 30))

    def spare(u: FloatArray) -> FloatArray:
        return np.asarray(arrivals * (0.05 + 2.5 * u))

    def truth(u: FloatArray) -> FloatArray:
        s = spare(u)
        return np.asarray(s @ price + (wait / s).sum(axis=1))

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        s = spare(u)
        return np.asarray(s @ price + (wait / s * rng.gamma(n, 1.0 / n, s.shape)).sum(axis=1))

    return Parts(truth, noise)


def inventory(rng: np.random.Generator, d: int) -> Parts:
    """Stock of several products with exponential demand and one store room; mean of some days."""
    demand, hold, lack = rng.uniform(0.5, 2.0, d), rng.uniform(0.2, 1.0, d), rng.uniform(1, 8, d)
    room, days = 2.0 * float(demand.sum()), int(rng.integers(1, 15))

    def stock(u: FloatArray) -> FloatArray:
        return np.asarray(6.0 * demand * u)

    def crowded(s: FloatArray) -> FloatArray:
        return np.asarray(2.0 * np.maximum(0.0, s.sum(axis=1) - room))

    def truth(u: FloatArray) -> FloatArray:
        s = stock(u)
        out = demand * np.exp(-s / demand)
        return np.asarray((hold * (s - demand + out) + lack * out).sum(axis=1) + crowded(s))

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        s = stock(u)

        def day() -> FloatArray:
            left = s - demand * rng.exponential(size=s.shape)
            return np.asarray(
                (hold * np.maximum(left, 0) + lack * np.maximum(-left, 0)).sum(axis=1)
            )

        return mean_of(day, days) + crowded(s)

    return Parts(truth, noise)


def decay(rng: np.random.Generator, d: int) -> Parts:
    """A sum of exponentials (amplitudes, logarithmic rates, offset) is fitted to fresh
    measurements; the value is the mean square error."""
    times, k = np.linspace(0.0, 4.0, 25), d // 2
    best, sd = rng.uniform(0.1, 0.9, d), float(np.exp(rng.uniform(np.log(0.02), np.log(0.6))))

    def curve(u: FloatArray) -> FloatArray:
        rate = 10.0 ** (2.0 * u[:, k : 2 * k] - 1.0)
        rows = u[:, :k, None] * np.exp(-rate[:, :, None] * times)
        offset = u[:, 2 * k :].sum(axis=1) if d % 2 else np.zeros(len(u))
        return np.asarray(rows.sum(axis=1) + offset[:, None])

    data = curve(best[None])[0]

    def truth(u: FloatArray) -> FloatArray:
        return np.asarray(np.mean((curve(u) - data) ** 2, axis=1) + sd**2)

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        measured = data + sd * rng.standard_normal((len(u), len(times)))
        return np.asarray(np.mean((curve(u) - measured) ** 2, axis=1))

    return Parts(truth, noise, best)


def pid(rng: np.random.Generator, d: int) -> Parts:
    """Gains of a PID controller, on logarithmic scales; a random load makes the integrated error
    scale with a factor of mean one. Further parameters weight a filter."""
    damping, delay = rng.uniform(0.1, 0.8), int(rng.integers(1, 4))
    freedom = int(rng.integers(3, 40))

    def truth(u: FloatArray) -> FloatArray:
        kp, ki, kd = (10.0 ** (2.5 * u[:, i] - 1.5) if i < d else 0.1 for i in range(3))
        smooth = 0.1 + 0.8 * u[:, 3] if d > 3 else np.full(len(u), 0.5)
        x, v, total, past, cost = (np.zeros(len(u)) for _ in range(5))
        queue = [np.zeros(len(u)) for _ in range(delay)]
        for _ in range(80):
            error = 1.0 - x
            total = total + 0.1 * error
            past_error, past = past, past + smooth * (error - past)
            force = kp * error + ki * total + kd * (past - past_error) / 0.1
            queue.append(np.clip(force, -20.0, 20.0))
            v = v + 0.1 * (queue.pop(0) - 2.0 * damping * v - x)
            x = np.clip(x + 0.1 * v, -10.0, 10.0)
            cost = cost + error**2 + 0.001 * force**2
        return np.asarray(np.log1p(cost))

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        return np.asarray(t * rng.chisquare(freedom, len(t)) / freedom)

    return Parts(truth, noise)


def pricing(rng: np.random.Generator, d: int) -> Parts:
    """Prices of products of which a visitor buys one or none; minus the revenue per visitor."""
    appeal, steep = rng.uniform(1.0, 3.0, d), rng.uniform(0.5, 1.5, d)
    visitors = int(rng.integers(10, 400))

    def parts(u: FloatArray) -> tuple[FloatArray, FloatArray]:
        price = 0.2 + 5.8 * u
        want = np.exp(appeal - steep * price)
        return price, want / (1.0 + want.sum(axis=1, keepdims=True))

    def truth(u: FloatArray) -> FloatArray:
        price, chance = parts(u)
        return np.asarray(-(price * chance).sum(axis=1))

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        price, chance = parts(u)
        every = np.column_stack([chance, 1.0 - chance.sum(axis=1)])
        bought = rng.multinomial(visitors, np.clip(every, 0.0, 1.0))[:, :d]
        return np.asarray(-(price * bought).sum(axis=1) / visitors)

    return Parts(truth, noise)


def ridge(rng: np.random.Generator, d: int) -> Parts:
    """Logarithmic penalties of groups of features of a linear model; error on a random split."""
    n, features, splits = 60, 4 * d, 12
    X = rng.standard_normal((n, features)) @ np.diag(rng.uniform(0.3, 2.0, features))
    weight = rng.standard_normal(features) * (rng.random(features) < 0.4)
    y = X @ weight + rng.uniform(0.5, 3.0) * rng.standard_normal(n)
    order = [rng.permutation(n) for _ in range(splits)]
    group = np.arange(features) % d

    def values(u: FloatArray) -> FloatArray:
        penalty = 10.0 ** (6.0 * u[:, group] - 3.0)
        found = []
        for o in order:
            a, b = o[:40], o[40:]
            A = (X[a].T @ X[a])[None] + penalty[:, :, None] * np.eye(features)
            w = np.linalg.solve(A, np.broadcast_to(X[a].T @ y[a], (len(u), features))[..., None])
            found.append(np.mean((X[b] @ w[..., 0].T - y[b][:, None]) ** 2, axis=0))
        return np.asarray(np.log(np.array(found).T))

    return Parts(*scenarios(values))


def epidemic(rng: np.random.Generator, d: int) -> Parts:
    """Contact reductions in consecutive periods: infections, observed with a factor of mean one,
    against the cost of the reductions."""
    spread, price = float(rng.uniform(1.5, 4.0)), float(rng.uniform(0.05, 0.4))
    level = float(rng.uniform(0.05, 0.8))

    def ill(u: FloatArray) -> FloatArray:
        s, i = np.full(len(u), 0.99), np.full(len(u), 0.01)
        for step in range(10 * d):
            new = np.minimum(s, (8.0 / d) * 0.1 * spread * (1.0 - 0.8 * u[:, step // 10]) * s * i)
            s, i = s - new, i + new - (8.0 / d) * 0.1 * i
        return np.asarray(1.0 - s)

    def burden(u: FloatArray) -> FloatArray:
        return np.asarray(price * np.mean(u**1.5, axis=1))

    def truth(u: FloatArray) -> FloatArray:
        return ill(u) + burden(u)

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        factor = np.exp(level * rng.standard_normal(len(t)) - 0.5 * level**2)
        return np.asarray(ill(u) * factor + burden(u))

    return Parts(truth, noise)


def schedule(rng: np.random.Generator, d: int) -> Parts:
    """Keys that order jobs on one machine (a step function): weighted times of completion with
    random durations, and keys that are held near a target."""
    duration, weight = rng.uniform(0.5, 3.0, d), rng.uniform(0.2, 3.0, d)
    target, shape = rng.random(d), float(rng.uniform(1.0, 10.0))
    scale = float((duration * weight).sum())
    earlier = np.triu(np.ones((d, d), dtype=bool), 1)

    def cost(u: FloatArray, times: FloatArray) -> FloatArray:
        one, other = u[:, :, None], u[:, None, :]
        before = ((one < other) | ((one == other) & earlier)).astype(float)  # one machine
        done = np.einsum("ni,nij->nj", times, before) + times
        extra = 0.2 * scale * np.mean((u - target) ** 2, axis=1)
        return np.asarray(done @ weight + extra)

    def truth(u: FloatArray) -> FloatArray:
        return cost(u, np.broadcast_to(duration, u.shape))

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        return cost(u, duration * rng.gamma(shape, 1.0 / shape, u.shape))

    return Parts(truth, noise)


def reaction(rng: np.random.Generator, d: int) -> Parts:
    """Minus the yield of the middle product of two reactions in a row: temperature and time, then
    doses with an optimum each."""
    first, second = rng.uniform(3.0, 5.0), rng.uniform(5.5, 8.0)
    dose, width = anywhere(rng, d), rng.uniform(0.3, 1.0, d)

    def truth(u: FloatArray) -> FloatArray:
        heat = u[:, 0]
        time = 10.0 ** (3.0 * u[:, 1] - 1.5)
        a, b = np.exp(first * (heat - 0.5)), np.exp(second * (heat - 0.7))
        apart = np.where(np.abs(b - a) < 1e-6, 1e-6, b - a)
        got = a / apart * (np.exp(-a * time) - np.exp(-b * time))
        rest = ((u[:, 2:] - dose[2:]) / width[2:]) ** 2
        return np.asarray(-100.0 * got * np.exp(-rest.sum(axis=1)))

    return Parts(truth, law(rng, 20.0))


def duel(rng: np.random.Generator, d: int) -> Parts:
    """Share of a few games lost against a fixed opponent; the chance depends on how far a setting
    is from the best one, along directions of unequal weight."""
    best, games = anywhere(rng, d), int(rng.integers(1, 12))
    turn = np.linalg.qr(rng.standard_normal((d, d)))[0]
    weight = np.geomspace(1.0, 30.0, d) * rng.uniform(2.0, 10.0) / d

    def truth(u: FloatArray) -> FloatArray:
        far = ((u - best) @ turn) ** 2 @ weight
        return np.asarray(0.15 + 0.8 * far / (1.0 + far))

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        return rng.binomial(games, t) / games

    return Parts(truth, noise, best)


def dixon(rng: np.random.Generator, d: int) -> Parts:
    """The Dixon-Price function: a curved valley with unequal weights."""
    index = np.arange(2, d + 1)

    def truth(u: FloatArray) -> FloatArray:
        x = 20.0 * u - 10.0
        bend = (2.0 * x[:, 1:] ** 2 - x[:, :-1]) ** 2
        return np.asarray((x[:, 0] - 1.0) ** 2 + bend @ index)

    powers = 2.0 ** np.arange(1, d + 1)
    best = (10.0 + 2.0 ** (-(powers - 2.0) / powers)) / 20.0
    sample = truth(np.random.default_rng(0).random((500, d)))
    return Parts(truth, law(rng, 0.3 * float(np.median(sample))), best)


def ackley(rng: np.random.Generator, d: int) -> Parts:
    """A funnel under ripples, its optimum anywhere in the box and on faces."""
    best, ripples = anywhere(rng, d), float(rng.uniform(2.0, 5.0))

    def truth(u: FloatArray) -> FloatArray:
        z = u - best
        radius = np.sqrt(np.mean(z * z, axis=1))
        return np.asarray(
            20.0 * -np.expm1(-3.0 * radius)
            + np.e
            - np.exp(np.mean(np.cos(2.0 * np.pi * ripples * z), axis=1))
        )

    return Parts(truth, law(rng, 5.0), best)


def bowl(rng: np.random.Generator, d: int) -> Parts:
    """A turned quadratic with a cubic term, its optimum anywhere in the box and on faces."""
    best, turn = anywhere(rng, d), np.linalg.qr(rng.standard_normal((d, d)))[0]
    weight = np.geomspace(1.0, float(10.0 ** rng.uniform(0.0, 2.5)), d)

    def truth(u: FloatArray) -> FloatArray:
        z = np.abs((u - best) @ turn)
        return np.asarray((z**2 + z**3) @ weight)

    sample = truth(np.random.default_rng(0).random((500, d)))
    return Parts(truth, law(rng, float(np.median(sample))), best)


FAMILIES = {
    "queue": Family(queue, (1, 2, 4, 6, 9)),
    "inventory": Family(inventory, (2, 3, 5, 8, 12)),
    "decay": Family(decay, (2, 3, 5, 7)),
    "pid": Family(pid, (2, 3, 4)),
    "pricing": Family(pricing, (1, 3, 5, 8)),
    "ridge": Family(ridge, (1, 2, 4, 6)),
    "epidemic": Family(epidemic, (2, 4, 6, 10)),
    "schedule": Family(schedule, (4, 6, 9)),
    "reaction": Family(reaction, (2, 3, 5)),
    "duel": Family(duel, (2, 4, 6, 8)),
    "dixon": Family(dixon, (3, 5, 7, 10)),
    "ackley": Family(ackley, (1, 3, 6, 12)),
    "bowl": Family(bowl, (2, 4, 7, 11)),
}
