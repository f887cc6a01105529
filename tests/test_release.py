"""What a release must agree on with itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import noisewise as nw

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("CITATION.cff", r"^version: (.+)$"),
        ("conda/meta.yaml", r'set version = "(.+)"'),
        ("CHANGELOG.md", r"^## (\S+)"),
    ],
)
def test_one_version_everywhere(name: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == nw.__version__


def test_the_versions_of_python_that_are_promised_are_tested() -> None:
    promised = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    tested = re.findall(r'"(3\.\d+)"', workflow.partition("matrix:")[2])
    assert promised == tested
    assert promised[0] == "3.10"


def test_conda_needs_what_the_wheel_needs() -> None:
    dependencies = re.search(
        r"^dependencies = \[(.*)\]$", (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    assert dependencies is not None
    recipe = (ROOT / "conda" / "meta.yaml").read_text().replace(" >=", ">=")
    for needed in re.findall(r'"([^"]+)"', dependencies[1]):
        assert needed in recipe
