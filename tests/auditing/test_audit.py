"""Audits of finished studies: honest about luck, whatever tool wrote the study."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.auditing.columns import parameters
from noisewise.auditing.sentences import as_data
from noisewise.command.main import main
from noisewise.problem.parameters import Choice, Float, Int


def table(n: int = 80, noise: float = 0.3, seed: int = 0) -> dict[str, list[Any]]:
    """A study of random search: a bowl with a choice, better at b."""
    rng = np.random.default_rng(seed)
    x, rate = rng.uniform(-1, 1, n), 10.0 ** rng.uniform(-4, 0, n)
    kind = rng.choice(["a", "b"], n)
    value = truth(x, rate, kind) + noise * rng.normal(size=n)
    return {"x": x.tolist(), "rate": rate.tolist(), "kind": kind.tolist(), "value": value.tolist()}


def truth(x: Any, rate: Any, kind: Any) -> Any:
    return x**2 + 0.2 * np.log10(rate / 0.01) ** 2 + (np.asarray(kind) == "a")


def test_the_best_trial_is_luck_and_the_choice_is_better() -> None:
    better = covered = lucky = 0
    for seed in range(10):
        found = nw.audit(table(seed=seed))
        assert found.params is not None
        assert found.luckiest.params is not None
        here = float(truth(**found.params))
        better += here < truth(**found.luckiest.params)
        covered += found.interval[0] <= here <= found.interval[1]
        lucky += found.luckiest.lucky
        assert found.luckiest.value < found.luckiest.fun
        assert 0.1 < found.noise < 0.6
    assert better >= 8
    assert covered >= 9
    assert lucky >= 7


def test_more_is_better_when_it_is_said() -> None:
    down = nw.audit(table())
    up = nw.audit(table() | {"value": [-v for v in table()["value"]]}, maximize=True)
    assert up.params == down.params
    assert up.fun == -down.fun
    assert up.interval == (-down.interval[1], -down.interval[0])
    assert up.luckiest.value == -down.luckiest.value
    assert up.luckiest.lucky == down.luckiest.lucky
    assert "larger is better" in up.summary()


def test_more_evaluations_narrow_the_interval() -> None:
    found = nw.audit(table())
    widths = [found.width_after(n) for n in (1, 10, 100)]
    assert found.interval[1] - found.interval[0] > widths[0] > widths[1] > widths[2] > 0.0
    assert "7 evaluations of this setting" in found.summary(7)


def test_without_noise_there_is_no_luck() -> None:
    found = nw.audit(table(noise=0.0))
    assert found.noise < 0.05
    assert found.luckiest.fun == pytest.approx(found.luckiest.value, abs=0.05)


def test_all_forms_of_a_table_say_the_same(tmp_path: Path) -> None:
    columns = table(40)
    path = tmp_path / "study.csv"
    lines = [
        ",".join(columns),
        *(",".join(map(repr, row)) for row in zip(*columns.values(), strict=True)),
    ]
    path.write_text("\n".join(lines).replace("'", ""))
    frame = pytest.importorskip("pandas").DataFrame(columns)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    first = nw.audit(columns)
    for form in (path, str(path), frame, rows):
        found = nw.audit(form)
        assert found.params == first.params
        assert found.fun == first.fun


def test_points_without_names() -> None:
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (60, 2))
    found = nw.audit((X, (X**2).sum(axis=1) + 0.3 * rng.normal(size=60)))
    assert found.params is None
    assert np.abs(found.x).max() < 1.0
    assert found.summary().startswith("use: x = ")


def test_evaluations_of_a_run() -> None:
    rng = np.random.default_rng(0)

    def fun(p: dict[str, Any]) -> Any:
        return p["u"] ** 2 + 0.1 * rng.normal() if p["u"] < 2.5 else math.nan

    r = nw.minimize(fun, space={"u": "-3..3"}, budget=50, rng=0)
    found = nw.audit(r.evaluations)
    assert list(found.params or {}) == ["u"]
    assert found.failures == r.n_failures
    assert abs((found.params or {})["u"]) < 0.5


def test_tables_of_optuna_and_ax() -> None:
    columns = table(40)
    marked = {f"params_{n}": columns[n] for n in ("x", "rate", "kind")}
    states = ["COMPLETE"] * 39 + ["FAIL"]
    optuna = {"number": list(range(40)), "value": columns["value"], **marked, "state": states}
    found = nw.audit(optuna)
    assert set(found.params or {}) == {"x", "rate", "kind"}
    assert (found.n, found.failures) == (39, 1)
    ax = {"trial_index": list(range(40)), "arm_name": [f"{i}_0" for i in range(40)]}
    ax |= {"trial_status": ["COMPLETED"] * 40, "loss": columns.pop("value"), **columns}
    assert set(nw.audit(ax).params or {}) == {"x", "rate", "kind"}
    ax["accuracy"] = ax.pop("loss")
    with pytest.raises(ValueError, match="must have a column named value, or say which"):
        nw.audit(ax)
    assert nw.audit(ax, value="accuracy").n == 40
    with pytest.raises(ValueError, match="did you mean accuracy"):
        nw.audit(ax, value="acuracy")


@dataclass
class Arm:
    parameters: dict[str, Any] = field(default_factory=dict)


def test_an_experiment_of_ax() -> None:
    columns = table(60)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    values = [row.pop("value") for row in rows]
    names = [f"{i}_0" for i in range(60)]
    data = {"arm_name": names * 2, "metric_name": ["loss"] * 60 + ["time"] * 60}
    data |= {"mean": values + [1e9] * 60, "sem": [0.3] * 120}
    ranges = {
        "x": SimpleNamespace(lower=-1.0, upper=1.0, parameter_type="FLOAT", log_scale=False),
        "rate": SimpleNamespace(lower=1e-4, upper=1.0, parameter_type="FLOAT", log_scale=True),
        "kind": SimpleNamespace(values=["a", "b"]),
        "fixed": SimpleNamespace(value=3),
    }
    experiment = SimpleNamespace(
        name="study",
        search_space=SimpleNamespace(parameters=ranges),
        arms_by_name={n: Arm(row | {"fixed": 3}) for n, row in zip(names, rows, strict=True)},
        fetch_data=lambda: SimpleNamespace(df=data),
        optimization_config=SimpleNamespace(
            objective=SimpleNamespace(metric=SimpleNamespace(name="loss"), minimize=True)
        ),
    )
    found = nw.audit(experiment)
    assert found.space.parameters["rate"] == Float(1e-4, 1.0, log=True)
    assert set(found.params or {}) == {"x", "rate", "kind"}
    assert (found.params or {})["kind"] == "b"
    assert found.fun < 0.5


def test_parameters_are_told_from_columns() -> None:
    rng = np.random.default_rng(0)
    n = 40
    rows = [
        {"rate": 10 ** rng.uniform(-5, 0), "even": rng.uniform(0, 9), "units": int(k % 7), "one": 3,
         "kind": "ab"[k % 2], "name": f"run {k}"}
        for k in range(n)
    ]  # fmt: skip
    found = parameters(rows)
    assert list(found) == ["rate", "even", "units", "kind"]
    assert isinstance(found["rate"], Float)
    assert found["rate"].log
    assert isinstance(found["even"], Float)
    assert not found["even"].log
    assert found["units"] == Int(0, 6)
    assert found["kind"] == Choice(("a", "b"))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "study_or_table must be an Optuna study"),
        ({"x": [1.0, 2.0], "value": [1.0]}, "must have the same length, got 1, 2"),
        ({"x": [0.0, 1.0], "value": [1.0, 2.0]}, "needs at least 8 trials that succeeded, got 2"),
        ({"x": [1.0] * 9, "value": [1.0] * 9}, "a parameter with more than one value, got x"),
        ({"x": [1.0] * 9, "value": ["?"] * 9}, r"value must be numbers, got '\?'"),
    ],
)
def test_what_is_no_study(given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        nw.audit(given)


def test_rows_outside_of_the_space_are_left_out_and_said() -> None:
    found = nw.audit(table(), space={"x": "-0.5..1", "rate": "1e-4..1:log", "kind": ["a", "b"]})
    outside = sum(x < -0.5 for x in table()["x"])
    assert found.n == 80 - outside
    assert found.notes[0].startswith(f"{outside} trials are left out")
    with pytest.raises(ValueError, match="missing width"):
        nw.audit(table(), space={"width": "0..1"})


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, page = tmp_path / "study.csv", tmp_path / "page.html"
    columns = table(40)
    lines = [
        ",".join(columns),
        *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True)),
    ]
    path.write_text("\n".join(lines))
    assert main(["audit", str(path), "--more", "5", "--out", str(page)]) == 0
    said = capsys.readouterr().out
    assert said.startswith("use: x = ")
    assert "5 evaluations of this setting" in said
    text = page.read_text()
    assert "Was the best trial luck?" in text
    assert "<script>alert" not in text
    assert main(["audit", str(path), "--json", "--param", "x=-1..1", "--param", "kind=a,b"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert set(data["params"]) == {"x", "kind"}
    assert data.keys() == as_data(nw.audit(columns)).keys()
    assert main(["audit", str(path), "--out", str(path)]) == 2
    assert main(["audit", str(tmp_path / "none.csv")]) == 2
    assert main(["audit", str(path), "--value", "valu"]) == 2
    assert "did you mean value?" in capsys.readouterr().err


def test_names_cannot_break_the_page(tmp_path: Path) -> None:
    columns = table(40)
    columns["<script>alert(1)</script>"] = columns.pop("x")
    found = nw.audit(columns)
    found.page(tmp_path / "page.html")
    assert "<script>alert" not in (tmp_path / "page.html").read_text()
    assert "<script>alert" not in found._repr_html_()
