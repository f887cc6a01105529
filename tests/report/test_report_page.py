"""The page of a run, as a file and in a browser."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import time
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any, ClassVar

import numpy as np
import pytest

import noisewise as nw
from browser import CHROMIUM, Browser
from noisewise.methods import CMAES, RBPEM, Method
from noisewise.report import facts, text
from noisewise.report.page import page
from noisewise.report.svg import Axis, Chart, Series, draw, short
from noisewise.report.text import summary

#: Names cannot hold spaces, braces or "="; values of choices and commands can.
HOSTILE = {
    "<script>pwned()</script>": "0..1",
    "</script><svg/onload>": "0..5:int",
    'a"onmouseover&lt;': "1..100:log",
    "'$title$$": '<img src=x onerror=pwned=1>," onload="pwned=1',
    "日本語\u202e": "0..1",
    "plain": "0..1",
}
COMMAND = ["</code><script>pwned=1</script>", *(f"{{{name}}}" for name in HOSTILE)]


def run(
    method: Method | str = "watchful",
    budget: int = 240,
    extra: dict[str, Any] | None = None,
    tells: int | None = None,
    fail: float = 0.05,
    **options: Any,
) -> nw.Optimizer:
    """A noisy run on the unit cube, in which some evaluations fail."""
    options = {"bounds": (np.zeros(6), np.ones(6)), "rng": 0} | options
    opt = nw.Optimizer(budget=budget, method=method, extra=extra, **options)
    rng = np.random.default_rng(1)
    while not opt.done and (tells is None or opt.spent < tells):
        for trial in opt.ask():
            value = float(((trial.x - 0.4) ** 2).sum() + 0.1 * rng.normal())
            value = -value if opt.maximize else value
            opt.tell(trial.id, math.nan if rng.random() < fail else value)
    return opt


@pytest.fixture(scope="module")
def hostile() -> str:
    extra = {"space": HOSTILE, "command": COMMAND, "shell": False}
    return page(facts.of(run(RBPEM(), confirm=10, extra=extra), "<b>run & $more ${x}</b>"))


class Collector(HTMLParser):
    """Elements and attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_nothing_comes_from_elsewhere_and_names_do_nothing(hostile: str) -> None:
    tags = Collector(hostile).tags
    names = [tag for tag, _ in tags]
    assert names.count("script") == 2  # data and the page's own
    assert not {"link", "iframe", "object", "img"} & set(names)
    for tag, attributes in tags:
        assert tag != "b" or set(attributes) == {"style"}  # marks on tracks
        assert not [a for a in attributes if a.startswith("on") or a in ("src", "href")]
    assert "http" not in hostile.replace("http-equiv", "")
    assert "<title>&lt;b&gt;run &amp; $more ${x}&lt;/b&gt;</title>" in hostile


def test_everything_is_told(hostile: str) -> None:
    for heading in (
        "Recommended", "Use it", "The luckiest draw", "How the run went", "Residuals",
        "How the budget was spent", "Which parameters mattered", "Where the search ended",
        "Checks of the noise model", "Noise and search", "Numbers",
        "What each parameter and each choice does",
    ):  # fmt: skip
        assert f">{heading}</h" in hostile, heading
    for figure in ("Values", "Misranking", "Step size"):
        assert f"<h3><bdi>{figure}</bdi>" in hostile, figure
    for constant in ("Population", "Mean learning rate"):
        assert f"<h3><bdi>{constant}</bdi>" not in hostile, constant
    assert "the mean of 10 evaluations of this point" in hostile.lower()
    assert "evaluations failed, counted" in hostile
    # One per number that was searched, and one of the parameter that clearly mattered.
    assert hostile.count('class="track"') == 5 + 1
    assert hostile.count("% of its range)") == 5
    assert "Not clear: " in hostile


def test_what_a_run_of_the_library_shows() -> None:
    text = page(facts.of(run(CMAES()), "plain"))
    assert "<bdi>x6</bdi>" in text
    assert "Misranking" not in text
    for absent in ("Use it", "Residuals", "Checks of the noise model", "has not ended"):
        assert absent not in text
    unbounded = page(facts.of(run(x0=np.zeros(6), sigma0=1.0, bounds=None), "plain"))
    spreads = unbounded[unbounded.index("Where the search ended") :]
    assert 'class="track"' not in spreads
    assert "mostly between" in spreads
    assert "as wide as at the start)" in spreads


