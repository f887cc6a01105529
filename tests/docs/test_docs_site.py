"""The documentation site: builds without a warning, needs no network, leaves nothing out."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from docs_blocks import ROOT

from browser import CHROMIUM, Browser


@pytest.mark.untraced
def test_the_site(tmp_path: Path) -> None:
    """One test, because building takes longer than all that is looked at."""
    build(tmp_path)
    assert list(broken(tmp_path)) == []
    nothing_is_loaded_from_elsewhere(tmp_path)
    every_equation_is_rendered(tmp_path)
    docstrings_become_lists_and_examples(tmp_path)
    it_reads_well_in_a_browser(tmp_path)


def build(folder: Path) -> None:
    """Warnings are about broken links, and about pages that the navigation leaves out."""
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(folder)],
        cwd=ROOT,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stderr


class Links(HTMLParser):
    """Where a page points to, what it loads, and the places in it."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {value for name in ("id", "name") if (value := given.get(name))}
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        elif tag in ("img", "script") and given.get("src"):
            self.loaded.append(str(given["src"]))
        elif tag == "link" and given.get("rel") == "stylesheet":
            self.loaded.append(str(given["href"]))


def broken(folder: Path) -> Iterator[str]:
    """Links to pages, pictures and places that are not there."""
    found = {page: Links(page) for page in folder.rglob("*.html")}
    for page, links in found.items():
        for link in links.links + links.loaded:
            url = urlsplit(link)
            if url.scheme or url.netloc or page.name == "404.html":
                continue
            target = page if not url.path else (page.parent / unquote(url.path)).resolve()
            target = target / "index.html" if target.is_dir() else target
            if not target.exists():
                yield f"{page.name}: {link}"
            elif (
                url.fragment and target in found and unquote(url.fragment) not in found[target].ids
            ):
                yield f"{page.name}: {link} (no such place)"


def nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        elsewhere = [url for url in Links(page).loaded if urlsplit(url).netloc]
        assert not elsewhere, f"{page.name} loads {elsewhere}"


def every_equation_is_rendered(site: Path) -> None:
    theory = (site / "theory.html").read_text(encoding="utf-8")
    assert theory.count("<math") > 50
    assert "arithmatex" not in theory
    assert not re.search(r"<merror|\\(frac|sum|hat)\b", theory)


def docstrings_become_lists_and_examples(site: Path) -> None:
    page = (site / "api" / "methods.html").read_text(encoding="utf-8")
    assert "<dt><code>k_max</code></dt>" in page
    assert '<span class="gp">&gt;&gt;&gt; </span>' in page
    for shown in (site / "api").glob("*.html"):
        assert not re.search(r"<(p|blockquote)>\s*&gt;&gt;&gt;", shown.read_text(encoding="utf-8"))


def test_links_of_pages_outside_the_site() -> None:
    """As they are read in the repository."""
    for page in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8")):
            assert urlsplit(target).scheme or (ROOT / target).exists(), f"{page.name}: {target}"


def it_reads_well_in_a_browser(site: Path) -> None:
    if CHROMIUM is None:
        if os.environ.get("NOISEWISE_REQUIRE_BROWSER"):
            pytest.fail("NOISEWISE_REQUIRE_BROWSER is set, but there is no chromium")
        pytest.skip("all but the look of the pages is fine; that needs chromium")
    with Browser() as browser:
        browser.size(390, 800)
        for page in ("index.html", "api/minimize.html", "theory.html"):
            browser.open(site / page)
            assert browser.evaluate("document.documentElement.scrollWidth") == 390, page
        inline = "document.querySelector('math').getBoundingClientRect().width"
        assert browser.evaluate(inline) > 5
        outside = [u for u in browser.requests if not u.startswith(("file:", "data:", "blob:"))]
        assert outside == []
        assert browser.complaints == []
