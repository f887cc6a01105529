"""Plants faults in copies of the repository, one at a time, and runs tests there."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import os
import queue
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from noisewise_bench.mutants.faults import Fault
from noisewise_bench.mutants.mirror import Mirror
from noisewise_bench.mutants.reach import Reach, sources

#: The folder of the library in its repository.
LIBRARY = Path("src") / "noisewise"
MIRRORED, WIDER, SURVIVED, UNDECIDED = "mirrored", "wider", "survived", "undecided"
#: What fails where the tests cannot even begin.
AT_IMPORT = "at import"
#: Seconds for one test; a fault that makes it hang is noticed.
_HANGS = 180
#: Seconds by the clock that tests get for each second of a processor, on a busy machine.
_WAITS = 10.0
_LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", "__pycache__", "build", "dist")
_MISSING = re.compile(r"^ERROR: not found: (.+)$", re.MULTILINE)
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+(?:\[.*?\])?)(?: - |$)", re.MULTILINE)
#: Share of the limit for tests chosen by the time they took before: the machine may be busier.
_PART = 0.2
#: Coverage would count lines of the copy, and without compiled files all takes longer.
_NOT_PASSED_ON = {"COVERAGE_PROCESS_CONFIG", "PYTEST_ADDOPTS", "PYTHONDONTWRITEBYTECODE"}
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Verdict:
    """What became of a fault: which tests noticed it (``MIRRORED``, ``WIDER``), that it
    ``SURVIVED``, or that it is ``UNDECIDED``: no test failed before the time was over. ``test`` is
    the first that failed."""

    key: str
    noticed: str
    test: str = ""
    seconds: float = 0.0


class UnreliableTestError(Exception):
    """A test that fails without any fault, or does not exist."""


class MissingTestError(UnreliableTestError):
    """Tests that do not exist; a fault may change their parameters."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(f"there is no test {' '.join(names)}")
        self.names = names


@dataclass
class Copy:
    """A copy of the repository in which faults are planted."""

    root: Path
    #: Seconds of a processor that the mirrored tests, and the others, get for one fault.
    limit: float = 300.0
    #: Tests, or files of them, that pass without a fault, and those that do not.
    _sound: set[str] = field(default_factory=set)
    _unsound: set[str] = field(default_factory=set)
    _running: subprocess.Popen[str] | None = None
    _stopped: bool = False

    @contextlib.contextmanager
    def planted(self, fault: Fault) -> Iterator[None]:
        """The fault is in the copy within this block. Compiled files are removed, since two edits
        can fall into one second."""
        path = self.root / LIBRARY / fault.path
        whole = path.read_text(encoding="utf-8")
        try:
            self._write(path, fault.apply(whole))
            yield
        finally:
            self._write(path, whole)

    def _write(self, path: Path, text: str) -> None:
        path.write_text(text, encoding="utf-8")
        for compiled in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
            compiled.unlink()

    def failing(self, tests: Sequence[str]) -> str | None:
        """The first test that fails; empty if all pass, None if the time is over."""
        listed = self.root / "tests.txt"
        listed.write_text("\n".join(tests), encoding="utf-8")
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-rfE", "-p", "no:cacheprovider"]
        command += ["-p", "no:xdist", "-o", "addopts=", "-o", f"timeout={_HANGS}", f"@{listed}"]
        command += [f"--deselect={test}" for test in sorted(self._unsound)]
        environment = {k: v for k, v in os.environ.items() if k not in _NOT_PASSED_ON}
        environment |= dict.fromkeys(_THREADS, "1")
        environment["PYTHONPATH"] = sources(self.root)
        out = self._run(command, environment)
        if not out:
            return out
        if missing := _MISSING.findall(out):
            raise MissingTestError(
                [test for test in tests if any(m.endswith(test) for m in missing)]
            )
        failed = _FAILED.search(out)
        return failed[1] if failed else AT_IMPORT

    def _run(self, command: list[str], environment: dict[str, str]) -> str | None:
        """What a command that fails prints; empty if it succeeds, None if the time is over."""
        with tempfile.TemporaryFile("w+") as out:
            self._running = process = subprocess.Popen(
                command,
                cwd=self.root,
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=self._restrict,
                text=True,
            )
            try:
                code = process.wait(_WAITS * self.limit)
            except subprocess.TimeoutExpired:
                return None
            finally:
                self._end()
                process.wait()
            if self._stopped:
                raise KeyboardInterrupt
            if code == -signal.SIGXCPU:
                return None
            out.seek(0)
            return out.read() if code else ""

    def _restrict(self) -> None:
        """Called in the process of the tests before they begin."""
        seconds = math.ceil(self.limit)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))

    def stop(self) -> None:
        """End the tests that run, and begin no others."""
        self._stopped = True
        self._end()

    def _end(self) -> None:
        """End the tests that run, with what they have started."""
        if self._running is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._running.pid, signal.SIGKILL)

    def verdict(self, fault: Fault, tests: Mirror, reach: Reach, wider: bool = True) -> Verdict:
        """Run the mirrored tests, then the others (if ``wider``), until one fails."""
        begun, noticed = time.monotonic(), SURVIVED
        for suite, names in self._suites(fault, tests, reach):
            if suite == WIDER and not wider:
                continue
            failed = self._first(fault, names, reach)
            if failed:
                return Verdict(fault.key, suite, failed, time.monotonic() - begun)
            noticed = UNDECIDED if failed is None else noticed
        return Verdict(fault.key, noticed, seconds=time.monotonic() - begun)

    def _suites(self, fault: Fault, tests: Mirror, reach: Reach) -> Iterator[tuple[str, list[str]]]:
        """The tests of each suite: those that reach the line, as many as fit in a part of the
        limit; if it is not known what tests reach, all of their files."""
        path = LIBRARY / fault.path
        known = reach.tests(fault)
        for suite, files in ((MIRRORED, tests.mirrored(path)), (WIDER, tests.wider(path))):
            ordered = tests.ordered(files, fault.before, path)
            names = [file.relative_to(tests.root).as_posix() for file in ordered]
            if reach.seconds:
                chosen = [t for t in known if t.partition("::")[0] in names]
                names = list(reach.fitting(chosen, _PART * self.limit))
            yield suite, names

    def _first(self, fault: Fault, names: list[str], reach: Reach) -> str | None:
        """The first of these tests that notices the fault; like `failing`. One that fails without
        any fault, on a busy machine, is left out from then on."""
        while names := [name for name in names if name not in self._unsound]:
            try:
                with self.planted(fault):
                    failed = self.failing(names)
            except MissingTestError as error:
                if not reach.seconds or not error.names:
                    raise
                names = [name for name in names if name not in error.names]
                continue
            if not failed:
                return failed
            try:
                self._must_pass(failed, names)
            except UnreliableTestError as error:
                if failed == AT_IMPORT:
                    raise
                print(f"left out: {error}", file=sys.stderr)
                self._unsound.add(failed)
                reach.seconds.pop(failed, None)
                names = _from(failed, names)
            else:
                return failed
        return ""

    def _must_pass(self, test: str, names: list[str]) -> None:
        """A test that noticed a fault must pass without it."""
        if test in self._sound:
            return
        if failed := self.failing(names[:1] if test == AT_IMPORT else [test]):
            raise UnreliableTestError(f"{failed} fails in {self.root} without any fault")
        self._sound.add(test)


