"""The campaign's page, as a file and in a browser."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from test_score import row

from browser import CHROMIUM, Browser
from noisewise_bench import figures
from noisewise_bench import page as page_module
from noisewise_bench.page import page, panels
from noisewise_bench.score import Rank
from noisewise_bench.tables import Column, Table
from noisewise_bench.task import Row

HOSTILE = [
    "<script>window.pwned=1</script>",
    'a"onmouseover="window.pwned=1',
    "$x^2$ & _{",
    "_hidden",
    "日本語\u202e",
    "method-with-a-name-so-long-that-no-table-or-figure-could-show-all-of-it(population=120)",
]


def campaign() -> list[Row]:
    """Two groups, hostile names, a failure, a study, and a problem whose truth is costly."""
    rng = np.random.default_rng(0)
    rows = []
    for i, method in enumerate(["plain", *HOSTILE]):
        for seed in range(6):
            for dimension in (2, 5):
                regret = float(10 ** rng.normal(i / 4, 0.5))
                curve = [[n, 100 * regret / n, 200 * regret / n] for n in (4, 8, 20, 40)]
                rows.append(
                    row(
                        method,
                        regret,
                        seed,
                        problem=f"s<b>/f{1 + seed % 2}/i{seed}/d{dimension}",
                        dimension=dimension,
                        evaluations=40,
                        curve=json.dumps(curve),
                        options='{"k": "</script><b>"}',
                        environment='{"python": "3"}',
                        version="1.0",
                        finished="2020-01-02T03:04:05",
                        uncharged=5 if method == "_hidden" else 0,
                    )
                )
    broken = row("plain", np.nan, 99, error="<b>Boom</b>: $", environment="{}", version="1.0")
    costly = row("plain", 1.0, problem="task/x/s1", best_evaluated_regret=np.nan, environment="{}")
    return [*rows, broken, costly]


@pytest.fixture(scope="module")
def text() -> str:
    return page(campaign(), "plain", "A <campaign> & more")


class Collector(HTMLParser):
    """Elements, attributes, and what is left open."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_nothing_in_the_page_comes_from_elsewhere(text: str) -> None:
    found = Collector()
    found.feed(text)
    names = [tag for tag, _ in found.tags]
    assert "Metric:" not in text  # each section says so once
    assert names.count("script") == 1
    assert not {"link", "iframe", "object", "img", "b"} & set(names)
    for _, attributes in found.tags:
        assert not {"src", "onmouseover", "onclick"} & set(attributes)
        for key in ("href", "xlink:href"):
            assert (attributes.get(key) or "#").startswith("#")
    assert "url(http" not in text
    assert "@import" not in text


def test_every_identifier_occurs_once(text: str) -> None:
    """Figures share a page; equal clip paths may share a name, parts may not."""
    found = re.findall(r'<(?:g|path|section|svg)[^>]* id="([^"]+)"', text)
    sections = [name for name in found if not re.fullmatch(r"[mpC][0-9a-z_]+", name)]
    assert sorted(sections) == ["best-evaluated-regret", "recommended-regret", "runs"]


def test_both_metrics_and_the_failures_are_told(text: str) -> None:
    assert "Against plain, recommended regret" in text
    assert "Against plain, best-evaluated regret" in text
    assert "&lt;b&gt;Boom&lt;/b&gt;: $" in text
    assert "A &lt;campaign&gt; &amp; more" in text
    assert "without paying" in text
    assert text.count("<svg") == 2 * 3 * 2  # metrics, figures, groups


def test_the_same_rows_give_the_same_figure(text: str) -> None:
    for drawn in panels(campaign(), "recommended", "plain").values():
        assert figures.svg(drawn[0]) in text


def test_figures_for_print(tmp_path: Path) -> None:
    found = panels(campaign(), "recommended", "plain")
    assert set(found) == {"difference", "profile", "convergence"}
    starts = {"difference.pdf": b"%PDF", "profile.png": b"\x89PNG", "convergence.svg": b"<?xml"}
    for name, start in starts.items():
        path = tmp_path / name
        figures.save(found[path.stem], path)
        assert path.read_bytes().startswith(start)
        assert path.stat().st_size > 5000


def test_methods_are_told_apart_without_colour() -> None:
    look = figures.looks([str(i) for i in range(21)])
    assert len({(s["color"], s["linestyle"]) for s in look.values()}) == 21
    assert len({s["marker"] for s in list(look.values())[:7]}) == 7


