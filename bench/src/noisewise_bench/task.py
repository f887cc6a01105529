"""One run of one method on one problem, and the row it leaves behind.

The noise of a run depends on the problem and the seed only, so that methods meet the same
stream; the seed of the method depends on the same two, so that any worker computes the same row.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import threading
import time
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import threadpoolctl

from noisewise_bench import behaviour, methods, names, problems
from noisewise_bench.names import BenchError, Budget
from noisewise_bench.problem import BudgetExceeded, FloatArray, Method, Oracle, Problem
from noisewise_bench.provenance import provenance
from noisewise_bench.randomness import global_random_state
from noisewise_bench.record import NAN, Recorder, checkpoints

#: The recommended point is stored up to this dimension.
MAX_STORED_DIMENSION = 100
Key = tuple[str, str, str, int]


@dataclass(frozen=True)
class Task:
    """A cell of a grid. The objects are given where a name alone would not find them."""

    problem: str
    method: str
    budget: str
    seed: int
    problem_object: Problem | None = dataclasses.field(default=None, compare=False, repr=False)
    method_object: Method | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def key(self) -> Key:
        return (self.problem, self.method, self.budget, self.seed)


@dataclass(frozen=True)
class Row:
    """What one run left behind: a line of the campaign's file. Missing numbers are nan."""

    problem: str
    method: str
    budget: str
    seed: int
    suite: str
    dimension: int = 0
    evaluations: int = 0  # allowed
    spent: int = 0
    uncharged: int = 0
    recommended_regret: float = NAN
    best_evaluated_regret: float = NAN
    noisy_best: float = NAN
    noisy_best_regret: float = NAN
    generations: int | None = None
    reevaluations: int | None = None
    seconds_method: float = NAN
    seconds_problem: float = NAN
    seconds_truth: float = NAN
    stopped: str = ""  # "method" if it returned, "budget" if it asked for more than there was
    error: str | None = None
    x: str | None = None  # JSON
    curve: str = "[]"  # JSON: [evaluations, best evaluated regret, recommended regret]
    options: str = "{}"  # JSON
    version: str = ""
    code: str = ""
    environment: str = ""  # JSON
    finished: str = ""  # UTC
    method_digest: str = ""  # of `behaviour`; empty where it is not known
    problem_digest: str = ""

    @property
    def key(self) -> Key:
        return (self.problem, self.method, self.budget, self.seed)


#: Columns that may differ between two computations of the same row.
VOLATILE = ("seconds_method", "seconds_problem", "seconds_truth", "finished", "environment", "code")


def stream(purpose: str, problem: str, seed: int) -> np.random.SeedSequence:
    """A seed that is the same on every machine: a hash of what it is for."""
    digest = hashlib.sha256("\0".join((purpose, problem, str(seed))).encode()).digest()
    return np.random.SeedSequence([int(word) for word in np.frombuffer(digest, dtype=">u4")])


def method_seed(problem: str, seed: int) -> int:
    """Seed handed to a method, in [1, 2**31): some libraries take 0 to mean the clock."""
    return 1 + int(stream("method", problem, seed).generate_state(1)[0]) % (2**31 - 2)


def suite_of(problem: str) -> str:
    """First part of a problem's name: ``bbob-noisy/f110/i3/d40`` is of ``bbob-noisy``."""
    return re.split(r"[/(]", problem, maxsplit=1)[0]


@lru_cache(maxsize=4)
def find_problem(name: str) -> Problem:
    """The problem of that name, or the one at an import path ``module:Class(options)``."""
    if ":" in name:
        spec = names.parse(name)
        found = names.load(spec.base)
        problem = found(**spec.options) if callable(found) else found
        missing = [a for a in ("x0", "bounds", "noisy", "regret") if not hasattr(problem, a)]
        if missing:
            raise BenchError(f"problem {name!r} lacks the attribute {', '.join(missing)}")
        return problem  # type: ignore[no-any-return]
    return problems.make(name)


#: One run at a time in a process: methods may use global random state, and threads share it.
_ALONE = threading.Lock()


def run_tasks(tasks: Sequence[Task]) -> list[Row]:
    """Run tasks one after the other on one BLAS thread; what fails becomes a row as well."""
    with _ALONE, threadpoolctl.threadpool_limits(1):
        return [run_task(task) for task in tasks]


