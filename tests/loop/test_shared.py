"""A run that several processes share through a database: the same state everywhere, whoever comes,
goes or dies."""

from __future__ import annotations

import json
import math
import os
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise import _data
from noisewise.command.main import main
from noisewise.loop import clock, pulse, shared
from noisewise.loop.events import Budget, Gone, Stop, TimeUp, read, write
from noisewise.loop.optimizer import Optimizer
from noisewise.loop.shared import Shared
from noisewise.problem.values import Value
from noisewise.storage import base, open_store
from postgres_server import postgres_server as postgres_server

fork = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and signals")
KINDS = ["sqlite", "postgres"]
_NAMES = iter(range(10**6))


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A run that is not there yet."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path}/runs.db#run"
    return f"{request.getfixturevalue('postgres_server').url()}#run{next(_NAMES)}"


def fresh(budget: int = 40, method: str = "watchful", **given: Any) -> Optimizer:
    given = {"workers": 2, "rng": 1} | given
    return Optimizer([2.0] * 3, sigma0=1.0, budget=budget, method=method, **given)


def state(opt: Optimizer) -> str:
    return json.dumps(_data.encode(opt.state))


def value(trial: nw.Trial) -> Value:
    noise = np.random.default_rng(trial.id).normal()
    return Value(trial.id, float(trial.x @ trial.x + 0.3 * noise))


def events(url: str) -> list[Any]:
    store = open_store(url)
    found = [(entry.worker, read(entry.line.split("\t")[0].encode())) for entry in store.since(0)]
    store.close()
    return found


def told(url: str) -> Counter[int]:
    return Counter(event.id for _, event in events(url) if isinstance(event, Value))


class Crew:
    """Processes of a run, played by one thread. Each has at most ``slots`` trials."""

    def __init__(self, url: str, n: int, slots: int = 1, **given: Any) -> None:
        self.url, self.given, self.slots = url, given, slots
        self.rng = np.random.default_rng(3)
        self.parts = [Shared(url, fresh(**given), None) for _ in range(n)]
        self.busy: dict[Shared, list[nw.Trial]] = {part: [] for part in self.parts}

    def join(self) -> Shared:
        part = Shared(self.url, fresh(**self.given), None)
        self.parts.append(part)
        self.busy[part] = []
        return part

    def die(self, part: Shared) -> None:
        """Without a word, as after kill -9; the others notice at some time."""
        part.pulse.stop()
        part._store.close()
        self.parts.remove(part)
        del self.busy[part]
        for other in self.parts:
            other.pulse.dead |= {part.worker}

    def turn(self) -> bool:
        """One of them tells what it has and asks for more; whether the run goes on."""
        part = self.parts[int(self.rng.integers(len(self.parts)))]
        trials = self.busy[part]
        done = (
            trials[: int(self.rng.integers(0, len(trials) + 1))] if self.rng.random() < 0.9 else []
        )
        rest = [trial for trial in trials if trial not in done]
        new = part.step([value(trial) for trial in done], self.slots - len(rest))
        self.busy[part] = [*rest, *new]
        return not part.opt.done

    def end(self) -> None:
        for part in list(self.parts):
            part.step([], 0)
        states = {state(part.opt) for part in self.parts}
        assert len(states) == 1
        answers = {repr(part.opt.recommend()) for part in self.parts}
        assert len(answers) == 1
        loaded = shared.load(self.url)
        assert repr(loaded.recommend()) in answers
        assert loaded.spent == loaded.budget
        for part in self.parts:
            part.leave()


@pytest.mark.parametrize("method", ["watchful", "cma-es", "auto", "rb-pem"])
@pytest.mark.parametrize("slots", [1, 3])
def test_all_are_in_the_same_state(url: str, method: str, slots: int) -> None:
    crew = Crew(url, 3, slots, method=method)
    while crew.turn():
        pass
    crew.end()
    assert set(told(url).values()) == {1}
    assert len(told(url)) == 40


def test_in_batches(url: str) -> None:
    crew = Crew(url, 3, batch=4)
    while crew.turn():
        pass
    crew.end()
    assert set(told(url).values()) == {1}


def test_some_die_and_others_come(url: str) -> None:
    crew, deaths = Crew(url, 4, 2, budget=80), 0
    for i in range(10_000):
        if not crew.turn():
            break
        if i % 17 == 16:
            victim = crew.parts[int(crew.rng.integers(len(crew.parts)))]
            crew.join()
            crew.die(victim)
            deaths += 1
    assert deaths > 3
    crew.end()
    assert set(told(url).values()) == {1}  # what the dead had was not told by them
    gone = [event for _, event in events(url) if isinstance(event, Gone)]
    assert 1 <= len({event.worker for event in gone}) <= deaths


