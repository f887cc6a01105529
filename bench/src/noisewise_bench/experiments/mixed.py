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
from noisewise_bench.experiments.small_tables import wilson
from noisewise_bench.experiments.study import span
from noisewise_bench.names import BenchError, numbers
from noisewise_bench.peers._common import library
from noisewise_bench.peers.optuna import quiet
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Column, Table, fixed

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


def _pairs(
    rng: np.random.Generator, cost: Callable[[bool, bool], float]
) -> tuple[dict[str, Any], Callable[[Params], float]]:
    """Eight switches, whose costs are those of pairs ``cost(right, right)``, and two reals."""
    right, at = rng.integers(0, 2, 8).astype(bool), rng.uniform(0.1, 0.9, 2)

    def value(p: Params) -> float:
        fine = [p[f"s{j}"] == right[j] for j in range(8)]
        pairs = sum(cost(fine[j], fine[j + 1]) for j in range(0, 8, 2))
        return float(pairs + 10.0 * sum((p[f"r{j}"] - at[j]) ** 2 for j in range(2)))

    reals = {f"r{j}": Float(0.0, 1.0) for j in range(2)}
    return {f"s{j}": [False, True] for j in range(8)} | reals, value


def paired(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[Params], float]]:
    """Eight switches in pairs that cost 1 unless both are right, and two real numbers."""
    return _pairs(rng, lambda one, other: float(not (one and other)))


def exclusive(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[Params], float]]:
    """Eight switches in pairs that cost 1 where one of the two is right and the other wrong, and
    two real numbers: no switch matters by itself."""
    return _pairs(rng, lambda one, other: float(one != other))


def fourway(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[Params], float]]:
    """Six choices between four options; each option has a cost, and so has each pair of options of
    two choices in a row."""
    single, pair = 2.0 * rng.random((6, 4)), rng.random((5, 4, 4))

    def costs(at: Any) -> Any:
        own = sum(single[j][at[j]] for j in range(6))
        return own + sum(pair[j][at[j], at[j + 1]] for j in range(5))

    least = float(costs(np.indices((4,) * 6).reshape(6, -1)).min())

    def value(p: Params) -> float:
        return float(costs(["abcd".index(p[f"c{j}"]) for j in range(6)])) - least

    return {f"c{j}": list("abcd") for j in range(6)}, value


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


def branches(rng: np.random.Generator) -> tuple[dict[str, Any], Callable[[Params], float]]:
    """Three models, of which one has two real numbers of its own, one a whole number and a real
    one, and one nothing."""
    cost, at, best = 0.3 * rng.permutation(2), rng.uniform(0.1, 0.9, 4), rng.integers(0, 21)

    def value(p: Params) -> float:
        shared = 8.0 * (p["rate"] - at[3]) ** 2
        if p["model"] == "one":
            return float(shared + cost[0] + 8.0 * ((p["x"] - at[0]) ** 2 + (p["y"] - at[1]) ** 2))
        if p["model"] == "two":
            return float(
                shared + cost[1] + 0.1 * (p["n"] - best) ** 2 + 8.0 * (p["z"] - at[2]) ** 2
            )
        return float(shared + 0.6)

    space: dict[str, Any] = {"model": ["one", "two", "three"], "rate": Float(0.0, 1.0)}
    space |= {name: Float(0.0, 1.0, when={"model": "one"}) for name in "xy"}
    two = {"model": "two"}
    return space | {"n": Int(0, 20, when=two), "z": Float(0.0, 1.0, when=two)}, value


FAMILIES = {"integers": integers, "mixed": mixed, "switches": switches}
FAMILIES |= {"paired": paired, "exclusive": exclusive, "fourway": fourway}
FAMILIES |= {"coupled": coupled, "correlated": correlated, "branches": branches}
#: The model of mixed spaces was made with these families and instances; all others were looked at
#: when it was ready.
TUNED_ON = ("switches", "exclusive", "fourway", "mixed", "coupled"), range(1, 16)


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
    """Optuna's multivariate TPE, grouped where parameters are conditional; its best trial."""
    optuna, fun = library("optuna"), _noisy(problem, seed)

    def suggest(trial: Any, name: str, p: Parameter) -> Any:
        if isinstance(p, Int):
            return trial.suggest_int(name, p.low, p.high)
        if isinstance(p, Float):
            return trial.suggest_float(name, p.low, p.high, step=p.step)
        return trial.suggest_categorical(name, list(p.values))  # type: ignore[attr-defined]

    def objective(trial: Any) -> float:
        found: Params = {}
        for name, p in problem.space.parameters.items():
            if problem.space.applies(name, found):
                found[name] = suggest(trial, name, p)
        return fun(found)

    grouped = any(p.conditions for p in problem.space.parameters.values())
    with quiet(optuna):
        sampler = optuna.samplers.TPESampler(seed=seed, multivariate=True, group=grouped)
        study = optuna.create_study(sampler=sampler)
        study.optimize(objective, n_trials=budget)
    return dict(study.best_params)


