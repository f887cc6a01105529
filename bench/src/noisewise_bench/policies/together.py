"""`noisewise.policy.search` itself, with its episodes flown by a simulator of the bench."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from noisewise.executors import Evaluator, Outcome, Spec
from noisewise.executors.base import Limits
from noisewise.policy.actions import Actions, Bounded, Numbered
from noisewise.policy.look import Look
from noisewise.policy.search import Episode
from noisewise.problem.trial import Trial
from noisewise_bench.policies.rollouts import Flight, Flyer


def stand_in(flyer: Flyer) -> Any:
    """What `noisewise.policy.search` asks of an environment before the first episode."""
    return SimpleNamespace(
        observation_space=flyer.space, action_space=_space(flyer.network.actions)
    )


def _space(actions: Actions) -> Any:
    if isinstance(actions, Numbered):
        return SimpleNamespace(n=actions.k, start=actions.start)
    assert isinstance(actions, Bounded)
    low, high = (np.reshape(side, actions.shape) for side in (actions.low, actions.high))
    return SimpleNamespace(low=low, high=high, dtype=np.dtype(actions.dtype))


class Together(Spec):
    """An executor for `noisewise.policy.search`: all episodes that are asked for at a time are
    flown by ``flyer``. ``steps`` counts the steps of the environment."""

    def __init__(self, flyer: Flyer) -> None:
        self.flyer, self.steps = flyer, 0

    def start(self, fun: Callable[..., Any], args: tuple[Any, ...], limits: Limits) -> Evaluator:
        return _Evaluator(self, fun)


class _Evaluator(Evaluator):
    def __init__(self, owner: Together, fun: Any) -> None:
        super().__init__()
        self._owner, self._fun = owner, fun
        self._queue: list[Trial] = []

    def submit(self, trials: list[Trial]) -> None:
        self._queue += trials

    def receive(self, block: bool) -> None:
        if not block or not self._queue:
            return
        trials, self._queue = self._queue, []
        if isinstance(self._fun, Look):
            self._look(self._fun, trials)
        else:
            self._fly(self._fun, trials)

    def _look(self, look: Look, trials: list[Trial]) -> None:
        which = [int(trial.x[0]) for trial in trials]
        flight = self._flown(look.X[which], look.scaling, [look.seeds[i] for i in which])
        for trial, value, seen in zip(trials, flight.returns, flight.each, strict=True):
            self.finished.append(Outcome(trial.id, (float(value), seen)))

    def _fly(self, episode: Episode, trials: list[Trial]) -> None:
        X, seeds = np.array([t.x for t in trials]), [int(t.seed or 0) for t in trials]
        flight = self._flown(X, episode.scaling, seeds)
        for trial, value in zip(trials, flight.returns, strict=True):
            self.finished.append(Outcome(trial.id, float(value)))

    def _flown(self, X: Any, scaling: Any, seeds: list[int]) -> Flight:
        flight = Flight(X, scaling, np.random.default_rng(0), seeds=seeds)
        self._owner.flyer.fly([flight])
        self._owner.steps += flight.steps
        return flight
