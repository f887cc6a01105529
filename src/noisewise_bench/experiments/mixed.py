"""How our methods and other tools do in noisy mixed spaces:
``python -m noisewise_bench.experiments mixed``

Each problem has a noise-free value of at least 0, whose minimum, which differs from instance to
instance, is 0. The regret is that value at the returned parameters.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from noisewise.space import Float, Int, Parameter, Space
from noisewise_bench import behaviour
from noisewise_bench.experiments.study import span
from noisewise_bench.names import BenchError, numbers
from noisewise_bench.peers._common import library
from noisewise_bench.peers.optuna import quiet
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Column, Table

Params = dict[str, Any]
_COLOURS = ("red", "green", "blue")


@dataclass(frozen=True)
class Problem:
    """A space, the noise-free value there, and the standard deviation of the noise."""

    name: str
    space: Space
    value: Callable[[Params], float]
    noise: float


def integers(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[Params], float]]:
    """A sphere on five whole numbers."""
    best = rng.integers(0, 21, 5)

    def value(p: Params) -> float:
        return float(sum((p[f"i{j}"] - best[j]) ** 2 for j in range(5)) / 10.0)

    return {f"i{j}": Int(0, 20) for j in range(5)}, value


def mixed(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[Params], float]]:
    """A sphere on three whole and three real numbers, and a colour that costs."""
    best, at, cost = rng.integers(0, 21, 3), rng.uniform(0.1, 0.9, 3), rng.permutation(3)

    def value(p: Params) -> float:
        whole = sum((p[f"i{j}"] - best[j]) ** 2 for j in range(3)) / 8.0
        real = 8.0 * sum((p[f"r{j}"] - at[j]) ** 2 for j in range(3))
        return float(whole + real + cost[_COLOURS.index(p["colour"])])

    reals = {f"r{j}": Float(0.0, 1.0) for j in range(3)}
    return {f"i{j}": Int(0, 20) for j in range(3)} | reals | {"colour": list(_COLOURS)}, value


def switches(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[Params], float]]:
    """Eight switches, each with its own right position, and two real numbers."""
    right, at = rng.integers(0, 2, 8).astype(bool), rng.uniform(0.1, 0.9, 2)

    def value(p: Params) -> float:
        wrong = sum(p[f"s{j}"] != right[j] for j in range(8))
        return float(wrong + 10.0 * sum((p[f"r{j}"] - at[j]) ** 2 for j in range(2)))

    reals = {f"r{j}": Float(0.0, 1.0) for j in range(2)}
    return {f"s{j}": [False, True] for j in range(8)} | reals, value


def coupled(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[Params], float]]:
    """A colour that decides which whole number is best, and that a real number must follow."""
    place, cost = rng.permutation([4, 10, 16]), 0.3 * rng.permutation(3)

    def value(p: Params) -> float:
        i = _COLOURS.index(p["colour"])
        return float(
            (p["n"] - place[i]) ** 2 / 10.0
            + cost[i]
            + 8.0 * (p["r"] - 0.2 - 0.03 * p["n"]) ** 2
            + 0.5 * (not p["flag"])
        )

    kinds: dict[str, Any] = {"colour": list(_COLOURS), "flag": [True, False]}
    return {"n": Int(0, 20), "r": Float(0.0, 1.0)} | kinds, value


def correlated(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[Params], float]]:
    """A rotated ellipsoid of condition 100 on three real numbers and three with five steps."""
    steps = rng.integers(1, 4, 3) / 4.0
    best = np.concatenate((steps, rng.uniform(0.2, 0.8, 3)))
    Q = np.linalg.qr(rng.normal(size=(6, 6)))[0] * 10.0 ** (0.5 * np.linspace(0.0, 2.0, 6))

    def value(p: Params) -> float:
        z = np.array([p[f"s{j}"] for j in range(3)] + [p[f"r{j}"] for j in range(3)]) - best
        return float(((z @ Q) ** 2).sum())

    space = {f"s{j}": Float(0.0, 1.0, step=0.25) for j in range(3)}
    return space | {f"r{j}": Float(0.0, 1.0) for j in range(3)}, value


FAMILIES = {"integers": integers, "mixed": mixed, "switches": switches}
FAMILIES |= {"coupled": coupled, "correlated": correlated}


def problem(family: str, instance: int, noise: float) -> Problem:
    space, value = FAMILIES[family](np.random.default_rng([instance, len(family)]))
    return Problem(family, Space(space), value, noise)


def _noisy(problem: Problem, seed: int) -> Callable[[Params], float]:
    rng = np.random.default_rng([seed, 1])
    return lambda p: problem.value(p) + problem.noise * float(rng.normal())


def ours(method: str) -> Callable[[Problem, int, int], Params]:
    """One of our methods."""

    def run(problem: Problem, budget: int, seed: int) -> Params:
        fun = _noisy(problem, seed)
        r = nw.minimize(fun, space=problem.space, budget=budget, method=method, rng=seed)
        assert r.params is not None
        return r.params

    return run


def random(problem: Problem, budget: int, seed: int) -> Params:
    """The best of random draws."""
    rng, fun, d = np.random.default_rng(seed), _noisy(problem, seed), problem.space.dimension
    draws = [problem.space.decode(rng.random(d)) for _ in range(budget)]
    return min(draws, key=fun)


def tpe(problem: Problem, budget: int, seed: int) -> Params:
    """Optuna's multivariate TPE; its best trial."""
    optuna, fun = library("optuna"), _noisy(problem, seed)

    def suggest(trial: Any, name: str, p: Parameter) -> Any:
        if isinstance(p, Int):
            return trial.suggest_int(name, p.low, p.high)
        if isinstance(p, Float):
            return trial.suggest_float(name, p.low, p.high, step=p.step)
        return trial.suggest_categorical(name, list(p.values))  # type: ignore[attr-defined]

    def objective(trial: Any) -> float:
        return fun({n: suggest(trial, n, p) for n, p in problem.space.parameters.items()})

    with quiet(optuna):
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True)
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective, n_trials=budget)
    return dict(study.best_params)


