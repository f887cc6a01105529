"""The commands behind docs/reliability.md, with fewer faults."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import noisewise as nw
from noisewise_bench.reliability import (
    answers,
    faults,
    fuzz,
    hostile,
    kills,
    load,
    plain,
    utilisation,
    workers,
)
from noisewise_bench.reliability.__main__ import main

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and signals")


def rows(text: str) -> list[list[str]]:
    """The cells of a Markdown table, without its head."""
    return [[c.strip() for c in line.strip("|").split("|")] for line in text.splitlines()[2:]]


@pytest.mark.untraced  # a signal can leave coverage waiting for its own lock
@pytest.mark.parametrize(
    ("number", "fault", "count"), [(1, "kill -9", 12), (3, "kill -9", 12), (3, "Ctrl-C", 6)]
)
def test_killed_drivers_lose_nothing(number: int, fault: str, count: int) -> None:
    tally = kills.torture(number, fault, count)
    assert tally.kills == count
    assert tally.right == tally.runs
    assert tally.lost == tally.doubled == 0
    assert tally.again <= number * count
    assert tally.evaluations == 152 * tally.runs


@pytest.mark.untraced  # a signal can leave coverage waiting for its own lock
def test_a_driver_that_loses_something_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tally is worth something: without its journal a run forgets what it knew."""
    monkeypatch.setattr("noisewise.loop.checkpoint.Journal.append", lambda *args: None)
    monkeypatch.setattr("noisewise.loop.checkpoint._FRESHEN", 1e9)
    tally = kills.torture(1, "kill -9", 4)
    assert tally.lost > 0


def test_killed_workers() -> None:
    survived = workers.survive("processes", 3, 120, 0.1)
    assert survived.same
    assert survived.deaths > 4
    assert (survived.evaluations, survived.failures) == (120, 0)
    assert "| yes |" in "\n".join(workers.table(iter([survived])))


