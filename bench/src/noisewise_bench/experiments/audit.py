"""Is an audit of a finished study right? ``python -m noisewise_bench.experiments audit``

Optuna's random search, TPE and CMA-ES search a problem whose truth is known; `noisewise.audit` gets
their trials and nothing else.

symbol      meaning
covers      share of the studies in which the 95 % interval holds the expected value of the audited
            choice; goal 90 %
again       the same for the setting of the best trial
wins        share in which the audited choice is better than ``study.best_trial``; ties count half;
            goal 65 %
luck        share in which the best trial's value is called luck
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import numpy as np

import noisewise
from noisewise_bench import behaviour
from noisewise_bench.experiments.small_tables import wilson
from noisewise_bench.experiments.study import span
from noisewise_bench.names import BenchError, numbers
from noisewise_bench.peers._common import box, library
from noisewise_bench.peers.optuna import quiet
from noisewise_bench.problem import FloatArray, Oracle, Problem
from noisewise_bench.problems.registry import make
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Column, Table

NAME: Final = "audit"
SAMPLERS: Final = ("random", "tpe", "cmaes")
#: Trials of a study; each has one of these numbers, drawn.
TRIALS: Final = (50, 100, 200)
#: Fresh draws whose mean is taken for the truth, and how many of its errors it may be off.
_DRAWS, _ERRORS = 40_000, 3.0
_LANDSCAPES: Final = ("sphere", "ellipsoid", "rosenbrock", "rastrigin", "ackley", "steps")
_NOISES: Final = (
    *("gaussian/0.02", "gaussian/0.2", "gaussian/1.0", "t3/0.2", "hetero/0.2"),
    *("lognormal/1.0", "relative/1.0", "winloss/0.8"),
)
#: Functions of bbob with noise of our own, most of which reorders little.
_FUNCTIONS: Final = (1, 3, 6, 8, 10, 15, 20, 21)
_LAWS: Final = ("gaussian/0.03", "t3/0.1", "lognormal/0.5")


def small(instances: Sequence[int], dimensions: Sequence[int]) -> list[str]:
    """Problems like those that the choice and the width of the interval were tuned on."""
    return [
        f"small/{landscape}/i{i}/d{d}/{noise}"
        for i in instances
        for d in dimensions
        for landscape in _LANDSCAPES
        for noise in _NOISES
    ]


def additive(instances: Sequence[int], dimensions: Sequence[int]) -> list[str]:
    """Problems of another kind."""
    return [
        f"additive/f{f}/i{i}/d{d}/{law}"
        for i in instances
        for d in dimensions
        for f in _FUNCTIONS
        for law in _LAWS
    ]


SUITES: Final[dict[str, Callable[[Sequence[int], Sequence[int]], list[str]]]] = {
    "small": small,
    "additive": additive,
}


@dataclass(frozen=True)
class Line:
    """What came of one study."""

    problem: str
    sampler: str
    trials: int
    covers: bool
    again: bool
    wins: float
    lucky: bool


def lines(problems: Sequence[str], kept: Path) -> Iterator[Line]:
    """One line per problem and sampler; those in the file ``kept`` are not computed again."""
    known: dict[tuple[str, str], Line] = {}
    if kept.exists():
        found = (Line(**json.loads(text)) for text in kept.read_text().splitlines())
        known = {(one.problem, one.sampler): one for one in found}
    kept.parent.mkdir(parents=True, exist_ok=True)
    with kept.open("a", encoding="utf-8") as file:
        for name in problems:
            for sampler in SAMPLERS:
                one = known.get((name, sampler))
                if one is None:
                    one = line(name, sampler)
                    file.write(json.dumps(asdict(one)) + "\n")
                    file.flush()
                yield one


def line(name: str, sampler: str) -> Line:
    """One study and its audit."""
    problem = make(name)
    rng = np.random.default_rng([*name.encode(), *sampler.encode()])
    trials = int(rng.choice(TRIALS))
    X, y, (low, high) = study(problem, sampler, trials, rng)
    ranges = zip(low.tolist(), high.tolist(), strict=True)
    space = noisewise.Space({f"x{j}": f"{a}..{b}" for j, (a, b) in enumerate(ranges, start=1)})
    found = noisewise.audit((X, y), space)
    points = np.array([found.x, found.luckiest.x])
    regret = problem.regret(points)
    covers, again = (
        covered(problem, x, interval, rng)
        for x, interval in zip(points, (found.interval, found.luckiest.interval), strict=True)
    )
    wins = 0.5 * float(regret[0] < regret[1]) + 0.5 * float(regret[0] <= regret[1])
    return Line(name, sampler, trials, covers, again, wins, found.luckiest.lucky)


def study(
    problem: Problem, sampler: str, trials: int, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, tuple[FloatArray, FloatArray]]:
    """The points and values of a study of Optuna's, and the bounds."""
    optuna = library("optuna")
    oracle = Oracle(problem, trials, rng)
    low, high = box(oracle)
    ranges = {
        f"x{j}": optuna.distributions.FloatDistribution(a, b)
        for j, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True), start=1)
    }
    seed = int(rng.integers(2**31))
    makers = {
        "random": optuna.samplers.RandomSampler,
        "tpe": optuna.samplers.TPESampler,
        "cmaes": optuna.samplers.CmaEsSampler,
    }
    X, y = [], []
    with quiet(optuna):
        found = optuna.create_study(sampler=makers[sampler](seed=seed))
        while oracle.remaining:
            trial = found.ask(ranges)
            x = np.array([trial.params[name] for name in ranges])
            value = float(oracle(x))
            found.tell(trial, value)
            X.append(x)
            y.append(value)
    return np.array(X), np.array(y), (low, high)


