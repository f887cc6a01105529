"""What does it cost and gain that no worker waits? ``python -m noisewise_bench.experiments
asynchronous``.

Runs on a virtual clock, so that nobody waits for them: evaluations take the seconds of a law.
``workers=n``, where nobody waits, is compared with ``batch=n``, where everybody waits for the
slowest of each batch, at equal evaluations and at equal clock, on the same problems. Finished runs
are kept in a file and not done again.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

import numpy as np

import noisewise as nw
from noisewise_bench import behaviour
from noisewise_bench.experiments.study import span
from noisewise_bench.names import BenchError, numbers, split
from noisewise_bench.problem import FLOOR
from noisewise_bench.problems import make, suite
from noisewise_bench.reliability import virtual
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Column, Table, decades, fixed

NAME: Final = "asynchronous"
COMMAND: Final = f"python -m noisewise_bench.experiments {NAME}"
#: Coordinates and evaluations of the runs that are compared.
BUDGETS: Final = {5: 1280, 10: 1920, 40: 3840}
NOISES: Final = ("none", "strong")
LAWS: Final = ("equal", "log-normal 0.5", "log-normal 0.8", "one straggler in fifty")
BIASED: Final = ("log-normal 0.8", "good points slow", "good points fast")
MANY: Final = 64
#: One in so many takes so many times as long; values with which one is compared for its rank.
_STRAGGLERS, _LONGER, _RANKED = 50, 20.0, 200


def _rosenbrock(x: Any) -> float:
    x = x + 1.0
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


#: Functions with their minimum, 0, at the origin.
FUNCTIONS: Final[dict[str, Callable[[Any], float]]] = {
    "sphere": lambda x: float(x @ x),
    "ellipsoid": lambda x: float(10.0 ** (4.0 * np.arange(len(x)) / (len(x) - 1)) @ (x * x)),
    "Rosenbrock": _rosenbrock,
    "Rastrigin": lambda x: float(x @ x + 10.0 * np.sum(1.0 - np.cos(2.0 * np.pi * x))),
}
HIGH: Final = "high misranking"


@dataclass(frozen=True)
class Job:
    """A run. ``way``: "nobody waits", or "batches"."""

    function: str
    noise: str
    d: int
    budget: int
    method: str
    way: str
    workers: int
    law: str
    seed: int


@dataclass(frozen=True)
class Done:
    """What came of it: regret, that of the start and that at the moment when the run in which
    nobody waits had ended; seconds, those of greedy workers, and how busy workers were."""

    regret: float
    start: float
    then: float
    seconds: float
    greedy: float
    busy: float


class Measured:
    """The objective of a job: its start, noisy values and the truth."""

    def __init__(self, job: Job) -> None:
        self._rng = np.random.default_rng([job.seed, 1])
        if job.function == HIGH:
            names = suite("bbob-noisy-high", dimensions=(job.d,), instances=(1 + job.seed % 5,))
            self._problem: Any = make(names[job.seed % len(names)])
            self.x0 = self._problem.x0
            self.given: dict[str, Any] = {"bounds": self._problem.bounds}
            return
        self._problem, self._fun = None, FUNCTIONS[job.function]
        self._strength = 1.0 if job.noise == "strong" else 0.0
        self._place = np.random.default_rng([job.seed, 2]).uniform(-1.0, 1.0, job.d)
        self.x0, self.given = self._place + 3.0, {"sigma0": 1.0}

    def true(self, x: Any) -> float:
        if self._problem is not None:
            return float(self._problem.regret(x[None])[0])
        return self._fun(x - self._place)

    def __call__(self, x: Any) -> float:
        if self._problem is not None:
            return float(self._problem.noisy(x[None], self._rng)[0])
        return self.true(x) * float(np.exp(self._strength * self._rng.standard_normal()))


def run(job: Job, moment: float = math.inf) -> Done:
    """One run; ``moment``: when to look at the regret of what it recommends."""
    measured = Measured(job)
    how = {"workers": job.workers} if job.way == "nobody waits" else {"batch": job.workers}
    opt = nw.Optimizer(
        measured.x0,
        budget=job.budget,
        method=job.method,
        rng=job.seed,
        **measured.given,
        **how,  # type: ignore[arg-type]
    )
    clock = Clock(job.law, job.seed)
    shift = virtual.run(opt, measured, clock.seconds, job.workers, moment)
    end = measured.true(shift.result.x)
    then = end if shift.then is None else measured.true(shift.then)
    start = measured.true(measured.x0)
    return Done(end, start, then, shift.seconds, shift.greedy, shift.utilisation)


class Clock:
    """How long evaluations take, 1 on average or in the median."""

    def __init__(self, law: str, seed: int) -> None:
        self._law, self._rng = law, np.random.default_rng([seed, 3])
        self._values: deque[float] = deque(maxlen=_RANKED)

    def seconds(self, x: Any, value: float) -> float:
        if self._law == "equal":
            return 1.0
        if self._law == "one straggler in fifty":
            return _LONGER if self._rng.integers(_STRAGGLERS) == 0 else 1.0
        if self._law.startswith("log-normal"):
            sd = float(self._law.split()[1])
            return float(np.exp(sd * self._rng.standard_normal() - 0.5 * sd**2))
        below = sum(other < value for other in self._values)
        z = NormalDist().inv_cdf((below + 0.5) / (len(self._values) + 1.0))
        self._values.append(value)
        return math.exp(0.8 * (z if self._law == "good points fast" else -z) - 0.32)


# -- which runs


def cells(dimensions: Sequence[int]) -> Iterator[tuple[str, str, int]]:
    """Functions, noise and coordinates."""
    for d in dimensions:
        yield from ((function, noise, d) for function in FUNCTIONS for noise in NOISES)
        yield HIGH, "strong", d


def jobs(args: argparse.Namespace) -> Iterator[Job]:
    """Those that nobody waits in first: they say when to look at the others."""
    base = Job("", "", 0, 0, "", "nobody waits", MANY, "log-normal 0.8", 0)
    for method, law, n in ((m, law, n) for m in args.methods for law in LAWS for n in (8, 64)):
        timed = replace(base, function="sphere", noise="strong", d=10, method=method, law=law)
        yield replace(timed, workers=n, budget=args.waves * n, seed=0)
    each = [
        replace(base, function=f, noise=noise, d=d, budget=BUDGETS.get(d, 128 * d), method=method)
        for method in args.methods
        for f, noise, d in cells(args.dimensions)
    ]
    for one in (replace(job, seed=seed) for seed in args.seeds for job in each):
        yield one
        yield replace(one, way="batches")
    few = [job for job in each if job.d == args.dimensions[0]]
    for one in (replace(job, seed=seed) for seed in args.seeds for job in few):
        yield from (replace(one, law=law) for law in BIASED[1:])
        yield from (replace(one, workers=n) for n in (1, 10))


def collected(wanted: Iterable[Job], kept: Path) -> dict[Job, Done]:
    """What came of these runs; each is written down when it is done."""
    known: dict[Job, Done] = {}
    if kept.exists():
        for line in kept.read_text(encoding="utf-8").splitlines():
            job, done = json.loads(line)
            known[Job(**job)] = Done(**done)
    kept.parent.mkdir(parents=True, exist_ok=True)
    found: dict[Job, Done] = {}
    with kept.open("a", encoding="utf-8") as file:
        for job in wanted:
            if job not in known:
                first = known.get(replace(job, way="nobody waits"))
                known[job] = run(job, first.seconds if first and job.way == "batches" else math.inf)
                file.write(json.dumps([asdict(job), asdict(known[job])]) + "\n")
                file.flush()
            found[job] = known[job]
    return found


# -- tables


def _log(regret: float) -> float:
    return math.log10(max(regret, FLOOR))


def _mean(values: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error."""
    n = len(values)
    return float(np.mean(values)), float(np.std(values, ddof=1)) / n**0.5 if n > 1 else math.nan


