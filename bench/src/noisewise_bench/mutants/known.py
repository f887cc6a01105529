"""What is known of faults: those that change nothing, and those that tests must notice.

Both lists are JSON beside the tests of this package. An entry shows its line, so that people can
read it, and is found by its key: it stays true when its file moves, and is out of use as soon as
its line, its function or the name of its file changes. `Known.mend` then finds it again or drops
it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from noisewise_bench.mutants.faults import Fault
from noisewise_bench.mutants.sample import rank

Entry = dict[str, str]
_TEST = re.compile(r"^def (test_\w+)\(", re.MULTILINE)


@dataclass
class Known:
    """``equivalent``: faults by key, each with its reason. ``noticed``: faults by key, each with
    the test that must fail."""

    folder: Path
    equivalent: dict[str, Entry]
    noticed: dict[str, Entry]

    @staticmethod
    def read(root: Path) -> Known:
        """The lists of a repository."""
        folder = root / "tests" / "mutants"
        lists = [json.loads((folder / f"{n}.json").read_text()) for n in ("equivalent", "noticed")]
        return Known(folder, *lists)

    def learn(self, seen: list[tuple[Fault, str]]) -> None:
        """Add noticed faults with the test that failed, where it has a name; parameters, which
        change more often, are left out."""
        for fault, test in seen:
            if "::" in test:
                name = test.partition("[")[0]
                line = {"before": fault.before, "after": fault.after, "test": name}
                self.noticed[fault.key] = {"function": fault.function, **line}
        self._write("noticed", self.noticed)

    def mend(self, faults: list[Fault]) -> list[str]:
        """Give entries whose function or file has another name the key that they have now, and drop
        those whose line or test is gone. Returns one line for each that was changed."""
        keys, said = {fault.key for fault in faults}, []
        same: dict[tuple[str, str], list[Fault]] = defaultdict(list)
        for fault in faults:
            same[fault.before, fault.after].append(fault)
        for list_, entries in (("noticed", self.noticed), ("equivalent", self.equivalent)):
            tests = self.tests() if list_ == "noticed" else dict.fromkeys(entries, "")
            for key, entry in list(entries.items()):
                now = same[entry["before"], entry["after"]]
                name = entry["function"].lstrip("_")
                now = [f for f in now if f.function.lstrip("_") == name] or now
                if key in keys and key in tests:
                    entry |= {"test": tests[key]} if tests[key] else {}
                elif key in tests and len(now) == 1:
                    moved = entries.pop(key) | {"function": now[0].function}
                    entries[now[0].key] = moved | ({"test": tests[key]} if tests[key] else {})
                    said.append(f"{key} is {now[0].key} now: {now[0]}")
                else:
                    said.append(f"{key} is dropped: {entries.pop(key)['before']}")
            self._write(list_, entries)
        return said

    def _write(self, name: str, entries: dict[str, Entry]) -> None:
        text = json.dumps(dict(sorted(entries.items())), indent=1)
        (self.folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")

    def turn(self, faults: list[Fault], n: int) -> list[tuple[Fault, str]]:
        """``n`` faults that must be noticed, with their tests. Which ones depends on the code of
        the library: the same code has the same ones, and every change draws others. An entry whose
        test is gone is out of use; one whose test has moved is not."""
        code = hashlib.sha256(
            "".join(sorted({f"{f.path} {f.before}" for f in faults})).encode()
        ).hexdigest()
        tests = self.tests()
        there = {fault.key: fault for fault in faults if fault.key in tests}
        drawn = sorted(there, key=lambda key: rank(key, code))[:n]
        return [(there[key], tests[key]) for key in drawn]

    def tests(self) -> dict[str, str]:
        """Where the test of each fault that must be noticed is now, by key."""
        root = self.folder.parents[1]
        files: dict[str, list[str]] = defaultdict(list)
        for path in sorted((root / "tests").rglob("test_*.py")):
            for name in _TEST.findall(path.read_text(encoding="utf-8")):
                files[name].append(path.relative_to(root).as_posix())
        there = {}
        for key, entry in self.noticed.items():
            file, _, name = entry["test"].partition("::")
            if found := files[name]:
                there[key] = f"{file if file in found else found[-1]}::{name}"
        return there
