"""A policy that was found: call it, measure it, watch it, keep it in a file."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from noisewise._check import integer, shown
from noisewise._types import FloatArray
from noisewise.answer.result import Result
from noisewise.answer.written import estimated
from noisewise.loop import files
from noisewise.policy import film
from noisewise.policy.environment import Environment, environment, episode
from noisewise.policy.network import Network, network_from
from noisewise.policy.scaling import Scaling

_FORMAT, _VERSION = "noisewise policy", 1


class Parametrised(Protocol):
    """What a policy of the user's own must have: the number of its parameters, and the action
    that it takes with parameters ``x`` (an array of that length)."""

    @property
    def size(self) -> int: ...

    def act(self, x: FloatArray, observation: Any) -> Any: ...


class Policy:
    """A trained policy: ``policy(observation)`` is its action.

    mean_return, interval
        Estimate of the expected return of an episode and its 95 % interval, from episodes that
        were kept for this and did not choose the policy.
    x
        Its parameters.
    episodes
        Episodes that the search took, all included.
    measured
        Episodes behind the estimate, and how many of them failed.
    result
        The `noisewise.Result` of the search; None for a policy from a file.
    start
        Parameters at which the search began; None for a policy from a file.

    >>> import numpy as np
    >>> from noisewise.policy.actions import Numbered
    >>> from noisewise.policy.network import Network
    >>> policy = Policy(np.array([0.0, 2.0, 0.0]), Network(2, Numbered(2)), None)
    >>> policy([5.0, 1.0]), policy([5.0, -1.0])
    (1, 0)
    """

    def __init__(
        self,
        x: FloatArray,
        form: Parametrised,
        environment: Environment | None,
        scaling: Scaling | None = None,
        *,
        mean_return: float = math.nan,
        interval: tuple[float, float] = (math.nan, math.nan),
        estimate: str = "unknown",
        episodes: int = 0,
        measured: tuple[int, int] = (0, 0),
        result: Result | None = None,
        start: FloatArray | None = None,
    ) -> None:
        self.x = np.array(x, dtype=float)
        self.form, self.environment, self.scaling = form, environment, scaling
        self.mean_return, self.interval, self.estimate = mean_return, interval, estimate
        self.episodes, self.measured, self.result = episodes, measured, result
        self.start = start
        self._act = bound(form, self.x, scaling)

    def __call__(self, observation: Any) -> Any:
        """The action for this observation."""
        return self._act(observation)

    def __repr__(self) -> str:
        where = "" if self.environment is None else f" for {self.environment.name}"
        value = estimated(self.mean_return, self.interval, self.estimate, *self.measured)
        return f"Policy{where}: {len(self.x)} parameters, return {value}, {self.episodes} episodes"

    def evaluate(self, episodes: int = 100, *, seed: int = 0) -> FloatArray:
        """Returns of fresh episodes, with seeds that follow from ``seed``."""
        integer("episodes", episodes, least=1)
        seeds = np.random.SeedSequence(integer("seed", seed, least=0)).generate_state(episodes)
        spec = self._spec()
        env = spec.make()
        try:
            found = [episode(env, self._act, int(s) >> 1, spec.horizon) for s in seeds]
        finally:
            spec.close(env)
        return np.array(found)

    def watch(self, episodes: int = 1, *, render_mode: str = "human", seed: int = 0) -> Any:
        """Show episodes on the screen; the list of their returns.

        With ``render_mode="rgb_array"`` nothing is shown and the frames of all episodes are
        returned, a list of arrays (height, width, 3).
        """
        integer("episodes", episodes, least=1)
        spec = self._spec()
        env = spec.make(render_mode=render_mode)
        frames: list[Any] = []

        def act(observation: Any) -> Any:
            if render_mode != "human":
                frames.append(env.render())
            return self._act(observation)

        try:
            returns = [episode(env, act, seed + i, spec.horizon) for i in range(episodes)]
        finally:
            spec.close(env)
        return returns if render_mode == "human" else frames

    def report(self, path: str | os.PathLike[str], *, seed: int = 0) -> None:
        """Write a page (HTML) with a film of an episode at the start of the search and one of the
        same episode with the policy that was found, and what the search says. The environment must
        render ``"rgb_array"``."""
        films = {}
        for name, x in (("Before", self.start), ("After", self.x)):
            if x is None:
                continue
            one = Policy(x, self.form, self.environment, self.scaling)
            frames = one.watch(render_mode="rgb_array", seed=seed)
            total = episode_of(one, seed)
            films[name] = frames, f"return {total:.6g} in an episode with seed {seed}"
        card = f"<p>{escape(repr(self))}</p>"
        if self.result is not None:
            card += self.result._repr_html_()
        text = film.page(f"Policy for {self._spec().name}", films, card)
        files.replace(files.resolved(path), text.encode())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy to a JSON file. Of an environment or policy of your own the file keeps
        the name only."""
        spec = self.environment
        by_id = spec is not None and isinstance(spec.source, str)
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "environment": None if spec is None else spec.name,
            "kwargs": dict(spec.kwargs) if spec is not None and by_id else None,
            "horizon": None if spec is None else spec.horizon,
            "network": self.form.as_dict() if isinstance(self.form, Network) else None,
            "shift": None if self.scaling is None else self.scaling.shift.tolist(),
            "scale": None if self.scaling is None else self.scaling.scale.tolist(),
            "x": self.x.tolist(),
            "mean_return": _number(self.mean_return),
            "interval": [_number(end) for end in self.interval],
            "estimate": self.estimate,
            "episodes": self.episodes,
            "measured": list(self.measured),
        }
        try:
            text = json.dumps(content, indent=1, allow_nan=False)
        except (TypeError, ValueError) as error:
            raise ValueError(f"env_kwargs must be plain data to be saved: {error}") from None
        files.replace(files.resolved(path), (text + "\n").encode())

    def _spec(self) -> Environment:
        if self.environment is None:
            raise ValueError(
                "the environment of this policy is not known: load it with "
                "noisewise.policy.load(path, env=...)"
            )
        return self.environment


