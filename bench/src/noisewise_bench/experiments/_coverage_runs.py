"""Runs whose interval is compared with the truth, and the file that keeps what they said.

Only the public interface is used: ``minimize``, ``fun``, ``fun_se``, ``interval``,
``n_confirmations`` and ``outlook``, as far as the version that runs has them. The file is a line of
JSON per run and can be gone on with after an interruption.
"""

from __future__ import annotations

import json
import math
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from copy import copy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

import noisewise
from noisewise_bench.experiments._laws import BOX, LANDSCAPES, LAWS, Objective

#: Regrets below count as this one.
_FLOOR = 1e-10
_NAN = math.nan


@dataclass(frozen=True)
class Case:
    """One run: who searches, on what, with how many evaluations. ``confirm`` is "auto", a number,
    or "default" for whatever the version does that runs. ``kind`` is "pair" (the same run with
    confirm=0 beside it), "double" (a run with twice the budget beside it) or "alone"."""

    method: str
    law: str
    landscape: str
    dimension: int
    budget: int
    seed: int
    confirm: Any = "auto"
    kind: str = "pair"


@dataclass(frozen=True)
class Outcome:
    """What a run said and what was true."""

    case: Case
    covered: bool
    covered_2se: bool
    unknown: bool
    length: float
    cost: float
    kind: str
    #: Length of the interval that was expected after the doubling, over the one that came.
    predicted: float = _NAN
    #: The improvement that the model expected, what there was to gain, and what the doubling
    #: brought, each over the standard deviation of the noise.
    expected_gain: float = _NAN
    possible_gain: float = _NAN
    actual_gain: float = _NAN
    #: log10 of the noise-free regret of the returned point.
    regret: float = _NAN


def measure(case: Case) -> Outcome:
    """The run, and the one beside it."""
    r, objective, at_x = _minimize(case, case.confirm, case.budget)
    x = np.asarray(r.x, dtype=float)
    truth = objective.expected(x)
    low, high = getattr(r, "interval", (r.fun - 2.0 * r.fun_se, r.fun + 2.0 * r.fun_se))
    slack = 1e-12 * abs(truth)  # an exact value is the same number, up to rounding
    sd = objective.deviation(x)
    known = 2.0 * 1.96 * sd / math.sqrt(at_x) if at_x else _NAN
    cost = predicted = expected = possible = actual = _NAN
    if case.kind == "pair":
        plain, _, _ = _minimize(case, 0, case.budget)
        cost = math.log10(_regret(objective, x) / _regret(objective, plain.x))
    elif case.kind == "double":
        longer, _, _ = _minimize(case, case.confirm, 2 * case.budget)
        width = longer.interval[1] - longer.interval[0]
        said = r.outlook.width_of_longer_search(case.budget)
        predicted = said / width if width > 0.0 else _NAN
        if sd > 0.0:
            expected = r.outlook.improvement / sd
            possible = (truth - objective.least) / sd
            actual = (truth - objective.expected(np.asarray(longer.x, dtype=float))) / sd
    return Outcome(
        case,
        bool(low - slack <= truth <= high + slack),
        bool(abs(truth - r.fun) <= 2.0 * r.fun_se + slack),
        bool(np.isnan([low, high]).any()),
        (high - low) / known if known > 0.0 else _NAN,
        cost,
        str(getattr(r, "estimate", "")),
        predicted,
        expected,
        possible,
        actual,
        math.log10(_regret(objective, x)),
    )


def _regret(objective: Objective, x: Any) -> float:
    return max(_FLOOR, float(objective.regret(np.asarray(x, dtype=float)[None])[0]))


def _minimize(case: Case, confirm: Any, budget: int) -> tuple[Any, Objective, int]:
    """Result, objective, and evaluations that measured ``x``."""
    objective = Objective(case.landscape, case.law, case.dimension, case.seed)
    name = map(ord, case.law + case.landscape)
    noise = np.random.default_rng([case.seed, case.dimension, budget, *name])
    method: Any = case.method
    if method == "pem":  # it may draw from the noise without paying
        method = noisewise.methods.get(
            "pem", draws=lambda X, n, rng: np.array([objective.noisy(X, rng) for _ in range(n)])
        )
    more = {} if confirm == "default" else {"confirm": confirm}
    r = noisewise.minimize(
        lambda X: objective.noisy(X, noise),
        bounds=(np.full(case.dimension, -BOX), np.full(case.dimension, BOX)),
        budget=budget,
        method=method,
        rng=case.seed,
        vectorized=True,
        **more,
    )
    return r, objective, int(getattr(r, "n_confirmations", 0))