def test_one_that_was_taken_for_dead_and_is_not(url: str) -> None:
    """Its value counts if it is the first, and changes nothing if it is not."""
    one, two = (Shared(url, fresh(), None) for _ in range(2))
    [trial] = one.step([], 1)
    two.pulse.dead |= {one.worker}
    [again] = two.step([], 1)
    assert again.id == trial.id
    two.step([value(again)], 0)
    [other] = one.step([value(trial)], 1)
    two.step([], 0)
    assert told(url)[trial.id] == 2
    assert state(one.opt) == state(two.opt)
    assert one.opt.spent == 1
    assert other.id != trial.id
    for part in (one, two):
        part.leave()


def test_who_leaves_gives_back_at_once(url: str) -> None:
    one, two = (Shared(url, fresh(), None) for _ in range(2))
    [trial] = one.step([], 1)
    one.leave()
    [again] = two.step([], 1)
    assert (again.id, again.x.tolist()) == (trial.id, trial.x.tolist())
    two.leave()


def test_an_event_is_written_once_although_its_connection_broke(url: str) -> None:
    """Again when it is not known whether the database had it."""
    part = Shared(url, fresh(), None)
    [trial] = part.step([], 1)
    part.step([value(trial)], 0)
    lines = [entry.line for entry in open_store(url).since(0)]
    part._store.append(part.worker, 1, lines[1:2])
    assert [entry.line for entry in open_store(url).since(0)] == lines
    part.leave()


def test_another_processor_samples_other_last_digits(url: str) -> None:
    """The point that was measured counts."""
    one, two = (Shared(url, fresh(), None) for _ in range(2))
    [trial] = one.step([], 1)
    one.held[trial.id] = one.held[trial.id] + 1e-12
    one.step([value(trial)], 0)
    two.step([], 0)
    assert state(one.opt) == state(two.opt)
    group = one.opt.state.pool[0]
    assert abs(group.X[0] - trial.x).max() > 0.0
    for part in (one, two):
        part.leave()


def test_another_state_is_noticed(url: str) -> None:
    part = Shared(url, fresh(), None)
    part.held[7] = None
    with pytest.raises(nw.CheckpointError, match="use the same versions of noisewise, numpy"):
        part.step([Value(7, 0.0)], 0)
    part.leave()


def test_a_long_run_is_joined_from_a_snapshot(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "_SNAPSHOT", 0.0)
    crew = Crew(url, 2, budget=300, method="cma-es")
    for _ in range(200):
        crew.turn()
    store = open_store(url)
    assert len(store.snapshots()) <= 2
    assert store.snapshots()[0] > store.newest() - 20
    joined = crew.join()
    assert joined._replica.kept > store.newest() - 20
    monkeypatch.setattr(shared, "_MANY", 10)
    late = crew.parts[0]
    for _ in range(60):  # one that was busy for long takes a snapshot, too
        part = crew.parts[1]
        crew.busy[part] = part.step([value(trial) for trial in crew.busy[part]], 1)
    late.step([], 0)
    assert late._replica.kept > 0
    while crew.turn():
        pass
    crew.end()


def test_more_budget_for_all(url: str) -> None:
    crew = Crew(url, 2, budget=20)
    while crew.turn():
        pass
    crew.given["budget"] = 30
    joined = crew.join()
    assert joined.opt.budget == 30
    assert not joined.opt.done
    while crew.turn():
        pass
    crew.end()
    assert len(told(url)) == 30
    with pytest.raises(nw.CheckpointError, match="budget must be at least 30, which the run"):
        Shared(url, fresh(budget=29), None)


