"""Runs of policy search, side by side where they fly in one simulator, kept in a file."""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Final

import numpy as np

import noisewise
from noisewise.cma.evolution import EvolutionMemory
from noisewise.methods import CMAES
from noisewise.methods.method import Now
from noisewise_bench import behaviour, methods
from noisewise_bench.policies.classic import SIMULATORS
from noisewise_bench.policies.problem import TRUTH_SEED, PolicyProblem, Setting
from noisewise_bench.policies.rollouts import Flight, Flyer, Lockstep, make
from noisewise_bench.policies.together import Together, stand_in
from noisewise_bench.problem import FloatArray, Oracle
from noisewise_bench.problems.tasks.lqr import LQR

#: Threads that fly together at most, and fresh episodes that measure a policy.
_TOGETHER: Final = 120
N_TRUTH: Final = {
    "LunarLander-v3": 40,
    "InvertedPendulum-v5": 20,
    "Hopper-v5": 40,
    "Swimmer-v5": 20,
}
#: `noisewise.policy.search` as users get it, which measures its answer; its method is "pairs".
SEARCH: Final = "search"
#: What the bench calls the methods that have a name of their own here.
SAME: Final = {
    "mirrored": "cma-es",
    SEARCH: "pairs",
    "peer/pycma-sep, common seeds": "peer/pycma-sep",
}
#: An environment that is a task of the bench: one system, known by its seed.
LQR_NAME: Final = "LQR"


@dataclass(frozen=True)
class Case:
    """One run: which policy is searched for, by whom and how, with how many episodes."""

    env: str
    hidden: tuple[int, ...]
    budget: int
    method: str
    seed: int
    setting: Setting = field(default_factory=Setting)

    @property
    def key(self) -> str:
        return json.dumps(asdict(self), sort_keys=True)


