"""The families that are held out. Do not tune on them, and do not change them: their digest is in
`experiments/kinds.py`. Each docstring says what a user would want there."""

from __future__ import annotations

import numpy as np

from ...problem import FloatArray
from ._kind import Family, Parts, law, mean_of, scenarios


def depots(rng: np.random.Generator, d: int) -> Parts:
    """Coordinates of d/2 depots: the distance from every customer to the nearest one, weighted with
    the orders of a random day."""
    customers, orders = rng.random((30, 2)), rng.gamma(1.0, 1.0, 30)
    shape = float(np.exp(rng.uniform(np.log(0.1), np.log(3.0))))

    def ways(u: FloatArray) -> FloatArray:
        places = u.reshape(len(u), -1, 1, 2)
        return np.asarray(np.sqrt(((places - customers) ** 2).sum(axis=3)).min(axis=1))

    def truth(u: FloatArray) -> FloatArray:
        return np.asarray(ways(u) @ orders)

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        day = orders * rng.gamma(shape, 1.0 / shape, (len(u), 30))
        return np.asarray((ways(u) * day).sum(axis=1))

    return Parts(truth, noise)


def overbooking(rng: np.random.Generator, d: int) -> Parts:
    """Whole numbers of tickets sold for each of several flights; guests that show up beyond the
    seats cost more than the fare. Minus the profit, mean of a few days."""
    seats, shows = rng.integers(20, 60, d), rng.uniform(0.7, 0.97, d)
    fare, denied = rng.uniform(0.5, 2.0, d), rng.uniform(1.5, 6.0, d)
    days = int(rng.integers(1, 8))
    most = np.ceil(seats / shows * 1.5)
    counts = np.arange(0, 140)
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 140)))])

    def sold(u: FloatArray) -> FloatArray:
        return np.round(0.3 * most + 0.7 * most * u)

    def expected(n: int, j: int) -> float:
        k = counts[: n + 1]
        log = log_factorial[n] - log_factorial[k] - log_factorial[n - k]
        chance = np.exp(log + k * np.log(shows[j]) + (n - k) * np.log(1.0 - shows[j]))
        return float(chance @ np.maximum(0, k - seats[j]))

    table = np.array([[expected(n, j) for j in range(d)] for n in range(130)])

    def truth(u: FloatArray) -> FloatArray:
        n = sold(u)
        over = table[n.astype(int), np.arange(d)]
        return np.asarray((denied * over - fare * n).sum(axis=1))

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        n = sold(u).astype(int)

        def day() -> FloatArray:
            came = rng.binomial(n, np.broadcast_to(shows, n.shape))
            return np.asarray((denied * np.maximum(0, came - seats) - fare * n).sum(axis=1))

        return mean_of(day, days)

    return Parts(truth, noise)


def dose(rng: np.random.Generator, d: int) -> Parts:
    """A dose-response curve (top, half dose, slope, floor and interference) is fitted by the mean
    absolute error of a random part of noisy measurements."""
    doses, best = np.linspace(-2.0, 2.0, 40), rng.uniform(0.15, 0.85, d)
    fallback = np.array([0.7, 0.5, 0.4, 0.1, 0.3, 0.5])
    sd = float(rng.uniform(0.02, 0.4))

    def curve(u: FloatArray) -> FloatArray:
        full = np.tile(fallback, (len(u), 1))
        full[:, :d] = u
        top, half, slope, floor, side, at = (full[:, [i]] for i in range(6))
        rise = 1.0 / (1.0 + np.exp(-(1.0 + 8.0 * slope) * (doses - 4.0 * half + 2.0)))
        return np.asarray(floor + top * rise + side * np.exp(-8.0 * (doses - 4.0 * at + 2.0) ** 2))

    data = curve(best[None])[0] + sd * rng.standard_t(3.0, 40)

    def errors(u: FloatArray) -> FloatArray:
        return np.asarray(np.abs(curve(u) - data))

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        some = rng.integers(40, size=(len(u), 8))
        return np.asarray(np.take_along_axis(errors(u), some, axis=1).mean(axis=1))

    return Parts(lambda u: errors(u).mean(axis=1), noise)


