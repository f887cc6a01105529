"""The search with gymnasium's environments."""

from __future__ import annotations

import runpy
from pathlib import Path

import numpy as np
import pytest

import noisewise as nw

gymnasium = pytest.importorskip("gymnasium")
ROOT = Path(__file__).parents[2]


def test_cart_pole_from_nothing(tmp_path: Path):
    policy = nw.policy.search("CartPole-v1", budget=120, rng=0, workers=2, method="watchful")
    assert policy.episodes == 120
    assert policy.evaluate(20).mean() > 300.0
    policy.save(tmp_path / "p.json")
    again = nw.policy.load(tmp_path / "p.json")
    assert np.array_equal(again.evaluate(3), policy.evaluate(3))
    assert policy(np.zeros(4)) in (0, 1)


def test_arguments_of_the_environment_are_kept(tmp_path: Path):
    policy = nw.policy.search(
        "Pendulum-v1",
        env_kwargs={"g": 2.0},
        horizon=20,
        hidden=2,
        budget=30,
        rng=0,
        method="cma-es",
    )
    policy.save(tmp_path / "p.json")
    again = nw.policy.load(tmp_path / "p.json")
    assert again.environment.kwargs == {"g": 2.0}
    assert again.environment.horizon == 20
    assert np.array_equal(again.evaluate(3), policy.evaluate(3))
    action = policy(np.zeros(3, dtype=np.float32))
    assert gymnasium.spaces.Box(-2.0, 2.0, (1,)).contains(action)


def test_an_unknown_environment():
    with pytest.raises(ValueError, match="env must be the id of an environment"):
        nw.policy.search("NoSuchThing-v0", budget=40)


def test_observations_that_are_no_box():
    with pytest.raises(ValueError, match="observations must be a Box"):
        nw.policy.search("FrozenLake-v1", budget=40)


def test_the_example_in_short(capsys: pytest.CaptureFixture[str]):
    example = runpy.run_path(str(ROOT / "examples" / "cartpole.py"))
    policy = example["train"](budget=100, seed=1, method="watchful")
    assert policy.evaluate(20).mean() > 195.0
