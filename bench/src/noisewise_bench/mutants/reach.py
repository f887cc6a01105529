"""Which tests execute a line, so that a fault in it needs only those.

``measure`` runs tests with coverage, each under its own name, and keeps what they reach in a file;
files of tests that did not change are not run again. A line is known by its file, its function and
its text, so that it may move. What is executed at import, such as a constant, counts as reached by
the tests of the functions that name it.
"""

from __future__ import annotations

import ast
import gzip
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from noisewise_bench.mutants import reaching
from noisewise_bench.mutants.faults import Fault

LIBRARY = Path("src") / "noisewise"
#: File below the library, function, and text of a line.
Line = tuple[str, str, str]
#: Seconds for a test to be known at all.
_LONGEST = 300
#: Pinned runs notice more per second than other tests.
_PINNED = 0.1
_WORD = re.compile(r"\w+")


@dataclass
class Reach:
    """Seconds that each test took, and the tests that reach each line of a function."""

    #: Digest of each file of tests.
    files: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[Line, set[str]] = field(default_factory=lambda: defaultdict(set))

    def tests(self, fault: Fault) -> list[str]:
        """Those that reach the line of a fault, the cheap ones first; those of one function with
        other parameters later."""
        name = fault.path
        found = self.lines.get((name, fault.function, fault.before), set())
        # Lines of a class or of a module; then defaults, and parts of a long statement.
        if not found and _is_class(fault.function):
            found = self._naming(name, re.split("[:=]", fault.before)[0])
            found = found or self._naming(name, fault.before)
        found = found or self._within(name, fault.function) or self._within(name, "")
        turn: dict[str, int] = defaultdict(int)
        price = {}
        for test in sorted(found & self.seconds.keys(), key=lambda t: (self.seconds[t], t)):
            turn[test.partition("[")[0]] += 1
            price[test] = self.seconds[test] * turn[test.partition("[")[0]]
            price[test] *= _PINNED if test.startswith("tests/digests/") else 1.0
        return sorted(price, key=lambda t: price[t])

    def fitting(self, tests: Iterable[str], limit: float) -> Iterator[str]:
        """The first of these tests, as many as take so many seconds together."""
        for test in tests:
            limit -= self.seconds[test]
            if limit < 0.0:
                return
            yield test

    def _naming(self, name: str, text: str) -> set[str]:
        """Tests of the lines that share a name with this text: names with an underscore in the same
        file, others anywhere."""
        words = {w for w in _WORD.findall(text) if len(w) > 3 and not w[0].isdigit()}
        return {
            test
            for (file, _, line), tests in self.lines.items()
            if words & set(_WORD.findall(line))
            and (file == name or not all(w.startswith("_") for w in words))
            for test in tests
        }

    def _within(self, name: str, function: str) -> set[str]:
        return {
            test
            for (file, within, _), tests in self.lines.items()
            if file == name and (within + ".").startswith(function and function + ".")
            for test in tests
        }

    # -- the file

    @staticmethod
    def read(path: Path) -> Reach:
        """What a file holds; nothing if there is none."""
        if not path.exists():
            return Reach()
        kept: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
        reach = Reach(kept["files"], kept["seconds"])
        names = list(kept["seconds"])
        for *line, at in kept["lines"]:
            reach.lines[line[0], line[1], line[2]] = {names[i] for i in at}
        return reach

    def write(self, path: Path) -> None:
        number = {test: i for i, test in enumerate(self.seconds)}
        lines = [[*k, sorted(number[t] for t in found)] for k, found in self.lines.items()]
        kept = {"files": self.files, "seconds": self.seconds, "lines": lines}
        path.write_bytes(gzip.compress(json.dumps(kept).encode()))

    # -- measuring

    def measure(self, root: Path, tests: Iterable[Path], jobs: int) -> None:
        """Run the files of tests that are new or have changed."""
        now = {_name(test, root): hashlib.sha256(test.read_bytes()).hexdigest() for test in tests}
        changed = [name for name, digest in now.items() if self.files.get(name) != digest]
        gone = {
            t
            for t in self.seconds
            if t.partition("::")[0] in changed or t.partition("::")[0] not in now
        }
        self.seconds = {t: s for t, s in self.seconds.items() if t not in gone}
        for found in self.lines.values():
            found -= gone
        if changed:
            with tempfile.TemporaryDirectory(prefix="noisewise-reach-") as folder:
                _run(root, Path(folder), changed, jobs)
                self.add(root, Path(folder))
        self.files = now

    def add(self, root: Path, folder: Path) -> None:
        """What coverage left in a folder."""
        import coverage

        self.seconds |= _times(folder / "times")
        of = {
            path.resolve().as_posix(): _lines(path, path.relative_to(root / LIBRARY))
            for path in (root / LIBRARY).rglob("*.py")
        }
        for file in folder.glob("data.*"):
            data = coverage.CoverageData(str(file))
            try:
                data.read()
            except coverage.CoverageException:  # of a process that was killed
                continue
            for path in data.measured_files():
                for number, contexts in data.contexts_by_lineno(path).items():
                    if line := of.get(path, {}).get(number):
                        found = (c.rpartition("|")[2] or c for c in contexts)
                        self.lines[line] |= {c for c in found if c in self.seconds}