def test_what_is_not_measured_yet() -> None:
    opt = nw.Optimizer(budget=40, bounds=[(0, 1)] * 2, rng=0, confirm=5)
    for trial in opt.ask():
        opt.tell(trial.id, float(trial.x[0]))
    shown = page(facts.of(opt, "plain"))
    assert "<p>Not measured yet</p>" in shown
    assert "kept to measure the answer: 5 evaluations." in shown
    assert "Set confirm" not in shown


@pytest.mark.parametrize("method", ["auto", "cma-es"])
def test_until_the_end_of_a_run_its_answer_is_still_to_be_measured(method: str) -> None:
    """Also when the evaluations that were kept for it are under way; the first few of them look
    for failures, and then count as its measurement."""
    opt = nw.Optimizer(budget=60, bounds=[(0, 1)] * 2, rng=0, confirm=24, method=method)
    noise, said = np.random.default_rng(0), set()
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x @ trial.x + 0.1 * noise.standard_normal()))
            found = facts.of(opt, "plain")
            if not (opt.done or np.isnan(found.value)):
                said.add(text.basis(found).partition(": ")[0])
                waits = text.estimate(found).endswith("(not measured yet)")
                assert waits == (trial.kind != "confirmation" or opt.spent < 60 - 24 + 3)
    assert said == {
        "what the method expects here so far; kept to measure the answer",
        "the mean of 3 evaluations of this point.",
    }
    assert "the mean of 24 evaluations" in text.basis(facts.of(opt, "plain"))


def test_without_evaluations_for_it_the_answer_is_not_going_to_be_measured() -> None:
    opt = nw.Optimizer(budget=40, bounds=[(0, 1)] * 2, rng=0, confirm=0, method="cma-es")
    while not opt.done:
        found = facts.of(opt, "plain")
        if not np.isnan(found.value):
            assert text.estimate(found).endswith("(not measured)")
            assert "Set confirm" in text.basis(found)
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x[0]))
    assert "Set confirm" in text.basis(facts.of(opt, "plain"))


def test_no_success_is_no_recommendation() -> None:
    space = {f"x{j}": "0..1" for j in range(6)}
    extra = {"command": ["./train", "{x0}"], "shell": False, "space": space}
    opt = run(budget=60, confirm=5, extra=extra)
    good = facts.of(opt, "plain")
    bad = dataclasses.replace(good, success=False)
    assert text.summary(good).startswith("Recommended:\n")
    assert "Use it:" in text.summary(good)
    assert "<h2>Recommended</h2>" in page(good)
    assert text.summary(bad).startswith("Nothing to recommend: the run ended without success.")
    assert "<h2>Nothing to recommend</h2>" in page(bad)
    for shown in (text.summary(bad), page(bad)):
        assert "Use it" not in shown
        assert "narrow its interval" not in shown


def test_a_command_with_a_seed_can_be_used_as_it_is_shown() -> None:
    space = {f"x{j}": "0..1" for j in range(6)}
    command = ["awk", "-v", "seed={seed}", "{x0}"]
    extra = {"command": command, "shell": False, "seeds": "common", "space": space}
    found = facts.of(run(budget=60, extra=extra), "plain")
    assert "Use it (any seed does; here 1):\n  awk -v seed=1 0." in text.summary(found)
    assert "<h3>Use it (any seed does; here 1)</h3>" in page(found)


def test_a_run_of_a_model_has_no_step_sizes() -> None:
    opt = run("auto", budget=60)
    assert np.isnan(opt.result().history["sigma"]).all()
    shown = page(facts.of(opt, "model")).split("<script")[0]
    assert "nan" not in shown
    for heading in ("Recommended", "How the budget was spent", "Where the search ended"):
        assert f">{heading}</h" in shown, heading
    assert "<bdi>Step size</bdi>" not in shown
    assert "<bdi>Values</bdi>" in shown
    assert shown.count("% of its range)") == 6