def heating(rng: np.random.Generator, d: int) -> Parts:
    """A thermostat (threshold, band, gain, night setting) on days with random weather."""
    days = 12
    outside = rng.normal(0.0, 6.0, (days, 1)) + 4.0 * np.sin(np.arange(48) / 7.6)
    fallback = np.array([0.5, 0.2, 0.5, 0.5])
    loss, price = float(rng.uniform(0.03, 0.1)), float(rng.uniform(0.02, 0.3))

    def values(u: FloatArray) -> FloatArray:
        full = np.tile(fallback, (len(u), 1))
        full[:, :d] = u
        want, band, gain, night = (full[:, [i]] for i in range(4))
        room, on = np.full((len(u), days), 17.0), np.zeros((len(u), days))
        cost = np.zeros((len(u), days))
        for hour in range(48):
            goal = 15.0 + 10.0 * want - (6.0 * night if hour < 12 or hour > 40 else 0.0)
            on = np.where(
                room < goal - 3.0 * band, 1.0, np.where(room > goal + 3.0 * band, 0.0, on)
            )
            power = on * 3.0 * gain
            room = room + power - loss * (room - outside[:, hour])
            comfort = 21.0 if 12 <= hour <= 40 else 17.0
            cost = cost + np.abs(room - comfort) + 10.0 * price * power
        return np.asarray(cost / 48.0)

    return Parts(*scenarios(values))


