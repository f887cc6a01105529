"""Planted faults: which there are, what is drawn, and that those known to be noticed still are."""

from __future__ import annotations

import ast
import dataclasses
import functools
import json
from collections import Counter
from pathlib import Path

import pytest

from noisewise_bench.mutants import faults, sample, trial
from noisewise_bench.mutants.__main__ import ROOT, main, table
from noisewise_bench.mutants.faults import Fault
from noisewise_bench.mutants.known import Known
from noisewise_bench.mutants.mirror import Mirror
from noisewise_bench.mutants.reach import Reach

CODE = '''
"""A text with 7 in it."""
_LEAST = 40

def f(a: int = 2, *, low=0.5) -> int:
    assert a > 1, "more than 1"
    if a <= 3 and low < a:
        a = min(a, -low)
    x = {}
    x["n"] = a + 1
    if a is None:
        raise ValueError(f"a must be 9, got {a - 1}")
    x.clear()
    return a if x else 0
'''


def planted() -> list[Fault]:
    return list(faults.in_file(CODE, Path("room") / "code.py"))


@pytest.mark.parametrize(
    ("kind", "after"),
    [
        ("comparison", "if a >= 3 and low < a:"),
        ("comparison", "if a <= 3 and low > a:"),
        ("comparison", "if a is not None:"),
        ("off by one", "if a < 3 and low < a:"),
        ("off by one", "if a <= 4 and low < a:"),
        ("off by one", 'x["n"] = a + 0'),
        ("and, or", "if a <= 3 or low < a:"),
        ("min, max", "a = max(a, -low)"),
        ("sign", "a = min(a, low)"),
        ("sign", 'x["n"] = a - 1'),
        ("constant", "_LEAST = 48"),
        ("constant", "def f(a: int = 2, *, low=0.4) -> int:"),
        ("branch removed", "if False:"),
        ("branch removed", "return a if False else 0"),
        ("update removed", "pass"),
    ],
)
def test_kinds_of_faults(kind: str, after: str) -> None:
    assert (kind, after) in {(f.kind, f.after) for f in planted()}


def test_text_assertions_and_messages_are_left_alone() -> None:
    lines = {fault.before for fault in planted()}
    assert not any(line.startswith(("assert", "raise", '"""')) for line in lines)


def test_every_fault_is_one_line_that_differs_and_still_parses() -> None:
    for fault in planted():
        changed = fault.apply(CODE)
        ast.parse(changed)
        pairs = zip(CODE.split("\n"), changed.split("\n"), strict=True)
        assert [line for line, (a, b) in enumerate(pairs, 1) if a != b] == [fault.line]


def test_a_fault_is_known_by_what_it_changes_not_by_where_it_lies() -> None:
    keys = [fault.key for fault in planted()]
    assert len(set(keys)) == len(keys)
    moved = faults.in_file("import os\n" + CODE, Path("elsewhere") / "code.py")
    assert [fault.key for fault in moved] == keys


def test_a_fault_whose_line_is_gone_is_refused() -> None:
    with pytest.raises(ValueError, match=r"line 3 of room/code.py is no longer '_LEAST = 40'"):
        planted()[0].apply("\n" + CODE)


@functools.cache
def every() -> list[Fault]:
    return faults.library(ROOT / trial.LIBRARY)


def test_the_sample_is_fixed_and_holds_every_room() -> None:
    drawn = sample.draw(every(), 150, seed=0)
    assert [f.key for f in drawn] == [f.key for f in sample.draw(reversed(every()), 150, seed=0)]
    assert len({(f.path, f.line) for f in drawn}) == len(drawn) == 150
    rooms = Counter(f.room for f in drawn)
    assert set(rooms) == {f.room for f in every()}
    assert min(rooms.values()) >= 5
    other = sample.draw(every(), 150, seed=1)
    assert len({f.key for f in drawn} & {f.key for f in other}) < 30


def test_every_file_with_faults_has_tests_of_its_own() -> None:
    tests = Mirror(ROOT)
    files = {fault.path for fault in every()}
    alone = {path for path in files if not tests.mirrored(trial.LIBRARY / path)}
    assert alone <= {"__main__.py"}
    first = tests.mirrored(trial.LIBRARY / "seeds.py")[0]
    assert first.name.startswith("test_seeds")
    both = tests.mirrored(trial.LIBRARY / "seeds.py"), tests.wider(trial.LIBRARY / "seeds.py")
    assert not set(both[0]) & set(both[1])


