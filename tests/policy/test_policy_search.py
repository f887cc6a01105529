"""The search with environments and policies of a user's own; nothing here needs gymnasium."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from policy_toys import Coin, Gain, Point

import noisewise as nw

HERE = Path(__file__).parent
FAST = {"method": "cma-es"}


def test_the_budget_counts_every_episode_and_the_interval_holds():
    Point.episodes = 0
    policy = nw.policy.search(Point, budget=120, rng=0, **FAST)
    assert Point.episodes == policy.episodes == 120
    low, high = policy.interval
    assert low < policy.mean_return < high
    assert low - 0.3 < policy.evaluate(200).mean() < high + 0.3
    assert policy.evaluate(200).mean() > -1.5  # doing nothing: about -4.5
    assert "Point" in repr(policy)


def test_large_units_of_observations_do_not_matter():
    """The first episodes tell how large observations are."""
    for unit in (1.0, 1e4):
        policy = nw.policy.search(
            Point, env_kwargs={"unit": unit}, budget=120, rng=3, method="watchful"
        )
        assert policy.evaluate(100).mean() > -1.5
        assert unit / 10.0 < policy.scaling.scale[0] < unit * 10.0


def test_small_units_of_observations_do_not_matter():
    """The first random policies see nothing; they are flown again in the scale that they found."""
    for unit in (1e-3, 1e-7):
        Point.episodes = 0
        policy = nw.policy.search(Point, env_kwargs={"unit": unit}, budget=120, rng=2, **FAST)
        assert Point.episodes == policy.episodes == 120
        assert policy.result.nfev == 100
        assert policy.evaluate(100).mean() > -1.5
        assert unit < policy.scaling.scale[0] < unit * 10.0


class Glitch(Point):
    def step(self, action):
        seen, *rest = super().step(action)
        return seen * np.nan if self.left == 2 and self.rng.random() < 0.1 else seen, *rest


def test_an_observation_that_is_no_number_does_not_enter_the_scaling():
    plain, glitch = (nw.policy.search(e, budget=60, rng=3, **FAST) for e in (Point, Glitch))
    assert np.isfinite(glitch.scaling.shift).all()
    assert np.allclose(glitch.scaling.scale, plain.scaling.scale, rtol=0.5)


def test_same_rng_same_policy_and_in_batches_workers_change_nothing():
    method = nw.methods.CMAES(population=8)
    one, again, three = (
        nw.policy.search(Point, budget=60, rng=5, workers=w, method=method, batch=8)
        for w in (1, 1, 3)
    )
    assert np.array_equal(one.x, again.x)
    assert np.array_equal(one.x, three.x)
    assert one.mean_return == three.mean_return
    other = nw.policy.search(Point, budget=60, rng=6, method=method, batch=8)
    assert not np.array_equal(one.x, other.x)


def test_numbered_actions_and_a_horizon():
    policy = nw.policy.search(Coin, budget=60, horizon=8, rng=1, **FAST)
    assert {policy(np.array([-1.0])), policy(np.array([1.0]))} == {3, 4}
    assert policy.mean_return == 8.0


def test_a_hidden_layer():
    policy = nw.policy.search(Point, hidden=3, budget=80, rng=1, **FAST)
    assert len(policy.x) == 3 * 3 + 4
    assert policy(np.array([0.1, 7.0])).shape == (1,)


def test_a_policy_of_ones_own_starts_where_it_is_told(tmp_path: Path):
    Point.episodes = 0
    policy = nw.policy.search(
        Point, policy=Gain(), start=[-0.9], sigma0=0.1, budget=60, rng=0, **FAST
    )
    assert Point.episodes == 60
    assert -1.3 < policy.x[0] < -0.7
    policy.save(tmp_path / "gain.json")
    with pytest.raises(ValueError, match="policy must be given"):
        nw.policy.load(tmp_path / "gain.json")
    again = nw.policy.load(tmp_path / "gain.json", policy=Gain(), env=Point)
    assert np.array_equal(again.evaluate(5), policy.evaluate(5))


def test_save_and_load(tmp_path: Path):
    policy = nw.policy.search(Point, budget=40, rng=0, **FAST)
    policy.save(tmp_path / "p.json")
    again = nw.policy.load(tmp_path / "p.json")
    seen = np.array([0.3, 7.0])
    assert np.array_equal(again(seen), policy(seen))
    assert again.mean_return == policy.mean_return
    assert again.interval == policy.interval
    assert again.episodes == 40
    assert again.result is None
    with pytest.raises(ValueError, match="load it with"):
        again.evaluate()
    told = nw.policy.load(tmp_path / "p.json", env=Point)
    assert np.array_equal(told.evaluate(3), policy.evaluate(3))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "noisewise policy", "version": 9}'])
def test_files_that_are_no_policies(tmp_path: Path, text: str):
    (tmp_path / "x.json").write_text(text)
    with pytest.raises(ValueError, match="is not a policy"):
        nw.policy.load(tmp_path / "x.json")


def test_a_damaged_file_is_refused(tmp_path: Path):
    policy = nw.policy.search(Point, budget=40, rng=0, **FAST)
    policy.save(tmp_path / "p.json")
    content = json.loads((tmp_path / "p.json").read_text())
    for name in ("x", "network", "interval"):
        (tmp_path / "q.json").write_text(
            json.dumps({k: v for k, v in content.items() if k != name})
        )
        with pytest.raises(ValueError, match="damaged"):
            nw.policy.load(tmp_path / "q.json")
    (tmp_path / "q.json").write_text(json.dumps({**content, "x": [1.0]}))
    with pytest.raises(ValueError, match="3 parameters, the file has 1"):
        nw.policy.load(tmp_path / "q.json")


def test_an_interrupted_search_goes_on_to_the_bit(tmp_path: Path):
    path = tmp_path / "run.nw"
    options = {"budget": 90, "method": nw.methods.CMAES(population=8)}
    whole = nw.policy.search(Point, rng=4, **options)

    def interrupt(intermediate_result):
        if intermediate_result.nit == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        nw.policy.search(Point, rng=4, checkpoint=path, callback=interrupt, **options)
    Point.episodes = 0
    resumed = nw.policy.search(Point, rng=4, checkpoint=path, **options)
    assert Point.episodes < 70
    assert np.array_equal(resumed.x, whole.x)
    assert resumed.mean_return == whole.mean_return
    assert resumed.episodes == 90


def test_a_short_search_keeps_few_episodes_and_goes_on_with_more(tmp_path: Path):
    path = tmp_path / "run.nw"
    first = nw.policy.search(Point, budget=50, rng=4, checkpoint=path, **FAST)
    assert first.result.n_confirmations == 3  # one more told whether there is noise
    Point.episodes = 0
    more = nw.policy.search(Point, budget=120, rng=4, checkpoint=path, **FAST)
    assert Point.episodes == 70
    assert more.episodes == 120
    assert nw.policy.search(Point, budget=50, rng=4, confirm=3, **FAST).result.n_confirmations == 3


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path):
    path = tmp_path / "run.nw"
    nw.minimize(lambda x: x @ x, [1.0] * 3, sigma0=1.0, budget=20, checkpoint=path)
    with pytest.raises(nw.CheckpointError, match="not of a search for a policy"):
        nw.policy.search(Point, budget=40, checkpoint=path)


def test_going_on_from_a_policy():
    first = nw.policy.search(Point, budget=60, rng=0, **FAST)
    Point.episodes = 0
    better = nw.policy.search(Point, start=first, sigma0=0.1, budget=60, rng=1, **FAST)
    assert Point.episodes == 60
    assert better.evaluate(100).mean() > first.evaluate(100).mean() - 0.2


class Broken(Point):
    def step(self, action):
        if self.rng.random() < 0.05:
            raise RuntimeError("the simulator crashed")
        return super().step(action)


def test_crashes_count_as_failures_where_wanted(tmp_path: Path):
    with pytest.raises(nw.EvaluationError, match="the simulator crashed"):
        nw.policy.search(Broken, budget=60, rng=0, **FAST)
    policy = nw.policy.search(Broken, budget=120, rng=0, on_error="worst", **FAST)
    assert policy.result.n_failures > 0
    assert np.isfinite(policy.mean_return)
    failed, n = policy.result.n_confirmations_failed, policy.result.n_confirmations
    assert failed > 0
    assert f"of the {n - failed} successes in {n})" in repr(policy)
    policy.save(tmp_path / "p.json")
    assert repr(nw.policy.load(tmp_path / "p.json", env=Broken)) == repr(policy)


def test_wrong_arguments_say_what_is_wrong():
    with pytest.raises(ValueError, match="pass the function that makes it"):
        nw.policy.search(Point(), budget=40)
    with pytest.raises(ValueError, match="env must be"):
        nw.policy.search(3, budget=40)
    with pytest.raises(ValueError, match="hidden must be"):
        nw.policy.search(Point, budget=40, hidden="8")
    for hidden in (None, 1.5, (4, "8")):
        with pytest.raises(ValueError, match="hidden must be"):
            nw.policy.search(Point, budget=40, hidden=hidden)
    with pytest.raises(ValueError, match="env_kwargs must be a mapping"):
        nw.policy.search(Point, budget=40, env_kwargs=[1.0])
    with pytest.raises(ValueError, match="start must be a Policy or numbers, got 'zero'"):
        nw.policy.search(Point, budget=40, start="zero")
    with pytest.raises(ValueError, match="leave it out with policy="):
        nw.policy.search(Point, budget=40, hidden=4, policy=Gain())
    with pytest.raises(ValueError, match="policy must have size"):
        nw.policy.search(Point, budget=40, policy=lambda x: x)
    with pytest.raises(ValueError, match="3 parameters"):
        nw.policy.search(Point, budget=40, start=[1.0])
    with pytest.raises(ValueError, match="horizon must be"):
        nw.policy.search(Point, budget=40, horizon=0)
    with pytest.raises(ValueError, match="budget must be"):
        nw.policy.search(Point, budget=0)
    with pytest.raises(ValueError, match="maximize is not an option"):
        nw.policy.search(Point, budget=40, maximize=False)
    with pytest.raises(ValueError, match="rng must be"):
        nw.policy.search(Point, budget=40, rng="x")
    with pytest.raises(ValueError, match="has no observation_space"):
        nw.policy.search(lambda: object(), budget=40)


class FourValues(Point):
    def step(self, action):
        return super().step(action)[:4]


class NoInfo(Point):
    def reset(self, *, seed=None):
        return super().reset(seed=seed)[0]


class Wider(Point):
    def reset(self, *, seed=None):
        return np.zeros(3), {}


@pytest.mark.parametrize(
    ("env", "said"),
    [
        (FourValues, "step must return observation, reward, terminated, truncated and info"),
        (NoInfo, "reset must return an observation and a dictionary"),
        (Wider, "2 numbers, as the environment declares, got 3"),
    ],
)
def test_an_environment_that_is_no_environment_is_told_so(env, said):
    with pytest.raises(nw.EvaluationError, match=said):
        nw.policy.search(env, budget=40, rng=0, **FAST)


def test_an_environment_that_cannot_be_drawn():
    for env in (Point, Coin):
        policy = nw.policy.search(env, budget=20, horizon=5, rng=0, **FAST)
        with pytest.raises(ValueError, match=f"{env.__name__} takes no render_mode"):
            policy.watch()


def test_returns_in_the_hundreds_are_printed_as_such():
    policy = nw.policy.search(lambda: Point(steps=300), budget=40, rng=0, **FAST)
    assert policy.mean_return < -100.0
    assert "e+" not in repr(policy)
    assert repr(policy).startswith("Policy for <lambda>: 3 parameters, return -")


def test_watching_returns_frames_or_returns():
    class Drawn(Point):
        def __init__(self, render_mode=None, **kwargs):
            super().__init__(**kwargs)
            self.mode = render_mode

        def render(self):
            assert self.mode == "rgb_array"
            return np.zeros((4, 4, 3))

    policy = nw.policy.search(Drawn, budget=40, rng=0, **FAST)
    assert len(policy.watch(render_mode="rgb_array")) == 5
    assert len(policy.watch(3)) == 3


def test_own_environments_need_no_gymnasium():
    code = (
        f"import sys; sys.modules['gymnasium'] = None; sys.path.insert(0, {str(HERE)!r})\n"
        "import noisewise as nw\n"
        "from policy_toys import Point\n"
        "print(nw.policy.search(Point, budget=40, rng=0, method='cma-es').episodes)\n"
        "nw.policy.search('CartPole-v1', budget=40)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "40"
    assert "pip install 'noisewise[gym]'" in done.stderr
