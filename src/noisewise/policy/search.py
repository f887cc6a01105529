"""`search`: find a policy within a number of episodes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from noisewise import executors
from noisewise._check import integer_or_none, one_of, shown, whole
from noisewise._types import FloatArray
from noisewise.errors import CheckpointError
from noisewise.loop.minimize import minimize
from noisewise.loop.optimizer import Optimizer
from noisewise.methods import Method, Pairs
from noisewise.policy.actions import of_space
from noisewise.policy.environment import Environment, environment, episode, guess
from noisewise.policy.look import Look, Start, episodes, first_look, stream
from noisewise.policy.network import Network
from noisewise.policy.scaling import Scaling
from noisewise.policy.trained import Parametrised, Policy, bound, check_form

#: Arguments of `minimize` that the search sets itself.
_SET = ("args", "bounds", "data", "maximize", "space", "vectorized", "x0")
#: What a checkpoint calls the start of a search.
_KEPT = "policy"
#: Initial step sizes of pairs for policies with fewer parameters than this and for others, and of
#: other methods.
_SMALL, _STEP_SMALL, _STEP_LARGE, _STEP = 100, 1.0, 0.25, 0.5
#: A model searches for built-in policies of at most 10 parameters with fewer than 200 episodes.
_FEW_PARAMETERS, _FEW_EPISODES = 10, 200
#: Short searches in the first half of a run of at least 2000 episodes.
_SEARCHES, _LONG = 3, 2000


def search(
    env: Any,
    *,
    budget: float,
    hidden: int | Sequence[int] = (),
    policy: Parametrised | None = None,
    start: Policy | Any = None,
    incumbent: Policy | Any = None,
    env_kwargs: Mapping[str, Any] | None = None,
    horizon: int | None = None,
    sigma0: float | None = None,
    method: str | Method | None = None,
    seeds: str = "independent",
    workers: int = 1,
    rng: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Policy:
    """Find a policy with a large expected return.

    Parameters
    ----------
    env
        The id of a gymnasium environment (needs the extra ``gym``), or a callable that makes an
        environment with ``reset(seed=...)`` and ``step(action)`` as gymnasium has them. Every
        worker makes its own.
    budget
        Episodes, everything included. Of the built-in policies the first ten (at most a fifth)
        are random; they scale the observations, and the search starts from the best. Where all
        observations are far smaller than one and no range is declared, they are flown twice. The
        last ones measure the policy that is returned: five of 50, else about the square root.
    hidden
        Units of the hidden layers, such as 8 or (16, 16); none: a linear policy. Observations
        must be a Box, actions Discrete or a Box.
    policy
        A policy of your own instead: an object with ``size``, the number of its parameters, and
        ``act(x, observation)``, the action with parameters ``x``. It gets observations as they
        are, and the search starts at zero.
    start
        A `Policy` to improve, or parameters to start from.
    incumbent
        Today's policy, or its parameters: it is returned unless another one is shown to be better,
        see `noisewise.minimize`. The search starts there unless ``start`` says otherwise.
    env_kwargs
        Further arguments for the environment.
    horizon
        Steps after which an episode is cut; None: the environment decides.
    sigma0
        Initial step size of the parameters; None: with ``"pairs"`` 1 for policies of fewer than 100
        parameters and 0.25 for larger ones, with other methods 0.5.
    method
        As in `noisewise.minimize`; None: ``"pairs"`` for built-in policies, but ``"auto"`` with at
        most 10 parameters and fewer than 200 episodes, and for policies of your own.
    seeds
        Of the episodes, as in `noisewise.minimize`: ``"independent"``, ``"common"``, ``"auto"``.
    workers, rng, checkpoint, **options
        As in `noisewise.minimize`; options are ``confirm``, ``callback``, ``progress``,
        ``executor``, ``on_error`` and others. Same ``rng``, same policy; with several workers the
        order in which episodes end decides, too, unless there is a ``batch``.

    Examples
    --------
    An environment and a policy of one's own: a point is steered to zero in five moves.

    >>> import numpy as np, noisewise as nw
    >>> class Point:
    ...     def reset(self, *, seed=None):
    ...         self.at = np.random.default_rng(seed).normal()
    ...         return self.at, {}
    ...     def step(self, action):
    ...         self.at += action
    ...         return self.at, -abs(self.at), False, False, {}
    >>> class Gain:
    ...     size = 1
    ...     def act(self, x, observation):
    ...         return x[0] * observation
    >>> policy = nw.policy.search(Point, policy=Gain(), horizon=5, budget=80, rng=0)
    >>> round(policy(1.0))
    -1
    """
    if wrong := sorted(set(_SET) & set(options)):
        raise ValueError(f"{wrong[0]} is not an option of a search for a policy")
    integer_or_none("horizon", horizon, least=1)
    spec, budget = environment(env, env_kwargs, horizon), whole("budget", budget, least=1)
    form, first = _form(spec, hidden, policy)
    began = _kept(checkpoint, method)
    today = _parameters(incumbent, form)
    if began is None:
        first_of = incumbent if start is None else start
        began = _begin(spec, form, first, first_of, budget, workers, rng, options)
    if isinstance(incumbent, Policy) and not _same(began.scaling, incumbent.scaling):
        raise ValueError(
            "incumbent scales observations otherwise than start: give one of them, or both from "
            "the same search"
        )
    if len(began.x) != form.size:
        raise ValueError(
            f"start must have {form.size} parameters, as the policy has, got {len(began.x)}"
        )
    chosen = _chosen(method, form, began, budget)
    r = minimize(
        Episode(spec, form, began.scaling),
        began.x,
        budget=budget - began.episodes,
        sigma0=_step_size(form, chosen) if sigma0 is None else sigma0,
        method=chosen,
        maximize=True,
        seeds=seeds,
        workers=workers,
        rng=rng,
        checkpoint=checkpoint,
        incumbent=today,
        extra={**(options.pop("extra", None) or {}), _KEPT: _data(began, spec)},
        **options,
    )
    return Policy(
        r.x,
        form,
        spec,
        began.scaling,
        mean_return=r.fun,
        interval=(float(r.interval[0]), float(r.interval[1])),
        estimate=r.estimate,
        episodes=began.episodes + r.nfev,
        measured=(r.n_confirmations, r.n_confirmations_failed),
        result=r,
        start=began.x,
    )


class Episode:
    """The objective: parameters and a seed -> return of one episode. The environment is made when
    it is first needed, in the process that needs it."""

    def __init__(self, spec: Environment, form: Parametrised, scaling: Scaling | None) -> None:
        self._spec, self._form, self.scaling = spec, form, scaling
        self._env: Any = None

    def __call__(self, x: FloatArray, seed: int) -> float:
        if self._env is None:
            self._env = self._spec.make()
        act = bound(self._form, x, self.scaling)
        return episode(self._env, act, int(seed), self._spec.horizon)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_env": None}


def _parameters(incumbent: Any, form: Parametrised) -> FloatArray | None:
    """The parameters of today's policy, if there is one."""
    if incumbent is None:
        return None
    try:
        given = incumbent.x if isinstance(incumbent, Policy) else incumbent
        x = np.atleast_1d(np.asarray(given, dtype=float))
    except (TypeError, ValueError):
        raise ValueError(f"incumbent must be a Policy or numbers, got {shown(incumbent)}") from None
    if x.shape != (form.size,):
        raise ValueError(
            f"incumbent must have {form.size} parameters, as the policy has, got {x.size}"
        )
    return x


