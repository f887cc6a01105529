"""Digests of what rows name: methods by the points they ask for, problems by their values.

A table is true of the code as long as the methods and the problems behave as they did when its
rows were computed. `of_method` runs a method on a few small problems and hashes every point it asks
for; `of_problems` hashes noisy and true values at fixed points. Numbers are rounded, so that
another BLAS gives the same digest. Source text does not enter: a rename changes nothing.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import re
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

import noisewise as nw
from noisewise import Result
from noisewise_bench import digests, methods, problems
from noisewise_bench.digests import before_the_model, has_a_model
from noisewise_bench.peers import environment
from noisewise_bench.peers.environment import VERSIONS
from noisewise_bench.problem import FloatArray, Method, Oracle
from noisewise_bench.problems import kinds
from noisewise_bench.randomness import global_random_state

#: Significant digits of a number, and hexadecimal digits of a digest.
_DIGITS, _LENGTH = 6, 8
#: Dimension, noise and budget of the runs behind a method's digest. Budgets per parameter are
#: those of the tables (200, 40 and 10), so that a method is in the regime it has there.
_TRIALS = ((4, "t2", 800), (6, "none", 240), (10, "gaussian", 100))
#: One more where a model proposes points in all of these, of which a digest sees the first only:
#: `auto` has none in so many dimensions.
_WITHOUT_A_MODEL = (12, "t2", 1200)
#: Methods for which these runs take too long or need an environment of their own. What they do
#: is taken from their package's version.
_BY_VERSION = {
    "peer/nevergrad": "nevergrad",
    "peer/optuna": "optuna",
    "peer/botorch": "botorch",
    "peer/smac": "smac",
}
#: Instance, dimension and noise seed of the problems behind a family's digest.
_INSTANCE, _DIMENSION, _SEED = 3, 10, 7
_POINTS = 3


class _Trial:
    """A small problem: an ill-conditioned quadratic with noise in proportion to its value."""

    def __init__(self, d: int, law: str) -> None:
        self.x0: FloatArray = np.full(d, 2.0)
        self.bounds: tuple[FloatArray, FloatArray] | None = (np.full(d, -5.0), np.full(d, 5.0))
        self._law = law
        self._scale = 10.0 ** np.linspace(0.0, 1.0, d)
        self.asked: list[FloatArray] = []

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        self.asked.append(np.array(X))
        f = 1.0 + self.regret(X)
        if self._law == "none":
            return f
        noise = rng.standard_t(2.0, len(X)) if self._law == "t2" else rng.normal(size=len(X))
        return np.asarray(f * (1.0 + 0.3 * noise))

    def regret(self, X: FloatArray) -> FloatArray:
        return np.asarray((self._scale * (X - 0.25) ** 2).sum(axis=1))


@cache
def of_method(name: str) -> str:
    """Digest of the method that rows call ``name``; for a few peers, package and version.

    Empty where it is not known: a package is missing, or the method is not part of the project.

    >>> of_method("cma-es") == of_method("nw/cma-es"), of_method("cma-es") == of_method("rb-pem")
    (True, False)
    """
    peer = name.partition("/")[2].removesuffix("-confirmed")
    if peer in VERSIONS:
        return VERSIONS[peer][:_LENGTH]
    for prefix, package in _BY_VERSION.items():
        if name.startswith(prefix):
            return _version(package)
    if ":" in name and not name.startswith("noisewise_bench."):
        return ""
    if name == "select":  # it takes lists only
        return digest(digests.digests(nw.methods.get(name)))
    # One trial through Optuna takes milliseconds: its adapters make the shortest run only.
    trials = _TRIALS if ":" not in name else _TRIALS[-1:]
    run = methods.get(name)
    try:
        with global_random_state(1):
            found = [_asked(run, *trial) for trial in trials]
            if all(modelled for _, modelled in found):
                points, modelled = _asked(run, *_WITHOUT_A_MODEL)
                found += [] if modelled else [(points, modelled)]
            return digest([points for points, _ in found])
    except ImportError:
        return ""


def _version(package: str) -> str:
    """Name and version of a package here or in a peer's environment of its own."""
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        folders = map(str, environment.directory(package).glob("lib/python*/site-packages"))
        found = importlib.metadata.distributions(name=package, path=list(folders))
        return next((f"{package} {each.version}" for each in found), "")