@pytest.mark.parametrize("tells", [0, 1, 7])
def test_a_run_that_has_hardly_begun(tells: int) -> None:
    opt = nw.Optimizer(budget=50, bounds=[(0, 1)] * 2, rng=0)
    for trial in opt.ask()[:tells]:
        opt.tell(trial.id, float(trial.x[0]))
    text = page(facts.of(opt, "early"))
    assert "The run has not ended yet." in text
    assert ("<bdi>Values</bdi>" in text) == (tells >= 2)
    assert "Where the search ended" not in text
    assert "1 generations" not in text
    assert ("No generation is complete yet." in text) == (opt.generation == 0)
    assert ("Save evaluations as CSV" in text) == (tells >= 1)


@pytest.mark.parametrize(
    ("n", "spent", "said"),
    [
        (1, 1, "A table of 1 evaluation."),
        (2, 2, "A table of all 2 evaluations."),
        (2, 9, "A table of the newest 2 evaluations."),
        (5, 5, "A table of the newest 4 evaluations. noisewise report --csv writes 5 of them."),
    ],
)
def test_which_evaluations_can_be_saved(
    n: int, spent: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of many, those that do not make the page too large."""
    from noisewise.report import page as pages

    monkeypatch.setattr(pages, "_DOWNLOADED", 4)
    told = facts.of(run(tells=n), "run")
    seen = told.evaluations
    assert len(seen) >= n
    first = type(seen)(seen.X[:n], seen.values[:n], seen.number[:n], seen.purpose[:n], 0)
    shown = dataclasses.replace(told, evaluations=first, spent=spent)
    assert f">{said}<" in page(shown)


@pytest.mark.parametrize("method", ["auto", "watchful"])
def test_a_run_in_which_nothing_worked(method: str) -> None:
    text = page(facts.of(run(method, fail=1.1), "sad"))
    assert "unknown" in text
    assert "<h2>Nothing to recommend</h2>" in text
    assert "<h3>Use it</h3>" not in text
    assert "no evaluation has succeeded" in text.lower()
    shown = text.split("<script")[0].replace("returned nan or inf", "")
    assert "nan" not in shown


def test_facts() -> None:
    opt = run(confirm=20)
    found, result = facts.of(opt, "run"), opt.result()
    assert found.value == result.fun
    assert found.measured == result.n_confirmations == 20
    assert found.measured_failed == result.n_confirmations_failed < 5
    # Student's t, at most 19 degrees of freedom, lengthened for the skewness
    half = (found.interval[1] - found.interval[0]) / 2
    assert 2.0 < half / result.fun_se < 2.6
    assert found.history["misranking_mean"][-1] == pytest.approx(result.misranking)
    assert found.history["luckiest"][-1] >= result.fun_best_observed
    assert sum(found.parts.values()) == 240
    assert [s.name for s in found.spreads] == [f"x{j}" for j in range(1, 7)]
    assert found.spreads[0].share == pytest.approx(opt.deviations[0])
    assert found.spreads[0].at == pytest.approx(result.x[0])


@pytest.mark.parametrize("method", ["auto", "watchful", "resample", "uh-cma-es", "sep-cma-es"])
def test_what_is_under_way_is_not_spent(method: str) -> None:
    opt = nw.Optimizer(budget=60, bounds=[(0, 1)] * 2, rng=0, method=method, confirm=7)
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.id % 5))
            parts = facts.of(opt, "run").parts
            assert sum(parts.values()) == 60
            assert parts["not spent"] == 60 - opt.spent
            assert min(parts.values()) >= 0
    assert parts["confirming the answer"] >= 7


@pytest.mark.parametrize("told", [None, 190])
def test_every_evaluation_is_counted_as_what_it_was_for(told: int | None) -> None:
    """Compared with the kinds of the trials as they were handed out; those on their way are not
    spent yet."""
    opt = nw.Optimizer(budget=200, bounds=[(0, 1)] * 2, rng=3, method="watchful")
    rng, kinds = np.random.default_rng(2), Counter[str]()
    while not opt.done and opt.spent != told:
        for trial in opt.ask():
            if opt.spent != told:
                kinds[trial.kind] += 1
                opt.tell(trial.id, float(trial.x @ trial.x + rng.normal()))
    parts = facts.of(opt, "run").parts
    measured = ("measuring earlier answers", "confirming the answer")
    assert kinds["candidate"] == parts["new candidates"] > 0
    assert kinds["reevaluation"] == parts["re-evaluations"] > 0
    assert kinds["finalist"] == parts["choosing between finalists"] > 0
    assert kinds["confirmation"] == sum(parts.get(what, 0) for what in measured)
    assert parts["not spent"] == 200 - (told or 200)


class Racing(nw.methods.GP):
    """Finalists race although a model has averaged all values."""

    races: ClassVar[bool] = True


def test_the_page_and_the_table_of_the_budget_count_the_same_confirmations() -> None:
    """Two evaluations may have tested for noise before a race chose the point."""
    rng = np.random.default_rng(0)
    tested = 0
    for seed in range(2):
        opt = nw.Optimizer(budget=100, bounds=[(0, 1)] * 2, rng=seed, method=Racing())
        while not opt.done:
            for trial in opt.ask():
                opt.tell(trial.id, float(trial.x @ trial.x + rng.normal()))
        found = facts.of(opt, "run")
        assert found.parts["confirming the answer"] == found.measured
        assert sum(found.parts.values()) == 100
        tested += found.parts.get("measuring earlier answers", 0)
        assert page(found).count("measuring earlier answers") == (tested > 0)
    assert tested > 0


def test_values_that_never_differ_are_not_drawn() -> None:
    opt = nw.Optimizer(budget=40, bounds=[(0, 1)] * 2, rng=0)
    assert "There are no evaluations yet." in page(facts.of(opt, "run"))
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, 1.0)
    found = facts.of(opt, "run")
    html = page(found)
    assert "all are the same" in html
    assert "does the objective use its parameters?</p>" in html
    for absent in ("<figure", "Which parameters mattered", "The model expects"):
        assert absent not in html, absent
    assert "use its parameters?\n" in summary(found) + "\n"


def test_equal_values_are_exact_where_candidates_tie() -> None:
    opt = nw.Optimizer(budget=60, bounds=[(0, 1)] * 2, rng=0, method="watchful")
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x[0] > 0.5))
    assert "agreed exactly" in opt.result().message
    assert opt.result().misranking == 0.0
    assert facts.of(opt, "run").exact


@pytest.mark.parametrize("budget", [40, 600])  # a model, an evolution strategy
def test_what_is_exact_is_not_called_luck(budget: int) -> None:
    opt = nw.Optimizer(budget=budget, bounds=[(0, 1)] * 3, rng=0)
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, float(trial.x @ trial.x))
    assert opt.result().estimate == "exact"
    said = summary(facts.of(opt, "run"))
    assert "Do not trust it" not in said
    assert "re-evaluations" in said.split("Luckiest")[0]


@pytest.mark.parametrize("method", ["auto", "watchful", "cma-es"])
@pytest.mark.parametrize("budget", [59, 60, 61, 62])
def test_a_point_that_was_not_measured_is_not_said_to_be(method: str, budget: int) -> None:
    """Also where a single evaluation was left over."""
    opt = run(method, budget, confirm=0, fail=0.0)
    found, said = facts.of(opt, "run"), " ".join(summary(facts.of(opt, "run")).split())
    assert found.confirmed == (opt.result().estimate != "unknown")
    assert ("of this point" in said) == found.confirmed
    assert "the mean of 0 evaluations" not in said


def test_names_of_a_wrong_space_are_not_used() -> None:
    for space in ({"a": "0..1"}, {"a": 3}, ["a"], {"a": "0..1:odd"}):
        found = facts.of(run(budget=30, extra={"space": space, "command": 3}), "run")
        assert list(found.recommended) == [f"x{j}" for j in range(1, 7)]
        assert found.command == ""


def test_more_is_better_turns_signs() -> None:
    less, more = (facts.of(run(maximize=m), "run") for m in (False, True))
    assert more.value == -less.value
    assert more.luckiest_value == -less.luckiest_value
    assert more.interval == tuple(-end for end in reversed(less.interval))
    np.testing.assert_array_equal(more.history["luckiest"], -less.history["luckiest"])


@pytest.mark.parametrize(
    ("low", "high", "log", "ticks"),
    [
        (0.0, 1.0, False, ["0", "0.2", "0.4", "0.6", "0.8", "1"]),
        (-0.031, 0.072, False, ["-0.025", "0", "0.025", "0.05"]),
        (0.0, 3000.0, False, ["0", "1000", "2000", "3000"]),
        (0.5, 4.0, True, ["0.5", "1", "2"]),
        (1e-12, 1e3, True, ["1e-12", "1e-9", "1e-6", "0.001", "1", "1000"]),
        (0.9, 150.0, True, ["1", "10", "100"]),
        (1e6, 9e6, False, ["2e6", "4e6", "6e6", "8e6"]),
    ],
)
def test_ticks_are_round(low: float, high: float, log: bool, ticks: list[str]) -> None:
    assert [short(t) for t in Axis(low, high, 0.0, 1.0, log).ticks()] == ticks


@pytest.mark.parametrize("values", [[1.0] * 5, [math.nan] * 5, [1e-150, 1e150, 1.0, 2.0, 3.0]])
def test_odd_data_can_be_drawn(values: list[float]) -> None:
    series = Series("s", np.array(values))
    for log in (True, False):
        text = draw(Chart("c", "t", (series,), ((1.0, "mark"),), log=log), np.arange(1.0, 6.0))
        assert "nan" not in text
        assert "inf" not in text


@pytest.fixture(scope="module")
def browser(hostile: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("NOISEWISE_REQUIRE_BROWSER"):
            pytest.fail("NOISEWISE_REQUIRE_BROWSER is set, but there is no chromium")
        pytest.skip("needs chromium")
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(hostile, encoding="utf-8")
    with Browser() as opened:
        opened.size(1280, 900)
        opened.open(path)
        yield opened


def test_it_runs_alone(browser: Browser) -> None:
    assert browser.evaluate("document.title") == "<b>run & $more ${x}</b>"
    assert browser.evaluate("typeof window.pwned") == "undefined"
    assert [url for url in browser.requests if not url.startswith("file:")] == []
    assert browser.complaints == []
    for name in HOSTILE:
        assert browser.evaluate(f"document.body.innerText.includes({json.dumps(name)})"), name


def readings(browser: Browser) -> list[str]:
    """What stands below the figures, that of all values first."""
    found: list[str] = browser.evaluate(
        "[...document.querySelectorAll('[data-chart=values] output'), "
        "...document.querySelectorAll('figure:not([data-chart=values]) output')]"
        ".map(o => o.textContent)"
    )
    return found


def test_figures_are_read_together(browser: Browser) -> None:
    """A pointer over one figure reads all of them at the same evaluation; so do arrow keys."""
    n = len(readings(browser))
    read = len(browser.evaluate("Object.keys(JSON.parse(data.textContent).charts)"))
    assert 3 <= read < n  # cuts and maps are not over the evaluations
    assert readings(browser) == [""] * n
    move = (
        "(() => { const s = document.querySelector('figure[data-chart=values] svg'), "
        "b = s.getBoundingClientRect(); s.dispatchEvent(new PointerEvent('%s', "
        "{clientX: b.left + %s * b.width, clientY: b.top + 20})); })()"
    )
    browser.evaluate(move % ("pointermove", 1.0))
    assert browser.evaluate("document.querySelectorAll('svg.reading').length") == read
    last = readings(browser)
    assert last[0].startswith("After 2")
    assert "expected " in last[0]
    assert len({text.split(":")[0] for text in last if text}) == 1
    browser.evaluate(move % ("pointermove", 0.0))
    assert readings(browser)[0].startswith("After 1")
    assert readings(browser)[0] != last[0]
    browser.evaluate(move % ("pointerleave", 0.0))
    assert readings(browser) == [""] * n
    key = (
        "document.querySelector('figure[data-chart=values] svg')"
        ".dispatchEvent(new KeyboardEvent('keydown', {key: '%s'}))"
    )
    browser.evaluate(key % "ArrowLeft")
    assert readings(browser) == last
    browser.evaluate(key % "ArrowLeft")
    assert readings(browser) != last
    browser.evaluate(move % ("pointerleave", 0.0))


def test_it_can_be_read_on_a_phone(browser: Browser) -> None:
    browser.size(390, 844)
    assert browser.evaluate("document.documentElement.scrollWidth") == 390
    widths = browser.evaluate(
        "[...document.querySelectorAll('figure > svg')].map(s => s.getBoundingClientRect().width)"
        ".filter(width => width > 0)"
    )
    assert min(widths) > 340
    assert max(widths) <= 390
    sizes = browser.evaluate(
        "[...document.querySelectorAll('td, p, div.row, figcaption, figure > svg text')]"
        ".filter(e => e.getBoundingClientRect().width > 0).map(e => "
        "parseFloat(getComputedStyle(e).fontSize) * "
        "(e.ownerSVGElement ? e.ownerSVGElement.getBoundingClientRect().width / "
        "e.ownerSVGElement.viewBox.baseVal.width : 1))"
    )
    assert min(sizes) >= 11
    browser.size(1280, 900)


def test_figures_and_evaluations_can_be_saved(browser: Browser) -> None:
    """What the buttons hand to the browser, whose own dialogue is left out."""
    browser.evaluate(
        "window.saved = []; HTMLAnchorElement.prototype.click = function () "
        "{ saved.push(this.download); }"
    )
    browser.evaluate("document.querySelectorAll('button[data-save]').forEach(b => b.click())")
    wanted = browser.evaluate("document.querySelectorAll('button[data-save]').length")
    deadline = time.monotonic() + 60
    while browser.evaluate("saved.length") < wanted and time.monotonic() < deadline:
        time.sleep(0.05)
    saved = browser.evaluate("saved")
    assert len(saved) == wanted
    assert "b-run-more-x-b.csv" in saved
    assert {"b-run-more-x-b-values.svg", "b-run-more-x-b-values.png"} <= set(saved)
    rows = browser.evaluate("JSON.parse(data.textContent).csv").splitlines()
    assert len(rows) == 1 + 240
    assert rows[0].startswith("evaluation,purpose,value,")


def contrast(browser: Browser) -> float:
    """Of the text to the page, by the rule of WCAG 2."""
    script = "getComputedStyle(document.body).%s.match(/\\d+/g).slice(0, 3).map(Number)"
    light = []
    for name in ("color", "backgroundColor"):
        rgb = np.array(browser.evaluate(script % name)) / 255.0
        linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
        light.append(float(linear @ [0.2126, 0.7152, 0.0722]) + 0.05)
    return max(light) / min(light)


def test_in_the_dark_and_on_paper(browser: Browser) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    assert contrast(browser) > 7.0
    assert browser.evaluate(paper) == "rgb(255, 255, 255)"
    emulate(browser, features=[{"name": "prefers-color-scheme", "value": "dark"}])
    assert contrast(browser) > 7.0
    assert browser.evaluate(paper) != "rgb(255, 255, 255)"
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    emulate(browser, media="print", features=dark)
    assert browser.evaluate(paper) == "rgb(255, 255, 255)"
    assert browser.evaluate("getComputedStyle(document.querySelector('output')).display") == "none"
    emulate(browser, media="", features=[])


def emulate(browser: Browser, **media: Any) -> None:
    browser._call("Emulation.setEmulatedMedia", **media)


@pytest.mark.parametrize("tells", [1, 3])
def test_the_page_of_a_run_that_has_hardly_begun(tells: int) -> None:
    """Nothing that is as at the start, no claim about luck or noise, singular and plural."""
    opt = nw.Optimizer(bounds=[(-1.0, 1.0)] * 3, budget=200, rng=0, method="watchful")
    for trial in opt.ask(tells):
        opt.tell(trial.id, float(trial.x @ trial.x))
    found = facts.of(opt, "early")
    html = page(found)
    assert "Recommended so far" in html
    assert "There are too few evaluations for an estimate yet." in html
    assert "Still running; 0 generations" in html
    for absent in ("Where the search", "evaluated twice", "all 1 ", "1 values", "1 evaluations"):
        assert absent not in html
    assert ("The luckiest draw" in html) == (tells > 1)
    assert ("the only value so far" in summary(found)) == (tells == 1)


@pytest.mark.parametrize(("d", "missing"), [(6, False), (300, True)])
def test_means_stand_for_values_that_are_not_remembered(d: int, missing: bool) -> None:
    opt = run(CMAES(covariance="diagonal"), 900, bounds=(np.zeros(d), np.ones(d)))
    found = facts.of(opt, "long")
    assert (found.evaluations.missing > 0) == missing
    shown = page(found)
    assert ("mean of a generation, before that" in shown) == missing
    assert ('<path class="aside" d="M' in shown.split("Noise and search")[0]) == missing


def test_a_search_without_bounds_says_how_much_narrower_it_became() -> None:
    opt = run(CMAES(), 120, bounds=None, x0=np.zeros(3), sigma0=1.0)
    assert page(facts.of(opt, "open")).count("times as wide as at the start") == 3