def sources(root: Path) -> str:
    """The search path on which the code of a copy stands before what is installed."""
    return os.pathsep.join(map(str, (root / "src", root / "bench" / "src")))


def _run(root: Path, folder: Path, tests: Sequence[str], jobs: int) -> None:
    (folder / "rc").write_text(
        f"[run]\nsource = {(root / LIBRARY).resolve()}\nparallel = true\n"
        f"data_file = {folder / 'data'}\npatch = subprocess\nsigterm = true\n"
    )
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={folder / 'rc'}", "-m", "pytest"]
    command += ["-q", "-p", reaching.__name__, "-p", "no:cacheprovider", "-o", "addopts="]
    command += ["-n", str(jobs), "--dist", "loadgroup", "-o", f"timeout={_LONGEST}", *tests]
    # Tests may be running already: their coverage and their workers are not those of these tests.
    outside = ("COVERAGE", "PYTEST_")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(outside)}
    environment |= {reaching.TIMES: str(folder / "times"), "PYTHONPATH": sources(root)}
    subprocess.run(command, cwd=root, env=environment, stdout=sys.stderr, check=False)


def _times(path: Path) -> dict[str, float]:
    """Seconds of the tests that passed."""
    seconds: dict[str, float] = defaultdict(float)
    reports = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for test, _, duration in reports:
        seconds[test] += duration
    other = {test for test, outcome, _ in reports if outcome != "passed"}
    return {test: taken for test, taken in seconds.items() if test not in other}


def _name(test: Path, root: Path) -> str:
    return test.relative_to(root).as_posix()


def _is_class(name: str) -> bool:
    """Whether a name is that of a class, or the empty one of a module."""
    return not name or name.split(".")[-1].lstrip("_")[:1].isupper()


def _lines(path: Path, name: Path) -> dict[int, Line]:
    """Every line of a function by its number."""
    text = path.read_text(encoding="utf-8").split("\n")
    return {
        number: (name.as_posix(), function, text[number - 1].strip())
        for function, numbers in _functions(ast.parse("\n".join(text)), [])
        for number in numbers
    }


def _functions(node: ast.AST, within: list[str]) -> Iterator[tuple[str, Iterable[int]]]:
    """Functions with the numbers of the lines of their bodies; inner ones come after outer ones."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inner = [*within, child.name]
            if isinstance(child, ast.FunctionDef):
                assert child.end_lineno is not None
                yield ".".join(inner), range(child.body[0].lineno, child.end_lineno + 1)
            yield from _functions(child, inner)
        else:
            yield from _functions(child, within)