def clock(found: dict[Job, Done], waves: int) -> Table:
    """Against workers without an optimizer."""
    columns = (
        Column("method"),
        Column("workers"),
        Column("evaluation times"),
        Column("clock", "{:.3f}".format, "seconds of the run over those of greedy workers"),
        Column("busy", "{:.0%}".format, "seconds of evaluations over those of all workers"),
    )
    rows = tuple(
        (job.method, job.workers, job.law, done.seconds / done.greedy, done.busy)
        for job, done in found.items()
        if job.budget == waves * job.workers and job.law in LAWS and job.seed == 0
        if (job.function, job.noise, job.d, job.way) == ("sphere", "strong", 10, "nobody waits")
    )
    note = f"Sphere, strong noise, d = 10, {waves} evaluations per worker; the last phase included."
    return Table("The clock", columns, rows, (note,))


def compared(
    found: dict[Job, Done], title: str, other: dict[str, Any], at: str = "regret", **only: Any
) -> Table:
    """Runs that are ``only`` so against those that differ in ``other``, problem by problem."""
    pairs = []
    for job, done in found.items():
        there = found.get(replace(job, **other))
        if there is not None and all(getattr(job, name) == v for name, v in only.items()):
            pairs.append((job, done, there))
    columns = (
        Column("method"),
        Column("noise"),
        Column("function"),
        Column("d", str),
        Column("n", meaning="pairs of runs"),
        Column("difference", decades, "mean difference in log10 regret; negative is better"),
        Column("+-", fixed, "its standard error"),
        Column("median", fixed, "median log10 regret"),
        Column("worst", decades, "worst run, above the median of the others"),
        Column("lost", meaning="runs that ended above their start"),
        Column("lost there", meaning="the same of the others"),
    )
    rows = []
    groups: dict[tuple[Any, ...], list[tuple[Done, Done]]] = {}
    for job, done, there in pairs:
        for noise, function, d in (
            ("all", "all", "all"),
            (job.noise, "all", "all"),
            (job.noise, job.function, job.d),
        ):
            groups.setdefault((job.method, noise, function, d), []).append((done, there))
    for about, ours in sorted(groups.items(), key=lambda item: [str(part) for part in item[0]]):
        a = [_log(one.regret) for one, _ in ours]
        b = [_log(getattr(one, at)) for _, one in ours]
        difference, se = _mean(np.subtract(a, b).tolist())
        median, worst = float(np.median(a)), max(a) - float(np.median(b))
        lost = [sum(pair[i].regret > pair[i].start for pair in ours) for i in (0, 1)]
        worst = math.nan if "all" in about else worst
        rows.append((*about, len(ours), difference, se, median, worst, *lost))
    return Table(title, columns, tuple(rows))


