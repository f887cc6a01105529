"""docs/paper.md names code, tests and commands that exist, and every numbered item of the paper."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from docs_blocks import ROOT

from noisewise_bench.experiments import deviations
from noisewise_bench.experiments.__main__ import ALONE, STUDIES
from noisewise_bench.experiments.paper._registry import artifacts

PAGE = (ROOT / "docs/paper.md").read_text(encoding="utf-8")
#: What the PDF numbers, as `python -m noisewise_bench.numbering` prints it from its source.
PARTS = list(csv.DictReader((ROOT / "tests/docs/paper_numbers.csv").open(encoding="utf-8")))
KINDS = sorted({part["kind"] for part in PARTS} - {"Section"})
#: Introduction and conclusion state nothing of their own; parents are told by their parts.
SILENT = {"1", "3", "4", "5", "6", "7", "C", "F"}
EQUATIONS = {part["number"] for part in PARTS if part["kind"] == "Eq."}
STEPS = 5  # of Appendix B, numbered by hand
_CELL = re.compile(r"`([^`]+)`")


def _rows() -> list[list[str]]:
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in PAGE.splitlines()
        if line.startswith("| ") and not line.startswith("| section ")
    ]
    assert all(len(row) == 8 for row in rows)
    return rows


ROWS = _rows()


@pytest.mark.parametrize("row", ROWS, ids=[row[1] for row in ROWS])
def test_every_row_points_at_what_exists(row: list[str]) -> None:
    _, _, _, code, test, command, *_ = row
    for path, name in (cell.split(":") for cell in _CELL.findall(code)):
        text = _source(path).read_text(encoding="utf-8")
        assert re.search(rf"^(?:class |def )?{name}\b", text, re.MULTILINE), f"{path}:{name}"
    tests = _CELL.findall(test)
    assert tests
    for path, name in (cell.split("::") for cell in tests):
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), f"{path}::{name}"
    if command != "-":
        _known(_CELL.findall(command)[0])


def _source(path: str) -> Path:
    """A file of the library or of the bench."""
    return ROOT / ("bench/src" if path.startswith("noisewise_bench") else "src") / path


def _known(command: str) -> None:
    """A command of this repository that exists."""
    words = command.split()
    assert words[:2] == ["python", "-m"]
    module, *arguments = words[2:]
    path = _source(module.replace(".", "/"))
    assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()
    if module.endswith(".reproduce") and arguments[0] == "--only":
        assert arguments[1] in artifacts()
    if module.endswith(".experiments"):
        assert arguments[0] in {*STUDIES, *ALONE}


def _cited(kind: str, text: str) -> list[str]:
    """Numbers of that kind in a cell."""
    number = r"\((\d+)\)" if kind == "Eq." else r"(\d+)"
    return re.findall(rf"{re.escape(kind)} {number}", text)


@pytest.mark.parametrize("kind", KINDS)
def test_every_numbered_item_has_one_row(kind: str) -> None:
    numbers = {part["number"] for part in PARTS if part["kind"] == kind}
    found = [number for row in ROWS for number in _cited(kind, row[1])]
    assert set(found) == numbers
    if kind == "Eq.":
        assert len(found) == len(numbers)


def test_items_stand_in_the_section_of_the_source() -> None:
    """Floats may stand in the source just before the section that they belong to."""
    sections = [part["number"] for part in PARTS if part["kind"] == "Section"]
    where = {(part["kind"], part["number"]): part["section"] for part in PARTS}
    for section, item, *_ in ROWS:
        for kind in KINDS:
            for number in _cited(kind, item):
                source = where[kind, number]
                after = sections[min(sections.index(source) + 1, len(sections) - 1)]
                floats = kind in ("Figure", "Table")
                assert section in ((source, after) if floats else (source,)), item


def test_every_section_that_says_something_has_a_row() -> None:
    sections = {part["number"] for part in PARTS if part["kind"] == "Section"}
    assert {row[0] for row in ROWS} == sections - SILENT


def test_every_step_of_the_algorithm_has_a_row() -> None:
    found = [int(n) for row in ROWS for n in _cited("Step", row[1])]
    assert found == list(range(1, STEPS + 1))


@pytest.mark.parametrize("folder", ["src", "tests", "bench"])
def test_code_cites_equations_by_their_number(folder: str) -> None:
    """As in the PDF; the names of labels stand nowhere in it."""
    for path in (ROOT / folder).rglob("*.py"):
        if path == Path(__file__):
            continue
        for citation in re.findall(r"Eq\. ([^\s,:;]+)", path.read_text(encoding="utf-8")):
            number = re.match(r"\((\d+)\)", citation)
            assert number is not None, f"{path}: Eq. {citation}"
            assert number[1] in EQUATIONS, f"{path}: Eq. {citation}"


def _differences(table: str, choice: str, functions: str) -> str:
    """Mean differences with intervals by dimension, as docs/theory.md quotes them."""
    path = ROOT / f"docs/findings/deviations-{table}.csv"
    with path.open(encoding="utf-8") as file:
        rows = [
            row
            for row in csv.DictReader(file)
            if next(iter(row.values())) == choice and row["functions"] == functions
        ]
    rows.sort(key=lambda row: int(row["d"]))
    numbers = [[float(row[name]) for name in ("mean diff", "from", "to")] for row in rows]
    return ", ".join(f"{mean:+.2f} [{low:+.2f}, {high:+.2f}]" for mean, low, high in numbers)


@pytest.mark.parametrize("choice", deviations.CHOICES, ids=[c.option for c in deviations.CHOICES])
def test_deviations_are_quoted_as_measured(choice: deviations.Choice) -> None:
    theory = (ROOT / "docs/theory.md").read_text(encoding="utf-8")
    lines = [li for li in theory.splitlines() if li.startswith(f"| `{choice.option}` | ")]
    measured = [
        _differences(table, choice.words, functions)
        for table in "23"
        for functions in ("high misranking", "complement")
    ]
    assert all(measured)
    assert any(line.endswith(" | ".join(["", *measured]) + " |") for line in lines)


@pytest.mark.parametrize("part", deviations.PROGRAM)
def test_parts_of_the_program_are_quoted_as_measured(part: str) -> None:
    theory = (ROOT / "docs/theory.md").read_text(encoding="utf-8")
    high, rest = (_differences("6", part, f) for f in ("high misranking", "complement"))
    assert f" | {high} | {rest} |\n" in theory


def test_the_front_door_leads_to_it() -> None:
    assert "docs/paper.md" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "paper.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
