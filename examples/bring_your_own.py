"""Your own problem and your own method, compared with the library: a table and a page."""

import numpy as np

from noisewise_bench.campaign import Grid, run
from noisewise_bench.cli import main


class Valley:  # a problem: four attributes
    x0 = np.zeros(10)
    bounds = (np.full(10, -3.0), np.full(10, 3.0))

    def noisy(self, X, rng):  # (n, 10) -> (n,): one noisy value per row
        return self.regret(X) + rng.standard_t(3, len(X))

    def regret(self, X):  # the truth; methods never see it
        return np.sum(np.geomspace(1, 100, 10) * (X - 1) ** 2, axis=1)


def one_plus_one(oracle, budget, seed):  # a method: returns the point it recommends
    rng = np.random.default_rng(seed)
    x, sigma = oracle.x0, oracle.sigma0
    while oracle.remaining >= 2:
        y = np.clip(x + sigma * rng.standard_normal(oracle.dimension), *oracle.bounds)
        better = oracle(y) < oracle(x)
        x, sigma = (y, sigma * 1.5) if better else (x, sigma * 0.9)
    return x


if __name__ == "__main__":
    db = "bring_your_own.sqlite"
    run(Grid.of([Valley()], [one_plus_one, "auto", "cma-es"], ["100d"], range(1, 21)), db)
    main(["score", "--db", db, "--reference", "one_plus_one"])
    main(["report", "--db", db, "--reference", "one_plus_one"])