def page(found: dict[Job, Done], args: argparse.Namespace, command: str) -> str:
    """The page, with its stamp."""
    many: dict[str, Any] = {"way": "nobody waits", "workers": MANY, "law": "log-normal 0.8"}
    waiting, title = {"way": "batches"}, f"Nobody waits against batches of {MANY}"
    tables = [
        clock(found, args.waves),
        compared(found, f"{title}, equal evaluations", waiting, **many),
        compared(found, f"{title}, equal clock", waiting, at="then", **many),
    ]
    for n in (10, MANY):
        these = many | {"workers": n}
        tables.append(compared(found, f"{n} workers against one", {"workers": 1}, **these))
    for law in BIASED[1:]:
        title, these = f"{law}, against independent times", many | {"law": law}
        tables.append(compared(found, title, {"law": BIASED[0]}, **these))
    stamp = Stamp(methods={name: behaviour.of_method(name) for name in args.methods})
    text = [
        "# What it costs and gains that no worker waits",
        f"Printed by `{command}` (noisewise {nw.__version__}, {len(found)} runs).",
        "Regret is the noise-free value at the returned point above the minimum, at least 1e-8. "
        "Strong noise: values are multiplied by log-normal noise with standard deviation 1 of the "
        f"logarithm; {HIGH}: functions of bbob-noisy in turn. Budgets: "
        + ", ".join(f"{n} at d = {d}" for d, n in BUDGETS.items())
        + f". Seeds {span(args.seeds)}; each has an optimum of its own. {MANY} workers and times "
        "log-normal with standard deviation 0.8 of the logarithm, where nothing else is said. "
        "Good points that are slow or fast: the time follows from the rank of a value among the "
        "newest 200.",
        *(table.markdown() for table in tables if table.rows),
        stamp.comment(),
    ]
    return "\n\n".join(text) + "\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog=f"noisewise_bench.experiments {NAME}", description=__doc__
    )
    parser.add_argument("--methods", default="auto,cma-es", help="(auto,cma-es)")
    parser.add_argument("--dimensions", default="5,10,40", help="coordinates (5,10,40)")
    parser.add_argument("--seeds", default="1-4", help="such as 1-4")
    parser.add_argument("--waves", type=int, default=20, help="evaluations per worker, clock (20)")
    parser.add_argument("--db", type=Path, default=Path("out/asynchronous.jsonl"), help="finished")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    args = parser.parse_args(argv)
    said = "".join(
        f" --{name}={getattr(args, name)}"
        for name in ("methods", "dimensions", "seeds", "waves")
        if getattr(args, name) != parser.get_default(name)
    )
    try:
        args.methods = split([args.methods])
        args.dimensions = numbers(args.dimensions, "dimensions")
        args.seeds = numbers(args.seeds, "seeds")
        found = collected(jobs(args), args.db)
    except (BenchError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    text = page(found, args, COMMAND + said)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / f"{NAME}.md").write_text(text, encoding="utf-8")
    print(text)
    return 0
