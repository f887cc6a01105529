"""The folder for OptunaHub's registry: what the registry asks for, and an example that runs."""

from __future__ import annotations

import runpy
import types
from pathlib import Path

import pytest
import yaml

optunahub = pytest.importorskip("optunahub", reason="optunahub is not installed")

REGISTRY = Path(__file__).parents[2] / "optunahub" / "package"
PACKAGE = REGISTRY / "samplers" / "noisewise"


def load_module(package: str) -> types.ModuleType:
    """As ``optunahub.load_module`` does it, from our folder instead of the network."""
    found: types.ModuleType = optunahub.load_local_module(package, registry_root=str(REGISTRY))
    return found


def test_the_files_are_there() -> None:
    names = {path.name for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    assert names == {"__init__.py", "README.md", "LICENSE", "example.py", "requirements.txt"}
    assert (PACKAGE / "LICENSE").read_text().startswith("MIT License")


def test_the_readme_has_the_header_and_the_sections() -> None:
    _, head, body = (PACKAGE / "README.md").read_text(encoding="utf-8").split("---\n", 2)
    header = yaml.safe_load(head)
    assert set(header) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert "sampler" in header["tags"]
    assert header["license"] == "MIT License"
    assert all(isinstance(version, str) for version in header["optuna_versions"])
    sections = [line[3:] for line in body.splitlines() if line.startswith("## ")]
    assert sections == [
        "Abstract",
        "Class or Function Names",
        "Installation",
        "Example",
        "Others",
    ]
    listed = body.split("## Class or Function Names")[1].split("##")[0]
    for name in load_module("samplers/noisewise").__all__:
        assert f"- `{name}`" in listed


def test_the_example_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(optunahub, "load_module", load_module)
    runpy.run_path(str(PACKAGE / "example.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "luckiest trial: {'x': " in said
    assert "recommended:    {'x': " in said
