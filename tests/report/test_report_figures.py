"""What a page draws: evaluations, the model of them, contours."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import numpy as np
import pytest

import noisewise as nw
from noisewise.command import table
from noisewise.methods import CMAES
from noisewise.report import evaluations, facts, landscape
from noisewise.report.contours import contour
from noisewise.report.pictures import pictures
from noisewise.report.svg import Axis
from noisewise.report.words import lasting, ranged


def ended(
    budget: int, noise: float = 0.0, method: object = "auto", **options: object
) -> nw.Optimizer:
    """A run on a bowl of which only the first coordinate matters much."""
    rng = np.random.default_rng(0)
    given: dict[str, object] = {"bounds": [(0.0, 1.0)] * 3} | options
    opt = nw.Optimizer(budget=budget, rng=0, method=method, **given)  # type: ignore[arg-type]
    while not opt.done:
        for trial in opt.ask():
            value = 4.0 * (trial.x[0] - 0.3) ** 2 + 0.1 * (trial.x[1] - 0.6) ** 2
            opt.tell(trial.id, float(value + noise * rng.normal()))
    return opt


@pytest.mark.parametrize("method", ["auto", "watchful", "resample", "uh-cma-es"])
@pytest.mark.parametrize("confirm", ["auto", 0, 7])
def test_every_evaluation_is_listed_once(method: str, confirm: object) -> None:
    opt = ended(90, 0.3, method, confirm=confirm)
    seen = evaluations.of(opt._run, 1.0)
    assert seen.missing == 0
    assert seen.number.tolist() == list(range(1, 91))
    assert np.nanmin(seen.values) == opt.result().fun_best_observed
    here = (opt.result().x == seen.X).all(axis=1)  # it may have measured an earlier answer
    kept = seen.values[here & (np.array(seen.purpose) == "confirmation")]
    if opt.result().estimate == "mean":
        assert kept.mean() == pytest.approx(opt.result().fun)


def test_a_long_run_keeps_the_newest() -> None:
    opt = ended(30000, 0.1, CMAES())
    seen = evaluations.of(opt._run, -1.0)
    assert seen.missing == 30000 - 60_000 // 9
    assert seen.number[-1] == 30000
    assert np.nanmax(seen.values) < 1.0  # the sign is turned


def test_the_table_can_be_read() -> None:
    space = nw.Space({"rate": "1e-3..1:log", "kind": "a,b"})
    X = np.array(
        [space.encode({"rate": 0.1, "kind": "b"}), space.encode({"rate": 1.0, "kind": "a"})]
    )
    values = np.array([0.1 + 0.2, math.nan])
    seen = evaluations.Evaluations(X, values, np.array([1, 2]), ["search", "confirmation"], 0)
    rows = list(csv.DictReader(io.StringIO(evaluations.as_csv(seen, space))))
    assert float(rows[0]["value"]) == 0.1 + 0.2
    assert float(rows[0]["rate"]) == pytest.approx(0.1)
    assert rows[0]["kind"] == "b"
    assert rows[1]["value"] == ""
    assert rows[1]["purpose"] == "confirmation"


def test_cells_are_no_formulas_and_can_be_read_again(tmp_path: Path) -> None:
    """A spreadsheet would compute them, or send the sheet somewhere; numbers stay numbers."""
    kinds = ["=HYPERLINK(1)", "'=HYPERLINK(1)", "+x", "-x", "@x", "\tx", "-1", "a=b", "'a", -2]
    space = nw.Space({"kind": kinds, "-n": "-9..-1:int"})
    rows = [{"kind": kind, "-n": -3} for kind in kinds]
    X = np.array([space.encode(row) for row in rows])
    values, n = -np.arange(1.0, len(rows) + 1), np.arange(1, len(rows) + 1)
    seen = evaluations.Evaluations(X, values, n, ["search"] * len(rows), 0)
    written = evaluations.as_csv(seen, space)
    cells = list(csv.reader(io.StringIO(written)))
    assert cells[0] == ["evaluation", "purpose", "value", "kind", "'-n"]
    assert [row[3] for row in cells[1:]] == [
        "'=HYPERLINK(1)", "''=HYPERLINK(1)", "'+x", "'-x", "'@x", "'\tx", "-1", "a=b", "'a", "-2",
    ]  # fmt: skip
    assert {row[4] for row in cells[1:]} == {"-3"}
    assert [row[2] for row in cells[1:]] == [repr(v) for v in values.tolist()]
    (tmp_path / "t.csv").write_text(written, encoding="utf-8")
    assert table.read(str(tmp_path / "t.csv"), space).rows == rows


def test_the_model_finds_the_bowl() -> None:
    opt = ended(80, 0.05)
    found = facts.of(opt, "bowl")
    land = landscape.of(found.evaluations.X, found.evaluations.values, found.x, found.bounds, 1.0)
    assert land is not None
    cut = land.cut(0)
    truth = 4.0 * (cut.x - 0.3) ** 2 + 0.1 * (found.x[1] - 0.6) ** 2
    inside = np.abs(cut.x - 0.3) < 0.4
    assert np.mean((cut.low <= truth) & (truth <= cut.high)) > 0.7
    assert np.abs(cut.middle - truth)[inside].max() < 0.15
    middle, width = land.map(0, 1)
    assert middle.shape == width.shape
    column = int(np.argmin(middle.min(axis=0)))
    assert abs((column + 0.5) / middle.shape[1] - 0.3) < 0.15
    assert (width >= 0.0).all()
    known = landscape.progress(
        land, found.evaluations.X, found.evaluations.values, found.evaluations.number, found.bounds
    )
    assert known.x[-1] == 80
    assert found.interval[0] - 0.1 < known.middle[-1] < found.interval[1] + 0.1


def test_more_is_better_turns_the_model_over() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((30, 2))
    values = -((X - 0.5) ** 2).sum(axis=1)
    bounds = np.array([[0.0, 0.0], [1.0, 1.0]])
    land = landscape.of(X, values, np.array([0.5, 0.5]), bounds, -1.0)
    assert land is not None
    cut = land.cut(1)
    assert (cut.low <= cut.middle).all()
    assert (cut.middle <= cut.high).all()
    assert abs(cut.x[int(np.argmax(cut.middle))] - 0.5) < 0.15


@pytest.mark.parametrize(("n", "d"), [(5, 1), (20, 16), (12, 7)])
def test_too_few_values_make_no_model(n: int, d: int) -> None:
    X = np.random.default_rng(0).random((n, d))
    bounds = np.array([np.zeros(d), np.ones(d)])
    assert landscape.of(X, X.sum(axis=1), X[0], bounds, 1.0) is None


def test_what_does_not_matter_is_named_and_not_drawn() -> None:
    drawn = pictures(facts.of(ended(60, 0.3), "run")).landscape
    assert 'data-chart="cut-0"' in drawn
    assert 'data-chart="cut-2"' not in drawn
    assert "No visible effect there: " in drawn


def test_a_contour_is_where_it_should_be() -> None:
    """Of the distance to the centre: a circle."""
    side = (np.arange(40) + 0.5) / 40
    distance = np.hypot(*np.meshgrid(side - 0.5, side - 0.5))
    unit = Axis(0.0, 1.0, 0.0, 1000.0)
    path = contour(distance, 0.3, unit, unit).replace("M", " ").replace("L", " ").split()
    places = np.array([float(word) for word in path]).reshape(-1, 2) / 1000.0 - 0.5
    assert len(places) > 50
    np.testing.assert_allclose(np.hypot(*places.T), 0.3, atol=0.005)
    assert contour(distance, 9.0, unit, unit) == ""


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.04, "0.0 s"), (45.3, "45 s"), (90, "2 min"), (12000, "3 h 20 min"), (1e6, "11 days")],
)
def test_durations(seconds: float, said: str) -> None:
    assert lasting(seconds) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("0.1..10:log", "0.1 to 10, log"),
        ("8..256:int:step=8", "8 to 256, whole, step 8"),
        ("0.0..0.5:step=0.1", "0 to 0.5, step 0.1"),
        ("adam,sgd", "adam or sgd"),
        ('[true, null, "a"]', "True, None or a"),
        ("[1]", "[1]"),
        ("[1, 2", "[1, 2"),
        ("[1, 2]", "1 or 2"),
    ],
)
def test_ranges(text: str, said: str) -> None:
    assert ranged(text) == said
