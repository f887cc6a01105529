"""Problems by name, so that a row of results can be computed again from a string.

bbob-noisy/f110/i3/d40              bbob-noisy function, instance, dimension
official-bbob-noisy/f110/i3/d40     the same with COCO's own noise, which no seed changes
additive/f1/i1/d10/gaussian/0.01    bbob function with a law and level of noise
additive/f1/i1/d80/radial/0.5abs    the same with an absolute level
additive/f1/i1/d10/none             without noise
small/steps/i1/d3/t3/0.2            landscape for small budgets: instance, dimension, law, level
noisysphere/d33/n1                  pycma's noisy ellipsoid: dimension, noise
task/lqr/s1                         task and seed; `TASKS` lists them
small-task/svm/s1                   small task and seed; `SMALL_TASKS` lists them
kinds/queue/i1/d4                   a kind of users' problems: family, instance, dimension
gym/CartPole-v1, gym/Pendulum-v1/h8 gymnasium environment, hidden units
package.module:attribute            your own: a problem, or a callable that makes one
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from typing import Any, Final

from ..problem import Problem
from . import kinds
from .additive import AdditiveNoise, NoisySphere
from .bbob_noisy import COMPLEMENT, HIGH, BBOBNoisy
from .gym import Gym
from .landscapes import NOISELESS, NOISY
from .official import LoneProblem
from .small import Small
from .small import names as small_names
from .tasks.cartpole import CartPole
from .tasks.hpo import HPO
from .tasks.logistic import LogisticRegression
from .tasks.lqr import LQR
from .tasks.mlp_digits import MLPDigits
from .tasks.pendulum import Pendulum
from .tasks.small_games import Blotto, Pig
from .tasks.small_gym import GymPolicy
from .tasks.small_models import SGD, SVM, KernelRidge, Softmax, Tree
from .tasks.small_simulators import Inventory, Queue

_TASK_MAKERS: Final[dict[str, Callable[[int], Problem]]] = {
    "lqr": LQR,
    "hpo-digits": partial(HPO, data="digits"),
    "hpo-breast-cancer": partial(HPO, data="breast-cancer"),
    "cartpole": CartPole,
    "cartpole-ht": partial(CartPole, heavy_tail=True),
    "pendulum": Pendulum,
    "pendulum-ht": partial(Pendulum, heavy_tail=True),
    "mlp-digits-b4": partial(MLPDigits, batch=4),
    "mlp-digits-b16": partial(MLPDigits, batch=16),
    "mlp-digits-b256": partial(MLPDigits, batch=256),
    "logistic": LogisticRegression,
}
TASKS: Final = tuple(_TASK_MAKERS)
_SMALL_TASK_MAKERS: Final[dict[str, Callable[[int], Problem]]] = {
    "svm": SVM,
    "tree": Tree,
    "kernel-ridge": KernelRidge,
    "sgd": SGD,
    "softmax": Softmax,
    "inventory": Inventory,
    "inventory-4": partial(Inventory, products=4),
    "queue": Queue,
    "pig": Pig,
    "blotto": Blotto,
    "cartpole": partial(GymPolicy, kind="cartpole"),
    "pendulum": partial(GymPolicy, kind="pendulum"),
}
SMALL_TASKS: Final = tuple(_SMALL_TASK_MAKERS)


def make(name: str) -> Problem:
    """The problem of that name; of ours, the result's ``name`` makes the same problem again.

    >>> import numpy as np
    >>> problem = make("bbob-noisy/f110/i3/d10")
    >>> problem.noisy(np.zeros((5, 10)), np.random.default_rng(1)).shape
    (5,)
    """
    for pattern, build in _MAKERS:
        if match := re.fullmatch(pattern, name):
            return build(**match.groupdict())
    if ":" in name:
        module, _, attribute = name.partition(":")
        found = getattr(importlib.import_module(module), attribute)
        made: Problem = found() if callable(found) else found
        return made
    raise ValueError(
        f"name is {name!r}, it takes one such as 'bbob-noisy/f110/i3/d40', 'task/lqr/s1' or "
        "'package.module:attribute'"
    )


def _additive(f: str, i: str, d: str, law: Any, level: str | None, unit: str | None) -> Problem:
    return AdditiveNoise(int(f), int(i), int(d), law, float(level or 0.0), unit is not None)


def _small(landscape: str, i: str, d: str, law: Any, level: str | None) -> Problem:
    return Small(landscape, int(i), int(d), law, float(level or 0.0))


_NUMBER: Final = r"[0-9.]+(?:e-?[0-9]+)?"
_BBOB: Final = r"f(?P<f>\d+)/i(?P<i>\d+)/d(?P<d>\d+)"
_MAKERS: Final[tuple[tuple[str, Callable[..., Problem]], ...]] = (
    (f"bbob-noisy/{_BBOB}", lambda f, i, d: BBOBNoisy(int(f), int(i), int(d))),
    (f"official-bbob-noisy/{_BBOB}", lambda f, i, d: LoneProblem(int(f), int(i), int(d))),
    (f"additive/{_BBOB}/(?P<law>none)(?P<level>)(?P<unit>)?", _additive),
    (f"additive/{_BBOB}/(?P<law>[a-z0-9]+)/(?P<level>{_NUMBER})(?P<unit>abs)?", _additive),
    (r"small/(?P<landscape>[a-z]+)/i(?P<i>\d+)/d(?P<d>\d+)/(?P<law>none)(?P<level>)", _small),
    (
        r"small/(?P<landscape>[a-z]+)/i(?P<i>\d+)/d(?P<d>\d+)/"
        rf"(?P<law>[a-z0-9]+)/(?P<level>{_NUMBER})",
        _small,
    ),
    (rf"noisysphere/d(?P<d>\d+)/n(?P<n>{_NUMBER})", lambda d, n: NoisySphere(int(d), float(n))),
    (rf"task/(?P<task>{'|'.join(TASKS)})/s(?P<s>\d+)", lambda task, s: _TASK_MAKERS[task](int(s))),
    (
        rf"small-task/(?P<task>{'|'.join(SMALL_TASKS)})/s(?P<s>\d+)",
        lambda task, s: _SMALL_TASK_MAKERS[task](int(s)),
    ),
    (
        r"kinds/(?P<family>[a-z]+)/i(?P<i>\d+)/d(?P<d>\d+)",
        lambda family, i, d: kinds.make(family, int(i), int(d)),
    ),
    (r"gym/(?P<env>.+?)(?:/h(?P<h>\d+))?", lambda env, h: Gym(env, int(h or 0))),
)

#: Late noise: at this level the noise hardly reorders an initial population, and hides the
#: ranking once the regret has fallen a hundredfold.
LATE_LEVEL: Final = 0.01
LATE_FUNCTIONS: Final = (1, 2, 6, 8, 10, 11, 12, 14, 15, 17)
LATE_LAWS: Final = ("gaussian", "t3", "radial")

Names = Callable[[Iterable[int], Iterable[int]], list[str]]


def _bbob_names(functions: Iterable[int], form: str) -> Names:
    """Names ordered by dimension, then function, then instance."""

    def names(dimensions: Iterable[int], instances: Iterable[int]) -> list[str]:
        grid = product(dimensions, functions, instances)
        return [form.format(f=f, i=i, d=d) for d, f, i in grid]

    return names


def _late(dimensions: Iterable[int], instances: Iterable[int]) -> list[str]:
    dimensions, instances = tuple(dimensions), tuple(instances)
    form = "additive/f{{f}}/i{{i}}/d{{d}}/{law}/{level!r}"
    return [
        name
        for law in LATE_LAWS
        for name in _bbob_names(LATE_FUNCTIONS, form.format(law=law, level=LATE_LEVEL))(
            dimensions, instances
        )
    ]


def _tasks(_: Iterable[int], instances: Iterable[int]) -> list[str]:
    return [f"task/{task}/s{seed}" for task, seed in product(TASKS, instances)]


def _small_tasks(_: Iterable[int], instances: Iterable[int]) -> list[str]:
    return [f"small-task/{task}/s{seed}" for task, seed in product(SMALL_TASKS, instances)]


_NOISY_FORM: Final = "bbob-noisy/f{f}/i{i}/d{d}"
#: name -> (what it holds, the names of its problems)
_SUITES: Final[dict[str, tuple[str, Names]]] = {
    "bbob-noisy": ("all 30 noisy functions", _bbob_names(NOISY, _NOISY_FORM)),
    "bbob-noisy-high": ("the 15 that reorder most", _bbob_names(HIGH, _NOISY_FORM)),
    "bbob-noisy-complement": ("the other 15", _bbob_names(COMPLEMENT, _NOISY_FORM)),
    "official-bbob-noisy": (
        "the 30 with COCO's own noise",
        _bbob_names(NOISY, f"official-{_NOISY_FORM}"),
    ),
    "late-noise": ("additive noise that dominates only late", _late),
    "lognormal": (
        "factor of mean one on f1-f24",
        _bbob_names(NOISELESS, "additive/f{f}/i{i}/d{d}/lognormal/1.0"),
    ),
    "noise-free": ("f1-f24 as they are", _bbob_names(NOISELESS, "additive/f{f}/i{i}/d{d}/none")),
    "noisysphere": (
        "pycma's two public scenarios",
        lambda dimensions, instances: ["noisysphere/d33/n1", "noisysphere/d14/n8.1"],
    ),
    "small": ("landscapes for few evaluations under eight kinds of noise", small_names),
    "small-tasks": ("tuning, simulators, games, policies at few evaluations", _small_tasks),
    "kinds": ("simulators, fits, tuning, control, games like those of users", kinds.names),
    "tasks": ("control, tuning and training; instances are seeds", _tasks),
}
SUITES: Final = {name: about for name, (about, _) in _SUITES.items()}


def suite(
    name: str,
    dimensions: Iterable[int] = (10, 20, 40),
    instances: Iterable[int] = range(1, 16),
) -> list[str]:
    """Names of the problems of a suite (see `SUITES`), to be given to `make`.

    >>> suite("bbob-noisy-high", dimensions=[10], instances=[1])[:2]
    ['bbob-noisy/f108/i1/d10', 'bbob-noisy/f110/i1/d10']
    """
    if name not in _SUITES:
        raise ValueError(f"name is {name!r}, it takes one of {', '.join(_SUITES)}")
    return _SUITES[name][1](dimensions, instances)