def episode_of(policy: Policy, seed: int) -> float:
    """The return of one episode."""
    spec = policy._spec()
    env = spec.make()
    try:
        return episode(env, policy, seed, spec.horizon)
    finally:
        spec.close(env)


def load(
    path: str | os.PathLike[str], *, env: Any = None, policy: Parametrised | None = None
) -> Policy:
    """The policy in a file that `Policy.save` wrote.

    ``env`` and ``policy`` are needed where they were the user's own: the first to evaluate or
    watch the policy, the second to use it at all.

    >>> import tempfile, numpy as np, noisewise as nw
    >>> from noisewise.policy.actions import Numbered
    >>> from noisewise.policy.network import Network
    >>> policy = nw.policy.Policy(np.array([0.0, 2.0, 0.0]), Network(2, Numbered(2)), None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     policy.save(f"{folder}/policy.json")
    ...     again = nw.policy.load(f"{folder}/policy.json")
    >>> again([5.0, 1.0])
    1
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        known = content["format"] == _FORMAT and content["version"] == _VERSION
    except (ValueError, TypeError, KeyError, UnicodeDecodeError):
        known = False
    if not known:
        raise ValueError(f"{os.fspath(path)} is not a policy saved by this version of noisewise")
    try:
        return _from(content, env, policy)
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"{os.fspath(path)} is damaged: {error!r}") from None


def _from(content: dict[str, Any], env: Any, policy: Parametrised | None) -> Policy:
    form: Any = policy if content["network"] is None else network_from(content["network"])
    if form is None:
        raise ValueError("policy must be given: the file holds the parameters of a policy of yours")
    x = np.array(content["x"], dtype=float)
    if x.shape != (form.size,):
        raise ValueError(f"the policy has {form.size} parameters, the file has {x.size}")
    spec = None
    if env is not None or content["kwargs"] is not None:
        source = content["environment"] if env is None else env
        spec = environment(source, content["kwargs"], content["horizon"])
    scaling = None
    if content["shift"] is not None:
        scaling = Scaling(np.array(content["shift"]), np.array(content["scale"]))
    ends = [math.nan if end is None else float(end) for end in content["interval"]]
    mean, measured = content["mean_return"], content.get("measured", (0, 0))
    return Policy(
        x,
        form,
        spec,
        scaling,
        mean_return=math.nan if mean is None else float(mean),
        interval=(ends[0], ends[1]),
        estimate=str(content["estimate"]),
        episodes=int(content["episodes"]),
        measured=(int(measured[0]), int(measured[1])),
    )


def bound(form: Parametrised, x: FloatArray, scaling: Scaling | None) -> Callable[[Any], Any]:
    """The policy with these parameters, as a function of the observation."""
    if isinstance(form, Network):
        return form.bind(x, scaling)
    return lambda observation: form.act(x, observation)


def check_form(policy: Any) -> Parametrised:
    """``policy``, if it is what a policy of the user's own must be."""
    size = getattr(policy, "size", None)
    if not callable(getattr(policy, "act", None)) or size is None:
        raise ValueError(
            "policy must have size, the number of its parameters, and act(x, observation), got "
            f"{shown(policy)}"
        )
    integer("policy.size", size, least=1)
    out: Parametrised = policy
    return out


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
