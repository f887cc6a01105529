"""The code on a page, and how it is run: everything that is shown works as shown.

| a block is | and the test |
|---|---|
| ```` ```python ```` | executes it; all of a page share one namespace and one empty folder |
| ```` ```python title="train.py" ```` (any language) | writes that file into the folder |
| ```` ```sh ```` | runs it with bash in the same folder, stopping at the first error |
| ```` ```text ```` right after one of these | is what they print (unless a comment is between) |
| printed with a 95 % interval and a true mean value | demands that the one holds the other |
| any of them below `<!-- not run: why -->` | only reads it: Python compiles, commands parse |

Run as a program, this file executes pages: for every line "page<tab>folder" on stdin it answers
with a line, the exit code, and leaves what was said in the file folder.said. Each page has a
process of its own, forked from one that has imported the library already, which takes the time.
"""

from __future__ import annotations

import contextlib
import io
import linecache
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>\w*)(?P<info>[^\n`]*)\n(?P<body>.*?)^(?P=indent)```\s*?$",
    re.MULTILINE | re.DOTALL,
)
_INTERVAL = re.compile(r"95 % interval (\S+) to ([-+.\w]+)")
_TRUTH = re.compile(r"^true mean value .*: (\S+)$", re.MULTILINE)
_NOT_RUN = re.compile(r"<!--\s*not run:?\s*(.*?)\s*-->\s*\Z")


@dataclass(frozen=True)
class Block:
    """A block of code of a page, and what is said about it."""

    page: Path
    line: int
    language: str
    body: str
    title: str | None
    #: Why it is not run; None: it is.
    not_run: str | None
    #: Whether nothing but white space is between it and the block before.
    follows: bool

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages() -> list[Path]:
    """Every page that people read."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]


def blocks(page: Path) -> list[Block]:
    return list(_blocks(page))


def _blocks(page: Path) -> Iterator[Block]:
    text, end = page.read_text(encoding="utf-8"), 0
    for found in _FENCE.finditer(text):
        before = text[end : found.start()]
        comment = _NOT_RUN.search(before)
        title = re.search(r'title="([^"]+)"', found["info"])
        yield Block(
            page,
            text.count("\n", 0, found.start()) + 1,
            found["language"],
            textwrap.dedent(found["body"]),
            title[1] if title else None,
            comment[1] if comment else None,
            end > 0 and not before.strip(),
        )
        end = found.end()


def execute(page: Path) -> None:
    """Run a page in the current folder; `SystemExit` says which block failed."""
    names = sys.modules["__main__"].__dict__
    printed: str | None = None
    for block in blocks(page):
        if block.title is not None:
            _create(block)
        elif block.not_run is not None:
            printed = None
        elif block.language == "python":
            printed = _python(block, names)
            _hold_the_truth(block, printed)
        elif block.language == "sh":
            printed = _shell(block)
        elif block.language == "text":
            _hold_the_truth(block, block.body)
            if block.follows and printed is not None:
                _compare(block, printed)


def _compare(block: Block, printed: str) -> None:
    """Line breaks and spaces aside."""
    if block.body.split() != printed.split():
        raise SystemExit(f"{block.place}: the page says\n{block.body}\nbut it is\n{printed}")


def _hold_the_truth(block: Block, text: str) -> None:
    """An interval that is shown beside the true value holds it."""
    found, truth = _INTERVAL.search(text), _TRUTH.search(text)
    if found and truth and not float(found[1]) <= float(truth[1]) <= float(found[2]):
        raise SystemExit(f"{block.place}: the interval does not hold the truth:\n{text}")


def _create(block: Block) -> None:
    assert block.title is not None
    path = Path(block.title)
    path.write_text(block.body, encoding="utf-8")
    if block.body.startswith("#!"):
        path.chmod(0o755)


def _python(block: Block, names: dict[str, object]) -> str:
    name = f"<{block.place}>"
    linecache.cache[name] = (len(block.body), None, block.body.splitlines(True), name)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(block.body, name, "exec"), names)
    return out.getvalue()


def _shell(block: Block) -> str:
    done = subprocess.run(["bash", "-ec", block.body], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{block.place}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def serve() -> None:
    """Execute the pages that stdin names."""
    import noisewise  # noqa: F401

    sys.path.insert(0, "")  # files that a page creates can be imported
    for line in sys.stdin:
        page, folder = line.rstrip("\n").split("\t")
        child = os.fork()
        if child == 0:
            said = os.open(f"{folder}.said", os.O_WRONLY | os.O_CREAT)
            for stream, target in ((0, os.open(os.devnull, os.O_RDONLY)), (1, said), (2, said)):
                os.dup2(target, stream)
            os.chdir(folder)
            execute(Path(page))
            sys.exit()  # as a program would
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()
