"""What a release must agree on with itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import noisewise as nw
from noisewise_bench.peers.environment import VERSIONS

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("pyproject.toml", r'^version = "(.+)"$'),
        ("bench/pyproject.toml", r'^version = "(.+)"$'),
        ("bench/pyproject.toml", r'^dependencies = \["noisewise==(.+?)"'),
        ("CITATION.cff", r"^version: (.+)$"),
        ("conda/meta.yaml", r'set version = "(.+)"'),
    ],
)
def test_one_version_everywhere(name: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / name).read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == nw.__version__


def test_the_changelog_begins_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    first, *closed = re.findall(r"^## (.+)$", text, re.MULTILINE)
    release, under_way, _ = nw.__version__.partition(".dev")
    dated = rf"{re.escape(release)} \(\d{{4}}-\d\d-\d\d\)"
    assert re.fullmatch(rf"Unreleased \({re.escape(release)}\)" if under_way else dated, first)
    assert all(re.fullmatch(r"\d+\.\d+\.\d+( \(\d{4}-\d\d-\d\d\))?", one) for one in closed)


def test_a_closed_version_that_is_a_peer_is_named_with_its_commit() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    for name, commit in VERSIONS.items():
        of = text.split(f"## {name.removeprefix('noisewise-')}.", 1)[1].split("\n## ", 1)[0]
        assert f"`{commit[:7]}`" in of


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