def test_commands_and_their_defaults(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def survive(where: str, *args: float) -> workers.Survived:
        return workers.Survived(where, 1, 2, 3, 4, False)

    def torture(number: int, fault: str, count: int, seed: int) -> kills.Tally:
        return kills.Tally(number, fault, kills=count)

    monkeypatch.setattr(workers, "survive", survive)
    monkeypatch.setattr(kills, "torture", torture)
    main(["workers"])
    found = rows(capsys.readouterr().out)
    assert [row[0] for row in found] == list(workers.WHERE)
    assert {row[-1] for row in found} == {"NO"}
    main(["kills"])
    found = rows(capsys.readouterr().out)
    assert sum(int(row[3]) for row in found if row[0].startswith("kill -9")) == 200


def test_faults_of_the_disk(capsys: pytest.CaptureFixture[str]) -> None:
    main(["disk", "--times", "2"])
    found = rows(capsys.readouterr().out)
    assert [row[0] for row in found] == [
        "the disk is full",
        "the path cannot be written",
        "a second process on one checkpoint",
        "a damaged file",
    ]
    for _, injected, clear, survived, example in found:
        assert injected == clear == survived
        assert example


def test_drivers_of_every_method_are_killed(capsys: pytest.CaptureFixture[str]) -> None:
    main(["methods", "--kills", "2", "--methods", "auto", "pem", "racing", "--seed", "3"])
    found = rows(capsys.readouterr().out)
    assert [row[1] for row in found] == ["auto", "pem", "racing"]
    for row in found:
        assert row[3] == "2"
        assert row[4] == row[5]  # the same answer in every run
        assert row[-2:] == ["0", "0"]


def test_hostile_files(capsys: pytest.CaptureFixture[str]) -> None:
    main(["files", "--files", "60", "--seed", "5"])
    found = rows(capsys.readouterr().out)
    assert [row[0] for row in found] == [
        "wrong fields",
        "wrong value lines",
        "no regular file",
        "3 GiB of nothing",
    ]
    for kind, tried, refused, harmless, failed, escaped, _ in found:
        assert escaped == "0", kind
        assert int(refused) + int(harmless) + int(failed) == int(tried)
        assert int(failed) <= int(tried) // 10, kind
    assert int(found[0][1]) == 60


def test_a_hostile_file_is_refused_for_its_content_not_for_its_header(tmp_path: Path) -> None:
    whole = hostile._saved(tmp_path / "run")
    (tmp_path / "run").write_bytes(hostile._sealed(json.loads(whole.split(b"\n")[1])))
    assert hostile._loaded(tmp_path / "run") == "harmless"


def test_a_loader_that_lets_something_through_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def careless(path: object) -> None:
        raise RecursionError

    monkeypatch.setattr(hostile.nw.Optimizer, "load", careless)
    assert sum(tally.escaped for tally in hostile.attack(3)) == 22


def test_faults_of_the_objective(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = [("raises", "threads"), ("returns text", "here"), ("hangs with a program", "processes")]
    for kind, where in [*kinds, ("dies and leaves a child", "processes")]:
        tally = faults.inject(kind, (where,), 1)
        assert tally.injected > 0, kind
        assert (tally.right, tally.left) == (1, 0), kind
    assert len(list(faults.cases())) == 14
    assert "| raises | here |" in "\n".join(faults.table(iter([faults.Injected("raises", "here")])))


def test_random_calls(capsys: pytest.CaptureFixture[str]) -> None:
    main(["fuzz", "--calls", "150", "--seed", "2"])
    found = rows(capsys.readouterr().out)
    assert [row[0] for row in found] == list(fuzz.FUNCTIONS)
    for _, calls, ran, refused, unclear, overspent in found:
        assert int(ran) + int(refused) == int(calls) == 150
        assert min(int(ran), int(refused)) > 10
        assert unclear == overspent == "0"


def test_a_call_that_is_refused_in_other_words_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def rude(given: object) -> tuple[int, int]:
        raise TypeError("not iterable")

    monkeypatch.setitem(fuzz.FUNCTIONS, "probe", (rude, ["x0"]))
    assert len(fuzz.fuzz("probe", 5).unclear) == 5


def test_values_that_mislead(capsys: pytest.CaptureFixture[str]) -> None:
    main(["answers", "--methods", "cma-es", "--runs", "4"])
    found = rows(capsys.readouterr().out)
    assert [row[0] for row in found] == list(answers.ATTACKS)
    for name, runs, lucky, exact, missed, unmeasured in found:
        assert (runs, lucky, exact, unmeasured) == ("8", "0", "0", "0"), name
        assert int(missed) <= 2, name


def test_a_library_that_believes_the_luckiest_value_is_found_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = nw.minimize

    def credulous(*args: Any, **options: Any) -> Any:
        r = real(*args, **options)
        x, y = r.x_best_observed, r.fun_best_observed
        kept = {"x": r.x if x is None else x, "fun": y, "interval": (y, y), "estimate": "exact"}
        return SimpleNamespace(success=True, history=r.history, **kept)

    monkeypatch.setattr(nw, "minimize", credulous)
    names = ("exact, but 5 % are 1e6 too low", "noise of 0.05 around 1e12", "always fails")
    attacks = [answers.attack(name, ["cma-es"], 4) for name in names]
    found = rows("\n".join(answers.table(attacks)))
    low, offset, failing = ([int(cell) for cell in row[1:]] for row in found)
    assert low[0] == 8
    assert low[1] > 4
    assert low[2:4] == [8, 8]
    assert offset[1] == 0
    assert offset[2:] == [8, 8, 0]
    assert failing[4] == 8


def test_the_price_of_busy_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(utilisation, "METHODS", ("cma-es",))
    found = list(utilisation.price(8, 300, seeds=2))
    assert len(found) == len(utilisation.NOISES) * len(utilisation.WAYS)
    by_way = {(p.noise, p.way): p for p in found}
    for noise in utilisation.NOISES:
        waiting, *others = (by_way[noise, way] for way in utilisation.WAYS)
        assert waiting.regret == 0.0
        assert all(other.utilisation > waiting.utilisation for other in others)


def test_real_workers_are_busy(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by how much: this machine may be busy with other things."""
    monkeypatch.setattr(utilisation, "TIMES", {"equal": 0.0})
    main(
        [
            "utilisation",
            "--methods",
            "cma-es",
            "--budget",
            "320",
            "--seconds",
            "0.01",
        ]
    )
    [[method, times, used]] = rows(capsys.readouterr().out)
    assert [method, times] == ["cma-es", "equal"]
    assert 1 < int(used.rstrip("%")) <= 100


@pytest.mark.parametrize("where", ["processes, 8", "dask, 64 slots", "optuna, 32 jobs"])
def test_runs_are_timed_against_plain_futures_of_the_same_calls(
    where: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by how much: this machine may be busy with other things."""
    monkeypatch.setitem(plain.PLACES, where, 4)
    main(["plain", "--places", where, "--waves", "5", "--seconds", "0.01", "--grown", "0"])
    [[name, evaluations, seconds, others, ratio]] = rows(capsys.readouterr().out)
    assert (name, evaluations) == (where, "20")
    assert float(seconds) >= 0.0
    assert float(others) >= 0.0
    assert float(ratio) > 0.2


def test_many_workers_on_a_virtual_clock(capsys: pytest.CaptureFixture[str]) -> None:
    main(["scale", "--workers", "200", "--waves", "20"])
    [[workers, evaluations, clock, busy, regret, cost]] = rows(capsys.readouterr().out)
    assert (workers, evaluations) == ("200", "4000")
    assert 1.0 <= float(clock) < 1.03
    assert 50 < int(busy.rstrip("%")) <= 100
    assert float(regret) < 45.0  # that of the start is 90
    assert float(cost) > 0.0


def test_a_cluster_that_grows_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain, "GROWS", (2, 6))
    found = plain.grown(80, 0.05)
    assert (found.where, found.evaluations) == ("dask, 2 -> 6 slots", 60)
    assert found.seconds > found.plain


def test_memory_stays_flat_and_large_problems_do_not_surprise() -> None:
    _, tenth, end = load.evaluations(total=100_000)
    assert end < tenth + 0.8  # megabytes; the history takes a row of numbers per generation
    for d, covariance in ((2000, "diagonal"), (300, "full")):
        per_generation, ratio = load.dimension(d, covariance, generations=5)
        assert ratio < 1.0
        assert per_generation < 5.0


def test_many_workers() -> None:
    nfev, used = load.many_workers(workers=64, budget=128, mean=0.01)
    assert nfev == 128
    assert 0.0 < used <= 1.0
