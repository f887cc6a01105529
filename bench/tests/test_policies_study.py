"""Simulators, runs and tables of the study of policies."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import gymnasium
import numpy as np
import pytest

import noisewise as nw
from noisewise.policy.environment import episode
from noisewise.policy.network import Network
from noisewise.policy.scaling import Scaling
from noisewise_bench.experiments import policies
from noisewise_bench.experiments.policies_grid import SWITCHES, TIERS, Tier, compare_cases
from noisewise_bench.experiments.policies_size import Digits, solve
from noisewise_bench.experiments.policies_speed import speed_table
from noisewise_bench.experiments.policies_tables import compare_table, switch_tables, win_table
from noisewise_bench.policies.classic import SIMULATORS
from noisewise_bench.policies.problem import PolicyProblem, Setting
from noisewise_bench.policies.rollouts import Flight, make
from noisewise_bench.policies.runs import SEARCH, Case, Outcome, measure, run
from noisewise_bench.policies.together import Together, stand_in


@pytest.mark.parametrize("name", list(SIMULATORS))
def test_simulators_move_like_gymnasiums(name: str) -> None:
    simulator = SIMULATORS[name]()
    env = gymnasium.make(name, disable_env_checker=True)
    inner = env.unwrapped
    assert env.spec.max_episode_steps == simulator.horizon
    assert np.allclose(inner.observation_space.low, simulator.low)
    assert np.allclose(inner.observation_space.high, simulator.high)
    inner.action_space.seed(1)
    for seed in range(3):
        inner.reset(seed=seed)
        for _ in range(60):
            state = np.array(inner.state, dtype=float)[None]
            action = inner.action_space.sample()
            seen, reward, over, _, _ = inner.step(action)
            state, rewards, overs = simulator.step(state, np.array([action]))
            assert np.allclose(simulator.observe(state)[0], seen, atol=1e-5)
            assert np.isclose(rewards[0], reward, atol=1e-5)
            assert overs[0] == over
            if over:
                break


def test_many_episodes_at_once_are_single_episodes() -> None:
    """The returns of gymnasium's own loop, from the same starts."""
    flyer = make("Pendulum-v1", (3,))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3, flyer.network.size))
    scaling = Scaling(np.zeros(3), np.array([1.0, 1.0, 8.0]))
    flight = Flight(X, scaling, np.random.default_rng(5))
    flyer.fly([flight])
    starts = SIMULATORS["Pendulum-v1"]().start(3, np.random.default_rng(5))
    env = gymnasium.make("Pendulum-v1", disable_env_checker=True).unwrapped
    for x, start, expected in zip(X, starts, flight.returns, strict=True):
        env.reset(seed=0)
        env.state = start
        act, seen, total = flyer.network.bind(x, scaling), env._get_obs(), 0.0
        for _ in range(200):
            seen, reward, _, _, _ = env.step(act(seen))
            total += reward
        assert total == pytest.approx(expected, rel=1e-2)
    assert flight.steps == 600
    assert flight.seen[0] == 600.0


def cases(budget: int = 30) -> list[Case]:
    return [Case("CartPole-v1", (), budget, m, s) for m in ("cma-es", "peer/pgpe") for s in (1, 2)]


def test_a_run_gives_the_same_alone_and_in_company(tmp_path: Path) -> None:
    together = run(cases(), tmp_path / "a.sqlite", lambda text: None)
    for case, outcome in together.items():
        alone = measure(case, make("CartPole-v1"))
        assert alone.mean_return == pytest.approx(outcome.mean_return)
        assert alone.steps == outcome.steps


def test_rows_are_kept_and_not_computed_again(tmp_path: Path) -> None:
    db, said = tmp_path / "a.sqlite", []
    run(cases()[:2], db, said.append)
    assert len(said) == 1
    run(cases(), db, said.append)
    assert "2 runs" in said[1]
    run(cases(), db, said.append)
    assert len(said) == 2
    with sqlite3.connect(db) as rows:
        rows.execute("update runs set digest = 'older' where key like '%pgpe%'")
    run(cases(), db, said.append)
    assert "2 runs" in said[2]
    with sqlite3.connect(db) as rows:
        assert rows.execute("select count(*) from runs").fetchone() == (4,)


@pytest.mark.parametrize("setting", [setting for _, setting in SWITCHES.values()])
def test_every_switch_spends_no_more_than_the_budget(setting: Setting) -> None:
    flyer = make("CartPole-v1")
    flown = []
    inner = flyer.fly
    flyer.fly = lambda flights: (flown.extend(len(f.X) for f in flights), inner(flights))[1]
    outcome = measure(Case("CartPole-v1", (), 24, "cma-es", 1, setting), flyer)
    assert sum(flown[:-1]) <= 24  # the last flight measures the answer
    assert np.isfinite(outcome.mean_return)


def test_common_random_numbers_are_common() -> None:
    flyer = make("CartPole-v1")
    problem = PolicyProblem(flyer, Setting(first=0, scaling="none", common="all"))
    X = np.repeat(np.random.default_rng(1).normal(size=(1, len(problem.x0))), 6, axis=0)
    assert len(set(problem.noisy(X, np.random.default_rng(2)))) == 1
    paired = PolicyProblem(flyer, Setting(first=0, scaling="none", common="pairs"))
    values = paired.noisy(X, np.random.default_rng(2))
    assert np.array_equal(values[:3], values[3:])


