"""Environments as the user gives them, and episodes in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisewise._check import shown
from noisewise._types import FloatArray
from noisewise.errors import install
from noisewise.policy.scaling import Scaling

#: Declared limits beyond this are taken for none.
_UNLIMITED = 1e6
#: An episode that is still going on after so many steps will never end.
_ENDLESS = 1_000_000


@dataclass(frozen=True)
class Environment:
    """How to make an environment: a gymnasium id, or a callable that returns one.

    kwargs
        Further arguments of the callable or of ``gymnasium.make``.
    horizon
        Steps after which an episode is cut; None: the environment's own limit.
    """

    source: str | Callable[..., Any]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    horizon: int | None = None

    def make(self, **more: Any) -> Any:
        """A new environment; ``more`` are arguments beside ``kwargs``."""
        if callable(self.source):
            try:
                return self.source(**self.kwargs, **more)
            except TypeError as error:
                said = str(error)
                if "render_mode" in more and ("render_mode" in said or "no arguments" in said):
                    raise ValueError(f"{self.name} takes no render_mode: add it") from None
                raise
        gymnasium = _gymnasium()
        kwargs: dict[str, Any] = {"disable_env_checker": True, **self.kwargs, **more}
        try:
            return gymnasium.make(self.source, **kwargs)
        except gymnasium.error.UnregisteredEnv as error:
            raise ValueError(f"env must be the id of an environment: {error}") from None

    @staticmethod
    def close(env: Any) -> None:
        """Let go of an environment; one of the user's own may have nothing to close."""
        close = getattr(env, "close", None)
        if callable(close):
            close()

    @property
    def name(self) -> str:
        """The id, or the name of the callable."""
        if isinstance(self.source, str):
            return self.source
        return str(getattr(self.source, "__name__", type(self.source).__name__))


def environment(env: Any, kwargs: Mapping[str, Any] | None, horizon: int | None) -> Environment:
    """What ``env`` describes."""
    if not isinstance(env, str) and not callable(env):
        hint = ": pass the function that makes it" if hasattr(env, "reset") else ""
        raise ValueError(
            "env must be the id of a gymnasium environment or a callable that makes an "
            f"environment, got {shown(env)}{hint}"
        )
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise ValueError(f"env_kwargs must be a mapping of names to values, got {shown(kwargs)}")
    return Environment(env, dict(kwargs or {}), horizon)


def episode(env: Any, act: Callable[[Any], Any], seed: int, horizon: int | None = None) -> float:
    """The sum of the rewards of one episode."""
    began = env.reset(seed=seed)
    if not isinstance(began, (tuple, list)) or len(began) != 2:
        raise ValueError(f"reset must return an observation and a dictionary, got {shown(began)}")
    observation = began[0]
    total, steps, last = 0.0, 0, _ENDLESS if horizon is None else horizon
    while True:
        found = env.step(act(observation))
        if len(found) != 5:
            raise ValueError(
                "step must return observation, reward, terminated, truncated and info, got "
                f"{len(found)} values"
            )
        observation, reward, terminated, truncated, _ = found
        total += float(reward)
        steps += 1
        if terminated or truncated:
            return total
        if steps >= last:
            if horizon is None:
                raise ValueError(
                    f"an episode did not end within {_ENDLESS} steps: set horizon to the number of "
                    "steps after which an episode is cut"
                )
            return total


def ranges(space: Any) -> tuple[FloatArray, FloatArray]:
    """Middle and half width of every observation, flattened, as the environment declares them; 0
    and 1 where it does not."""
    if not (hasattr(space, "low") and hasattr(space, "high")):
        raise ValueError(
            "the environment's observations must be a Box, or policy= must be given; for others "
            f"wrap it in gymnasium.wrappers.FlattenObservation; got {shown(space)}"
        )
    low, high = (np.asarray(side, dtype=float).ravel() for side in (space.low, space.high))
    # Some environments declare the largest number of their type where they mean no limit.
    known = (np.abs(low) < _UNLIMITED) & (np.abs(high) < _UNLIMITED) & (low < high)
    low, high = np.where(known, low, -1.0), np.where(known, high, 1.0)
    return 0.5 * (low + high), 0.5 * (high - low)


def guess(space: Any) -> Scaling:
    """How to scale observations before any was seen: by what the environment declares if that is
    less than one. Wider ranges are often limits that are never reached."""
    _, half = ranges(space)
    return Scaling(np.zeros(len(half)), np.minimum(half, 1.0))


def _gymnasium() -> Any:
    try:
        import gymnasium
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"environments by id need the extra 'gym': {install('gym')}",
            name=error.name,
        ) from None
    return gymnasium