def test_the_time_of_all_is_up(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One without time leaves; when nobody has any left, the search ends and is measured."""

    class Time:
        now = 0.0

        def monotonic(self) -> float:
            return self.now

    monkeypatch.setattr(pulse, "BEAT", 1e6)  # what it sees is said here
    ticks = Time()
    monkeypatch.setattr(clock, "time", ticks)
    clocks = [clock.Clock(30.0), clock.Clock(100.0)]
    parts = [Shared(url, fresh(budget=500), one) for one in clocks]
    busy: list[list[nw.Trial]] = [[], []]
    left: list[float] = []
    while not all(part.over for part in parts):
        ticks.now += 1.0
        for i, part in enumerate(parts):
            other = clocks[1 - i].left if not parts[1 - i].over else -math.inf
            part.pulse.others, part.pulse.others_left = int(other > 0.0), other
            if part.over:
                left.append(ticks.now)
                continue
            if busy[i]:
                clocks[i].end([trial.id for trial in busy[i]])
            busy[i] = part.step([value(trial) for trial in busy[i]], 1)
            clocks[i].begin([trial.id for trial in busy[i]])
    assert 25.0 < left[0] <= 30.0
    assert parts[1].opt.done
    assert 80.0 < ticks.now <= 100.0
    assert parts[1].opt.result().message.startswith("the time is up")
    assert parts[1].opt.result().estimate == "mean"
    for part in parts:
        part.leave()


def test_wrong_arguments(url: str, tmp_path: Path) -> None:
    nw.minimize(lambda x: float(x @ x), [1.0], sigma0=1.0, budget=9, storage=url)
    shown = url.split("#")[0]
    for given, said in {
        "sigma0": "holds a run with sigma0 1.0, not 2.0: give the same arguments or another name",
        "maximize": "holds a run with maximize False, not True",
    }.items():
        with pytest.raises(nw.CheckpointError, match=said) as caught:
            nw.minimize(
                lambda x: 0.0,
                [1.0],
                **{"sigma0": 1.0, "budget": 9} | {given: 2.0 if given == "sigma0" else True},
                storage=url,
            )
        assert str(caught.value).startswith(f"storage {shown}")
    with pytest.raises(ValueError, match="give checkpoint or storage, not both"):
        nw.minimize(abs, [1.0], sigma0=1.0, budget=9, storage=url, checkpoint=tmp_path / "x")


def test_an_objective_that_raises_and_a_callback_that_stops(url: str) -> None:
    def broken(x: Any) -> float:
        raise KeyError("lost")

    given: dict[str, Any] = {"x0": [1.0], "sigma0": 1.0, "budget": 40, "storage": url, "rng": 1}
    with pytest.raises(nw.EvaluationError, match="KeyError: 'lost'"):
        nw.minimize(broken, **given)

    def stop(intermediate_result: Any) -> None:
        raise StopIteration

    with pytest.warns(UserWarning, match="values of another objective"):
        r = nw.minimize(lambda x: float(x @ x), **given, callback=stop)
    assert r.message.startswith("stopped on request")
    assert 0 < r.nfev < 40
    assert shared.load(url).done


#: A process of a run: it writes a point for every call and prints what came out.
MEMBER = """
import sys, time
import numpy as np
import noisewise as nw
from noisewise.loop import pulse

pulse.BEAT, pulse.OVERDUE = 0.1, 1.0
url, log = sys.argv[1:]

def fun(x):
    with open(log, "ab") as file:
        file.write(b".")
    time.sleep(0.03)
    return float(x @ x) + 0.3 * np.random.default_rng().normal()

r = nw.minimize(fun, [2.0] * 3, sigma0=1.0, budget=150, rng=1, method="cma-es", storage=url)
print(repr((r.nfev, r.fun, r.x.tolist())))
"""


@pytest.mark.untraced
@pytest.mark.skipif(sys.platform == "win32", reason="needs signals")
def test_processes_some_of_them_killed(url: str, tmp_path: Path) -> None:
    log = tmp_path / "calls"
    log.touch()

    def begin() -> subprocess.Popen[str]:
        command = [sys.executable, "-c", MEMBER, url, str(log)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    processes = [begin() for _ in range(3)]
    for kill in range(2):
        while log.stat().st_size < 40 * (kill + 1):
            assert any(process.poll() is None for process in processes)
            time.sleep(0.01)
        with processes.pop(0) as victim:
            victim.kill()
        processes.append(begin())
    found = [process.communicate(timeout=300)[0] for process in processes]
    assert len(set(found)) == 1
    assert found[0].startswith("(150, ")
    assert set(told(url).values()) == {1}
    assert 150 <= log.stat().st_size <= 152  # at most one for each kill is done again


def test_commands_on_the_url(
    url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tune = ["tune", "--param", "x=0..1", "--budget", "20", "--method", "watchful", "--quiet"]
    program = ["--", "awk", "BEGIN { print ({x}-0.3)^2 }"]
    assert main([*tune, "--storage", url, *program]) == 0
    assert main([*tune, "--storage", url, *program]) == 0  # it has ended
    assert "Budget: 20 of 20" in capsys.readouterr().out
    assert main(["show", url]) == 0
    assert main(["report", url, "--out", "page.html"]) == 0
    assert "<title>run" in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert main([*tune, "--storage", url, "--", "awk", "BEGIN { print {x} }"]) == 2
    assert "holds a run of another command" in capsys.readouterr().err
    assert main(["show", f"{url}-other"]) == 2
    assert "it holds no run run" in capsys.readouterr().err


def test_events_as_lines() -> None:
    for event in (Gone("a-1-b"), Budget(30), Stop(), TimeUp(0)):
        assert read(write(event)) == event


def test_a_newer_version_and_a_missing_table(url: str) -> None:
    part = Shared(url, fresh(), None)
    part.leave()
    store = open_store(url)
    store.prepare()
    run = store._connection.execute
    run("ALTER TABLE noisewise_events RENAME TO hidden")
    try:
        with pytest.raises(nw.CheckpointError, match="the table noisewise_events is missing"):
            shared.load(url)
    finally:
        run("ALTER TABLE hidden RENAME TO noisewise_events")
    run("UPDATE noisewise_format SET format = 2")
    try:
        with pytest.raises(nw.CheckpointError, match="its tables have format 2, this noisewise"):
            Shared(url, fresh(), None)
    finally:
        run("UPDATE noisewise_format SET format = 1")
    run("UPDATE noisewise_runs SET version = '9.9'")
    with pytest.raises(nw.CheckpointError, match=r"was begun by noisewise 9\.9, this is"):
        Shared(url, fresh(), None)
    store.close()


def test_wrong_passwords_and_places(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for wrong, said in {
        "runs.db": r"storage must look like postgresql://host/db#run or sqlite:///file#run",
        "mysql://me:secret@host/db#a": r"got mysql://me:\*\*\*@host/db#a",
        "sqlite:///runs.db": "storage must name a run behind #",
    }.items():
        with pytest.raises(ValueError, match=said):
            open_store(wrong)
    missing = f"sqlite:///{tmp_path}/no/such/folder.db#a"
    with pytest.raises(nw.CheckpointError, match="cannot be used: unable to open database file"):
        open_store(missing).prepare()
    (tmp_path / "text").write_text("not a database " * 100)
    with pytest.raises(nw.CheckpointError, match="cannot be used: file is not a database"):
        open_store(f"sqlite:///{tmp_path}/text#a").prepare()
    server = request.getfixturevalue("postgres_server")
    store = open_store(f"{server.url()}#a")
    store.prepare()
    store._connection.execute("DROP ROLE IF EXISTS guarded")
    store._connection.execute("CREATE ROLE guarded LOGIN PASSWORD 'right'")
    with pytest.raises(nw.CheckpointError) as caught:
        open_store(f"{server.url('guarded', 'wrong')}#a").prepare()
    assert 'password authentication failed for user "guarded"' in str(caught.value)
    assert "wrong" not in str(caught.value)
    assert "\n" not in str(caught.value)
    store.close()


def test_a_server_that_goes_away_and_comes_back(request: pytest.FixtureRequest) -> None:
    """Whoever has a value waits with it; nothing is lost, nothing counts twice."""
    server = request.getfixturevalue("postgres_server")
    url = f"{server.url()}#away"
    crew = Crew(url, 2, budget=30, method="cma-es")
    for i in range(10_000):
        if not crew.turn():
            break
        if i == 10:
            server.end()
            server.begin()
        if i % 7 == 3:  # connections are cut
            store = open_store(url)
            store._rows(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = 'noisewise' AND pid <> pg_backend_pid()"
            )
            store.close()
    crew.end()
    assert set(told(url).values()) == {1}
    assert len(told(url)) == 30


def test_a_file_that_is_removed_is_not_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "PATIENCE", 0.2)
    path = tmp_path / "runs.db"
    part = Shared(f"sqlite:///{path}#a", fresh(), None)
    [trial] = part.step([], 1)
    kept = tmp_path / "elsewhere"
    part.pulse.stop()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    os.rename(path, kept)
    with pytest.raises(nw.CheckpointError, match=r"its file was removed|there is no such file"):
        part.step([value(trial)], 1)
    os.rename(kept, path)  # it is back: the same call would have gone on
    assert part.step([value(trial)], 1)
    part.leave()


@fork
def test_workers_of_a_process_are_forked_beside_its_pulse(url: str) -> None:
    """They inherit an objective that cannot be sent, and no lock."""
    offset = np.zeros(3)
    r = nw.minimize(
        lambda x: float((x - offset) @ (x - offset)),
        [2.0] * 3,
        sigma0=1.0,
        budget=30,
        rng=1,
        method="cma-es",
        storage=url,
        workers=2,
    )
    assert r.nfev == 30
    assert set(told(url).values()) == {1}


def test_without_psycopg(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    assert main(["show", "postgresql://me@host/db#run"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("noisewise: storage postgresql:// needs psycopg: pip install")
    assert said.count("\n") == 1


def test_callbacks_hear_of_every_evaluation_once(url: str) -> None:
    heard: list[int] = []
    nw.minimize(
        lambda x: float(x @ x),
        [1.0],
        sigma0=1.0,
        budget=20,
        rng=1,
        storage=url,
        on_evaluation=lambda told: heard.append(told["evaluation"]),
    )
    assert heard == list(range(1, 21))
