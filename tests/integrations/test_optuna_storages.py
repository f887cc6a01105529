"""Workers on one storage: nothing lost, nothing counted twice, nobody waits for the dead."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import optuna
import optuna_support as support
import pytest

from noisewise.integrations.optuna import NoisewiseSampler, recommended_params

#: Workers read the run again and again, so it has to be a fast one.
METHOD = "watchful"
KINDS = ["journal", "sqlite", "postgres"]
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["optuna_support"])


@pytest.fixture(params=KINDS)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, str]:
    """Kind of a storage and where it is."""
    if request.param == "postgres":
        return "postgres", request.getfixturevalue("postgres")
    return request.param, str(tmp_path / "study")


def create(place: tuple[str, str], name: str) -> optuna.Study:
    return optuna.create_study(study_name=name, storage=support.storage(*place))


def start(target: Any, *args: Any) -> Any:
    process = CONTEXT.Process(target=target, args=args, daemon=True)
    process.start()
    return process


def test_one_worker_after_another_makes_the_run_of_one(place: tuple[str, str]) -> None:
    study = create(place, "relay")
    for n in (3, 17):
        support.work(*place, "relay", n, {"n_trials": 20, "seed": 4, "method": METHOD})
    assert support.assert_faithful(study, budget=20, seed=4, method=METHOD) == 20
    alone = optuna.create_study(
        sampler=NoisewiseSampler(n_trials=20, seed=4, search_space=support.SPACE, method=METHOD)
    )
    alone.optimize(support.objective, n_trials=20)
    assert [t.params for t in study.trials] == [t.params for t in alone.trials]
    assert repr(recommended_params(study)) == repr(recommended_params(alone))


def test_workers_share_a_run(place: tuple[str, str]) -> None:
    study = create(place, "shared")
    options = {"n_trials": 30, "seed": 4, "workers": 3, "method": METHOD}
    processes = [start(support.work, *place, "shared", 10, options) for _ in range(3)]
    for process in processes:
        process.join()  # however busy the machine is
        assert process.exitcode == 0
    marks = [mark for _, mark in support.marks(study)]
    assert len(marks) == 30
    # What is not part of the search measured its recommendation.
    assert {mark["kind"] for mark in marks if "id" not in mark} <= {"confirmation"}
    used = support.assert_faithful(study, budget=30, seed=4, workers=3, method=METHOD)
    assert used == sum("id" in mark for mark in marks)
    assert used > 20


def test_a_worker_killed_in_the_middle(place: tuple[str, str], tmp_path: Path) -> None:
    study = create(place, "killed")
    options = {"n_trials": 20, "seed": 4, "overdue": 0.3, "method": METHOD}
    flag = tmp_path / "taken"
    victim = start(support.work_and_hang, *place, "killed", str(flag), options)
    while not flag.exists():
        assert victim.is_alive()
        time.sleep(0.02)
    os.kill(victim.pid, signal.SIGKILL)
    victim.join()
    support.work(*place, "killed", 20, options)
    running = [t for t in study.trials if t.state == optuna.trial.TrialState.RUNNING]
    assert [t.number for t in running] == [0]
    attempts = [mark.get("attempt", 0) for _, mark in support.marks(study) if mark.get("id") == 0]
    assert sorted(attempts) == [0, 1]
    assert support.assert_faithful(study, budget=20, seed=4, method=METHOD) == 20


def test_workers_killed_again_and_again(tmp_path: Path) -> None:
    """Whenever one is killed, another takes its place."""
    place = ("journal", str(tmp_path / "study"))
    study = create(place, "kills")
    options = {"n_trials": 60, "seed": 4, "workers": 3, "overdue": 0.5, "method": METHOD}
    args = (*place, "kills", 1000, options)
    workers = [start(support.work, *args) for _ in range(3)]
    rng, pause, kills = random.Random(0), 0.1, 0

    def answered() -> int:
        found = support.marks(study)
        return len({mark["id"] for t, mark in found if "id" in mark and t.state.is_finished()})

    while answered() < 60 and pause < 100.0:
        time.sleep(pause)
        pause *= 1.2  # a slow machine must get anywhere at all
        victim = rng.randrange(3)
        workers[victim].kill()
        workers[victim].join()
        workers[victim] = start(support.work, *args)
        kills += 1
    for worker in workers:
        worker.kill()
        worker.join(60)
    assert kills >= 1
    assert support.assert_faithful(study, budget=60, seed=4, workers=3, method=METHOD) == 60
