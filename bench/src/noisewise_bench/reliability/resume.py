"""Every run is killed at every evaluation and resumed from the file as it was at that moment.

A *way* is an option that changes how a run is kept, or what of it; a *kill point* is the moment at
which an evaluation begins. The file is copied at each of them while a run goes on that nobody
interferes with; then a run is resumed from each copy and has to end in the same way, to the bit.
With several workers the answer depends on the order in which values come: then all of the budget
has to be spent, and nothing may be lost or done again.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import threading
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import noisewise as nw
from noisewise.loop import checkpoint
from noisewise.methods import Method
from noisewise.problem.values import Value
from noisewise.run.run import BUDGET_SPENT
from noisewise_bench.reliability.objective import draws

#: Dimension, and evaluations of a run; fewer where a model is fitted again and again.
DIMENSION, BUDGET, FEW = 2, 60, 24
#: Threads of the way with workers, and trials of a batch.
_WORKERS, _BATCH = 3, 7
#: Seconds between two fresh states in the file: always values only, or a new state every round.
STATES = {"values": math.inf, "states": 0.0}
#: Kept with every run.
_EXTRA = {"limits": np.array([0.0, 1.0]), "missing": math.nan}


#: The list that a method is given which searches lists only.
_OPTIONS = [3.0, 2.0, 1.0, 2.5]


def _at(x: Any) -> int:
    """A number that belongs to the point."""
    return zlib.crc32(np.asarray(x).tobytes())


def below_a_line(x: Any, seed: int | None = None) -> list[float]:
    """Two constraints, of which half of the box meets the first."""
    if isinstance(x, dict):
        x = np.array([x["option"], -1.5])
    return [float(x[0] + x[1] - 1.0), float(x[0] - 9.0)]


@dataclass
class Objective:
    """A sphere with noise that belongs to the point and to how often it was evaluated before, or to
    the seed. Copies ``path`` to ``copies`` before each evaluation, with what is needed to go on."""

    way: str
    path: Path
    seen: Counter[int] = field(default_factory=Counter)
    copies: list[tuple[bytes, Counter[int]]] | None = None
    calls: int = 0
    lock: Any = field(default_factory=threading.Lock)

    def __call__(self, x: Any, seed: int | None = None) -> Any:
        if isinstance(x, dict):
            x = np.array([x["option"]])
        at = _at(x)
        with self.lock:
            if self.copies is not None:
                self.copies.append((self.path.read_bytes(), Counter(self.seen)))
            self.calls += 1
            self.seen[at] += 1
            again = self.seen[at]
        if self.way == "failures" and at % 5 == 0:
            return math.nan
        noise = np.random.default_rng([at, again] if seed is None else seed)
        value = float(x @ x + 0.2 * noise.normal())
        if self.way == "errors":
            return value, 0.1 + 0.2 * float(noise.random())
        return -value if self.way == "maximize" else value


#: What each way asks of `noisewise.minimize`.
WAYS: dict[str, dict[str, Any]] = {
    "plain": {},
    "batch": {"batch": _BATCH},
    "workers": {"seeds": "independent"},
    "seeds": {"seeds": "auto"},
    "constraints": {"constraints": below_a_line},
    "data": {"data": ([[0.5, 1.0], [1.5, -1.0], [-2.0, 0.1]], [1.3, 3.2, math.nan], 0.2)},
    "maximize": {"maximize": True},
    "failures": {},
    "errors": {},
}


@dataclass(frozen=True)
class Case:
    """A method, a way, and what is in the file."""

    method: str
    way: str
    states: str

    @property
    def command(self) -> str:
        """Repeats it alone."""
        chosen = f"--methods {self.method} --ways {self.way} --states {self.states}"
        return f"python -m noisewise_bench.reliability resume {chosen}"

    @property
    def given(self) -> dict[str, Any]:
        """Arguments of `noisewise.minimize`."""
        method = _method(self.method)
        model = "noise_share" in method.columns
        given: dict[str, Any] = {
            "budget": FEW if model else BUDGET,
            "rng": 0,
            "method": method,
            "extra": dict(_EXTRA),
        } | WAYS[self.way]
        if method.lists != "all":
            return {"bounds": [(-3.0, 3.0)] * DIMENSION, "x0": [2.0] * DIMENSION} | given
        if "data" in given:
            _, y, se = given["data"]
            given["data"] = ([{"option": option} for option in _OPTIONS[: len(y)]], y, se)
        return {"space": {"option": _OPTIONS}} | given


@functools.cache
def _method(name: str) -> Method:
    """The method with the population that it chooses."""
    needs: dict[str, Any] = {"draws": draws, "n_draws": 8} if name == "pem" else {}
    chosen: Method = nw.methods.get(name, **needs)
    return chosen


def cases(methods: Any = None, ways: Any = None, states: Any = None) -> Iterator[Case]:
    """All that there are, or those of these methods, ways and states."""
    for way in ways or WAYS:
        for name in methods or nw.list_methods():
            if way == "constraints" and not _method(name).constrained:
                continue
            for kind in states or STATES:
                yield Case(name, way, kind)


def of_day(day: int) -> list[tuple[Case, slice]]:
    """The cases and kill points of a day, in turns: one way for each method, so that each method
    and nearly every way has its turn every day, and one kill point of three."""
    found = []
    for i, name in enumerate(nw.list_methods()):
        ways = list(dict.fromkeys(case.way for case in cases([name])))
        turn, at = divmod(day + i, len(ways))
        states = list(STATES)[turn % 2]
        found.append((Case(name, ways[at], states), slice(turn // 2 % 3, None, 3)))
    return found


@dataclass
class Tally:
    """What came of kill points: how many there were, and what went wrong at some of them."""

    points: int = 0
    #: Resumed runs that did not end as they should, or not at all.
    differ: list[str] = field(default_factory=list)
    #: Evaluations that were not in the file although their value was known.
    lost: int = 0
    #: Evaluations that were in the file and were done again.
    again: int = 0

    def add(self, other: Tally) -> None:
        self.points += other.points
        self.differ += other.differ
        self.lost += other.lost
        self.again += other.again

    @property
    def good(self) -> bool:
        return self.points > 0 and not self.differ and self.lost == self.again == 0


def resume(case: Case, folder: Path, which: slice = slice(None)) -> Tally:
    """Resume a run from ``which`` of its kill points, and from its end."""
    path, tally = folder / "run", Tally()
    path.unlink(missing_ok=True)
    with mock.patch("os.fsync"), mock.patch.object(checkpoint, "_FRESHEN", STATES[case.states]):
        first = Objective(case.way, path, copies=[])
        expected = _run(case, first)
        copies = list(enumerate(first.copies or []))[which]
        for k, (content, seen) in [*copies, (first.calls, (path.read_bytes(), first.seen))]:
            path.write_bytes(content)
            known = _known(path, case)
            fun = Objective(case.way, path, Counter(seen))
            tally.points += 1
            try:
                wrong = _wrong(case, _run(case, fun), expected)
            except Exception as error:  # whatever a resumed run dies of
                tally.differ.append(f"evaluation {k}: {type(error).__name__}: {error}")
                continue
            if wrong:
                tally.differ.append(f"evaluation {k}: {wrong}")
            tally.again += max(0, fun.calls - (first.calls - known))
            others = _WORKERS - 1 if case.way == "workers" else 0  # whose values are on their way
            tally.lost += max(0, k - known - others)
    return tally


def _wrong(case: Case, found: nw.Result, expected: nw.Result) -> str:
    """What is wrong with a resumed run; empty: nothing."""
    if case.way != "workers":
        return "" if same_result(found, expected) else "another result"
    budget = case.given["budget"]
    spent = (found.nfev, found.status, found.n_failures) == (budget, BUDGET_SPENT, 0)
    return "" if spent else f"{found.nfev} of {budget} evaluations, status {found.status}"


def _run(case: Case, fun: Objective) -> nw.Result:
    with contextlib.ExitStack() as stack:
        workers: dict[str, Any] = {}
        if case.way == "workers":
            workers["executor"] = stack.enter_context(ThreadPoolExecutor(_WORKERS))
        return nw.minimize(fun, checkpoint=fun.path, **case.given, **workers)


def _known(path: Path, case: Case) -> int:
    """Evaluations whose value is in the file."""
    saved = checkpoint.read(path, _method(case.method))
    return int(saved.run.ledger.told) + sum(isinstance(event, Value) for event in saved.events)


def same_result(a: nw.Result, b: nw.Result) -> bool:
    """Equal in every entry, to the bit."""
    return bool(_bits(a) == _bits(b))


def _bits(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _bits(one) for key, one in value.items()}
    return value.tobytes() if isinstance(value, np.ndarray) else repr(value)


def table(chosen: Iterable[Case], folder: Path) -> Iterator[str]:
    """One row for each way; in the end a line for each case that went wrong."""
    yield "| way | methods | killed at | went on as it should | lost | done again although known |"
    yield "|---|---|---|---|---|---|"
    wrong: list[str] = []
    for way, some in itertools.groupby(chosen, lambda case: case.way):
        methods, total = set(), Tally()
        for case in some:
            found = resume(case, folder)
            methods.add(case.method)
            total.add(found)
            if not found.good:
                wrong.append(f"{case.command}: {', '.join(found.differ[:3])}")
        same = total.points - len(total.differ)
        yield f"| {way} | {len(methods)} | {total.points} | {same} | {total.lost} | {total.again} |"
    yield from wrong