def run_task(task: Task) -> Row:
    """The row of one run; an exception of problem or method is kept in it as text."""
    row = Row(*task.key, suite=suite_of(task.problem), **provenance())
    try:
        problem = task.problem_object or find_problem(task.problem)
        row = dataclasses.replace(
            row,
            dimension=len(problem.x0),
            evaluations=Budget.parse(task.budget).evaluations(problem),
            options=json.dumps(_options(task), default=repr, sort_keys=True),
            method_digest=behaviour.of_method(task.method) if task.method_object is None else "",
            problem_digest=(
                behaviour.of_problems(behaviour.family(task.problem))
                if task.problem_object is None
                else ""
            ),
        )
        return _run(task, problem, row)
    except Exception as error:
        return failed(row, describe(error))


def outcome(task: Task) -> Any:
    """What the method of a run returns, on the noise of that run; nothing is scored."""
    problem = task.problem_object or find_problem(task.problem)
    evaluations = Budget.parse(task.budget).evaluations(problem)
    noise = np.random.Generator(np.random.PCG64(stream("noise", task.problem, task.seed)))
    oracle = Oracle(problem, evaluations, noise)
    run, seed = task.method_object or methods.get(task.method), method_seed(task.problem, task.seed)
    with global_random_state(seed):
        return run(oracle, evaluations, seed)


def failed(row: Row, error: str) -> Row:
    """The row of a run that came to nothing."""
    return dataclasses.replace(row, error=error, finished=_now())


def lost(task: Task) -> Row:
    """The row of a run whose process died every time it was tried."""
    row = Row(*task.key, suite=suite_of(task.problem), **provenance())
    return failed(row, "the process that ran this died (killed or out of memory)")


def describe(error: BaseException) -> str:
    """An exception as text: what it says, and the last place it passed through."""
    last = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" ({Path(last[0].filename).name}:{last[0].lineno})" if last else ""
    return f"{type(error).__name__}: {error}"[:1000] + where


def _options(task: Task) -> dict[str, Any]:
    return {} if task.method_object is not None else methods.resolve(task.method).options


def _run(task: Task, problem: Problem, row: Row) -> Row:
    run = task.method_object or methods.get(task.method)
    recorder = Recorder(problem, checkpoints(row.evaluations))
    noise = np.random.Generator(np.random.PCG64(stream("noise", task.problem, task.seed)))
    oracle = Oracle(problem, row.evaluations, noise, recorder)
    seed = method_seed(task.problem, task.seed)
    stopped, outcome = "method", None
    with global_random_state(seed):
        start = time.perf_counter()
        try:
            outcome = run(oracle, row.evaluations, seed)
        except BudgetExceeded:
            stopped, outcome = "budget", recorder.x_fallback
            if outcome is None:
                raise
        seconds = time.perf_counter() - start - recorder.seconds_aside
        seconds -= recorder.seconds_problem + recorder.seconds_truth
    x = _point(getattr(outcome, "x", outcome), problem)
    record = dataclasses.asdict(recorder.finish(x))
    if np.isnan(record["recommended_regret"]):
        raise ValueError("the regret of the recommended point is nan")
    curve = [[n, _short(best), _short(reported)] for n, best, reported in record.pop("curve")]
    return dataclasses.replace(
        row,
        **record,
        generations=_count(outcome, "nit"),
        reevaluations=_count(outcome, "n_reevaluations"),
        seconds_method=seconds,
        stopped=stopped,
        x=json.dumps(x.tolist()) if len(x) <= MAX_STORED_DIMENSION else None,
        curve=json.dumps(curve, separators=(",", ":")),
        finished=_now(),
    )


def _point(x: Any, problem: Problem) -> FloatArray:
    """The recommended point, checked: a method is scored on a point that can be used."""
    point = np.array(x, dtype=float)
    if point.shape != np.shape(problem.x0):
        raise ValueError(
            f"the method returned a point of shape {point.shape}, "
            f"but {np.shape(problem.x0)} was expected"
        )
    if not np.all(np.isfinite(point)):
        raise ValueError("the method returned a point that is not finite")
    if problem.bounds is None:
        return point
    low, high = (np.asarray(side, dtype=float) for side in problem.bounds)
    slack = 1e-9 * np.where(np.isfinite(high - low), high - low, 0.0)
    if np.any(point < low - slack) or np.any(point > high + slack):
        raise ValueError("the method returned a point outside the box")
    clipped: FloatArray = np.clip(point, low, high)
    return clipped


def _count(outcome: Any, name: str) -> int | None:
    value = getattr(outcome, name, None)
    return None if value is None else int(value)


def _short(value: float) -> float | None:
    return None if np.isnan(value) else float(f"{value:.8g}")


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="seconds")
