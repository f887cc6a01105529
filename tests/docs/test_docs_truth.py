"""What the front door says is what the committed results say, and what is public is explained."""

from __future__ import annotations

import doctest
import html
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from docs_blocks import ROOT

import noisewise as nw
from noisewise import executors, methods, space
from noisewise_bench import headline

PAGES = ["README.md", "docs/which-method.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_headline_is_that_of_the_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    content = headline.tables(headline.duels(ROOT / "docs" / "findings"))
    assert text == headline.rewritten(text, content), (
        f"run python -m noisewise_bench.headline --picture docs/assets/headline.svg "
        f"--write {' '.join(PAGES)}"
    )


def test_the_headline_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{headline.BEGIN}\nold\n{headline.END}\nafter\n")
    findings = str(ROOT / "docs" / "findings")
    picture = tmp_path / "picture.svg"
    code = headline.main(["--findings", findings, "--write", str(page), "--picture", str(picture)])
    printed = capsys.readouterr().out
    assert code == 0
    assert page.read_text() == f"before\n{headline.BEGIN}\n{printed}{headline.END}\nafter\n"
    for drawn in (picture, ROOT / "docs" / "assets" / "headline.svg"):
        assert printed.strip() in html.unescape(drawn.read_text(encoding="utf-8")), (
            f"{drawn} is old"
        )


def test_what_the_headline_command_cannot_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One sentence and exit code 2; no page is half written."""
    findings, bare, marked = ROOT / "docs" / "findings", tmp_path / "bare.md", tmp_path / "m.md"
    bare.write_text("nothing")
    marked.write_text(f"{headline.BEGIN}\nold\n{headline.END}\n")
    for wrong, said in (
        (["--findings", str(tmp_path)], "No such file"),
        (["--findings", str(findings), "--write", str(marked), str(bare)], "the page has no"),
    ):
        assert headline.main(wrong) == 2
        assert said in capsys.readouterr().err
    assert "old" in marked.read_text()
    with pytest.raises(ValueError, match="the results have no pycma, separable on"):
        headline.tables([])


def public() -> dict[str, Any]:
    """Public classes and functions by name; interfaces apart, which only the guides can show."""
    found = {}
    for module in (nw, methods, executors, space):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found[f"{module.__name__}.{name}"] = thing
    return {name: thing for name, thing in found.items() if not inspect.isabstract(thing)}


@pytest.mark.parametrize(("name", "thing"), public().items(), ids=list(public()))
def test_every_public_name_has_an_example_and_a_place(name: str, thing: Any) -> None:
    """Whether examples are right is for tests/test_doctests.py to say."""
    if name in INTERNAL:
        return
    tests = doctest.DocTestFinder(recurse=False).find(thing, name)
    assert any(test.examples for test in tests), f"{name} has no example"
    pages = "".join(p.read_text() for p in (ROOT / "docs" / "api").glob("*.md"))
    last = name.rpartition(".")[2]
    whole = re.search(r"^::: (noisewise\.executors|noisewise\.generation)$", pages, re.MULTILINE)
    assert re.search(rf"^::: [\w.]+\.{last}$", pages, re.MULTILINE) or (
        whole and name.startswith(whole[1])
    ), f"{name} is on no page of the API"


#: In __all__ for other modules of the library.
INTERNAL = {"noisewise.executors.start", "noisewise.methods.names"}