def _same(one: Scaling | None, other: Scaling | None) -> bool:
    if one is None or other is None:
        return one is other
    same = np.array_equal(one.shift, other.shift) and np.array_equal(one.scale, other.scale)
    return bool(same)


def _form(
    spec: Environment, hidden: int | Sequence[int], policy: Parametrised | None
) -> tuple[Parametrised, Scaling | None]:
    """The policy to search for, and how observations are scaled before any was seen."""
    layers = tuple(hidden) if isinstance(hidden, Iterable) else (hidden,)
    if not all(isinstance(n, (int, np.integer)) and n >= 1 for n in layers):
        raise ValueError(
            f"hidden must be a number of units or a sequence of them, got {shown(hidden)}"
        )
    if policy is not None:
        if layers:
            raise ValueError("hidden belongs to the built-in policies: leave it out with policy=")
        return check_form(policy), None
    env = spec.make()
    try:
        for name in ("observation_space", "action_space"):
            if not hasattr(env, name):
                raise ValueError(f"the environment has no {name}: add it, or give policy=")
        scaling = guess(env.observation_space)
        actions = of_space(env.action_space)
    finally:
        spec.close(env)
    return Network(len(scaling.shift), actions, tuple(map(int, layers))), scaling


def _begin(
    spec: Environment,
    form: Parametrised,
    first: Scaling | None,
    start: Any,
    budget: int,
    workers: int,
    rng: Any,
    options: Mapping[str, Any],
) -> Start:
    """Where the search starts: at a policy that is given, at the best of a few random ones, or,
    for policies of the user's own, at zero."""
    if isinstance(start, Policy):
        return Start(start.x, start.scaling, 0)
    if start is not None:
        try:
            x = np.atleast_1d(np.asarray(start, dtype=float))
        except (TypeError, ValueError):
            raise ValueError(f"start must be a Policy or numbers, got {shown(start)}") from None
        return Start(x, first, 0)
    n = episodes(budget) if isinstance(form, Network) else 0
    if not isinstance(form, Network) or first is None or n == 0:
        return Start(np.zeros(form.size), first, 0)
    draws = stream(rng)
    X = draws.standard_normal((n, form.size))
    look = Look(spec, form, first, X, draws.integers(2**31, size=n).tolist())
    limits = executors.Limits()
    on_error = one_of("on_error", options.get("on_error", "raise"), ("raise", "worst"))
    return first_look(look, workers, options.get("executor"), limits, on_error)