def _from(failed: str, names: list[str]) -> list[str]:
    """Tests that did not run yet when one failed: those of its file, too, where files are run."""
    where = failed.partition("::")[0]
    at = next((i for i, name in enumerate(names) if name in (failed, where)), 0)
    return names[at:]


def run(
    faults: Iterable[Fault],
    root: Path,
    log: Path,
    *,
    jobs: int = 1,
    limit: float = 300.0,
    again: bool = False,
    wider: bool = True,
    reach: Reach | None = None,
) -> dict[str, Verdict]:
    """The verdict on every fault by its key. Those in ``log`` already are not tried again, except
    those that nothing noticed with ``again``; every new one is appended at once."""
    known = read(log)
    todo = [f for f in faults if f.key not in known or (again and not known[f.key].test)]
    todo.sort(key=lambda fault: fault.key)  # rooms take turns
    tests, free = Mirror(root), queue.SimpleQueue[Copy]()
    with (
        tempfile.TemporaryDirectory(prefix="noisewise-mutants-") as folder,
        log.open("a", encoding="utf-8") as file,
    ):
        copies = [
            copied(root, Path(folder) / str(number), limit)
            for number in range(min(jobs, len(todo)))
        ]
        for copy in copies:
            free.put(copy)

        def judge(fault: Fault) -> Verdict:
            copy = free.get()
            try:
                return copy.verdict(fault, tests, reach or Reach(), wider)
            finally:
                free.put(copy)

        pool = ThreadPoolExecutor(jobs)
        try:
            for fault, verdict in zip(todo, pool.map(judge, todo), strict=True):
                known[verdict.key] = verdict
                file.write(json.dumps(dataclasses.asdict(verdict)) + "\n")
                file.flush()
                print(f"{verdict.noticed:8} {verdict.seconds:4.0f} s  {fault}", file=sys.stderr)
        except BaseException:
            for copy in copies:  # an interrupt must not wait for tests that are under way
                copy.stop()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
    return known


def copied(root: Path, target: Path, limit: float) -> Copy:
    """A copy of the repository at ``target``."""
    return Copy(Path(shutil.copytree(root, target, ignore=_LEFT_OUT)), limit)


def read(log: Path) -> dict[str, Verdict]:
    """The verdicts in a file; a line that was cut off is left out."""
    found = {}
    for line in log.read_text(encoding="utf-8").splitlines() if log.exists() else ():
        with contextlib.suppress(json.JSONDecodeError):
            verdict = Verdict(**json.loads(line))
            found[verdict.key] = verdict
    return found
