"""Eight processes on one run in a database. Processes, connections and a whole machine are killed
at random moments, and others take their places."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import noisewise as nw
from noisewise.loop import pulse, shared
from noisewise.loop.events import Gone, read
from noisewise.problem.values import Value
from noisewise.storage import open_store
from noisewise_bench.reliability import postgres
from noisewise_bench.reliability.objective import bumpy, lines, note

_FORK = multiprocessing.get_context("fork")
PROCESSES, BUDGET = 8, 400
#: Seconds between signs of life, and after which a process counts as dead: short ones, since the
#: study has many deaths.
_BEAT, _OVERDUE = 0.25, 2.0
#: Seconds of an evaluation.
_PAUSE = 0.03
#: Kills in one run.
_MOST = 50
#: Addresses of the server and of two machines, which are network namespaces.
_SERVER, _MACHINES = "10.213.0.1", ("10.213.0.2", "10.213.0.3")
_PORT = 5713
_NEW_NETWORK = 0x40000000


@dataclass
class Tally:
    """What came of runs that many processes share, while some of them were killed."""

    where: str
    kills: Counter[str] = field(default_factory=Counter)
    runs: int = 0
    evaluations: int = 0
    #: Evaluated again because whoever had them was dead, or taken for dead.
    again: int = 0
    #: Evaluated twice although nobody was.
    mistakes: int = 0
    #: Evaluations that ended and are not in the database, beyond one for each process killed.
    lost: int = 0
    #: Runs that spent another number than their budget, and whose survivors differ.
    inexact: int = 0
    different: int = 0


@dataclass(frozen=True)
class Logged:
    """`bumpy`; writes down when a call begins and when it ends."""

    log: Path

    def __call__(self, x: Any) -> float:
        note(self.log, "begin\n")
        time.sleep(_PAUSE)
        value = bumpy(x)
        note(self.log, "end\n")
        return value


def _work(url: str, log: Path, budget: int, network: str | None, answers: Any) -> None:
    """A process of the run, perhaps on another machine."""
    if network is not None:
        with open(f"/var/run/netns/{network}") as file:
            if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), _NEW_NETWORK):
                raise OSError(ctypes.get_errno(), "setns")
    pulse.BEAT, pulse.OVERDUE = _BEAT, _OVERDUE
    r = nw.minimize(
        Logged(log), np.full(4, 2.0), sigma0=1.0, budget=budget, rng=0, method="cma-es", storage=url
    )
    answers.put((r.nfev, r.fun, r.x.tolist()))


class _Crew:
    """The processes at work, half of them on either machine."""

    def __init__(self, url: str, log: Path, budget: int, machines: list[str | None]) -> None:
        self._given, self._machines = (url, log, budget), machines
        self.answers: Any = _FORK.Queue()
        self.processes: list[tuple[Any, str | None]] = []

    def fill(self, n: int) -> None:
        """Have ``n`` processes; those that have died or ended are replaced."""
        self.processes = [one for one in self.processes if one[0].is_alive()]
        while len(self.processes) < n:
            here = Counter(machine for _, machine in self.processes)
            machine = min(self._machines, key=lambda one: here[one])
            process = _FORK.Process(target=_work, args=(*self._given, machine, self.answers))
            process.start()
            self.processes.append((process, machine))

    def kill(self, i: int) -> bool:
        """kill -9; whether it still ran."""
        process, _ = self.processes[i]
        if not process.is_alive():
            return False
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        return True


def survive(
    where: str, kills: int, seed: int = 0, budget: int = BUDGET, n: int = PROCESSES
) -> Tally:
    """Kill so many, over as many runs as that takes. ``where``: "sqlite", "postgres", or
    "machines", which is PostgreSQL with two network namespaces."""
    tally, rng = Tally(where), np.random.default_rng(seed)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = None
        machines: list[str | None] = [None]
        if where == "machines":
            machines = [*stack.enter_context(_two_machines())]
        if where != "sqlite":
            addresses = _SERVER if where == "machines" else ""
            server = stack.enter_context(postgres.server(addresses, _PORT))
        while tally.kills.total() < kills:
            name, log = f"run{tally.runs}", folder / f"calls{tally.runs}"
            place = f"sqlite:///{folder}/runs.db" if server is None else server.url()
            there = place
            if where == "machines":
                there = f"postgresql://noisewise@{_SERVER}:{_PORT}/postgres"
            crew = _Crew(f"{there}#{name}", log, budget, machines)
            _one_run(tally, crew, f"{place}#{name}", log, kills, rng, budget, n)
    return tally


def _one_run(
    tally: Tally,
    crew: _Crew,
    url: str,
    log: Path,
    kills: int,
    rng: np.random.Generator,
    budget: int,
    n: int,
) -> None:
    crew.fill(n)
    most = min(kills - tally.kills.total(), _MOST)
    step = max(1, int(0.8 * budget) // most)
    processes = 0
    for kill in range(most):
        while lines(log).count("end") < (kill + 1) * step and any(
            process.is_alive() for process, _ in crew.processes
        ):
            time.sleep(0.01)
        if not (fault := _fault(crew, url, rng)):
            break
        tally.kills[fault[0]] += 1
        processes += fault[1]
        crew.fill(n)
    for process, _ in crew.processes:
        process.join()
    found = []
    while not crew.answers.empty():
        found.append(repr(crew.answers.get()))
    _count(tally, url, log, processes, budget, found)


def _fault(crew: _Crew, url: str, rng: np.random.Generator) -> tuple[str, int] | None:
    """Let something fail: what, and how many processes died of it. None: the run has ended."""
    kinds = ["process"] if url.startswith("sqlite") else ["process", "connection"]
    machine = crew.processes[0][1]
    if machine is not None and rng.random() < 0.1:
        victims = [i for i, (_, where) in enumerate(crew.processes) if where == machine]
        died = sum(crew.kill(i) for i in victims)
        return ("machine", died) if died else None
    if kinds[int(rng.integers(len(kinds)))] == "connection":
        store = open_store(url)
        cut = store._rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = (SELECT pid FROM "
            "pg_stat_activity WHERE application_name = 'noisewise' AND pid <> pg_backend_pid() "
            "ORDER BY random() LIMIT 1)"
        )
        store.close()
        return ("connection", 0) if cut else None
    died = crew.kill(int(rng.integers(len(crew.processes))))
    return ("process", 1) if died else None


def _count(
    tally: Tally, url: str, log: Path, processes: int, budget: int, found: list[str]
) -> None:
    """Compare what the objective says with what the database says."""
    store = open_store(url)
    happened = [(e.worker, read(e.line.partition("\t")[0].encode())) for e in store.since(0)]
    store.close()
    told: dict[int, str] = {}
    gone = {event.worker for _, event in happened if isinstance(event, Gone)}
    values = 0
    for worker, event in happened:
        if isinstance(event, Value):
            values += 1
            if event.id in told:
                tally.mistakes += not {worker, told[event.id]} & gone
            told.setdefault(event.id, worker)
    calls = Counter(lines(log))
    opt = shared.load(url)
    answer = repr((opt.result().nfev, opt.result().fun, opt.result().x.tolist()))
    tally.runs += 1
    tally.evaluations += opt.spent
    tally.again += calls["begin"] - budget
    tally.lost += max(0, calls["end"] - values - processes)
    tally.inexact += opt.spent != budget or len(told) != budget
    tally.different += set(found) != {answer}


@contextmanager
def _two_machines() -> Iterator[tuple[str, str]]:
    """Two network namespaces whose only way to each other and to the server is a bridge."""

    def ip(*words: str, check: bool = True) -> None:
        subprocess.run(["ip", *words], check=check, capture_output=True)

    tag = f"nw{os.getpid() % 10000}"
    names = (f"{tag}a", f"{tag}b")
    try:
        ip("link", "add", tag, "type", "bridge")
        ip("addr", "add", f"{_SERVER}/24", "dev", tag)
        ip("link", "set", tag, "up")
        for name, address in zip(names, _MACHINES, strict=True):
            ip("netns", "add", name)
            ip("link", "add", f"{name}0", "type", "veth", "peer", "name", "eth0", "netns", name)
            ip("link", "set", f"{name}0", "master", tag, "up")
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield names
    finally:
        for name in names:
            with contextlib.suppress(OSError):
                ip("netns", "del", name, check=False)
        ip("link", "del", tag, check=False)


def table(tallies: Iterator[Tally]) -> Iterator[str]:
    yield (
        "| where | killed | runs | evaluations | done again after a death | lost "
        "| twice by mistake | budget not exact | survivors differ |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for t in tallies:
        kills = ", ".join(f"{n} {what}" for what, n in sorted(t.kills.items()))
        yield (
            f"| {t.where} | {kills} | {t.runs} | {t.evaluations} | {t.again} | {t.lost} "
            f"| {t.mistakes} | {t.inexact} | {t.different} |"
        )
