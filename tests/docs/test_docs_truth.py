"""What the front door says is what the committed results say, and what is public is explained."""

from __future__ import annotations

import doctest
import html
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from docs_blocks import ROOT

import noisewise as nw
from noisewise import executors, methods, policy, space, weights
from noisewise.integrations import optuna as integrations_optuna
from noisewise.integrations import sklearn as integrations_sklearn
from noisewise_bench import campaign, headline, options, problem, score, summary
from noisewise_bench.problems import registry


@pytest.mark.parametrize("page", ["README.md", "docs/start.md"])
def test_the_first_example_prints_an_interval_that_holds_the_truth(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    code = next(block for block in blocks if "nw.minimize(flight" in block)
    names: dict[str, Any] = {}
    exec(code, names)
    printed = capsys.readouterr().out
    found = re.search(r"95 % interval (\S+) to ([^\s),]+)", printed)
    assert found is not None
    truth = float(((names["r"].x - 0.3) ** 2).sum() * np.exp(0.5))
    assert float(found[1]) <= truth <= float(found[2])
    shown = re.match(r"\s*<!-- output varies -->\s*```text\n(.*?)```", after(text, code), re.DOTALL)
    assert (shown is not None) == (page == "README.md")
    if shown:
        words, numbers = apart(shown[1])
        assert words == apart(printed)[0]
        assert numbers == pytest.approx(apart(printed)[1], rel=0.05)


def after(text: str, code: str) -> str:
    """What follows a block of code on a page."""
    return text.partition(f"{code}```\n")[2]


def apart(printed: str) -> tuple[list[str], list[float]]:
    """The words of a text, line breaks aside, and its numbers."""
    number = r"\d+(?:\.\d+)?(?:e[-+]?\d+)?"
    return re.sub(number, "#", printed).split(), [float(n) for n in re.findall(number, printed)]


def test_no_example_of_what_you_bring_is_longer_than_ten_lines() -> None:
    text = (ROOT / "docs/guides/what-you-bring.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```(?:python|sh)\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) >= 11
    assert max(len([line for line in b.splitlines() if line.strip()]) for b in blocks) <= 10


@pytest.mark.xdist_group("digests")
@pytest.mark.parametrize("page", headline.PAGES)
def test_the_headline_is_that_of_the_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    content = headline.content(ROOT / "docs" / "findings")
    assert text == headline.rewritten(text, content), f"run {headline.COMMAND}"


@pytest.mark.parametrize("page", summary.PAGES)
def test_the_summary_is_that_of_the_results(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    short = headline.short(ROOT / "docs" / "findings")
    assert text == headline.rewritten(text, short, summary.BEGIN, summary.END), (
        f"run {headline.COMMAND}"
    )
    rows = [line for line in short.splitlines() if line.startswith("| ")][1:]
    assert all(1 <= len(re.findall(r"\d+ %", row)) <= 3 for row in rows)


@pytest.mark.parametrize("page", options.PAGES)
def test_tables_of_options_are_those_of_the_docstrings(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert text.count("<!-- options ") >= 7
    assert text == options.renewed(text), f"run python -m noisewise_bench.options {page}"


@pytest.mark.xdist_group("digests")
def test_the_headline_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{headline.BEGIN}\nold\n{headline.END}\nafter\n")
    findings = str(ROOT / "docs" / "findings")
    picture = tmp_path / "picture.svg"
    code = headline.main(["--findings", findings, "--write", str(page), "--picture", str(picture)])
    printed = capsys.readouterr().out
    assert code == 0
    assert page.read_text() == f"before\n{headline.BEGIN}\n{printed}{headline.END}\nafter\n"
    shown = headline.tables(headline.duels(ROOT / "docs" / "findings"))
    assert shown in printed
    for drawn in (picture, ROOT / "docs" / "assets" / "headline.svg"):
        assert shown in html.unescape(drawn.read_text(encoding="utf-8")), f"{drawn} is old"


@pytest.mark.xdist_group("digests")
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


#: Modules whose public names are promised, and names that are public for other modules only.
PROMISED = [
    nw,
    methods,
    executors,
    policy,
    space,
    weights,
    integrations_optuna,
    integrations_sklearn,
]
INTERNAL = {"noisewise.executors.start", "noisewise.methods.names"}
#: Modules with examples that tests/test_doctests.py does not reach.
ELSEWHERE = [
    integrations_optuna,
    integrations_optuna.recommendation,
    integrations_optuna.sampler,
    integrations_optuna.transfer,
    integrations_sklearn,
    integrations_sklearn.search,
    campaign,
    problem,
    registry,
    score,
]


def public() -> dict[str, Any]:
    """Public classes and functions by name; interfaces apart, which only the guides can show."""
    found = {
        f"{module.__name__}.{name}": getattr(module, name)
        for module in PROMISED
        for name in module.__all__
    }
    return {
        name: thing
        for name, thing in found.items()
        if (inspect.isclass(thing) or inspect.isfunction(thing))
        and not inspect.isabstract(thing)
        and name not in INTERNAL
    }


@pytest.mark.parametrize("module", ELSEWHERE, ids=lambda module: str(module.__name__))
def test_examples(module: Any) -> None:
    assert doctest.testmod(module).failed == 0


def listed() -> set[str]:
    """What the pages of the API promise, one by one."""
    pages = "\n".join(p.read_text() for p in sorted((ROOT / "docs" / "api").glob("*.md")))
    return set(re.findall(r"^::: ([\w.]+)$", pages, re.MULTILINE))


@pytest.mark.parametrize(("name", "thing"), public().items(), ids=list(public()))
def test_every_public_name_has_an_example_and_a_place(name: str, thing: Any) -> None:
    """Whether examples are right is for the doctests to say."""
    tests = doctest.DocTestFinder(recurse=False).find(thing, name)
    assert any(test.examples for test in tests), f"{name} has no example"
    module, _, last = name.rpartition(".")
    there = any(entry.rpartition(".")[2] == last or entry == module for entry in listed())
    assert there, f"{name} is on no page of the API"


def test_the_bench_on_the_pages_has_examples() -> None:
    ours = [entry for entry in sorted(listed()) if entry.startswith("noisewise_bench")]
    assert ours
    for entry in ours:
        module, _, name = entry.rpartition(".")
        thing = getattr(importlib.import_module(module), name)
        assert ">>>" in (thing.__doc__ or ""), f"{entry} has no example"


def test_files_that_the_architecture_names_exist() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([\w/]+\.py|tests/[\w/.]+|bench/[\w/.]+)`", text))
    assert len(named) > 40
    homes = (ROOT, ROOT / "src" / "noisewise")
    assert [one for one in sorted(named) if not any((home / one).exists() for home in homes)] == []
