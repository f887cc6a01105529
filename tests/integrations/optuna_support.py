"""What the tests of the Optuna sampler share: objectives, workers, and a check of a whole run."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock
from optuna.trial import TrialState

import noisewise as nw
from noisewise.integrations.optuna import NoisewiseSampler, distributions, records

SPACE: dict[str, Any] = {
    "rate": FloatDistribution(1e-4, 1.0, log=True),
    "width": FloatDistribution(-3.0, 5.0),
    "layers": IntDistribution(1, 9, step=2),
    "units": IntDistribution(4, 256, log=True),
    "kind": CategoricalDistribution(["relu", None, True]),
}


def value(params: dict[str, Any], number: int) -> float:
    """A bowl with noise that belongs to the trial's number."""
    bowl = np.log10(params["rate"] / 0.01) ** 2 + (params["width"] - 1.0) ** 2
    bowl += 0.1 * (params["layers"] - 5) ** 2 + (params["kind"] is None)
    return float(bowl + 0.3 * np.random.default_rng(number).normal())


def objective(trial: optuna.Trial) -> float:
    return value({name: trial._suggest(name, d) for name, d in SPACE.items()}, trial.number)


def storage(kind: str, where: str) -> BaseStorage:
    if kind == "memory":
        return InMemoryStorage()
    if kind == "journal":
        # A worker killed in the middle of writing leaves the file locked for that many seconds.
        lock = JournalFileSymlinkLock(where, grace_period=3)
        return JournalStorage(JournalFileBackend(where, lock_obj=lock))
    url = f"sqlite:///{where}" if kind == "sqlite" else where
    return RDBStorage(
        url, engine_kwargs={"connect_args": {"timeout": 60}} if kind == "sqlite" else None
    )


def work(kind: str, where: str, name: str, n: int, options: dict[str, Any]) -> None:
    """One worker: ``n`` trials of a study that exists."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = NoisewiseSampler(search_space=SPACE, **options)
    study = optuna.load_study(study_name=name, storage=storage(kind, where), sampler=sampler)
    study.optimize(objective, n_trials=n)


def work_and_hang(kind: str, where: str, name: str, flag: str, options: dict[str, Any]) -> None:
    """A worker that takes a trial, says so, and never comes back."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = NoisewiseSampler(search_space=SPACE, **options)
    study = optuna.load_study(study_name=name, storage=storage(kind, where), sampler=sampler)
    study.ask(SPACE)
    Path(flag).touch()
    time.sleep(600)
    os._exit(1)


def marks(study: optuna.Study) -> list[tuple[Any, dict[str, Any]]]:
    """Trials with their marks; trials without are left out."""
    found = [(t, t.system_attrs.get(records.MARK)) for t in study.get_trials(deepcopy=False)]
    return [(t, mark) for t, mark in found if mark is not None]


def assert_faithful(
    study: optuna.Study, budget: int, seed: int, space: Any = SPACE, **options: Any
) -> int:
    """Every evaluation of the run was made by one trial, at the very point that ask and tell give
    for the same values, and no finished trial was left out. Returns the number of evaluations."""
    holders: dict[int, Any] = {}
    for trial, mark in marks(study):
        if "id" in mark:
            # A worker may have died with a claim that was not its own yet.
            claim = (mark.get("attempt", 0), trial.state.is_finished())
            other = holders.get(mark["id"], ((-1, False), None))[0]
            assert claim != other or not claim[1], "two trials made the same evaluation"
            holders[mark["id"]] = max(
                holders.get(mark["id"], (claim, trial)), (claim, trial), key=lambda pair: pair[0]
            )
    named = distributions.named(space)
    workers = options.pop("workers", 1)
    opt = nw.Optimizer(budget=budget, space=named, rng=seed, confirm=0, workers=workers, **options)
    done = {id: found for id, (_, found) in holders.items() if found.state.is_finished()}
    offered: dict[int, Any] = {}
    used, told = 0, [] if workers == 1 else _steps(study)
    while True:
        offered |= {trial.id: trial for trial in opt.ask()}
        if not (told or offered.keys() & done.keys()):
            break
        # What workers have not let the run learn is told at the end; with one worker, at once.
        step = told.pop(0) if told else [[id, done[id].number] for id in offered if id in done]
        for id, number in step:
            trial, found = offered.pop(id), done.pop(id)
            assert found.number == number, "another trial answered"
            assert found.params == named.decode(trial.x)
            complete = found.state == TrialState.COMPLETE
            opt.tell(id, found.value if complete else float("nan"))
            used += 1
    assert not done.keys(), "trials claimed evaluations that the run never asked for"
    return used


def _steps(study: optuna.Study) -> list[list[list[int]]]:
    """What the run was told in each step."""
    found = [step for _, mark in marks(study) for step in mark.get("steps", ())]
    assert sorted(n for n, _ in found) == list(range(len(found))), "a step made twice, or never"
    return [told for _, told in sorted(found)]