def catcmawm(problem: Problem, budget: int, seed: int) -> Params:
    """CatCMA with margin of ``cmaes``; the best candidate of its last generation. It does not know
    of conditions."""
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
        found |= {name: values[int(np.argmax(one))] for (name, values), one in pairs}
        return {name: v for name, v in found.items() if problem.space.applies(name, found)}

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
#: What is compared if nobody says otherwise.
TOOLS = ("auto", "TPE", "CatCMAwM")
#: Families and noises, and the regrets of each tool, instance by instance.
Found = dict[tuple[str, float], dict[str, list[float]]]


def measure(budget: int, noises: list[float], instances: list[int], tools: list[str]) -> Found:
    """The regrets of every tool in every cell."""
    found: Found = {}
    for family in FAMILIES:
        for noise in noises:
            cell = found.setdefault((family, noise), {name: [] for name in tools})
            for i in instances:
                one = problem(family, i, noise)
                for name in tools:
                    cell[name].append(one.value(RUNS[name](one, budget, i)))
    return found


def _won(cells: list[dict[str, list[float]]], first: str, other: str) -> tuple[float, int]:
    """The share of pairs that the first tool won, ties count half; and their number."""
    a, b = (np.concatenate([cell[name] for cell in cells]) for name in (first, other))
    return float(np.mean(np.where(a < b, 1.0, np.where(a == b, 0.5, 0.0)))), len(a)


def table(budget: int, found: Found, tools: list[str]) -> Table:
    """Mean regret of every tool, and the share of instances that the first one won."""
    first, *others = tools
    columns = [Column("problem"), Column("noise", meaning="its standard deviation")]
    columns += [Column(name, lambda v: f"{v:.3f}", "mean regret") for name in tools]
    meaning = f"share of instances in which {first} is better; ties count half"
    columns += [Column(f"over {name}", fixed, meaning) for name in others]
    body = []
    for (family, noise), cell in found.items():
        means = (float(np.mean(cell[name])) for name in tools)
        body.append((family, noise, *means, *(_won([cell], first, name)[0] for name in others)))
    return Table(f"{budget} evaluations", tuple(columns), tuple(body))


def pooled(found: dict[int, Found], tools: list[str]) -> Table:
    """The share of pairs that the first tool won over each of the others, with its interval, and
    the cell in which it won least."""
    first, *others = tools
    columns = [Column("over"), Column("problems"), Column("pairs"), Column("won", fixed)]
    columns += [Column("from", fixed, "95 % interval of Wilson"), Column("to", fixed)]
    columns += [Column("least", fixed), Column("where")]
    body: list[tuple[Any, ...]] = []
    for name in others:
        for kinds, chosen in _KINDS.items():
            cells = {
                f"{family}, noise {noise:g}, {budget}": cell
                for budget, one in found.items()
                for (family, noise), cell in one.items()
                if chosen(family)
            }
            share, n = _won(list(cells.values()), first, name)
            shares = {where: _won([cell], first, name)[0] for where, cell in cells.items()}
            where = min(shares, key=lambda cell: shares[cell])
            body.append((name, kinds, n, share, *wilson(share, n), shares[where], where))
    return Table(f"{first} against each", tuple(columns), tuple(body))


_KINDS: dict[str, Callable[[str], bool]] = {
    "all": lambda family: True,
    "families of the making": lambda family: family in TUNED_ON[0],
    "other families": lambda family: family not in TUNED_ON[0],
}


def page(tables: list[Table], instances: list[int], tools: list[str], command: str) -> str:
    """The page, with its stamp."""
    kinds = "\n".join(
        f"- {name}: {' '.join((make.__doc__ or '').split())}" for name, make in FAMILIES.items()
    )
    used = [name for name in OURS if name in tools]
    stamp = Stamp(methods={name: behaviour.of_method(name) for name in used})
    seen = sorted(set(instances) & set(TUNED_ON[1]))
    which = f"of which {span(seen)} were" if seen else "none of which was"
    text = [
        "# Noisy mixed spaces: other tools beside ours",
        f"Printed by `{command}` (noisewise {nw.__version__}).",
        "Regret is the noise-free value at the returned parameters; the best has 0. Every problem "
        f"has {len(instances)} instances, which differ in where the best is; all tools spend the "
        "same number of evaluations, with Gaussian noise of the same size. TPE (multivariate, of "
        "Optuna) and random search return their best trial, CatCMAwM (of cmaes) the best "
        "candidate of its last generation: their ordinary answers, for none measures a point "
        f"again. The model was made with {', '.join(TUNED_ON[0])}, instances "
        f"{span(list(TUNED_ON[1]))}; those here are {span(instances)}, {which} looked at then. "
        "Problems:",
        kinds,
        *(one.markdown() for one in tables),
        stamp.comment(),
    ]
    return "\n\n".join(text) + "\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="noisewise_bench.experiments mixed", description="Noisy mixed spaces."
    )
    parser.add_argument("--instances", default="101-106", help="such as 101-106")
    parser.add_argument("--budgets", default="100,300", help="evaluations, such as 100,300")
    parser.add_argument("--noise", default="0.1,1", help="standard deviations, such as 0.1,1")
    parser.add_argument(
        "--tools", default=",".join(TOOLS), help=f"the first against the others: {', '.join(RUNS)}"
    )
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
    found = {budget: measure(budget, noises, instances, tools) for budget in budgets}
    tables = [pooled(found, tools), *(table(b, one, tools) for b, one in found.items())]
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
