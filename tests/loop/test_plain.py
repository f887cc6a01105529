"""Trials as plain JSON; results that can be pickled, copied and typed."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any, get_type_hints

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise import _data
from noisewise.answer.today import ENTRIES


def test_a_trial_as_json() -> None:
    opt = nw.Optimizer([0.1, 0.2], sigma0=1.0, budget=40, rng=0)
    for trial in opt.ask():
        said = json.loads(trial.to_json())
        assert said == trial.to_dict()
        point = {"id": trial.id, "x": trial.x.tolist(), "kind": trial.kind}
        assert said == {**point, "params": None, "seed": None}
        assert np.array(said["x"]).tobytes() == trial.x.tobytes()
        assert "\n" not in trial.to_json()
        opt.tell(said["id"], float(np.sum(np.square(said["x"]))))
    assert opt.spent > 0


def test_a_named_trial_as_json() -> None:
    space = {"rate": "1e-4..1:log", "n": "1..9:int", "on": [True, False], "kind": ["a", None, 3]}
    for trial in nw.Optimizer(space=space, budget=40, rng=0).ask():
        said = json.loads(trial.to_json())["params"]
        assert said == trial.params
        assert [type(v) for v in said.values()] == [type(v) for v in trial.params.values()]  # type: ignore[union-attr]
        given = trial.to_dict()["params"]
        given["n"] = "changed"
        assert trial.params["n"] != "changed"  # type: ignore[index]


@pytest.fixture(scope="module", params=["plain", "named", "stopped"])
def result(request: pytest.FixtureRequest) -> nw.Result:
    given: dict[str, Any] = {"budget": 60, "rng": 0}
    if request.param == "named":
        return nw.minimize(lambda p: p["a"] ** 2, space={"a": "-1..1"}, **given)
    if request.param == "stopped":
        return nw.Optimizer([1.0, 1.0], sigma0=1.0, **given).result()
    return nw.minimize(support.bumpy, [1.0, 1.0], sigma0=1.0, confirm=5, **given)


@pytest.mark.parametrize(
    "through",
    [
        *(lambda r, n=n: pickle.loads(pickle.dumps(r, n)) for n in range(2, 6)),
        copy.copy,
        copy.deepcopy,
    ],
)
def test_a_result_survives(result: nw.Result, through: Any) -> None:
    again = through(result)
    assert type(again) is nw.Result
    assert support.same_result(again, result)
    assert again.x is again["x"]
    assert repr(again) == repr(result)


def test_entries_have_the_types_that_editors_show(result: nw.Result) -> None:
    hints = get_type_hints(nw.Result)
    # Only with names, with a list, with constraints and with an incumbent.
    some = {"params", "params_best_observed", "options"}
    some |= {"constraints", "constraints_se", "feasible", "p_feasible"} | set(ENTRIES)
    assert set(hints) - some == set(result) - some
    for name in result.keys() & hints.keys():
        assert _data.fits(result[name], hints[name]), name