def auctions(rng: np.random.Generator, d: int) -> Parts:
    """Bids in several first-price auctions against the highest of some uniform rivals, with a
    penalty on what is spent above a budget; minus the profit."""
    worth, rivals = rng.uniform(0.4, 1.5, d), rng.integers(1, 5, d)
    budget, rounds = 0.3 * float(worth.sum()), int(rng.integers(1, 20))

    def parts(u: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        bid = 1.5 * worth * u
        chance = np.asarray(np.minimum(1.0, bid) ** rivals, dtype=float)
        spent = np.maximum(0.0, (bid * chance).sum(axis=1) - budget)
        return bid, chance, 2.0 * spent

    def truth(u: FloatArray) -> FloatArray:
        bid, chance, fine = parts(u)
        return np.asarray(fine - ((worth - bid) * chance).sum(axis=1))

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        bid, chance, fine = parts(u)
        won = rng.binomial(rounds, chance) / rounds
        return np.asarray(fine - ((worth - bid) * won).sum(axis=1))

    return Parts(truth, noise)


def smoothing(rng: np.random.Generator, d: int) -> Parts:
    """Logarithmic widths of a kernel smoother, one per feature; error on a random fold."""
    n, folds = 60, 10
    X = rng.random((n, d))
    y = np.sin(6.0 * X[:, 0]) + (X**2) @ (rng.normal(0.0, 1.0, d) * (rng.random(d) < 0.6))
    y = y + float(rng.uniform(0.1, 0.6)) * rng.standard_normal(n)
    gaps, fold = (X[:, None] - X[None]) ** 2, np.arange(n) % folds
    apart = fold[:, None] != fold[None]

    def values(u: FloatArray) -> FloatArray:
        rate = 10.0 ** (4.0 * u - 0.5)
        W = np.exp(-np.einsum("ijk,nk->nij", gaps, rate)) * apart + 1e-9
        error = np.abs((W @ y) / W.sum(axis=2) - y)
        return np.asarray(error.reshape(len(u), n // folds, folds).mean(axis=1))

    return Parts(*scenarios(values))


def harvest(rng: np.random.Generator, d: int) -> Parts:
    """Shares of a stock that are harvested in consecutive seasons, with good and bad years."""
    years = 24
    growth, cost = float(rng.uniform(0.5, 2.0)), float(rng.uniform(0.0, 0.1))
    weather = np.exp(rng.uniform(0.1, 0.7) * rng.standard_normal((years, d)))

    def values(u: FloatArray) -> FloatArray:
        stock, got = np.full((len(u), years), 0.4), np.zeros((len(u), years))
        for season in range(d):
            share = u[:, [season]]
            caught = share * stock
            got = got + 0.98**season * (caught - cost * share**2)
            rest = stock - caught
            stock = rest * np.exp(growth * weather[:, season] * (1.0 - rest))
        return np.asarray(-(got + 0.3 * np.minimum(stock, 1.0)))

    return Parts(*scenarios(values))


def signals(rng: np.random.Generator, d: int) -> Parts:
    """Shares of green for the arms of a crossing, on a logarithmic scale, and the length of the
    cycle: mean delay after Webster, observed with a factor of mean one."""
    flow = rng.uniform(0.05, 0.3, d)
    flow = 0.75 * flow / flow.sum()
    shape = float(np.exp(rng.uniform(np.log(2.0), np.log(50.0))))

    def truth(u: FloatArray) -> FloatArray:
        cycle = 30.0 + 90.0 * u[:, [0]]
        weight = np.exp(3.0 * (u - 0.5))
        weight[:, 0] = 1.0
        green = (1.0 - 4.0 * d / (cycle + 8.0 * d)) * weight / weight.sum(axis=1, keepdims=True)
        load = flow / green
        waits = cycle * (1.0 - green) ** 2 / (2.0 * (1.0 - np.minimum(load, 0.98) * green))
        tight = np.minimum(load, 0.98)
        queue = tight**2 / (2.0 * flow * (1.0 - tight)) + 50.0 * np.maximum(0.0, load - 0.98)
        return np.asarray(((waits + queue) * flow).sum(axis=1) / flow.sum())

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        return t * rng.gamma(shape, 1.0 / shape, len(t))

    return Parts(truth, noise)


def recipe(rng: np.random.Generator, d: int) -> Parts:
    """A response surface of a mixing process: main effects, interactions and saturation, often with
    the optimum on faces of the box."""
    linear, pairs = rng.normal(0.0, 1.0, d), rng.normal(0.0, 0.6, (d, d))
    bend = rng.uniform(0.0, 2.0, d)

    def truth(u: FloatArray) -> FloatArray:
        z = 2.0 * u - 1.0
        return np.asarray(
            z @ linear + np.einsum("ni,ij,nj->n", z, np.triu(pairs, 1), z) + (z**2) @ bend
        )

    sample = truth(np.random.default_rng(0).random((500, d)))
    return Parts(truth, law(rng, float(sample.std())))


def adverts(rng: np.random.Generator, d: int) -> Parts:
    """Money spent on channels with diminishing returns that take visitors from each other; minus
    the profit, from a Poisson number of sales."""
    reach, pace = rng.uniform(2.0, 20.0, d), rng.uniform(1.0, 6.0, d)
    price = rng.uniform(0.5, 4.0, d)

    def sales(u: FloatArray) -> FloatArray:
        every = reach * -np.expm1(-pace * u)
        return np.asarray(every.sum(axis=1) / (1.0 + 0.01 * every.sum(axis=1)))

    def truth(u: FloatArray) -> FloatArray:
        return np.asarray(u @ (price * 2.0) - sales(u))

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        return np.asarray(u @ (price * 2.0) - rng.poisson(sales(u)))

    return Parts(truth, noise)


def tournament(rng: np.random.Generator, d: int) -> Parts:
    """One game lost (1) or won (0) per evaluation; strength saturates in every parameter and two
    parameters must fit each other."""
    best, scale = rng.uniform(0.1, 0.9, d), rng.uniform(0.2, 0.6, d)
    edge = float(rng.uniform(1.0, 3.0))

    def truth(u: FloatArray) -> FloatArray:
        far = np.abs(u - best) / scale
        miss = np.mean(far**2 / (1.0 + far), axis=1)
        if d > 1:
            miss = miss + (u[:, 0] - best[0] + u[:, 1] - best[1]) ** 2
        return np.asarray(1.0 / (1.0 + np.exp(edge - 4.0 * miss)))

    def noise(u: FloatArray, t: FloatArray, rng: np.random.Generator) -> FloatArray:
        return (rng.random(len(t)) < t).astype(float)

    return Parts(truth, noise, best)


def valley(rng: np.random.Generator, d: int) -> Parts:
    """The Rosenbrock function with its optimum off the middle."""
    shift = rng.uniform(-0.5, 0.5, d)

    def truth(u: FloatArray) -> FloatArray:
        x = 4.0 * u - 2.0 + shift
        return np.asarray(
            np.sum(100.0 * (x[:, 1:] - x[:, :-1] ** 2) ** 2 + (1.0 - x[:, :-1]) ** 2, axis=1)
        )

    sample = truth(np.random.default_rng(0).random((500, d)))
    return Parts(truth, law(rng, 0.3 * float(np.median(sample))), (3.0 - shift) / 4.0)


def humps(rng: np.random.Generator, d: int) -> Parts:
    """A few Gaussian hollows of different depth and width, as in the functions of Hartmann."""
    places = rng.uniform(0.0, 1.0, (4, d))
    depth, narrow = np.array([1.0, 1.2, 3.0, 3.2]), rng.uniform(1.0, 12.0, (4, d)) / np.sqrt(d)

    def truth(u: FloatArray) -> FloatArray:
        far = np.einsum("nkd,kd->nk", (u[:, None] - places) ** 2, narrow)
        return np.asarray(-np.exp(-far) @ depth)

    return Parts(truth, law(rng, 1.0))


FAMILIES = {
    "depots": Family(depots, (2, 4, 6, 8)),
    "overbooking": Family(overbooking, (1, 3, 5)),
    "dose": Family(dose, (3, 4, 6)),
    "heating": Family(heating, (2, 3, 4)),
    "auctions": Family(auctions, (1, 3, 6, 9)),
    "smoothing": Family(smoothing, (1, 2, 4, 5)),
    "harvest": Family(harvest, (3, 5, 8)),
    "signals": Family(signals, (2, 3, 5)),
    "recipe": Family(recipe, (3, 5, 7, 10)),
    "adverts": Family(adverts, (2, 5, 8, 12)),
    "tournament": Family(tournament, (1, 2, 4, 6)),
    "valley": Family(valley, (2, 4, 6, 8)),
    "humps": Family(humps, (3, 6, 7, 10)),
}