def test_colours_differ_for_every_kind_of_sight() -> None:
    """Neighbouring colours keep a distance in lightness or hue under simulated dichromacy."""
    from matplotlib.colors import to_rgb

    look = figures.looks([str(i) for i in range(7)])
    rgb = np.array([to_rgb(s["color"]) for s in look.values()]) ** 2.2
    # Viénot, Brettel and Mollon (1999): linear RGB as seen without L, and without M cones.
    protan = np.array([[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]])
    deutan = np.array([[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]])
    for seen in (rgb, rgb @ protan.T, rgb @ deutan.T):
        shown = np.clip(seen, 0, 1) ** (1 / 2.2)
        apart = np.linalg.norm(shown[:, None] - shown[None], axis=2)
        assert np.min(apart[~np.eye(7, dtype=bool)]) > 0.12


@pytest.fixture(scope="module")
def browser(text: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    if CHROMIUM is None:
        if os.environ.get("NOISEWISE_REQUIRE_BROWSER"):
            pytest.fail("NOISEWISE_REQUIRE_BROWSER is set, but there is no chromium")
        pytest.skip("needs chromium")
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_text(text, encoding="utf-8")
    with Browser() as opened:
        opened.size(1280, 900)
        opened.open(path)
        yield opened


def column(browser: Browser, index: int) -> list[str]:
    script = (
        "[...document.querySelector('table.sortable').tBodies[0].rows].map(r => r.cells[%d].%s)"
    )
    shown: list[str] = browser.evaluate(script % (index, "dataset.v"))
    return shown


def click(browser: Browser, index: int) -> str:
    head = f"document.querySelector('table.sortable').tHead.rows[0].cells[{index}]"
    browser.evaluate(f"{head}.querySelector('button').click()")
    return str(browser.evaluate(f"{head}.getAttribute('aria-sort')"))


def test_the_page_runs_alone_and_hostile_names_do_nothing(browser: Browser) -> None:
    assert browser.evaluate("document.title") == "A <campaign> & more"
    assert browser.evaluate("typeof window.pwned") == "undefined"
    assert [url for url in browser.requests if not url.startswith("file:")] == []
    assert browser.complaints == []
    assert browser.evaluate(f"document.body.innerText.includes({json.dumps(HOSTILE[0])})")


def test_a_click_sorts_by_value_and_a_second_one_turns_round(browser: Browser) -> None:
    wins = 5
    before = column(browser, wins)
    assert click(browser, wins) == "ascending"
    assert column(browser, wins) == sorted(before, key=float)
    assert click(browser, wins) == "descending"
    assert column(browser, wins) == sorted(before, key=float, reverse=True)
    assert click(browser, 3) == "ascending"
    assert sorted(column(browser, wins)) == sorted(before)
    names = column(browser, 3)
    assert names[0] != names[-1]
    marked = browser.evaluate("document.querySelectorAll('table.sortable [aria-sort]').length")
    assert marked == 1


def test_it_can_be_read_on_a_phone(browser: Browser) -> None:
    browser.size(390, 844)
    assert browser.evaluate("document.documentElement.scrollWidth") == 390
    widths = browser.evaluate(
        "[...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect().width)"
    )
    assert min(widths) > 300
    assert max(widths) <= 390
    sizes = browser.evaluate(
        "[...document.querySelectorAll('td, p, dd')]"
        ".map(e => parseFloat(getComputedStyle(e).fontSize))"
    )
    assert min(sizes) >= 12


def test_who_won_is_said_first_and_the_first_table_is_narrow() -> None:
    def rank(method: str, mean: float, first: int) -> Rank:
        return Rank((), "recommended", method, 10, mean, mean, first)

    said = page_module._won([rank("a", 1.2, 8), rank("b", 1.8, 2)])
    assert said == (
        "a has the best mean rank of 2 methods, 1.20, before b (1.80), and is first in 8 of 10 "
        "runs."
    )
    assert page_module._won([rank("a", 1.5, 5), rank("b", 1.5, 5)]) == (
        "a and b have the same mean rank, 1.50."
    )
    table = Table("t", (Column("n"), Column("sign"), Column("wins")), ((1, 2, 3),))
    short = page_module._without(table, page_module._ASIDE)
    assert [column.name for column in short.columns] == ["n", "wins"]
    assert short.rows == ((1, 3),)
