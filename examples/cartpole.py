"""Balance a pole on a cart: from nothing to a return of 475 in under a minute on two cores.

Needs ``pip install 'noisewise[gym]'``. Run it with ``python examples/cartpole.py``.
"""

from __future__ import annotations

import time

import noisewise as nw


def train(budget: int = 200, seed: int = 0, method: str = "auto") -> nw.policy.Policy:
    """A linear policy from ``budget`` episodes; one evaluation is one episode."""
    return nw.policy.search("CartPole-v1", budget=budget, workers=2, rng=seed, method=method)


def main() -> None:
    began = time.perf_counter()
    policy = train()
    print(f"{policy}\nin {time.perf_counter() - began:.0f} seconds")
    returns = policy.evaluate(100)
    print(f"100 fresh episodes: mean return {returns.mean():.1f}, worst {returns.min():.0f}")
    assert returns.mean() >= 475.0, "CartPole-v1 counts as solved from 475"


if __name__ == "__main__":
    main()