def test_tests_that_speak_of_the_line_come_first() -> None:
    tests = Mirror(ROOT)
    wider = tests.wider(trial.LIBRARY / "budget.py")
    named = next(test for test in wider if test.name == "test_named.py")
    ordered = tests.ordered(wider, 'found["params_best_observed"] = None')
    assert sorted(ordered) == sorted(wider)
    assert ordered.index(named) < 3 < wider.index(named)
    assert tests.ordered(wider, "x = y") == wider
    checkpoint = trial.LIBRARY / "loop" / "checkpoint.py"
    mirrored = tests.mirrored(checkpoint)
    for line in ("x = y", "self._sync_cost = self._synced - now"):
        ordered = [test.name for test in tests.ordered(mirrored, line, checkpoint)]
        assert set(ordered[:2]) == {"test_checkpoint_file.py", "test_checkpoint_paths.py"}


# -- trying them, on a library of one function


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    """A repository whose tests notice what happens to f, and nothing of g."""
    root = tmp_path / "tiny"
    code = "def f(a):\n    return a + 1\n\n\ndef g(a):\n    return a - 1\n"
    for name, text in {
        "src/noisewise/__init__.py": "",
        "src/noisewise/one.py": code,
        "tests/test_one.py": "from noisewise.one import f\ndef test_f():\n    assert f(1) == 2\n",
        "tests/mutants/equivalent.json": "{}",
        "tests/mutants/noticed.json": "{}",
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def one_of_each(root: Path) -> list[Fault]:
    return [f for f in faults.library(root / trial.LIBRARY) if f.kind == "sign"]


def test_verdicts_are_written_down_and_not_found_out_again(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, both = tmp_path / "log", one_of_each(tiny)
    before = {path: path.read_bytes() for path in tiny.rglob("*") if path.is_file()}
    found = trial.run(both, tiny, log)
    assert [(v.noticed, v.test) for v in (found[f.key] for f in both)] == [
        (trial.MIRRORED, "tests/test_one.py::test_f"),
        (trial.SURVIVED, ""),
    ]
    assert {path: path.read_bytes() for path in tiny.rglob("*") if path.is_file()} == before
    with log.open("a") as file:
        file.write('{"key": "cut o')
    assert trial.read(log) == found
    capsys.readouterr()
    assert trial.run(both, tiny, log) == found
    assert capsys.readouterr().err == ""  # nothing was tried


def test_the_table_counts_each_room(tiny: Path, tmp_path: Path) -> None:
    both, known = one_of_each(tiny), Known.read(tiny)
    verdicts = trial.run(both, tiny, tmp_path / "log")
    assert list(table(both, verdicts, known))[2:] == [
        "| (top) | 2 | 0 | 1 | 0 | 1 | 0 | 50% |",
        "| all | 2 | 0 | 1 | 0 | 1 | 0 | 50% |",
    ]
    known.equivalent[both[1].key] = {"reason": "nobody calls g"}
    assert list(table(both, verdicts, known))[-1] == "| all | 2 | 1 | 1 | 0 | 0 | 0 | 100% |"


def test_a_test_that_fails_without_a_fault_notices_nothing(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tests, both = tiny / "tests" / "test_one.py", one_of_each(tiny)
    tests.write_text("def test_broken():\n    assert False\n" + tests.read_text())
    found = trial.run(both, tiny, tmp_path / "log")
    assert [found[f.key].noticed for f in both] == [trial.MIRRORED, trial.SURVIVED]
    left_out = [text for text in capsys.readouterr().err.splitlines() if "left out" in text]
    assert len(left_out) == 1
    assert "test_broken fails in" in left_out[0]


def test_a_file_of_tests_that_cannot_be_read_notices_nothing(tiny: Path, tmp_path: Path) -> None:
    (tiny / "tests" / "test_nothing.py").write_text("import noisewise.nothing\n")
    both = one_of_each(tiny)
    found = trial.run(both, tiny, tmp_path / "log")
    assert [found[f.key].noticed for f in both] == [trial.MIRRORED, trial.SURVIVED]


def test_tests_that_cannot_begin_are_an_error(tiny: Path, tmp_path: Path) -> None:
    (tiny / "pyproject.toml").write_text("[tool.pytest.ini_options]\nnothing = [")
    with pytest.raises(trial.UnreliableTestError, match=r"at import fails in .* without any fault"):
        trial.run(one_of_each(tiny), tiny, tmp_path / "log")


def test_what_takes_too_long_is_undecided_and_tried_again(tiny: Path, tmp_path: Path) -> None:
    """Time is that of a processor, so that a busy machine decides no less."""
    fault, log, slow = one_of_each(tiny)[1], tmp_path / "log", tiny / "tests" / "test_one.py"
    quick = slow.read_text()
    slow.write_text("def test_f():\n    while True:\n        pass\n")
    found = trial.run([fault], tiny, log, limit=3.0)
    assert found[fault.key].noticed == trial.UNDECIDED
    slow.write_text(quick)
    assert trial.run([fault], tiny, log) == found
    assert trial.run([fault], tiny, log, again=True)[fault.key].noticed == trial.SURVIVED


def test_a_test_that_does_not_exist_is_an_error(tiny: Path, tmp_path: Path) -> None:
    copy = trial.copied(tiny, tmp_path / "copy", limit=60.0)
    assert copy.failing(["tests/test_one.py::test_f"]) == ""
    with pytest.raises(trial.UnreliableTestError, match=r"there is no test tests/test_one\.py::no"):
        copy.failing(["tests/test_one.py::no"])


def test_a_copy_that_was_stopped_begins_no_other_test(tiny: Path, tmp_path: Path) -> None:
    copy = trial.copied(tiny, tmp_path / "copy", limit=60.0)
    copy.stop()
    with pytest.raises(KeyboardInterrupt):
        copy.failing(["tests"])


def test_what_was_noticed_is_learnt(tiny: Path, tmp_path: Path) -> None:
    both, known = one_of_each(tiny), Known.read(tiny)
    verdicts = trial.run(both, tiny, tmp_path / "log")
    known.learn([(fault, verdicts[fault.key].test) for fault in both])
    again = Known.read(tiny)
    assert again.turn(both, 5) == [(both[0], "tests/test_one.py::test_f")]
    moved = tiny / "tests" / "one" / "test_moved.py"
    moved.parent.mkdir()
    (tiny / "tests" / "test_one.py").rename(moved)
    assert again.turn(both, 5) == [(both[0], "tests/one/test_moved.py::test_f")]
    moved.unlink()
    assert again.turn(both, 5) == []


def test_entries_are_found_again_or_dropped(tiny: Path) -> None:
    """A renamed function keeps its entry; a changed line and a test that is gone lose it."""
    both, known, test = one_of_each(tiny), Known.read(tiny), "tests/test_one.py::test_f"
    known.learn([(both[0], test), (both[1], test), (both[1], "tests/test_one.py::test_gone")])
    known = Known.read(tiny)
    assert known.mend(both) == [f"{both[1].key} is dropped: return a - 1"]
    code = tiny / "src" / "noisewise" / "one.py"
    code.write_text(code.read_text().replace("def f(", "def _f("))
    renamed = one_of_each(tiny)[0]
    assert renamed.key != both[0].key
    assert known.mend(one_of_each(tiny)) == [f"{both[0].key} is {renamed.key} now: {renamed}"]
    assert Known.read(tiny).turn(one_of_each(tiny), 5) == [(renamed, test)]
    code.write_text(code.read_text().replace("a + 1", "a + 2"))
    assert known.mend(one_of_each(tiny)) == [f"{renamed.key} is dropped: return a + 1"]
    assert Known.read(tiny).noticed == {}


def test_the_command_lists_its_sample(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--list", "--n", "30", "--room", "measured"])
    listed = capsys.readouterr().out.splitlines()
    assert len(listed) == 90
    assert all(" measured/" in line for line in listed[::3])


def test_the_table_of_a_part_of_the_sample(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What an interrupted command has found out so far; nothing is run."""
    log, first = tmp_path / "log", sample.draw(every(), 150, seed=0)[:2]
    noticed = (trial.MIRRORED, trial.SURVIVED)
    verdicts = [
        trial.Verdict(f.key, n, "t" * (n == noticed[0]))
        for f, n in zip(first, noticed, strict=True)
    ]
    log.write_text("".join(json.dumps(dataclasses.asdict(v)) + "\n" for v in verdicts))
    main(["--seed", "0", "--log", str(log), "--tried"])
    assert "| all | 2 | 0 | 1 | 0 | 1 | 0 | 50% |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--n", "0"], "--n, --jobs and --limit must be at least 1"),
        (["--room", "cellar"], "--room must be one of (top), "),
        (["--file", "nothing.py"], "got nothing.py"),
        (["--log", "no/such/folder"], "--log must be in a folder that exists"),
    ],
)
def test_wrong_arguments(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(options)
    assert said in capsys.readouterr().err


# -- which tests reach a line


REACHED = {
    "src/noisewise/__init__.py": "",
    "src/noisewise/one.py": """
_LEAST = 5


class Ring:
    size: int = 7

    def room(self):
        return self.size + 2


def f(a):
    if a > _LEAST:
        return a + 1
    return a - 1
""",
    "tests/test_one.py": """
import subprocess, sys
from noisewise.one import Ring, f
def test_large():
    assert f(9) == 10
def test_small():
    assert f(0) == -1
def test_ring():
    assert Ring().room() == 9
def test_elsewhere():
    code = "from noisewise.one import f; assert f(8) == 9"
    subprocess.run([sys.executable, "-c", code], check=True)
""",
    "tests/test_two.py": "def test_nothing():\n    pass\ndef test_failing():\n    assert False\n",
    "tests/mutants/equivalent.json": "{}",
    "tests/mutants/noticed.json": "{}",
    "pyproject.toml": "[tool.pytest.ini_options]\n",
}


@pytest.mark.untraced
def test_a_fault_needs_only_the_tests_that_reach_its_line(tmp_path: Path) -> None:
    root = tmp_path / "reached"
    for name, text in REACHED.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    tests, reach = Mirror(root), Reach()
    reach.measure(root, tests.tests(), jobs=1)
    reach.write(tmp_path / "reach")
    assert Reach.read(tmp_path / "reach") == reach
    assert {t.partition("::")[2] for t in reach.seconds} == {
        "test_large", "test_small", "test_ring", "test_elsewhere", "test_nothing",
    }  # fmt: skip
    planted = {f.before: f for f in faults.library(root / trial.LIBRARY)}

    def reaching(line: str) -> set[str]:
        return {test.partition("::")[2] for test in reach.tests(planted[line])}

    assert reaching("return a + 1") == {"test_large", "test_elsewhere"}
    assert reaching("return a - 1") == {"test_small"}
    # What is executed at import belongs to the functions that name it.
    assert reaching("_LEAST = 5") == {"test_large", "test_small", "test_elsewhere"}
    assert reaching("size: int = 7") == {"test_ring"}
    # Only these are run, and files that did not change are not measured again.
    copy = trial.copied(root, tmp_path / "copy", limit=60.0)
    assert copy.verdict(planted["return a - 1"], tests, reach).test.endswith("::test_small")
    times = dict(reach.seconds)
    (root / "tests" / "test_two.py").write_text("def test_nothing():\n    pass\n")
    reach.measure(root, Mirror(root).tests(), jobs=1)
    changed = {t for t in reach.seconds if reach.seconds[t] != times[t]}
    assert changed <= {"tests/test_two.py::test_nothing"}
    assert reach.seconds.keys() == times.keys()


def test_cheap_tests_come_first_and_no_more_than_fit() -> None:
    (fault,) = (f for f in planted() if f.after == 'x["n"] = a - 1')
    seconds = {"tests/a.py::t[1]": 1.0, "tests/a.py::t[2]": 1.1, "tests/b.py::t": 1.9}
    seconds |= {"tests/digests/c.py::t": 9.0, "tests/d.py::other": 0.1}
    names = {t for t in seconds if "other" not in t}
    reach = Reach({}, seconds, {(fault.path, fault.function, fault.before): names})
    # The second of t's parameters counts twice, a pinned run a tenth.
    order = ["tests/digests/c.py::t", "tests/a.py::t[1]", "tests/b.py::t", "tests/a.py::t[2]"]
    assert reach.tests(fault) == order
    assert list(reach.fitting(order, 10.5)) == order[:2]


# -- the library's own


def test_faults_known_to_change_nothing_have_a_reason() -> None:
    for entry in Known.read(ROOT).equivalent.values():
        assert len(entry["reason"].split()) >= 4


def test_some_faults_that_must_be_noticed_are_noticed(tmp_path: Path) -> None:
    """Four of the list, others whenever the code of the library changes."""
    turn = Known.read(ROOT).turn(every(), 4)
    assert len(turn) == 4
    copy = trial.copied(ROOT, tmp_path / "copy", limit=300.0)
    for fault, test in turn:
        with copy.planted(fault):
            assert copy.failing([test]), f"{test} does not notice {fault}"


def test_the_faults_on_both_lists_can_still_be_planted() -> None:
    """``python -m noisewise_bench.mutants --mend`` finds those again whose lines have moved."""
    known, planted = Known.read(ROOT), {fault.key for fault in every()}
    there = known.tests()
    gone = [e for key, e in known.noticed.items() if key not in planted or key not in there]
    assert not gone
    gone = [e for key, e in known.equivalent.items() if key not in planted]
    assert not gone
    assert len(known.noticed) >= 100