def _asked(run: Method, d: int, law: str, budget: int) -> tuple[list[str], bool]:
    """Every point of one run in the order asked for, then the point it recommends; where a model
    has proposed points, those before it. And whether one has."""
    problem = _Trial(d, law)
    oracle = Oracle(problem, budget, np.random.default_rng(_SEED))
    if isinstance(run, methods.LibraryMethod):
        outcome = run(oracle, budget, 3, _until_the_model)
    else:
        outcome = run(oracle, budget, 3)
    x = np.asarray(getattr(outcome, "x", outcome), dtype=float)
    points = np.concatenate([*problem.asked, x[None]])
    modelled = isinstance(outcome, Result) and has_a_model(outcome)
    if modelled:
        points = points[: before_the_model(len(x))]
    return _rounded(points), modelled


def _until_the_model(r: Result) -> bool:
    """Whether all points that enter the digest are there: the others take long to propose."""
    return r.nfev >= before_the_model(len(r.x)) and has_a_model(r)


def family(problem: str) -> str:
    """The kind of problem a name belongs to: the name without function, instance and dimension.

    >>> family("bbob-noisy/f110/i3/d40"), family("additive/f1/i1/d10/t3/0.01")
    ('bbob-noisy', 'additive/t3/0.01')
    """
    suite, *rest = problem.split("/")
    return "/".join([suite, *(part for part in rest if not re.fullmatch(r"[fids]\d+", part))])


def families(names: Iterable[str]) -> list[str]:
    """The kinds of problems that names belong to, each once and sorted."""
    return sorted({family(name) for name in names})


@cache
def of_problems(kind: str) -> str:
    """Digest of a kind of problems, as `family` names it; empty where it is not known."""
    if ":" in kind:
        return ""
    try:
        return digest([_values(problems.make(name)) for name in _members(kind)])
    except (ImportError, ValueError):
        return ""


def _members(kind: str) -> list[str]:
    """The problems that stand for a kind: every function once, or the first seed of a task."""
    suite, _, rest = kind.partition("/")
    where = f"i{_INSTANCE}/d{_DIMENSION}"
    if suite == "bbob-noisy":
        return [f"bbob-noisy/f{f}/{where}" for f in range(101, 131)]
    if suite == "official-bbob-noisy":  # slow to start: one function of each law of noise
        return [f"official-bbob-noisy/f{f}/{where}" for f in (107, 108, 109)]
    if suite == "additive":
        return [f"additive/f{f}/{where}/{rest}" for f in range(1, 25)]
    if suite == "small":
        landscape, _, law = rest.partition("/")
        return [f"small/{landscape}/{where}/{law}"]
    if suite == "kinds":
        return [f"{kind}/i{_INSTANCE}/d{d}" for d in kinds.FAMILIES[rest].dimensions]
    if suite in ("task", "small-task"):
        return [f"{kind}/s1"]
    return [f"noisysphere/d{_DIMENSION}/{rest}" if suite == "noisysphere" else kind]


def _values(problem: Any) -> list[str]:
    """Noisy values at the start and at random points of the box, and the truth of the first two."""
    rng = np.random.default_rng(_SEED)
    low, high = problem.bounds or (problem.x0 - 1.0, problem.x0 + 1.0)
    X = np.vstack([problem.x0, rng.uniform(low, high, (_POINTS, len(problem.x0)))])
    noisy = problem.noisy(X, np.random.default_rng(_SEED))
    return _rounded(np.concatenate([noisy, problem.regret(X[:2]), X[0]]))


def _rounded(values: FloatArray) -> list[str]:
    return [f"{value:.{_DIGITS - 1}e}" for value in np.ravel(values).tolist()]


def digest(content: Any) -> str:
    """Eight digits that change when ``content``, which JSON can hold, changes."""
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:_LENGTH]
