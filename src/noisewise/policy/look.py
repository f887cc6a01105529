"""The first episodes of a search: random policies, which show how large observations are.

Their mean and standard deviation scale the observations of all later episodes, and the best of
them is where the search starts. A scaling that is fixed once needs no state in the workers, and a
value measured early means the same policy later. docs/findings/policies.md measures it against a
scaling that goes on learning, and against none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from noisewise import executors
from noisewise._types import FloatArray
from noisewise.errors import EvaluationError
from noisewise.policy.environment import Environment, episode
from noisewise.policy.network import Network
from noisewise.policy.scaling import Scaling, combined, moments, of_moments
from noisewise.problem import given
from noisewise.problem.trial import Trial

#: Episodes, and the part of the budget that they may take.
_EPISODES, _PART = 10, 5

#: A policy does not see observations that vary by less than this part of what it expects.
_BLIND = 0.02


class Start(NamedTuple):
    """Where a search starts, how observations are scaled, the episodes that this took, and the
    returns of random policies among them."""

    x: FloatArray
    scaling: Scaling | None
    episodes: int
    returns: tuple[float, ...] = ()


@dataclass
class Look:
    """Episode ``i`` of the first look -> its return and the moments of its observations."""

    spec: Environment
    network: Network
    scaling: Scaling
    X: FloatArray
    seeds: list[int]

    def __call__(self, index: FloatArray) -> tuple[float, FloatArray]:
        i, seen = int(index[0]), []
        act = self.network.bind(self.X[i], self.scaling)

        def noting(observation: Any) -> Any:
            seen.append(np.array(observation, dtype=float).ravel())
            return act(observation)

        env = self.spec.make()
        try:
            total = episode(env, noting, self.seeds[i], self.spec.horizon)
        finally:
            self.spec.close(env)
        return total, moments(seen)


def first_look(
    look: Look,
    workers: int,
    executor: Any,
    limits: executors.Limits,
    on_error: str,
    again: bool = False,
) -> Start:
    """Fly the episodes and choose; all of them ``again``, in the right scale, if the policies were
    blind. An episode that fails or returns nan is left out."""
    n = len(look.X)
    returns, parts = np.full(n, -math.inf), list[FloatArray]()
    found: dict[int, Any] = {}
    with executors.start(look, (), False, workers, executor, limits=limits) as evaluator:
        trials = [Trial(i, np.array([float(i)]), "candidate") for i in range(n)]
        for outcome in evaluator.evaluated(trials):
            if outcome.error is not None and on_error == "raise":
                said = f"an episode of a random policy failed: {outcome.error!r}"
                raise EvaluationError(said) from outcome.error
            found[outcome.id] = outcome.value
    for i in range(n):  # in this order, so that rounding does not depend on the workers
        if found[i] is not None and math.isfinite(found[i][0]):
            returns[i] = found[i][0]
            parts.append(found[i][1])
    total = combined(np.array(parts)) if parts else np.zeros(1)
    if not total[0]:
        return Start(np.zeros(look.network.size), look.scaling, n)
    scaling = of_moments(total)
    if not again and blind(look.scaling, scaling):
        start = first_look(
            replace(look, scaling=scaling), workers, executor, limits, on_error, True
        )
        return start._replace(episodes=2 * n)
    best = look.X[int(np.argmax(returns))]
    x, seen = moved(look.network, best, look.scaling, scaling), returns[np.isfinite(returns)]
    return Start(x, scaling, n, tuple(seen.tolist()))


def blind(guess: Scaling, seen: Scaling) -> bool:
    """Whether random policies acted without regard to what they saw, because all observations are
    far smaller than expected."""
    varies = seen.scale != 1.0  # what does not vary is not scaled
    return bool(varies.any() and (seen.scale < _BLIND * guess.scale)[varies].all())


def moved(network: Network, x: FloatArray, before: Scaling, after: Scaling) -> FloatArray:
    """The policy ``x`` in another scaling, no larger than a random one: where the first scaling was
    far off, parameters would be so large that a step of the search changes nothing."""
    x = network.rescale(x, before, after)
    return x / max(1.0, math.sqrt(float(x @ x) / len(x)))


def episodes(budget: int) -> int:
    """Episodes of the first look; none where the budget is too small."""
    n = min(_EPISODES, budget // _PART)
    return n if n >= 2 else 0


def stream(rng: Any) -> np.random.Generator:
    """Random numbers of the first look, apart from those that the search derives from ``rng``."""
    if isinstance(rng, np.random.Generator):
        return rng.spawn(1)[0]
    if isinstance(rng, np.random.SeedSequence):
        key = (*rng.spawn_key, _APART)
        return np.random.default_rng(np.random.SeedSequence(rng.entropy, spawn_key=key))
    given.generators(rng)  # refuses what is no seed
    return np.random.default_rng(None if rng is None else [int(rng), _APART])


_APART = 0x706F6C69