def catcmawm(problem: Problem, budget: int, seed: int) -> Params:
    """CatCMA with margin of ``cmaes``; the best candidate of its last generation."""
    reals, steps, kinds = _sorted(problem.space)
    spaces: dict[str, Any] = {}
    if reals:
        spaces["x_space"] = np.array([[p.low, p.high] for p in reals.values()])
    if steps:
        spaces["z_space"] = list(steps.values())
    if kinds:
        spaces["c_space"] = np.array([len(v) for v in kinds.values()])
    es, fun = library("cmaes").CatCMAwM(seed=seed, **spaces), _noisy(problem, seed)

    def decoded(s: Any) -> Params:
        found = dict(zip(reals, map(float, s.x if reals else ()), strict=True))
        found |= dict(zip(steps, s.z if steps else (), strict=True))
        chosen = s.c if kinds else ()
        pairs = zip(kinds.items(), chosen, strict=True)
        return found | {name: values[int(np.argmax(one))] for (name, values), one in pairs}

    best: Params = {}
    for _ in range(budget // es.population_size):
        told = [(s, fun(decoded(s))) for s in (es.ask() for _ in range(es.population_size))]
        es.tell(told)
        best = decoded(min(told, key=lambda pair: pair[1])[0])
    return best


def _sorted(space: Space) -> tuple[dict[str, Float], dict[str, list[float]], dict[str, list[Any]]]:
    """Parameters without steps, the values of those with steps, and the choices."""
    reals: dict[str, Float] = {}
    steps: dict[str, list[float]] = {}
    kinds: dict[str, list[Any]] = {}
    for name, p in space.parameters.items():
        if isinstance(p, Int):
            steps[name] = list(range(p.low, p.high + 1))
        elif isinstance(p, Float) and p.step is not None:
            steps[name] = np.arange(p.low, p.high + 1e-9, p.step).tolist()
        elif isinstance(p, Float):
            reals[name] = p
        else:
            kinds[name] = list(p.values)  # type: ignore[attr-defined]
    return reals, steps, kinds


OURS = ("auto", "gp", "cma-es")
RUNS: dict[str, Callable[[Problem, int, int], Params]] = {
    **{name: ours(name) for name in OURS},
    "TPE": tpe,
    "CatCMAwM": catcmawm,
    "random": random,
}
#: The model is made for at most so many evaluations.
_MODEL_UP_TO = 300


def table(budget: int, noises: list[float], instances: list[int], tools: list[str]) -> Table:
    """Mean regret of every tool, and in how many instances the first was better and worse."""
    tools = [name for name in tools if name != "gp" or budget <= _MODEL_UP_TO]
    columns = [Column("problem"), Column("noise", meaning="its standard deviation")]
    columns += [Column(name, lambda v: f"{v:.2f}", "mean regret") for name in tools]
    meaning = f"instances that {tools[0]} won - lost; the others are ties"
    columns += [Column(f"against {name}", meaning=meaning) for name in tools[1:]]
    body = []
    for family in FAMILIES:
        for noise in noises:
            found: dict[str, list[float]] = {name: [] for name in tools}
            for i in instances:
                one = problem(family, i, noise)
                for name in tools:
                    found[name].append(one.value(RUNS[name](one, budget, i)))
            first, *others = (np.array(regrets) for regrets in found.values())
            counts = [f"{int((first < b).sum())} - {int((first > b).sum())}" for b in others]
            body.append((family, noise, *(float(np.mean(v)) for v in found.values()), *counts))
    return Table(f"{budget} evaluations", tuple(columns), tuple(body))


def page(tables: list[Table], instances: list[int], tools: list[str], command: str) -> str:
    """The page, with its stamp."""
    kinds = "\n".join(
        f"- {name}: {(make.__doc__ or '').strip()}" for name, make in FAMILIES.items()
    )
    used = [name for name in OURS if name in tools]
    stamp = Stamp(methods={name: behaviour.of_method(name) for name in used})
    text = [
        "# Noisy mixed spaces: other tools beside ours",
        f"Printed by `{command}` (noisewise {nw.__version__}).",
        "Regret is the noise-free value at the returned parameters; the best has 0. Means are over "
        f"{len(instances)} instances, which differ in where the best is. All tools spend the same "
        "number of evaluations, with Gaussian noise of the same size. TPE (multivariate, of "
        "Optuna) and random search return their best trial, CatCMAwM (of cmaes) the best "
        "candidate of its last generation: their ordinary answers, for none measures a point "
        f"again. `gp` is left out beyond {_MODEL_UP_TO} evaluations. Problems:",
        kinds,
        *(one.markdown() for one in tables),
        stamp.comment(),
    ]
    return "\n\n".join(text) + "\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="noisewise_bench.experiments mixed", description="Noisy mixed spaces."
    )
    parser.add_argument("--instances", default="1-10", help="such as 1-10")
    parser.add_argument("--budgets", default="100,500", help="evaluations, such as 100,500")
    parser.add_argument("--noise", default="0.1,1", help="standard deviations, such as 0.1,1")
    parser.add_argument("--tools", default=",".join(RUNS), help="such as auto,TPE; all by default")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    args = parser.parse_args(argv)
    try:
        tools = args.tools.split(",")
        if wrong := sorted(set(tools) - RUNS.keys()):
            raise BenchError(f"tools takes names from {', '.join(RUNS)}, got {wrong[0]!r}")
        instances, budgets = numbers(args.instances, "instances"), numbers(args.budgets, "budgets")
        noises = [float(text) for text in args.noise.split(",")]
    except (BenchError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    tables = [table(budget, noises, instances, tools) for budget in budgets]
    command = "python -m noisewise_bench.experiments mixed"
    for name, given in (("instances", span(instances)), ("budgets", args.budgets)):
        command += f" --{name} {given}" if given != parser.get_default(name) else ""
    for name in ("noise", "tools"):
        given = getattr(args, name)
        command += f" --{name} {given}" if given != parser.get_default(name) else ""
    text = page(tables, instances, tools, command)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "mixed.md").write_text(text, encoding="utf-8")
    for i, one in enumerate(tables, start=1):
        csv = one.csv().rstrip("\n") + "\n"
        (args.out / f"mixed-{i}.csv").write_text(csv, encoding="utf-8")
    print(text)
    return 0
