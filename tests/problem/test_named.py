"""Problems given by name: `minimize` and `Optimizer` with a space."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.report import facts
from noisewise.report.page import page
from noisewise.report.text import as_data
from noisewise.space import Choice, Float, Int

GIVEN: dict[str, Any] = {
    "learning rate": "1e-4..1e-1:log",
    "units {n}": Int(8, 256, step=8),
    "nesterov": [True, False],
    "depth": Choice((1, 2, 3)),
    "fixed": Float(0.5, 0.5),
}
#: One coordinate for each range and for a choice between two, one for each value of any other
#: choice, none for what is fixed.
WIDTH = 1 + 1 + 1 + 3


def train(p: dict[str, Any]) -> float:
    assert list(p) == list(GIVEN)
    assert (type(p["nesterov"]), type(p["depth"]), p["fixed"]) == (bool, int, 0.5)
    off = np.log10(p["learning rate"] / 1e-2) ** 2 + (p["units {n}"] / 64 - 1) ** 2
    return float(off + 0.5 * p["nesterov"] + (p["depth"] - 2) ** 2)


@pytest.mark.parametrize("space", [GIVEN, nw.Space(GIVEN)], ids=["dict", "Space"])
def test_minimize_by_name(space: Any) -> None:
    r = nw.minimize(train, space=space, budget=300, rng=0)
    assert r.params == nw.Space(GIVEN).decode(r.x)
    assert (r.params["nesterov"], r.params["depth"], r.params["fixed"]) == (False, 2, 0.5)
    assert abs(r.params["units {n}"] - 64) <= 16
    assert train(r.params_best_observed) == pytest.approx(r.fun_best_observed)
    assert r.x.shape == (WIDTH,)
    assert pickle.loads(pickle.dumps(r)).params == r.params


@pytest.mark.parametrize("method", ["cma-es", "watchful", "rb-pem"])
def test_the_same_as_with_the_unit_cube(method: str) -> None:
    """For all that do not model what parameters are. What has a column or a row for each
    parameter has those of the space instead of x1, x2, ..."""
    space, given = nw.Space(GIVEN), {"budget": 50, "rng": 0, "method": method}
    by_hand = nw.minimize(space.objective(train), bounds=space.bounds, **given)
    r = nw.minimize(train, space=space, **given)
    del r["params"], r["params_best_observed"]
    named, unnamed = dict(r.evaluations), dict(by_hand.evaluations)
    important, of_coordinates = (
        {row[0]: row[1:] for row in zip(*one.importance.values(), strict=True)}
        for one in (r, by_hand)
    )
    for one in (r, by_hand):
        del one["evaluations"], one["importance"]
    assert support.same_result(r, by_hand)
    rows = zip(*(unnamed.pop(f"x{i + 1}") for i in range(WIDTH)), strict=True)
    decoded = [space.decode(np.array(x)) for x in rows]
    assert len(decoded) == 50
    assert {name: named.pop(name) for name in GIVEN} == {n: [p[n] for p in decoded] for n in GIVEN}
    assert repr(named) == repr(unnamed)  # nan does not equal itself
    assert important.keys() == GIVEN.keys() - {"fixed"}
    assert of_coordinates.keys() == {f"x{i + 1}" for i in range(WIDTH)}
    share, *rest = important["learning rate"]  # the one that is a coordinate as it stands
    assert [share, *rest] == [pytest.approx(of_coordinates["x1"][0]), *of_coordinates["x1"][1:]]


def test_further_arguments_workers_and_batches() -> None:
    def shifted(p: dict[str, Any], by: float) -> float:
        return train(p) + by

    def several(rows: list[dict[str, Any]], by: float) -> list[float]:
        return [shifted(p, by) for p in rows]

    options: dict[str, Any] = {"space": GIVEN, "budget": 60, "rng": 0, "args": (7.0,)}
    plain = nw.minimize(shifted, **options)
    assert plain.fun > 7.0
    assert support.same_result(plain, nw.minimize(several, vectorized=True, **options))
    workers = nw.minimize(shifted, workers=2, **options)
    assert workers.nfev == 60
    assert workers.params.keys() == GIVEN.keys()


def test_the_start_is_given_by_name() -> None:
    start = {"learning rate": 0.05, "depth": 3, "nesterov": False}
    opt = nw.Optimizer(start, space=GIVEN, budget=50)
    assert opt.recommend().params == pytest.approx(
        start | {"units {n}": opt.recommend().params["units {n}"], "fixed": 0.5}  # type: ignore[index]
    )
    again = nw.Optimizer(opt.recommend().x, space=GIVEN, budget=50)
    assert again.recommend().params == opt.recommend().params


def test_ask_and_tell_by_name() -> None:
    opt = nw.Optimizer(space=GIVEN, budget=80, rng=0)
    while not opt.done:
        for trial in opt.ask():
            assert trial.params is not None
            assert trial.params == opt.space.decode(trial.x)  # type: ignore[union-attr]
            opt.tell(trial.id, train(trial.params))
    assert opt.result().params == opt.recommend().params
    unnamed = nw.Optimizer([0.0], sigma0=1.0, budget=9)
    assert unnamed.space is unnamed.recommend().params is unnamed.ask()[0].params is None
    assert "params" not in unnamed.result()


def test_saved_and_resumed(tmp_path: Path) -> None:
    path, calls = tmp_path / "run", [0]

    def fails(p: dict[str, Any]) -> float:
        calls[0] += 1
        if calls[0] == 50:
            raise RuntimeError("once")
        return train(p)

    options: dict[str, Any] = {"space": GIVEN, "budget": 100, "rng": 0, "method": "watchful"}
    with pytest.raises(nw.EvaluationError) as caught:
        nw.minimize(fails, checkpoint=path, **options)
    assert caught.value.result.params.keys() == GIVEN.keys()
    loaded = nw.Optimizer.load(path)
    assert loaded.space == nw.Space(GIVEN)
    assert loaded.ask()[0].params.keys() == GIVEN.keys()  # type: ignore[union-attr]
    other = GIVEN | {"depth": [1, 2, 4]}
    with pytest.raises(nw.CheckpointError, match=r"a run with space Space.*depth"):
        nw.minimize(train, checkpoint=path, **(options | {"space": other}))
    again = nw.minimize(fails, checkpoint=path, **options)
    assert support.same_result(again, nw.minimize(train, **options))


def test_a_space_of_objects_cannot_be_saved(tmp_path: Path) -> None:
    kinds = Choice((print, len))
    r = nw.minimize(lambda p: 1.0 * (p["f"] is len), space={"f": kinds}, budget=20, rng=0)
    assert r.params["f"] in (print, len)
    with pytest.raises(ValueError, match="cannot be saved"):
        nw.Optimizer(space={"f": kinds}, budget=20).save(tmp_path / "run")


def test_reports_have_the_names() -> None:
    opt = nw.Optimizer(space=GIVEN, budget=200, rng=0, method="watchful")
    support.drive(opt, lambda trial: train(trial.params or {}))
    told = facts.of(opt, "named")
    assert told.recommended == opt.recommend().params
    assert {i.name for i in told.importances} == set(GIVEN) - {"fixed"}
    numbers = [name for name in nw.Space(GIVEN).coordinates if name in GIVEN]
    assert [s.name for s in told.spreads] == numbers
    assert json.loads(json.dumps(as_data(told)))
    assert "units {n}" in page(told)


def test_probe_by_name() -> None:
    assert nw.probe(train, {"depth": 3}, space=GIVEN, rng=0).P == 0.0


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"space": 5}, "space must be a Space or a dictionary, got 5"),
        ({"space": {}}, "space: parameters must be a dictionary of at least one"),
        (
            {"space": {"a": 5}},
            "space: a must be a Float, an Int, a Choice, text such as '0..1' or '1e-4..1:log', or "
            "a list of values, got 5$",
        ),
        ({"space": {"a": (0, 10)}}, "space: a could be a range or two values, got .0, 10.: write"),
        ({"space": {"a": [1]}}, "space must have a parameter with more than one value"),
        ({"space": {"a": [1, 2]}, "bounds": (0, 1)}, "bounds must not be given with space"),
        ({"space": {"a": [1, 2]}, "x0": {"b": 1}}, "x0: values must be of a, got 'b'"),
        ({"space": {"a": [1, 2]}, "x0": {"a": 3}}, r"x0: a must be one of \[1, 2\], got 3"),
        ({"space": {5: [1, 2]}}, "space: a parameter's name must be a text, got 5"),
        ({"space": {"": [1, 2]}}, "space: a parameter's name must be a text, got ''"),
    ],
)
def test_wrong_spaces(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match="^" + said):
        nw.Optimizer(budget=10, **given)
    with pytest.raises(ValueError, match="^" + said):
        nw.minimize(train, budget=10, **given)


def test_choices_of_numbers_are_found_by_value() -> None:
    choice = Choice((1, True, 2.5, "1"))
    assert [choice.decode(choice.encode(v)) for v in choice.values] == [1, True, 2.5, "1"]
    assert type(choice.decode(choice.encode(np.int64(1)))) is int
    assert type(choice.decode(choice.encode(np.bool_(True)))) is bool
    assert choice.decode(choice.encode(np.float32(2.5))) == 2.5
    assert choice.decode(choice.encode(1.0)) == 1
    with pytest.raises(ValueError, match="must be one of"):
        choice.encode(False)


def test_steps() -> None:
    assert [Float(0, 0.35, step=0.1).decode(np.array([u])) for u in (0, 0.4, 0.6, 1)] == [
        0.0,
        0.1,
        0.2,
        0.3,
    ]
    assert Int(1, 10, step=4).decode(np.array([1.0])) == 9
    with pytest.raises(ValueError, match=r"must be one of 1\.\.10:int:step=4, got 4"):
        Int(1, 10, step=4).encode(4)
    with pytest.raises(ValueError, match="must be one of"):
        Float(0, 0.35, step=0.1).encode(0.25)
