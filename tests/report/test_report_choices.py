"""What choices do is drawn, steps are drawn where their values are, and earlier data appear."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise.report import choices, facts, figures, landscape
from noisewise.report.page import page

SPACE = nw.Space(
    {
        "kind": ["good", "bad", "<b>worse</b>"],
        "units": "8..256:int:log",
        "layers": "1..8:int",
        "drop": "0..0.5:step=0.1",
        "even": "10..50:int:step=10",
    }
)


def value(p: dict[str, Any], rng: np.random.Generator) -> float:
    words = {"good": 0.0, "bad": 1.0, "<b>worse</b>": 2.0}
    return float(words[p["kind"]] + 4.0 * (p["drop"] - 0.2) ** 2 + 0.1 * rng.normal())


def run(budget: int = 60, space: Any = SPACE, **more: Any) -> nw.Optimizer:
    rng = np.random.default_rng(0)
    opt = nw.Optimizer(space=space, budget=budget, rng=0, **more)
    while not opt.done:
        for trial in opt.ask():
            assert trial.params is not None
            opt.tell(trial.id, value(trial.params, rng))
    return opt


def test_steps_are_drawn_where_their_values_are() -> None:
    rng = np.random.default_rng(0)
    X = choices.settled(SPACE, rng.random((50, SPACE.dimension)))
    for one in figures.coordinates(SPACE, SPACE.dimension):
        shown = one.value(X[:, one.column])
        meant = [SPACE.decode(x)[one.name] for x in X]
        np.testing.assert_allclose(shown, meant, rtol=1e-9, atol=1e-9)


def test_options_have_their_expected_values() -> None:
    opt = run()
    found = facts.of(opt, "run")
    X = choices.settled(SPACE, found.evaluations.X)
    x = choices.settled(SPACE, found.x[None])[0]
    land = landscape.of(X, found.evaluations.values, x, found.bounds, 1.0)
    assert land is not None
    (one,) = choices.options(SPACE, land)
    assert one.name == "kind"
    assert one.options[one.chosen] == "good"
    assert one.clear
    assert one.middle[0] < one.middle[1]
    assert (one.low <= one.middle).all()
    assert (one.middle <= one.high).all()


def test_the_page_draws_choices_and_escapes_their_words() -> None:
    html = page(facts.of(run(), "run"))
    assert "What each option is expected to give" in html
    assert "Expected value of each option of kind" in html
    assert "<b>worse" not in html
    assert "&lt;b&gt;worse" in html


def test_choices_alone_have_a_page_without_empty_sections() -> None:
    rng = np.random.default_rng(0)
    opt = nw.Optimizer(space={"a": ["x", "y", "z"], "b": [True, False]}, budget=60, rng=0)
    while not opt.done:
        for trial in opt.ask():
            assert trial.params is not None
            opt.tell(trial.id, (trial.params["a"] != "y") + 0.2 * float(rng.normal()))
    html = page(facts.of(opt, "run"))
    assert "What each option is expected to give" in html
    assert "Where the search ended" not in html


def test_the_order_answers_what_to_set_first() -> None:
    html = page(facts.of(run(incumbent={"kind": "bad", "units": 16, "layers": 2, "drop": 0.1,
                                        "even": 20}, budget=80), "run"))  # fmt: skip
    headings = (
        "Recommended<",
        "Today&#x27;s setting" if "Today&#x27;s setting" in html else "Today's setting",
        "How good is it",
        "What each parameter and each choice does",
        "How the run went",
        "How the budget was spent",
    )
    places = [html.index(heading) for heading in headings]
    assert places == sorted(places)


@pytest.mark.parametrize("maximize", [False, True])
def test_earlier_data_appear(maximize: bool) -> None:
    rng = np.random.default_rng(0)
    data = {"u": rng.uniform(-3, 3, 20), "value": rng.normal(3, 1, 20)}
    data["value"][4] = math.nan
    opt = nw.Optimizer(space={"u": "-3..3"}, budget=40, rng=0, data=data, maximize=maximize)
    while not opt.done:
        for trial in opt.ask():
            assert trial.params is not None
            size = trial.params["u"] ** 2 + float(rng.normal())
            opt.tell(trial.id, -size if maximize else size)
    found = facts.of(opt, "run")
    assert found.earlier is not None
    np.testing.assert_allclose(found.earlier[1], data["value"])
    html = page(found)
    assert "Hollow points are the 20 rows of earlier data." in html
    assert html.count('class="before"') >= 19


def test_a_run_that_was_stopped_does_not_advise_what_was_set_already() -> None:
    opt = nw.Optimizer([1.0, 1.0], sigma0=1.0, budget=200, rng=0, confirm=20)
    for _ in range(3):
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x @ trial.x))
    opt.stop()
    html = page(facts.of(opt, "run"))
    assert "Set confirm" not in html
    assert "The run ended before the 20 evaluations kept to measure the point were made." in html


def test_the_title_names_the_objective(tmp_path: Any) -> None:
    path = tmp_path / "run.nw"

    def shop_cost(x: Any) -> float:
        return float(x @ x)

    nw.minimize(shop_cost, [1.0], sigma0=1.0, budget=20, rng=0, checkpoint=path)
    html = page(facts.of(nw.Optimizer.load(path), path.name))
    assert "shop_cost</title>" in html
    assert "<dt>File</dt><dd>run.nw</dd>" in html
