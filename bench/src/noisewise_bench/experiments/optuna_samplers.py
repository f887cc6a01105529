"""Which Optuna sampler finds the best hyperparameters of a noisy training run?"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.study import Scope, Study, labelled, versus
from noisewise_bench.peers import Outcome
from noisewise_bench.peers._common import box, library
from noisewise_bench.peers.optuna import quiet
from noisewise_bench.problem import Oracle
from noisewise_bench.problems import suite
from noisewise_bench.tables import Column, Table
from noisewise_bench.task import Row

OURS, ANYTIME = "NoisewiseSampler", "NoisewiseSampler, anytime"
_RUN = "noisewise_bench.experiments.optuna_samplers:noisewise"
#: Names in the bench, and in the tables.
SAMPLERS = {
    _RUN: OURS,
    f"{_RUN}(anytime=True)": ANYTIME,
    "peer/optuna-random": "RandomSampler",
    "peer/optuna-tpe": "TPESampler",
    "peer/optuna-cmaes": "CmaEsSampler",
}
#: A minute and more per run, and it needs torch: the first instances have to do.
SLOW, SLOW_INSTANCES = {"peer/optuna-gp": "GPSampler"}, 3


def noisewise(oracle: Oracle, budget: int, seed: int, anytime: bool = False) -> Outcome:
    """Our sampler, one trial after the other, as a user of Optuna runs it."""
    optuna = library("optuna")
    ours = library("noisewise.integrations.optuna")
    low, high = box(oracle)
    space = {
        f"x{i}": optuna.distributions.FloatDistribution(a, b)
        for i, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True))
    }
    start = dict(zip(space, np.clip(oracle.x0, low, high).tolist(), strict=True))
    with quiet(optuna):
        sampler = ours.NoisewiseSampler(
            None if anytime else budget,
            seed=seed,
            search_space=space,
            x0=start,
            sigma0=min(1.0, oracle.sigma0 / float(np.min(high - low))),
        )
        study = optuna.create_study(sampler=sampler)
        while oracle.remaining:
            trial = study.ask(space)
            study.tell(trial, oracle(_point(trial.params, space)))
        return Outcome(_point(ours.recommended_params(study).params, space))


def _point(params: dict[str, float], space: dict[str, Any]) -> Any:
    return np.array([params[name] for name in space])


def grids(scope: Scope) -> list[Grid]:
    def tasks(instances: tuple[int, ...]) -> list[str]:
        return [p for p in suite("tasks", instances=instances) if p.startswith("task/hpo")]

    return [
        Grid.of(tasks(scope.instances), list(SAMPLERS), ["own"], scope.seeds),
        Grid.of(tasks(scope.instances[:SLOW_INSTANCES]), list(SLOW), ["own"], scope.seeds),
    ]


def tables(rows: list[Row]) -> list[Table]:
    names = SAMPLERS | SLOW
    rows = [
        dataclasses.replace(row, method=names[row.method])
        for row in labelled(rows)
        if row.error is None  # torch is not everywhere
    ]
    return [
        versus(rows, OURS, "recommended", f"{OURS} against the others, each at the task's budget"),
        _truths(rows),
    ]


def _truths(rows: list[Row]) -> Table:
    """The truth of what each sampler returns, and of its luckiest draw."""
    columns = (
        Column("task"),
        Column("sampler"),
        Column("runs"),
        Column("truth of the returned point", meaning="median over the runs"),
        Column("log10", lambda v: f"{v:.3f}", "mean log10 of the same"),
        Column("truth of the luckiest draw", meaning="median over the runs"),
        Column("value of the luckiest draw", meaning="what best_value says, median"),
        Column("seconds", meaning="in the sampler, median"),
    )
    body = []
    for task in dict.fromkeys(row.suite for row in rows):
        for name in dict.fromkeys((SAMPLERS | SLOW).values()):
            mine = [row for row in rows if (row.suite, row.method) == (task, name)]
            if mine:
                body.append((task, name, len(mine), *_medians(mine)))
    notes = (
        "Truth: mean over 128 training runs with fixed random numbers, in nats.",
        f"GPSampler needs torch, and minutes a run: the first {SLOW_INSTANCES} instances only.",
    )
    return Table("What is returned, and what was promised", columns, tuple(body), notes)


def _medians(rows: list[Row]) -> tuple[float, ...]:
    returned = [row.recommended_regret for row in rows]
    return (
        float(np.median(returned)),
        float(np.mean([math.log10(v) for v in returned])),
        float(np.median([row.noisy_best_regret for row in rows])),
        float(np.median([row.noisy_best for row in rows])),
        float(np.median([row.seconds_method for row in rows])),
    )


STUDY = Study(
    "optuna",
    "Optuna's samplers and ours on noisy hyperparameter tuning",
    Scope(tuple(range(1, 21)), (5,), (1,)),
    grids,
    tables,
)
