"""The study of small budgets: tiers, duels, tables, and which rows are computed again."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise_bench.experiments import small, small_grid
from noisewise_bench.experiments.__main__ import main
from noisewise_bench.experiments.small_grid import (
    PEERS,
    SLOW_PEERS,
    TIERS,
    Block,
    Tier,
    check_peers,
    peers_for,
    synthetic_grids,
    task_grids,
)
from noisewise_bench.experiments.small_tables import cells, duel, is_task, tables, weak, wilson
from noisewise_bench.names import BenchError
from noisewise_bench.problems import make
from noisewise_bench.store import Store
from noisewise_bench.task import Row

TINY = Tier((Block((2,), ("5d",), (1,), (("gaussian", 0.2), ("winloss", 0.8)), ("sphere",)),), (1,))


def row(method: str, problem: str, regret: float, error: str | None = None) -> Row:
    return Row(
        problem,
        method,
        "20d",
        1,
        suite="small",
        dimension=2,
        spent=40,
        recommended_regret=regret,
        seconds_method=0.4,
        error=error,
    )


def name(i: int, noise: str = "gaussian/0.2") -> str:
    return f"small/sphere/i{i}/d2/{noise}"


# tiers


@pytest.mark.parametrize("tier", TIERS)
def test_every_tier_names_problems_that_exist(tier: str) -> None:
    for block in TIERS[tier].blocks:
        for d in block.dimensions:
            problems = block.problems(d)
            assert problems
            for problem in problems[:: max(1, len(problems) // 5)]:
                assert make(problem).name == problem


def test_held_out_shares_nothing_with_the_other_tiers() -> None:
    def problems(tier: str) -> set[str]:
        return {p for b in TIERS[tier].blocks for d in b.dimensions for p in b.problems(d)}

    def dimensions(tier: str) -> set[int]:
        return {d for block in TIERS[tier].blocks for d in block.dimensions}

    for public in ("work", "full"):
        assert not problems("held-out") & problems(public)
        assert not dimensions("held-out") & dimensions(public)
        assert not set(TIERS["held-out"].task_seeds) & set(TIERS[public].task_seeds)
        assert max(i for b in TIERS[public].blocks for i in b.instances) <= 15
    assert min(i for b in TIERS["held-out"].blocks for i in b.instances) > 15


def test_slow_and_costly_peers_take_part_where_they_can() -> None:
    block = Block((2, 20), ("20d", "50d"), (1,))
    slow = Block((2,), ("20d",), (1,), slow=True)
    everyone = [*PEERS, *SLOW_PEERS]
    assert peers_for(block, "20d", 2, everyone) == list(PEERS)
    assert peers_for(slow, "20d", 2, everyone) == everyone
    assert "peer/plain-gp" not in peers_for(block, "50d", 20, everyone)
    assert "peer/lq-cma" in peers_for(block, "50d", 20, everyone)


def test_grids_hold_every_method_and_tasks_leave_slow_peers_out() -> None:
    (grid,) = synthetic_grids(TINY, ["auto"], ["peer/random", "peer/botorch"])
    assert grid.methods == ("auto", "peer/random")
    assert len(grid.tasks()) == 4
    for grid in task_grids(TINY, ["auto"], ["peer/random", "peer/botorch"]):
        grid.check()
        assert grid.methods == ("auto", "peer/random")
    assert task_grids(TINY, [], []) == []


def test_a_missing_peer_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOISEWISE_PEERS", str(tmp_path))
    monkeypatch.setattr(small_grid.importlib.util, "find_spec", lambda name: None)
    check_peers(["peer/random", "peer/lq-cma"])
    with pytest.raises(BenchError, match=r"'pybads': pip install '\./bench\[peers\]'"):
        check_peers(["peer/pybads"])
    with pytest.raises(BenchError, match=r"peers\.environment botorch"):
        check_peers(["peer/botorch"])


# duels


def test_duel_counts_ties_half_and_failures_as_lost() -> None:
    regrets = {1: (0.1, 0.01), 2: (0.1, 0.1), 3: (1e-12, 1e-9), 4: (0.01, 1.0)}
    rows = [row("a", name(i), a) for i, (a, _) in regrets.items()]
    rows += [row("b", name(i), b) for i, (_, b) in regrets.items()]
    rows += [row("a", name(5), 0.1), row("b", name(5), math.nan, "boom")]
    rows += [row("a", name(6), 0.1)]  # b did not run there
    found = duel(rows, "a", "b")
    assert found is not None
    assert found.n == 5
    # lost, tie, tie (both below the floor), won, won (the other failed)
    assert found.win == pytest.approx((0 + 0.5 + 0.5 + 1 + 1) / 5)
    assert found.diff == pytest.approx((1.0 + 0.0 + 0.0 - 2.0) / 4)
    assert duel(rows, "b", "a").win == pytest.approx(1.0 - found.win)
    assert duel(rows, "a", "c") is None


@given(st.floats(0.0, 1.0), st.integers(1, 500))
def test_wilson_interval_holds_the_share_and_stays_in_the_unit_interval(
    share: float, n: int
) -> None:
    low, high = wilson(share, n)
    assert 0.0 <= low <= share + 1e-9
    assert share - 1e-9 <= high <= 1.0
    assert high - low > 0.0


def test_wilson_knows_a_textbook_value() -> None:
    assert wilson(0.5, 100) == pytest.approx((0.4038, 0.5962), abs=1e-4)


def test_weak_cells_are_those_beyond_doubt() -> None:
    rows = [row("a", name(i), 1.0) for i in range(1, 11)]
    rows += [row("b", name(i), 0.1) for i in range(1, 11)]
    rows += [row("a", name(i, "t3/0.2"), 1.0) for i in range(1, 4)]
    rows += [row("b", name(i, "t3/0.2"), 0.1) for i in range(1, 4)]
    (found,) = weak(rows, "a", ["b"]).rows  # three losses of three prove nothing
    assert found[:6] == (2, 20, "gaussian 0.2", "b", 10, 0.0)
    assert weak(rows, "b", ["a"]).rows == ()


def test_tables_are_about_one_method() -> None:
    rows = [
        row(method, problem, regret)
        for method, regret in (("gp", 0.1), ("auto", 0.2), ("peer/random", 0.3))
        for problem in (name(1), name(2), name(1, "lognormal/1.0"), "small-task/svm/s1")
    ]
    assert [is_task(r) for r in rows[:4]] == [False, False, False, True]
    found = {table.title: table for table in tables(rows, "gp")}
    pooled = found["gp against each, pooled"]
    assert {line[0] for line in pooled.rows} == {
        "20 and 50 per parameter, d <= 10",
        "additive",
        "multiplicative",
        "small tasks",
    }
    assert {line[1] for line in pooled.rows} == {"auto", "peer/random"}
    assert all(line[3] == 1.0 for line in pooled.rows)
    matrix = found["Win rate of gp by cell"]
    assert [line[:4] for line in matrix.rows] == [
        (2, 20, "gaussian 0.2", 2),
        (2, 20, "lognormal 1.0", 1),
    ]
    levels = found["Mean log10 regret by cell"]
    assert levels.rows[0][4:] == pytest.approx(np.log10([0.1, 0.2, 0.3]))
    assert found["Win rate of gp by task"].rows == (("svm", 1, 1.0, 1.0),)
    assert len(cells(rows, "gp").rows) == 4
    for table in found.values():
        assert table.markdown().startswith("### ")


# the command


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(TIERS, "work", TINY)


def command(folder: Path, *more: str) -> list[str]:
    given = ["--db", str(folder / "rows.sqlite"), "--out", str(folder), "--workers", "1"]
    return ["small", "--part", "synthetic", *given, *more]


def stored(folder: Path) -> dict[str, list[Row]]:
    with Store(folder / "rows.sqlite", create=False) as store:
        found: dict[str, list[Row]] = {}
        for r in store.rows():
            found.setdefault(r.method, []).append(r)
        return found


@pytest.mark.usefixtures("tiny")
def test_rows_of_peers_are_kept_and_ours_follow_the_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = command(tmp_path, "--methods", "--peers", "peer/random")
    assert main(arguments) == 0
    assert "# auto at few evaluations" in capsys.readouterr().out
    with sqlite3.connect(tmp_path / "rows.sqlite") as db:
        db.execute("UPDATE rows SET code = 'another', finished = 'then'")
    assert main(arguments) == 0
    after = stored(tmp_path)
    assert {r.finished for r in after["peer/random"]} == {"then"}
    assert all(r.finished != "then" and r.code != "another" for r in after["auto"])
    assert main([*arguments, "--redo-peers"]) == 0
    assert all(r.finished != "then" for r in stored(tmp_path)["peer/random"])


@pytest.mark.usefixtures("tiny")
def test_stored_methods_appear_without_being_asked_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(tmp_path, "--methods", "--peers", "peer/random", "peer/xnes")) == 0
    capsys.readouterr()
    assert main(command(tmp_path, "--method", "cma-es", "--methods", "--peers")) == 0
    text = capsys.readouterr().out
    assert "# cma-es at few evaluations" in text
    for other in ("auto", "peer/random", "peer/xnes"):
        assert f"| win/loss | {other} | 1 |" in text
    assert (tmp_path / "small.md").read_text() == text.removesuffix("\n")
    assert (tmp_path / "small-cells.csv").read_text().count("\n") == 1 + 2 * 3


@pytest.mark.usefixtures("tiny")
def test_tables_only_runs_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(tmp_path, "--methods", "--peers")) == 0
    assert main(command(tmp_path, "--method", "cma-es", "--tables-only")) == 2
    assert "no rows of 'cma-es'" in capsys.readouterr().err
    assert set(stored(tmp_path)) == {"auto"}


def test_parts_of_the_study() -> None:
    both = small.grids_of("work", ["auto"], [], "all")
    halves = [small.grids_of("work", ["auto"], [], part) for part in ("synthetic", "tasks")]
    assert [g.problems for g in both] == [g.problems for half in halves for g in half]
