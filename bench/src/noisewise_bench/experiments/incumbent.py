"""What a run with today's setting answers, and what that costs:
``python -m noisewise_bench.experiments incumbent``

Truths are known, so each run says whether the setting that it returned is worse than today's, what
was gained, and whether the interval of the improvement holds the true one.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import noisewise as nw
from noisewise._types import FloatArray
from noisewise.run.comparison import SHOWN
from noisewise_bench import behaviour
from noisewise_bench.names import BenchError, numbers
from noisewise_bench.provenance import provenance
from noisewise_bench.stamps import Stamp
from noisewise_bench.tables import Column, Table

#: Values by name, larger is better, and the probability or mean behind each.
Params = dict[str, Any]
STARTS = ("optimal", "good", "bad")
#: True gains of at least so many standard errors of the comparison should be returned.
CLEAR = 4.0
#: Largest loss that is rounding of the coordinates and no loss.
_ROUNDING = 1e-9
#: Runs of each cell by budget, where the command does not say otherwise.
RUNS = {100: 40, 300: 40, 1000: 40, 3000: 40}
#: So many of them are also made without an incumbent.
ALONE = 20


@dataclass(frozen=True)
class Problem:
    """A space, the mean value there (larger is better), a noisy value of a mean, and today's
    settings: the optimum, a good one and a bad one. ``seeded``: the objective takes seeds."""

    space: dict[str, Any]
    mean: Callable[[Params], float]
    noisy: Callable[[float, np.random.Generator], float]
    today: dict[str, Params]
    seeded: bool = False


def _gaussian(sd: float) -> Callable[[float, np.random.Generator], float]:
    return lambda mean, rng: mean + sd * float(rng.normal())


def _reals(d: int) -> dict[str, Any]:
    return {f"x{j}": "0..1" for j in range(d)}


def _point(at: FloatArray) -> Params:
    return {f"x{j}": float(v) for j, v in enumerate(at)}


def _away(best: FloatArray, length: float, rng: np.random.Generator) -> FloatArray:
    """A point in the box at this distance, or as near to that as the box allows."""
    for _ in range(1000):
        step = rng.normal(size=len(best))
        found = best + length * step / np.linalg.norm(step)
        if ((found >= 0.0) & (found <= 1.0)).all():
            return np.asarray(found)
    return np.asarray(np.clip(found, 0.0, 1.0))


def _bowl(
    d: int, condition: float, distances: tuple[float, float], rng: np.random.Generator
) -> tuple[Callable[[Params], float], dict[str, Params]]:
    """A rotated quadratic with its maximum 0 somewhere in the box."""
    best = rng.uniform(0.25, 0.75, d)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    scales = condition ** (0.5 * np.linspace(0.0, 1.0, d))

    def mean(p: Params) -> float:
        z = scales * (Q @ (np.array([p[f"x{j}"] for j in range(d)]) - best))
        return -float(z @ z)

    good, bad = (_point(_away(best, length, rng)) for length in distances)
    return mean, {"optimal": _point(best), "good": good, "bad": bad}


def smooth(rng: np.random.Generator) -> Problem:
    """A rotated quadratic in three reals; Gaussian noise."""
    mean, today = _bowl(3, 4.0, (0.1, 0.5), rng)
    return Problem(_reals(3), mean, _gaussian(0.1), today)


def paired(rng: np.random.Generator) -> Problem:
    """The same in six reals, and the objective takes seeds: half of the variance of the noise
    belongs to the seed."""
    mean, today = _bowl(6, 4.0, (0.1, 0.5), rng)
    sd = 0.1 / math.sqrt(2.0)

    def noisy(value: float, draws: np.random.Generator) -> float:
        shared = float(draws.normal())
        own = np.random.default_rng(int(1e12 * abs(value)) + int(draws.integers(2**31)))
        return value + sd * (shared + float(own.normal()))

    return Problem(_reals(6), mean, noisy, today, seeded=True)


def skewed(rng: np.random.Generator) -> Problem:
    """A rotated quadratic in three reals; log-normal noise that grows with the loss."""
    mean, today = _bowl(3, 4.0, (0.1, 0.5), rng)

    def noisy(value: float, draws: np.random.Generator) -> float:
        return value - (0.1 - 0.5 * value) * (float(draws.lognormal(0.0, 0.7)) - math.exp(0.245))

    return Problem(_reals(3), mean, noisy, today)


def game(rng: np.random.Generator) -> Problem:
    """A game bot with six parameters: won or lost. The best wins 65 %, a good one 58 %, a bad one
    40 %."""
    best = rng.uniform(0.3, 0.7, 6)

    def mean(p: Params) -> float:
        z = np.array([p[f"x{j}"] for j in range(6)]) - best
        return 0.05 + 0.6 * math.exp(-2.0 * float(z @ z))

    def at(share: float) -> Params:
        return _point(_away(best, math.sqrt(-0.5 * math.log((share - 0.05) / 0.6)), rng))

    today = {"optimal": _point(best), "good": at(0.58), "bad": at(0.40)}
    return Problem(_reals(6), mean, lambda p, draws: float(draws.random() < p), today)


def mixed(rng: np.random.Generator) -> Problem:
    """Two reals, a whole number, a choice of three and a switch; Gaussian noise."""
    at, whole, colours = rng.uniform(0.2, 0.8, 2), int(rng.integers(3, 18)), rng.permutation(3)
    names = ("red", "green", "blue")

    def mean(p: Params) -> float:
        real = 4.0 * ((p["r0"] - at[0]) ** 2 + (p["r1"] - at[1]) ** 2)
        steps = ((p["n"] - whole) / 10.0) ** 2
        return -float(real + steps + 0.2 * colours[names.index(p["colour"])] + 0.15 * p["off"])

    first, worst = names[int(np.argmin(colours))], names[int(np.argmax(colours))]
    best = {"r0": at[0], "r1": at[1], "n": whole, "colour": first, "off": False}
    good = best | {"r0": at[0] + 0.1, "off": True}
    bad = best | {"r0": 0.0, "r1": 1.0, "n": 20 if whole < 10 else 0, "colour": worst, "off": True}
    space = {"r0": "0..1", "r1": "0..1", "n": "0..20:int", "colour": list(names)}
    today = {"optimal": best, "good": good, "bad": bad}
    return Problem(space | {"off": [True, False]}, mean, _gaussian(0.2), today)


def listed(rng: np.random.Generator) -> Problem:
    """A list of 20 options, whose values spread as widely as the noise."""
    values = rng.normal(size=20)
    order = np.argsort(-values)
    options = [f"option {i}" for i in range(20)]

    def mean(p: Params) -> float:
        return float(values[options.index(p["option"])])

    places = zip(STARTS, order[[0, 4, 15]].tolist(), strict=True)
    today: dict[str, Params] = {name: {"option": options[i]} for name, i in places}
    return Problem({"option": options}, mean, _gaussian(1.0), today)


FAMILIES: dict[str, Callable[[np.random.Generator], Problem]] = {
    "smooth": smooth,
    "paired": paired,
    "skewed": skewed,
    "game": game,
    "mixed": mixed,
    "listed": listed,
}


class Run(NamedTuple):
    """One run: the true improvement of the challenger, that of the answer, what the run said, and
    what the same budget gained without an incumbent."""

    true: float
    gained: float
    kept: bool
    low: float
    high: float
    se: float
    unguarded: float
    #: Whether the interval of the answer's own value holds it.
    covered: bool


def run(family: str, today: str, budget: int, number: int, alone: bool = True) -> Run:
    """Run ``number`` of a cell; ``alone``: also without an incumbent."""
    rng = np.random.default_rng([number, list(FAMILIES).index(family)])
    problem = FAMILIES[family](rng)
    # No two cells have noise in common, so that their coverage can be averaged.
    cell = (number, budget, list(FAMILIES).index(family), STARTS.index(today))
    start = problem.today[today]

    def search(draws: np.random.Generator, **options: Any) -> nw.Result:
        def objective(p: Params, seed: int | None = None) -> float:
            here = draws if seed is None else np.random.default_rng(seed)
            return problem.noisy(problem.mean(p), here)

        seeds = "independent" if problem.seeded else None
        given: dict[str, Any] = {"space": problem.space, "maximize": True, "seeds": seeds}
        return nw.minimize(objective, budget=budget, rng=number, **given, **options)

    def true(params: Params | None) -> float:
        assert params is not None
        return problem.mean(params) - problem.mean(start)

    r = search(np.random.default_rng([*cell, 1]), incumbent=start)
    plain = math.nan
    if alone:
        plain = true(search(np.random.default_rng([*cell, 0]), x0=start).params)
    (low, high), answer = r.improvement_interval, true(r.params)
    kept, value = bool(r.kept), answer + problem.mean(start)
    covered = r.interval[0] <= value <= r.interval[1]
    se = r.smallest_gain / SHOWN
    return Run(true(r.challenger.params), answer, kept, low, high, se, plain, covered)


class Kept:
    """Runs in a file, one JSON line each."""

    def __init__(self, path: Path, code: str) -> None:
        self.path, self.code = path, code
        path.parent.mkdir(parents=True, exist_ok=True)
        self.known: dict[tuple[Any, ...], Run] = {}
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        if text and not text.endswith("\n"):  # the study was killed while it wrote
            path.write_text(text + "\n", encoding="utf-8")
        for line in text.splitlines():
            try:
                made, key, values = json.loads(line)
                found = Run(*values)
            except (ValueError, TypeError):  # cut off when the study was killed
                continue
            if made == code:
                self.known[tuple(key)] = found

    def run(self, family: str, today: str, budget: int, number: int, alone: bool) -> Run:
        """A run that is known, or made now."""
        key = family, today, budget, number, alone
        if key not in self.known:
            self.known[key] = run(*key)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([self.code, key, self.known[key]]) + "\n")
        return self.known[key]

    def of(self, cell: tuple[str, str, int], numbers: list[int]) -> list[Run]:
        """The runs of a cell that are known."""
        places = [(number, n < ALONE) for n, number in enumerate(numbers)]
        return [self.known[cell + at] for at in places if cell + at in self.known]


class Cell(NamedTuple):
    """What the runs of a cell come to; shares are of runs."""

    family: str
    start: str
    budget: int
    runs: int
    worse: float
    worse_unguarded: float
    returned: float
    clear: float
    returned_clear: float
    #: Both over the runs that were also made without an incumbent.
    gain: float
    gain_unguarded: float
    covered: float
    covered_returned: float
    answer_covered: float


def cell(family: str, start: str, budget: int, runs: list[Run]) -> Cell:
    """Figures of one cell; nan where no run counts."""
    known = [r for r in runs if not math.isnan(r.low)]
    clear = [r for r in known if r.true >= CLEAR * r.se > 0.0]
    holds = {id(r): r.low - _ROUNDING <= r.true <= r.high + _ROUNDING for r in known}
    return Cell(
        family,
        start,
        budget,
        len(runs),
        _share(r.gained < -_ROUNDING for r in runs),
        _share(r.unguarded < -_ROUNDING for r in runs if not math.isnan(r.unguarded)),
        _share(not r.kept for r in runs),
        len(clear) / len(runs),
        _share(not r.kept for r in clear),
        _mean([r.gained for r in runs if not math.isnan(r.unguarded)]),
        _mean([r.unguarded for r in runs]),
        _share(holds[id(r)] for r in known),
        _share(holds[id(r)] for r in known if not r.kept),
        _share(r.covered for r in runs),
    )


def _share(found: Iterator[bool] | Any) -> float:
    values = list(found)
    return float(np.mean(values)) if values else math.nan


def _percent(value: float) -> str:
    return "-" if math.isnan(value) else f"{100 * value:.0f}"


def _gain(value: float) -> str:
    return f"{value:.3f}"


_SHARE = "% of the runs in which "
COLUMNS = (
    Column("problem"),
    Column("today"),
    Column("budget"),
    Column("runs"),
    Column("worse", _percent, _SHARE + "the answer is worse than today's setting"),
    Column("without guard", _percent, "the same for a run that only starts there"),
    Column("returned", _percent, _SHARE + "the challenger is returned"),
    Column("clear", _percent, _SHARE + "its true gain is at least 4 standard errors"),
    Column("returned of these", _percent, "% of those in which it is returned"),
    Column("gain", _gain, f"mean true gain of the answer, first {ALONE} runs"),
    Column("gain without guard", _gain, "that of a run that only starts there, same budget"),
    Column("covered", _percent, _SHARE + "the interval holds the true improvement"),
    Column("where returned", _percent, "the same of the runs that returned the challenger"),
    Column("answer covered", _percent, _SHARE + "the interval of fun holds the answer's value"),
)


def pooled(cells: list[Cell]) -> Table:
    """The goals, over all cells of each kind of start."""
    columns = (
        Column("today"),
        Column("cells"),
        Column("runs"),
        Column("worse", _percent, "mean, and in the worst cell"),
        Column("worst cell", _percent),
        Column("without guard", _percent, "mean of the runs without a guard"),
        Column("clear, returned", _percent, "% returned of the runs with a clear gain, pooled"),
        Column("gain kept", _percent, "% of the gain without a guard, mean over cells"),
        Column("least kept", _percent, "in the worst cell"),
        Column("covered", _percent, "pooled over runs"),
        Column("least covered", _percent, "in the worst cell"),
        Column("where returned", _percent, "mean over cells that returned any"),
    )
    body = []
    for start in STARTS:
        some = [c for c in cells if c.start == start]
        if not some:
            continue
        weights = [c.clear * c.runs for c in some]
        returned = [w * c.returned_clear for w, c in zip(weights, some, strict=True) if w]
        kept = [c.gain / c.gain_unguarded for c in some if c.start == "bad" and c.gain_unguarded]
        body.append(
            (
                start,
                len(some),
                sum(c.runs for c in some),
                float(np.mean([c.worse for c in some])),
                max(c.worse for c in some),
                float(np.mean([c.worse_unguarded for c in some])),
                sum(returned) / sum(weights) if sum(weights) else math.nan,
                float(np.mean(kept)) if kept else math.nan,
                min(kept, default=math.nan),
                float(np.average([c.covered for c in some], weights=[c.runs for c in some])),
                float(np.nanmin([c.covered for c in some])),
                _mean([c.covered_returned for c in some]),
            )
        )
    return Table("Over all cells", columns, tuple(body))


def _mean(values: list[float]) -> float:
    known = [v for v in values if not math.isnan(v)]
    return float(np.mean(known)) if known else math.nan


def page(cells: list[Cell], command: str) -> str:
    """The page, with its stamp."""
    made = {name: " ".join((make.__doc__ or "").split()) for name, make in FAMILIES.items()}
    kinds = "\n".join(f"- {name}: {said}" for name, said in made.items())
    body = Table("Every cell", COLUMNS, tuple(tuple(c) for c in cells))
    stamp = Stamp(methods={"auto": behaviour.of_method("auto")})
    text = [
        "# Is it better than today's setting?",
        f"Printed by `{command}` (noisewise {nw.__version__}).",
        "A run with `incumbent=` against one that only starts there (`x0=`), `auto` in both, the "
        "same budget. Today's setting is the optimum, a good one or a bad one. Truths are the "
        "means without noise; runs of a cell differ in where the optimum is. The interval of the "
        "improvement is about the best that the run found (the challenger), whether it is returned "
        "or not. Where the true gain is small, a challenger is only returned if it was measured "
        "too well: intervals of the runs that returned one then cover less, which is why both are "
        "printed. Problems:",
        kinds,
        pooled(cells).markdown(),
        body.markdown(),
        stamp.comment(),
    ]
    return "\n\n".join(text) + "\n"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="noisewise_bench.experiments incumbent", description="Today's setting as a guard."
    )
    parser.add_argument("--families", default=",".join(FAMILIES), help="such as game,mixed")
    parser.add_argument("--budgets", default=",".join(map(str, RUNS)), help="such as 100,1000")
    parser.add_argument("--runs", help="runs of each cell, such as 1-20; by budget by default")
    parser.add_argument("--tables-only", action="store_true", help="run nothing, use what is there")
    parser.add_argument("--db", type=Path, help="runs, kept to resume (out/incumbent.jsonl)")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the page (out)")
    args = parser.parse_args(argv)
    try:
        families = args.families.split(",")
        if wrong := sorted(set(families) - FAMILIES.keys()):
            raise BenchError(f"families takes names from {', '.join(FAMILIES)}, got {wrong[0]!r}")
        budgets = numbers(args.budgets, "budgets")
        chosen = None if args.runs is None else numbers(args.runs, "runs")
    except (BenchError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    kept = Kept(args.db or args.out / "incumbent.jsonl", provenance()["code"])
    wanted = [(f, start, b) for b in budgets for f in families for start in STARTS]
    numbered = {b: list(chosen or range(1, 1 + RUNS.get(b, 20))) for b in budgets}
    for n in range(0 if args.tables_only else max(map(len, numbered.values()))):
        for family, start, budget in wanted:
            if n < len(numbered[budget]):
                kept.run(family, start, budget, numbered[budget][n], n < ALONE)
        print(f"{n + 1} runs of each cell", file=sys.stderr, flush=True)
    found = {key: kept.of(key, numbered[key[2]]) for key in wanted}
    cells = [cell(*key, runs) for key, runs in found.items() if runs]
    if not cells:
        print("error: no runs yet", file=sys.stderr)
        return 2
    command = "python -m noisewise_bench.experiments incumbent"
    for name in ("families", "budgets", "runs"):
        given = getattr(args, name)
        command += f" --{name} {given}" if given != parser.get_default(name) else ""
    text = page(cells, command)
    args.out.mkdir(parents=True, exist_ok=True)
    (args.out / "incumbent.md").write_text(text, encoding="utf-8")
    for i, one in enumerate((pooled(cells), Table("", COLUMNS, tuple(map(tuple, cells)))), 1):
        csv = one.csv().rstrip("\n") + "\n"
        (args.out / f"incumbent-{i}.csv").write_text(csv, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