@dataclass(frozen=True)
class Outcome:
    """Mean return of the policy over fresh episodes, steps that the run took, its seconds."""

    mean_return: float
    steps: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Mirrored(CMAES):
    """CMA-ES whose second half of candidates mirrors the first one at the mean."""

    name: ClassVar[str] = "mirrored"

    def propose(
        self, memory: EvolutionMemory, n: int, pending: Any, now: Now, rng: np.random.Generator
    ) -> FloatArray:
        half = super().propose(memory, (n + 1) // 2, pending, now, rng)
        return np.concatenate([half, 2.0 * memory.state.mean - half])[:n]


def mirrored(oracle: Oracle, budget: int, seed: int) -> Any:
    """`Mirrored` as a method of the bench."""
    return noisewise.minimize(
        oracle,
        oracle.x0,
        budget=budget,
        sigma0=oracle.sigma0,
        method=Mirrored(),
        rng=seed,
        vectorized=True,
        confirm=0,
    )


def _method(name: str, budget: int) -> Any:
    return mirrored if name == "mirrored" else methods.get(name.partition(",")[0])


def measure(case: Case, flyer: Flyer | None) -> Outcome:
    """Run one case; its episodes depend on the case only."""
    began = time.perf_counter()
    rng = np.random.default_rng([case.seed, 77])
    if case.method == SEARCH:
        value, steps = _regulated(case) if flyer is None else _searched(case, flyer)
        return Outcome(value, steps, time.perf_counter() - began)
    if flyer is None:
        task = LQR(1)
        method = _method(case.method, case.budget)
        r = method(Oracle(task, case.budget, rng), case.budget, case.seed)
        cost = float(task.regret(np.asarray(getattr(r, "x", r))[None])[0])
        return Outcome(-cost, 30 * case.budget, time.perf_counter() - began)
    problem, setting = PolicyProblem(flyer, case.setting), case.setting
    problem.look(rng)
    n = (case.budget - setting.first) // setting.episodes
    r = _method(case.method, n)(Oracle(problem, n, rng), n, case.seed)
    steps = problem.steps
    x = np.asarray(getattr(r, "x", r), dtype=float)
    value = float(problem.returns(x, N_TRUTH.get(case.env, 100)).mean())
    return Outcome(value, steps, time.perf_counter() - began)


def _searched(case: Case, flyer: Flyer) -> tuple[float, int]:
    """Mean return of what `noisewise.policy.search` finds, and the steps of its episodes."""
    together = Together(flyer)
    policy = noisewise.policy.search(
        lambda: stand_in(flyer),
        budget=case.budget,
        hidden=case.hidden,
        rng=case.seed,
        executor=together,
    )
    n = N_TRUTH.get(case.env, 100)
    X = np.repeat(policy.x[None], n, axis=0)
    assert policy.scaling is not None
    flight = Flight(X, policy.scaling, np.random.default_rng(TRUTH_SEED))
    flyer.fly([flight])
    return float(flight.returns.mean()), together.steps


def _regulated(case: Case) -> tuple[float, int]:
    """The same for the task of the bench, which is no environment: `noisewise.minimize` with the
    method of the search, and steps of a tenth of its box."""
    task = LQR(1)
    assert task.bounds is not None

    def fun(X: FloatArray, seed: Any) -> FloatArray:
        rows = zip(X, seed, strict=True)
        return np.array([task.noisy(x[None], np.random.default_rng(int(s)))[0] for x, s in rows])

    r = noisewise.minimize(
        fun,
        task.x0,
        bounds=task.bounds,
        sigma0=0.1 * float(task.bounds[1][0] - task.bounds[0][0]),
        budget=case.budget,
        method="pairs",
        seeds="independent",
        vectorized=True,
        rng=case.seed,
    )
    return -float(task.regret(r.x[None])[0]), 30 * case.budget


def run(cases: Iterable[Case], db: Path, say: Callable[[str], None]) -> dict[Case, Outcome]:
    """Outcomes of all cases; those in the file are not computed again unless their method has
    changed since."""
    db.parent.mkdir(parents=True, exist_ok=True)
    wanted = list(dict.fromkeys(cases))
    digests = {name: digest(name) for name in {case.method for case in wanted}}
    with sqlite3.connect(db) as rows:
        rows.execute("create table if not exists runs (key primary key, digest, outcome)")
        found = rows.execute("select key, digest, outcome from runs").fetchall()
        kept = {(key, made): outcome for key, made, outcome in found}
        todo = [case for case in wanted if (case.key, digests[case.method]) not in kept]
        for n, group in enumerate(_groups(todo)):
            say(f"{n}: {group[0].env}, {group[0].budget} episodes, {len(group)} runs")
            for case, outcome in _fly_group(group).items():
                row = (case.key, digests[case.method], json.dumps(asdict(outcome)))
                kept[row[:2]] = row[2]
                rows.execute("insert or replace into runs values (?, ?, ?)", row)
            rows.commit()  # a kill loses the group under way
    return {case: Outcome(**json.loads(kept[case.key, digests[case.method]])) for case in wanted}


def kept(cases: Iterable[Case], db: Path) -> tuple[dict[Case, Outcome], dict[str, set[str]]]:
    """What the file has of these cases, whatever computed it, and the digests of their methods."""
    with sqlite3.connect(db) as rows:
        there = {k: row for k, *row in rows.execute("select key, digest, outcome from runs")}
    found, digests = {}, dict[str, set[str]]()
    for case in cases:
        if case.key in there:
            made, outcome = there[case.key]
            found[case] = Outcome(**json.loads(outcome))
            digests.setdefault(case.method, set()).add(made)
    return found, digests


def digest(method: str) -> str:
    """What tells whether a method still does what it did when a row was computed."""
    return behaviour.of_method(SAME.get(method, method))


def _groups(cases: Iterable[Case]) -> Iterator[list[Case]]:
    """Cases that fly together; cheap ones first."""
    found: dict[tuple[Any, ...], list[Case]] = {}
    for case in cases:
        # What asks for one point at a time would keep all others waiting.
        slow = case.method.startswith(("auto", "gp"))
        slow = slow or case.method == SEARCH  # it flies in rounds of another size
        lone = case if case.env not in (*SIMULATORS, LQR_NAME) else None
        key = (case.env, case.hidden, case.budget, slow, lone)
        found.setdefault(key, []).append(case)
    for key in sorted(found, key=lambda key: (key[2], key[4] is not None)):
        group = found[key]
        for i in range(0, len(group), _TOGETHER):
            yield group[i : i + _TOGETHER]


def _fly_group(group: list[Case]) -> dict[Case, Outcome]:
    """Run cases in threads that fly in lockstep; a failure ends the study."""
    env, hidden = group[0].env, group[0].hidden
    if env == LQR_NAME:
        return {case: measure(case, None) for case in group}
    flyer = _flyer(env, hidden)
    if len(group) == 1:
        return {group[0]: measure(group[0], flyer)}
    lockstep, found, errors = Lockstep(flyer, len(group)), {}, []

    def work(case: Case) -> None:
        try:
            found[case] = measure(case, lockstep)
        except Exception as error:
            errors.append(error)
        finally:
            lockstep.leave()

    threads = [threading.Thread(target=work, args=(case,)) for case in group]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    each = sum(outcome.seconds for outcome in found.values()) / len(group) ** 2
    return {case: replace(found[case], seconds=each) for case in group}


_FLYERS: dict[tuple[str, tuple[int, ...]], Flyer] = {}


def _flyer(env: str, hidden: tuple[int, ...]) -> Flyer:
    if (env, hidden) not in _FLYERS:
        _FLYERS[env, hidden] = make(env, hidden)
    return _FLYERS[env, hidden]
