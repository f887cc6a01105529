"""Spaces with switches, choices, steps and parameters that apply only with others, for every
method: all of the budget is spent, runs resume exactly, and nobody gets what does not apply."""

from __future__ import annotations

import csv
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.answer.importance import modelled
from noisewise.methods import CMAES, GP, Auto, Method
from noisewise.report import facts
from noisewise.report.evaluations import as_csv
from noisewise.report.evaluations import of as evaluations_of
from noisewise.report.page import page
from noisewise.space import Float, Int, Space

pytestmark = pytest.mark.boxes

SPACE = Space(
    {
        "model": ["svm", "forest", "linear"],
        "scaled": [False, True],
        "rate": Float(1e-4, 1.0, log=True),
        "C": Float(1e-2, 1e2, log=True, when={"model": ["svm", "linear"]}),
        "trees": Int(1, 200, log=True, when={"model": "forest"}),
        "depth": Int(1, 8, when={"model": "forest"}),
        "kernel": "rbf,poly,cosine when model=svm",
        "degree": Int(2, 5, when={"model": "svm", "kernel": "poly"}),
        "fold": Float(0.0, 1.0, step=0.25),
    }
)


def loss(p: dict[str, Any]) -> float:
    assert all(SPACE.applies(name, p) for name in p)
    assert SPACE.missing(p) == []
    assert all(type(v) in (str, bool, float, int) for v in p.values())
    off = 0.3 * math.log10(p["rate"] / 0.01) ** 2 + (p["fold"] - 0.5) ** 2 + 0.5 * p["scaled"]
    if p["model"] == "forest":
        return off + 0.3 * math.log10(p["trees"] / 50) ** 2 + 0.05 * abs(p["depth"] - 4)
    off += 0.5 + 0.2 * math.log10(p["C"]) ** 2
    return off + (0.4 if p["model"] == "linear" else 0.1 * p.get("degree", 2))


def noisy(trial: nw.Trial) -> float:
    """Noise that belongs to the trial; now and then an evaluation fails."""
    assert trial.params is not None
    value = loss(trial.params) + 0.1 * float(np.random.default_rng(trial.id).normal())
    return math.nan if zlib.crc32(trial.x.tobytes()) % 11 == 0 else value


def start(method: Method, budget: int = 40, **options: Any) -> nw.Optimizer:
    given: dict[str, Any] = {"rng": 0} | options
    return nw.Optimizer(space=SPACE, budget=budget, method=method, **given)


def drive(opt: nw.Optimizer, path: Path | None = None, order: int | None = None) -> list[bytes]:
    """Tell one value at a time, with ``order`` in random order; with ``path``, through a file now
    and then."""
    rng = None if order is None else np.random.default_rng(order)
    asked: dict[int, bytes] = {}
    out: dict[int, nw.Trial] = {}
    while not opt.done:
        out |= {trial.id: trial for trial in opt.ask()}
        asked |= {id: trial.x.tobytes() for id, trial in out.items()}
        ids = sorted(out)
        trial = out.pop(ids[0] if rng is None else int(rng.choice(ids)))
        opt.tell(trial.id, noisy(trial))
        if path is not None and opt.spent % 5 == 0:
            opt.save(path)
            opt, out = nw.Optimizer.load(path, opt.method), {}
    result = opt.result()
    assert result.nfev == opt.budget
    assert result.params == SPACE.decode(result.x)
    assert all(SPACE.applies(name, result.params) for name in result.params)
    return [asked[id] for id in sorted(asked)]


@pytest.mark.parametrize(
    "options",
    [{}, {"confirm": 4}, {"batch": 4}, {"workers": 3}, {"seeds": "auto"}],
    ids=["one worker", "confirm", "batch", "workers", "seeds"],
)
def test_runs_and_resumes_exactly(method: Method, options: dict[str, Any], tmp_path: Path) -> None:
    if options.get("batch") and (getattr(method, "population", None) or 9) < 4:
        pytest.skip("its population is smaller than a batch")
    straight = start(method, **options)
    through = start(method, **options)
    assert drive(straight) == drive(through, tmp_path / "run")


def test_values_in_any_order(method: Method) -> None:
    opt = start(method, workers=4)
    assert len(drive(opt, order=3)) == 40


def test_more_is_better_where_the_user_says_so(method: Method) -> None:
    low, high = start(method), start(method, maximize=True)
    for opt, sign in ((low, 1.0), (high, -1.0)):
        while not opt.done:
            for trial in opt.ask():
                opt.tell(trial.id, sign * noisy(trial))
    assert low.result().params == high.result().params


def test_earlier_rows_by_name(method: Method) -> None:
    """Also as a table, in which parameters that do not apply have an entry nobody reads."""
    rng = np.random.default_rng(1)
    rows = [SPACE.decode(rng.random(SPACE.dimension)) for _ in range(15)]
    values = [loss(row) for row in rows]
    table = {name: [row.get(name, "-") for row in rows] for name in SPACE.names}
    first = [
        drive(start(method, budget=24, data=(given, values), confirm=0)) for given in (rows, table)
    ]
    assert first[0] == first[1]


@pytest.mark.parametrize("method", [Auto(), GP(), CMAES()], ids=lambda method: method.name)
def test_measured_constraints(method: Method) -> None:
    opt = start(method, budget=60)
    while not opt.done:
        for trial in opt.ask():
            assert trial.params is not None
            forbidden = 1.0 if trial.params["model"] == "forest" else -1.0
            opt.tell(trial.id, noisy(trial), constraints=[forbidden])
    assert opt.result().params["model"] != "forest"


def test_the_model_finds_the_best_branch() -> None:
    def noisy_loss(p: dict[str, Any]) -> float:
        return loss(p) + 0.05 * float(rng.normal())

    rng = np.random.default_rng(0)
    r = nw.minimize(noisy_loss, space=SPACE, budget=120, rng=0)
    assert (r.params["model"], r.params["scaled"]) == ("forest", False)
    assert loss(r.params) < 0.12
    assert "C" not in r.params


def test_what_mattered() -> None:
    rng = np.random.default_rng(0)
    space = Space({"a": [False, True], "b": list("xyz"), "c": Float(0, 1), "d": [1, 2, 3]})
    opt = nw.Optimizer(space=space, budget=60, method="gp", rng=0)
    while not opt.done:
        for trial in opt.ask():
            p = trial.params
            assert p is not None
            value = 2.0 * (p["b"] == "y") + 0.6 * p["a"] + 0.1 * float(rng.normal())
            opt.tell(trial.id, value)
    found = {one.name: one for one in modelled(opt.in_charge, opt.state, space)}
    assert list(found)[:2] == ["b", "a"]
    assert found["b"].clear
    assert not found["d"].clear
    assert found["c"].share < 0.1


def test_report_and_table_of_a_run_with_conditions() -> None:
    opt = start(Auto())
    drive(opt)
    text = page(facts.of(opt, "trees"))
    assert "whole, log (when model=forest)" in text
    rows = list(csv.DictReader(as_csv(evaluations_of(opt._run, 1.0), SPACE).splitlines()))
    assert len(rows) == 40
    for row in rows:
        applies = {name for name in SPACE.names if row[name] != ""}
        forest = row["model"] == "forest"
        assert ("trees" in applies, "C" in applies) == (forest, not forest)