def covered(
    problem: Problem, x: FloatArray, interval: tuple[float, float], rng: np.random.Generator
) -> bool:
    """Whether the interval holds the expected value at ``x``, as far as many draws know it."""
    drawn = problem.noisy(np.tile(x, (_DRAWS, 1)), rng)
    off = _ERRORS * float(drawn.std()) / _DRAWS**0.5
    return bool(interval[0] - off <= drawn.mean() <= interval[1] + off)


def table(title: str, found: Sequence[Line], by: Callable[[Line], str]) -> Table:
    """Shares by some part of the lines, the whole at the end."""
    groups: dict[str, list[Line]] = {}
    for one in found:
        groups.setdefault(by(one), []).append(one)
    rows = [
        (name, len(group), *_shares(group))
        for name, group in [*sorted(groups.items()), ("all", found)]
    ]
    columns = (
        Column("studies of"),
        Column("n"),
        Column("covers", _percent, "the interval of the audited choice holds the expected value"),
        Column("low", _percent, "95 % interval of that share"),
        Column("high", _percent),
        Column("again", _percent, "the same at the setting of the best trial"),
        Column("wins", _percent, "the audited choice is better than the best trial"),
        Column("low", _percent, "95 % interval of the wins"),
        Column("high", _percent),
        Column("luck", _percent, "the best trial's value is called luck"),
    )
    return Table(title, columns, tuple(rows))


def _shares(group: Sequence[Line]) -> tuple[float, ...]:
    n = len(group)
    covers, wins = sum(one.covers for one in group), sum(one.wins for one in group)
    again, lucky = (sum(getattr(one, name) for one in group) / n for name in ("again", "lucky"))
    return (covers / n, *wilson(covers / n, n), again, wins / n, *wilson(wins / n, n), lucky)


def _percent(value: float) -> str:
    return f"{value:.0%}"


def verdict(found: Sequence[Line]) -> str:
    """What came out, in a sentence."""
    covers, *_, wins, _, _, _ = _shares(found)
    goals = "both goals are met" if covers >= 0.9 and wins >= 0.65 else "a goal is missed"
    return (
        f"Over {len(found)} studies the interval covers in {covers:.0%} (goal 90 %) and the "
        f"audited choice is better than the best trial in {wins:.0%} (goal 65 %): {goals}."
    )


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="noisewise_bench.experiments audit",
        description="Audits of studies with a known truth.",
    )
    parser.add_argument("--suite", choices=SUITES, default="additive", help="problems (additive)")
    parser.add_argument("--instances", default="22", help="such as 22-23 (22)")
    parser.add_argument("--dimensions", default="3,6", help="such as 2,5,10 (3,6)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    args = parser.parse_args(argv)
    try:
        instances = numbers(args.instances, "instances")
        dimensions = numbers(args.dimensions, "dimensions")
    except BenchError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    problems = SUITES[args.suite](instances, dimensions)
    found = list(lines(problems, args.out / f"{NAME}-{args.suite}.jsonl"))
    text, tables = page(args.suite, found, span(instances), span(dimensions))
    (args.out / f"{NAME}-{args.suite}.md").write_text(text, encoding="utf-8")
    for i, one in enumerate(tables, start=1):
        csv = one.csv().rstrip("\n") + "\n"
        (args.out / f"{NAME}-{args.suite}-{i}.csv").write_text(csv, encoding="utf-8")
    print(text)
    return 0


def page(
    suite: str, found: Sequence[Line], instances: str, dimensions: str
) -> tuple[str, list[Table]]:
    """The page, its verdict first, and the tables on it."""
    noise = -2
    tables = [
        table("By sampler", found, lambda one: one.sampler),
        table("By noise", found, lambda one: "/".join(one.problem.split("/")[noise:])),
        table("By number of trials", found, lambda one: f"{one.trials:03d} trials"),
        table("By dimension", found, lambda one: one.problem.split("/")[3]),
    ]
    tuned = {
        "small": "The choice and the width of the interval were set on instances 1 to 3 and 5.",
        "additive": "The width of the interval was set after a look at instances 5 and 21.",
    }
    stamp = Stamp(
        methods={"gp": behaviour.of_method("gp")},
        problems={
            kind: behaviour.of_problems(kind)
            for kind in behaviour.families(o.problem for o in found)
        },
    )
    text = [
        f"# Audits of finished studies: {suite} problems",
        verdict(found),
        f"Studies of random search, TPE and CMA-ES (Optuna {library('optuna').__version__}), 50, "
        f"100 or 200 trials each. {tuned[suite]}",
        *(one.markdown() for one in tables),
        f"Printed by `python -m noisewise_bench.experiments audit --suite {suite} --instances "
        f"{instances} --dimensions {dimensions}` (noisewise {noisewise.__version__}).",
        stamp.comment(),
    ]
    return "\n\n".join(text) + "\n", tables


if __name__ == "__main__":
    sys.exit(main())