def cases(
    cells: Iterable[tuple[int, int]],
    methods: Sequence[str],
    laws: Sequence[str],
    seeds: Sequence[int],
    confirm: Any = "auto",
    kind: str = "pair",
) -> list[Case]:
    """All combinations, on every landscape."""
    return [
        Case(method, law, landscape, d, budget, seed, confirm, kind)
        for d, budget in cells
        for method in methods
        for law in laws
        for landscape in LANDSCAPES
        for seed in seeds
    ]


def kept(path: Path) -> dict[Case, Outcome]:
    """What the file holds, without a line that was cut short."""
    found: dict[Case, Outcome] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        case = Case(**row.pop("case"))
        found[case] = Outcome(case, **row)
    return found


def collect(wanted: Sequence[Case], path: Path, workers: int | None) -> list[Outcome]:
    """Run what the file does not hold; the outcomes in the order of ``wanted``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    found = kept(path)
    missing = [case for case in wanted if case not in found]
    with path.open("a", encoding="utf-8") as file:
        for outcome in _run(missing, workers):
            found[outcome.case] = outcome
            file.write(json.dumps(asdict(outcome)) + "\n")
            file.flush()
    return [found[case] for case in wanted]


def _run(wanted: Sequence[Case], workers: int | None) -> Iterable[Outcome]:
    if workers == 1:
        yield from map(measure, wanted)
        return
    with ProcessPoolExecutor(workers) as pool:
        yield from pool.map(measure, wanted, chunksize=4)


def collect_with(library: Path, wanted: Sequence[Case], path: Path) -> list[Outcome]:
    """The same with the ``noisewise`` of another source folder, in a process of its own."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import noisewise; del sys.path[0]\n"
        "from pathlib import Path\n"
        "from noisewise_bench.experiments._coverage_runs import Case, collect\n"
        "collect([Case(**one) for one in json.load(sys.stdin)], Path(sys.argv[2]), 1)"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(library), str(path)],
        input=json.dumps([asdict(case) for case in wanted]),
        text=True,
        check=True,
    )
    found = kept(path)
    return [found[case] for case in wanted]


def fresh(law: str, n: int, repeats: int) -> list[Outcome]:
    """Intervals from ``n`` fresh evaluations of one point, which is all that a confirmation is,
    whatever the method: a point near the optimum, after thirty rounds of ten values around it."""
    from noisewise.measured.estimate import estimate
    from noisewise.measured.evidence import Evidence  # which version 0.1 does not have

    rng, found = np.random.default_rng([n, *map(ord, law)]), []
    for i in range(repeats):
        if i % 50 == 0:  # another run
            objective = Objective("sphere", law, 5, 1 + i // 50)
            x = objective.optimum + 0.3 * rng.standard_normal(5)
            seen = Evidence()
            for _ in range(30):
                around = objective.optimum + 0.6 * rng.standard_normal((10, 5))
                seen = seen.saw(objective.noisy(around, rng))
            truth, sd = objective.expected(x), objective.deviation(x)
        values = objective.noisy(np.tile(x, (n, 1)), rng)
        got = estimate(values, background=copy(seen).compared(values[None]))
        slack = 1e-12 * abs(truth)
        known = 2.0 * 1.96 * sd / math.sqrt(n)
        found.append(
            Outcome(
                Case("any", law, "sphere", 5, n, i),
                bool(got.low - slack <= truth <= got.high + slack),
                bool(abs(truth - got.value) <= 2.0 * got.se + slack),
                bool(np.isnan(got.low)),
                got.width / known if known > 0.0 else _NAN,
                _NAN,
                got.kind,
            )
        )
    return found


def check_laws(laws: Sequence[str]) -> str:
    """The first name that is no law; empty if all are."""
    return next((name for name in laws if name not in LAWS), "")