def test_tables_count_wins_and_ties() -> None:
    ours = [Case("LQR", (), 50, SEARCH, s) for s in (1, 2)]
    theirs = [replace(case, method="sep-cma-es") for case in ours]
    found = {case: Outcome(r, 1, 1.0) for case, r in zip(ours + theirs, (1, 2, 1, 1), strict=True)}
    assert win_table(found).rows == (("sep-cma-es", 50, 2, "0.75", 0.25 / 2**0.5),)
    assert compare_table(found).rows[0][:3] == ("LQR", 50, 2)
    assert "search" in compare_table(found).markdown()


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = Tier((20,), 1)
    monkeypatch.setitem(TIERS, "quick", tiny)
    few = ("sep-cma-es", "peer/openai-es")  # digests of others take long
    small = [
        case
        for case in compare_cases(tiny)
        if case.env in ("CartPole-v1", "LQR") and case.method in few
    ]
    monkeypatch.setattr(policies, "compare_cases", lambda tier: small)
    assert (
        policies.main(["--parts", "compare", "--out", str(tmp_path), "--db", f"{tmp_path}/d"]) == 0
    )
    text = (tmp_path / "policies.md").read_text()
    assert text.strip() == capsys.readouterr().out.strip()
    assert "| CartPole-v1 | 20 | 1 |" in text
    assert "<!-- made by" in text
    page = tmp_path / "policies.md"
    page.write_text(text.replace("\n\n### ", "\n\nWhat it says.\n\nTwo things.\n\n### ", 1))
    policies.main(["--parts", "compare", "--out", str(tmp_path), "--db", f"{tmp_path}/d"])
    assert page.read_text().count("What it says.\n\nTwo things.\n\n### Return of") == 1


def test_the_lander_has_a_page_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = compare_cases(TIERS["work"])
    assert {("Acrobot-v1", 5000), ("Pendulum-v1", 5000)} <= {(c.env, c.budget) for c in wanted}
    assert {c.budget for c in wanted if c.hidden == (64, 64)} == {200, 500}
    few = [Case("LunarLander-v3", (), 20, m, 1) for m in (SEARCH, "peer/ars-large")]
    rows = {case: Outcome(1.0, 20, 1.0) for case in few}
    monkeypatch.setattr(policies, "run", lambda cases, db, say: rows)
    monkeypatch.setattr(policies, "kept", lambda cases, db: (rows, {SEARCH: {"1"}}))
    out = ["--tier", "lander", "--parts", "compare", "--out", str(tmp_path)]
    assert policies.main(out) == 0
    text = (tmp_path / "policies-lander.md").read_text()
    assert "experiments policies --tier lander --parts compare` (" in text
    assert [part.partition("\n")[0] for part in text.split("### ")[1:]] == [
        "Return of the returned policy",
        "The search against each other method",
        "Steps flown, in thousands",
    ]
    assert len(list(tmp_path.glob("policies-lander-*.csv"))) == 3


def test_speed_and_size_in_short() -> None:
    speed = speed_table(quick=True)
    assert [row[0] for row in speed.rows] == list(SIMULATORS)
    assert all(row[1] > 0.0 and row[-1] > 0.0 for row in speed.rows)
    assert Digits(2).x0.shape == (133,)
    loss, generations, seconds = solve(2, "sep-cma-es", 60, 1)
    assert loss > 0.0
    assert generations > 0
    assert seconds > 0.0


def test_switch_tables_have_a_line_per_switch() -> None:
    found = {
        Case("CartPole-v1", (), 50, method, 1, setting): Outcome(1.0, 2000, 1.0)
        for method, setting in SWITCHES.values()
    }
    (table,) = switch_tables(found)
    assert [row[0] for row in table.rows] == list(SWITCHES)


class Alone:
    """Episodes of gymnasium in its own loop, with the seeds and policies that the bench flies."""

    def __init__(self, name: str) -> None:
        self.env = gymnasium.make(name, disable_env_checker=True)

    def returns(self, flight: Flight, network: Network) -> list[float]:
        found = []
        for x, seed in zip(flight.X, flight.seeds or [], strict=True):
            act = network.bind(x, flight.scaling)
            found.append(episode(self.env, act, int(seed)))
        return found


@pytest.mark.parametrize("name", list(SIMULATORS))
def test_seeded_episodes_agree_with_gymnasium(name: str) -> None:
    """48 episodes of 48 random policies, each from the start that its seed gives."""
    flyer = make(name, (4,))
    inputs = flyer.network.inputs
    X = np.random.default_rng(0).normal(size=(48, flyer.network.size))
    scaling = Scaling(np.zeros(inputs), np.full(inputs, 0.2))
    flight = Flight(X, scaling, np.random.default_rng(0), seeds=range(1000, 1048))
    flyer.fly([flight])
    expected = Alone(name).returns(flight, flyer.network)
    agree = np.isclose(flight.returns, expected, rtol=1e-2, atol=1.0)
    assert agree.all(), np.flatnonzero(~agree)


def test_the_search_itself_flies_in_the_simulators() -> None:
    """With the same seeds as in gymnasium, so that it finds the same policy."""
    flyer = make("CartPole-v1")
    together = Together(flyer)
    options = {"budget": 60, "rng": 3}
    there = nw.policy.search(lambda: stand_in(flyer), executor=together, **options)
    alone = nw.policy.search("CartPole-v1", **options)
    np.testing.assert_allclose(there.x, alone.x, rtol=1e-6)
    assert together.steps > 60 * 8
    assert there.mean_return == alone.mean_return


def test_the_regulator_is_searched_with_seeds() -> None:
    found = measure(Case("LQR", (), 40, SEARCH, 1), None)
    assert found.steps == 1200
    assert np.isfinite(found.mean_return)