def _chosen(
    method: str | Method | None, form: Parametrised, began: Start, budget: int
) -> str | Method:
    """What searches; `Pairs` is told how good random policies are."""
    built_in = isinstance(form, Network)
    if method is None:
        few = form.size <= _FEW_PARAMETERS and budget < _FEW_EPISODES
        method = "pairs" if built_in and not few else "auto"
    if method == "pairs" and built_in:
        searches = _SEARCHES if budget >= _LONG and began.returns else 1
        method = Pairs(searches=searches, baseline=tuple(-r for r in began.returns))
    return method


def _step_size(form: Parametrised, method: str | Method) -> float:
    """The initial step size; parameters of a random policy of the built-in ones are about one."""
    if not isinstance(form, Network) or not isinstance(method, Pairs):
        return _STEP
    return _STEP_SMALL if form.size < _SMALL else _STEP_LARGE


def _kept(checkpoint: Any, method: Any) -> Start | None:
    """The start in a checkpoint that is there already."""
    if checkpoint is None or not Path(checkpoint).exists():
        return None
    extra = Optimizer.load(checkpoint, method if isinstance(method, Method) else None).extra
    try:
        kept = extra[_KEPT]
        scaling = None
        if kept["shift"] is not None:
            scaling = Scaling(np.array(kept["shift"]), np.array(kept["scale"]))
        returns = tuple(map(float, kept["returns"]))
        return Start(np.array(kept["x"]), scaling, int(kept["episodes"]), returns)
    except (KeyError, TypeError, ValueError):
        said = f"checkpoint {os.fspath(checkpoint)} is not of a search for a policy"
        raise CheckpointError(said) from None


def _data(began: Start, spec: Environment) -> dict[str, Any]:
    """The start as a checkpoint keeps it."""
    scaling = began.scaling
    return {
        "environment": spec.name,
        "x": began.x.tolist(),
        "shift": None if scaling is None else scaling.shift.tolist(),
        "scale": None if scaling is None else scaling.scale.tolist(),
        "episodes": began.episodes,
        "returns": list(began.returns),
    }
