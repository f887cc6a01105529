"""Why the median costs on LQR are above the published ones.

The published cost of a run is the least of five, each the mean cost of one of the points with the
smallest noisy values over simulations of its own. The bench simulates every point of every system
with the same random numbers, so that points are compared fairly. Costs have heavy tails: one set of
random numbers may be dear for all systems, and the least of five independent means is lucky.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._artifact import Artifact, Output, Scale
from noisewise_bench.experiments.paper._methods import AS_RUN, CMA, RB, RES5, RES10
from noisewise_bench.experiments.paper._published import TASK_MEDIANS
from noisewise_bench.problem import FloatArray, Problem
from noisewise_bench.problems.tasks._task import TRUTH_SEED
from noisewise_bench.record import N_PROMISING
from noisewise_bench.tables import Column, Table, fixed
from noisewise_bench.task import Row, Task, find_problem, outcome

ROLES: Final = (RB, CMA, RES5, RES10)
SIMULATIONS, SETS = 256, 3
#: For the mean cost that a mean of `SIMULATIONS` estimates.
MANY: Final = 20 * SIMULATIONS


class Watched:
    """A problem that remembers what was evaluated."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.rows: list[FloatArray] = []
        self.values: list[FloatArray] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.problem, name)

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        values = self.problem.noisy(X, rng)
        self.rows.append(np.array(X))
        self.values.append(values)
        return values

    def promising(self) -> FloatArray:
        """The points of the smallest noisy values, best first."""
        order = np.argsort(np.concatenate(self.values), kind="stable")
        return np.vstack(self.rows)[order[:N_PROMISING]]


def costs(seed: int, role: str) -> FloatArray:
    """Cost of a run on the system of that seed: with the random numbers of the bench, with one set
    for all five points (typical), with a set for each (typical), of the first point (typical), of
    the first point over `MANY` simulations."""
    name = f"task/lqr/s{seed}"
    problem = find_problem(name)
    watched: Any = Watched(problem)
    outcome(Task(name, AS_RUN[role], "own", 1, problem_object=watched))
    points = watched.promising()

    def mean(x: FloatArray, random: Any, n: int = SIMULATIONS) -> float:
        rng = np.random.default_rng(random)
        return float(problem.noisy(np.repeat(x[None], n, axis=0), rng).mean())

    shared = [[mean(x, [seed, s]) for x in points] for s in range(SETS)]
    own = [[mean(x, [seed, s, i]) for i, x in enumerate(points)] for s in range(SETS)]
    return np.array(
        [
            min(mean(x, TRUTH_SEED) for x in points),
            *np.median([[min(a), min(b), b[0]] for a, b in zip(shared, own, strict=True)], axis=0),
            mean(points[0], [seed, SETS], MANY),
        ]
    )


def grids(scale: Scale) -> list[Grid]:
    return []


def make(rows: list[Row], scale: Scale) -> Output:
    seeds = range(1, scale.pick(quick=3, full=51))
    body = []
    for role in scale.pick(quick=ROLES[:1], full=ROLES):
        found = np.array([costs(seed, role) for seed in seeds])
        logs = np.log(found[:, 2])
        error = float(np.exp(1.2533 * logs.std() / np.sqrt(len(logs))))
        body.append((role, TASK_MEDIANS["lqr"][role], *np.median(found, axis=0).tolist(), error))
    columns = (
        Column("method, as run"),
        Column("published", _whole),
        Column("bench", _whole, "best of five, all points and systems with one set of numbers"),
        Column("one set per system", _whole, "best of five"),
        Column("one set per point", _whole, "best of five, as published"),
        Column("first point", _whole, "of the smallest noisy value, a set of its own"),
        Column(f"{MANY} simulations", _whole, "of the first point"),
        Column("factor", fixed, "standard error of a median over systems"),
    )
    notes = (
        f"Median cost over {len(seeds)} systems, each point simulated {SIMULATIONS} times where "
        f"nothing else is said; columns with sets of their own: the median of {SETS} such sets.",
        "factor: by which the median changes with the systems drawn (one standard error, from the "
        "spread of log costs); it is the same draw of systems for all methods of a column.",
    )
    return Output([Table("Median cost on LQR", columns, tuple(body), notes)])


def _whole(value: float) -> str:
    return f"{value:.0f}"


ARTIFACT = Artifact(
    "lqr-costs",
    "Costs on LQR",
    "Figure 3 and Table 1, the LQR task",
    "median post-hoc costs from 6038 (RB-PEM) to 8913 (Res.(10)).",
    grids,
    make,
)
