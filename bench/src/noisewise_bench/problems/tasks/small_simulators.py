"""Small simulators: stock with a delivery time, one or four products; three stations in a row.

symbol   meaning                                                            shape
s, q     reorder point, and how far an order fills up above it              (n, p)
stock    on hand; what cannot be sold from it is lost                       (n, p)
due      ordered and not yet delivered, by days left                        (L, n, p)
mu       service rate of every station                                      (n, 3)
"""

from __future__ import annotations

from typing import Final, final

import numpy as np

from ...problem import FloatArray
from ._task import SimulatedTask, task_rng

DAYS: Final = 60
HOLD, LOST, ORDER = 1.0, 12.0, 60.0  # per piece and day, per lost piece, per order
CUSTOMERS: Final = 80
WAIT: Final = 2.0  # cost of one unit of time that a customer spends in the system


@final
class Inventory(SimulatedTask):
    """Cost per day of an (s, s + q) policy under Poisson demand, for one or four products.

    Coordinates are s in [0, 100] and q in [0, 150] of every product. Products ordered on the
    same day share the cost of the order. The seed draws demand and delivery times.
    """

    n_truth = 400

    def __init__(self, seed: int = 1, products: int = 1) -> None:
        name = "inventory" if products == 1 else f"inventory-{products}"
        low, high = [0.0] * 2 * products, [100.0] * products + [150.0] * products
        start = 0.5 * np.array(high)
        super().__init__(f"small-task/{name}/s{seed}", start, low, high, seed, products)
        rng = task_rng(seed, stream=31)
        self._demand = rng.uniform(5.0, 15.0, products)
        self._delay = rng.integers(2, 6, products)
        self._products = products
        self.budget = 40 if products == 1 else 120

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Mean cost per day of 60 days per row."""
        p, n = self._products, len(X)
        s, q = np.rint(X[:, :p]), np.rint(X[:, p:])
        demand = rng.poisson(self._demand, (n, DAYS, p)).astype(float)
        stock, cost = s + q, np.zeros(n)
        due = np.zeros((int(self._delay.max()) + 1, n, p))
        for day in range(DAYS):
            stock = stock + due[0]
            due = np.roll(due, -1, axis=0)
            due[-1] = 0.0
            sold = np.minimum(stock, demand[:, day])
            stock = stock - sold
            position = stock + due.sum(axis=0)
            ordered = np.where(position <= s, s + q - position, 0.0)
            due[self._delay - 1, :, np.arange(p)] += ordered.T
            cost += HOLD * stock.sum(axis=1) + LOST * (demand[:, day] - sold).sum(axis=1)
            cost += ORDER * np.any(ordered > 0.0, axis=1)
        return cost / DAYS


@final
class Queue(SimulatedTask):
    """Three stations in a row: time in the system of 80 customers against the price of speed.

    Coordinates are log2 of the service rates, in [-1, 5]; customers arrive at rate one. The seed
    draws the price of every station's rate.
    """

    budget = 60
    n_truth = 400

    def __init__(self, seed: int = 1) -> None:
        super().__init__(f"small-task/queue/s{seed}", np.full(3, 2.0), -1.0, 5.0, seed)
        self._price = task_rng(seed, stream=32).uniform(0.5, 3.0, 3)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        """Cost of one simulated day per row."""
        n, mu = len(X), 2.0**X
        draws = rng.exponential(1.0, (n, CUSTOMERS, 4))
        arrival = np.cumsum(draws[:, :, 3], axis=1)
        leave = arrival
        for station in range(3):
            leave = _leave(leave, draws[:, :, station] / mu[:, station : station + 1])
        return np.asarray(WAIT * np.mean(leave - arrival, axis=1) + mu @ self._price)


def _leave(arrive: FloatArray, service: FloatArray) -> FloatArray:
    """Times (n, m) at which customers leave a station that serves them in order.

    A customer leaves at the largest, over those not after it, of an arrival plus all services
    since: a running maximum.
    """
    total = np.cumsum(service, axis=1)
    return np.asarray(total + np.maximum.accumulate(arrive - total + service, axis=1))
