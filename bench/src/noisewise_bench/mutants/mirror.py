"""Which tests belong to a source file, derived from names and imports.

Nothing here names a room: a file that moves takes its tests with it if those still import it, are
named after it, or lie in the folder of the same name below ``tests``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

#: Folders of tests about other code than the library, or too slow to be run for a fault.
_ELSEWHERE = {"calibration", "docs", "theory", "mutants"}
#: A file with fewer test files of its own shares those of the files that import it.
_FEW = 3
#: Folders that hold every method to the same rules come first in the wider suite.
_BROAD = ("contracts", "digests", "properties")


@dataclass
class Mirror:
    """The test files of a repository, and what each of them imports from the library."""

    root: Path
    #: Small files first: they are the quick ones.
    _imports: dict[Path, set[str]] = field(init=False, default_factory=dict)
    _sources: dict[str, set[str]] = field(init=False, default_factory=dict)
    _words: dict[Path, set[str]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        files = (self.root / "tests").rglob("test_*.py")
        for path in sorted(files, key=lambda path: (path.stat().st_size, path)):
            if not _ELSEWHERE & set(path.relative_to(self.root / "tests").parts):
                self._imports[path] = _imported(path)
                self._words[path] = _words(path.read_text(encoding="utf-8"))
        source = self.root / "src"
        for path in sorted((source / "noisewise").rglob("*.py")):
            self._sources[_module(path, source)] = _imported(path)

    def tests(self) -> list[Path]:
        """All files of tests of the library."""
        return list(self._imports)

    def mirrored(self, path: Path) -> list[Path]:
        """Tests named after the file (a path in the repository), then those that import it, then
        those of its folder; where these are few, the tests of the files that import it, too."""
        modules, seen = {_module(path, Path("src"))}, set[str]()
        found: dict[Path, None] = {}
        while modules and len(found) < _FEW:
            found |= dict.fromkeys(t for name in sorted(modules) for t in self._mirrored(name))
            seen |= modules
            modules = {n for n, imports in self._sources.items() if imports & modules} - seen
        return list(found)

    def _mirrored(self, module: str) -> list[Path]:
        parts = module.split(".")[1:] or ["noisewise"]
        stem, folders = parts[-1].strip("_"), set(parts[:-1])
        beside = [t for t in self._imports if folders and folders <= self._about(t)]
        named = [t for t in self._imports if t.stem.startswith(f"test_{stem}")]
        named += [t for t in beside if stem in t.stem.split("_")]
        importing = [t for t in self._imports if module in self._imports[t]]
        return [*named, *importing, *beside]

    def _about(self, test: Path) -> set[str]:
        """The folders a test lies in and the words of its name."""
        folders = test.relative_to(self.root / "tests").parts[:-1]
        return set(folders) | ({test.stem.split("_")[1]} if folders else set())

    def wider(self, path: Path) -> list[Path]:
        """All other tests of the library, those first that hold for every method."""
        mirrored = set(self.mirrored(path))
        others = [t for t in self._imports if t not in mirrored]
        return sorted(others, key=lambda t: t.parent.name not in _BROAD)

    def ordered(self, tests: Iterable[Path], line: str, path: Path | None = None) -> list[Path]:
        """Those named after the file ``path`` first, then those that have the rarer words of the
        line in them, else the order as it was."""
        rarity = {
            word: 1.0 / found
            for word in _words(line)
            if (found := sum(word in words for words in self._words.values()))
        }
        have = {t: sum(r for w, r in rarity.items() if w in self._words[t]) for t in tests}
        own = path.stem.strip("_") if path else ""
        return sorted(have, key=lambda t: (own not in t.stem.split("_"), -have[t]))


def _words(text: str) -> set[str]:
    return set(re.findall(r"[A-Za-z_]{4,}", text))


def _module(path: Path, source: Path) -> str:
    return ".".join(path.relative_to(source).with_suffix("").parts).removesuffix(".__init__")


def _imported(path: Path) -> set[str]:
    """Modules that a file imports: of ``from a import b`` both a and a.b."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found
