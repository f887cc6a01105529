"""What the pages show runs as printed."""

from __future__ import annotations

import argparse
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docs_blocks import ROOT, Block, blocks, pages

WITH_CODE = [p for p in pages() if any(b.language in ("python", "sh") for b in blocks(p))]
LANGUAGES = {"python", "sh", "text", "json", "toml", "html"}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def server() -> Iterator[subprocess.Popen[str]]:
    """Executes pages, see docs_blocks."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("docs_blocks.py"))],
        env=os.environ | {"PATH": programs, "MPLBACKEND": "agg", "PYTHONWARNINGS": "ignore"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield process


@pytest.mark.untraced
@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_a_page_runs_as_printed(page: Path, tmp_path: Path, server: subprocess.Popen[str]) -> None:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write(f"{page}\t{tmp_path}\n")
    server.stdin.flush()
    code = server.stdout.readline().strip()
    assert code == "0", Path(f"{tmp_path}.said").read_text()
    AFTERWARDS.get(name(page), lambda folder: None)(tmp_path)


def after_the_command_line(folder: Path) -> None:
    found = json.loads((folder / "run.json").read_text())
    assert found["spent"] == 60
    assert found["confirmed"] is True
    # Far from the corners of the space, where the error is several times as large.
    assert 2e-4 < found["recommended"]["lr"] < 5e-2
    assert found["estimate"] < 0.3
    assert "<title>run.nw</title>" in (folder / "run.html").read_text(encoding="utf-8")
    same("tune_program/train.py", folder / "train.py")


def after_the_report(folder: Path) -> None:
    assert "<bdi>units</bdi>" in (folder / "page.html").read_text(encoding="utf-8")
    assert (folder / "run.png").stat().st_size > 5000


def after_adding_a_method(folder: Path) -> None:
    """The method of the page keeps the contracts, by the command that the page gives."""
    page = ROOT / "docs/guides/add-a-method.md"
    shown = next(b for b in blocks(page) if "NOISEWISE_METHOD" in b.body)
    setting, _, _, pytest_, tests, *selected = commands(shown)[0]
    done = subprocess.run(
        [sys.executable, "-m", pytest_, str(ROOT / tests), *selected, "-p", "no:cacheprovider"],
        cwd=folder,
        env=os.environ | dict([setting.split("=")]),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count(".") > 20


def after_the_start(folder: Path) -> None:
    """The script that times a newcomer's path takes the same path."""
    script = (ROOT / "examples" / "newcomer.sh").read_text()
    assert (folder / "darts.py").read_text() in script
    subprocess.run(["bash", "-n", str(ROOT / "examples" / "newcomer.sh")], check=True)
    assert "aim" in (folder / "run.html").read_text(encoding="utf-8")


def same(example: str, shown: Path) -> None:
    """What a page shows of an example is the example."""
    assert shown.read_text() == (ROOT / "examples" / example).read_text()


#: What must be there after a page has run, besides no error.
AFTERWARDS: dict[str, Callable[[Path], None]] = {
    "docs/guides/command-line.md": after_the_command_line,
    "docs/guides/report.md": after_the_report,
    "docs/start.md": after_the_start,
    "README.md": after_the_start,
    "docs/guides/add-a-method.md": after_adding_a_method,
    "docs/guides/bench.md": lambda folder: same("bring_your_own.py", folder / "bring_your_own.py"),
}


@pytest.mark.parametrize("page", pages(), ids=name)
def test_every_block_says_what_it_is(page: Path) -> None:
    """Code in an unmarked block would not be run."""
    for block in blocks(page):
        assert block.language in LANGUAGES, f"{block.place} has language {block.language!r}"
        assert block.not_run != "", f"{block.place} does not say why it is not run"


class Parsed(Exception):
    """The command line was understood."""


@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_what_is_not_run_can_be_read(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    parse, depth = argparse.ArgumentParser.parse_known_args, 0

    def parse_only(self: Any, args: Any = None, namespace: Any = None) -> Any:
        nonlocal depth
        depth += 1
        try:
            found = parse(self, args, namespace)
        finally:
            depth -= 1
        if depth > 0:  # a parser of a subcommand
            return found
        if found[1]:
            self.error(f"unrecognized arguments: {found[1]}")
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_known_args", parse_only)
    for block in blocks(page):
        if block.not_run is not None and block.language == "python":
            compile(block.body, block.place, "exec")
        elif block.not_run is not None and block.language == "sh":
            for words in commands(block):
                check(block, words, monkeypatch)


def commands(block: Block) -> list[list[str]]:
    lines = block.body.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def check(block: Block, words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A command of ours parses; others are ones that everybody has."""
    while words and "=" in words[0]:  # settings of the environment
        words = words[1:]
    if words[0] == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        wanted = [word for word in words[1:] if "=" not in word]
        assert set(wanted) <= set(targets), f"{block.place}: make {wanted} is not in the Makefile"
    elif words[0] == "noisewise" or words[:2] == ["python", "-m"]:
        module, rest = (
            ("noisewise", words[1:]) if words[0] == "noisewise" else (words[2], words[3:])
        )
        if module.split(".")[0] not in ("noisewise", "noisewise_bench"):
            return
        monkeypatch.setattr(sys, "argv", [module, *rest])
        if "." in module:  # run as a program it is another one
            monkeypatch.delitem(sys.modules, module, raising=False)
        try:
            with pytest.raises(Parsed):
                runpy.run_module(module, run_name="__main__", alter_sys=False)
        except SystemExit as wrong:
            pytest.fail(f"{block.place}: {shlex.join(words)} is not understood: {wrong}")
    else:
        known = {
            "pip",
            "git",
            "cd",
            "python",
            "python3",
            "dask",
            "ray",
            "ssh",
            "scp",
            "sbatch",
            "export",
        }
        assert words[0] in known, f"{block.place}: what is {words[0]}?"
