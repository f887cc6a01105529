"""Seeds: handed out with each trial, shared or not, and the same after a resume."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
import support
from noisewise.command.main import main
from noisewise.measured.aligned import aligned
from noisewise.measured.samples import Samples, displacement
from noisewise.methods import CMAES, RBPEM, Racing, Resample
from noisewise.run.seeds import BELOW, Seeds, agreement


def value(trial: nw.Trial) -> float:
    """Noise that belongs to the seed, whatever the trial: an offset and a slope."""
    assert trial.seed is not None
    noise = np.random.default_rng(trial.seed).normal(size=1 + len(trial.x))
    return float(trial.x @ trial.x + 5.0 * noise[0] + 0.3 * (noise[1:] @ trial.x))


def driven(opt: nw.Optimizer) -> list[list[nw.Trial]]:
    """All waves of a run."""
    waves = []
    while not opt.done:
        waves.append(opt.ask())
        for trial in waves[-1]:
            opt.tell(trial.id, value(trial))
    return waves


def started(method: Any = "watchful", **more: Any) -> nw.Optimizer:
    given: dict[str, Any] = {"budget": 400, "rng": 0, "seeds": "common"} | more
    return nw.Optimizer([2.0] * 4, sigma0=1.0, method=method, **given)


# -- which seeds are handed out


@given(st.integers(0, 2**64 - 1), st.integers(0, 10**9), st.integers(0, 100))
def test_a_seed_is_a_function_of_run_round_and_slot(key: int, n: int, slot: int) -> None:
    one, same = Seeds("common", key), Seeds("common", key)
    assert one.of_trial(n) == same.of_trial(n)
    assert one.of_round(n, slot) == same.of_round(n, slot)
    assert all(0 <= s < BELOW for s in (one.of_trial(n), one.of_round(n, slot)))
    assert len({one.of_round(n, slot), one.of_round(n + 1, slot), one.of_round(n, slot + 1)}) == 3


def test_without_seeds_there_are_none() -> None:
    assert {t.seed for t in started(seeds=None).ask()} == {None}


def test_independent_seeds_differ() -> None:
    trials = [t for wave in driven(started(seeds="independent")) for t in wave]
    assert len({t.seed for t in trials}) == len(trials) == 400


def test_candidates_of_a_round_share_their_seeds_and_confirmations_do_not() -> None:
    opt = started(confirm=10)
    rounds: dict[int, dict[str, list[int | None]]] = {}
    while not opt.done:
        for trial in opt.ask():
            kinds = rounds.setdefault(opt.generation, {})
            kinds.setdefault(trial.kind, []).append(trial.seed)
            opt.tell(trial.id, value(trial))
    last = rounds[max(rounds)].pop("confirmation")
    assert len(set(last)) == len(last) == 10
    seen: list[int | None] = []
    for kinds in rounds.values():
        shared = [set(seeds) for seeds in kinds.values()]
        assert all(len(seeds) == 1 for seeds in shared)
        seen += [seed for seeds in shared for seed in seeds]
    assert len(set(seen)) == len(seen)  # re-evaluations have another one, and so has every round
    assert not set(seen) & set(last)


def test_two_runs_have_other_seeds() -> None:
    first = [{t.seed for t in started(rng=rng).ask()} for rng in (0, 1, 0)]
    assert first[0] == first[2] != first[1]


def test_seeds_do_not_change_the_points() -> None:
    with_seeds, without = started(seeds="independent").ask(), started(seeds=None).ask()
    np.testing.assert_array_equal([t.x for t in with_seeds], [t.x for t in without])


@pytest.mark.parametrize("how", [{"workers": 3}, {"batch": 8}])
def test_candidates_that_gather_have_the_seed_of_their_block_and_keep_it(
    how: dict[str, int], tmp_path: Path
) -> None:
    opt = started(CMAES(population=8), **how)
    held: list[nw.Trial] = []
    seeds: dict[int, int | None] = {}
    while opt.spent < 40:
        held += opt.ask()
        seeds |= {t.id: t.seed for t in held}
        trial = held.pop()  # the first ones wait
        opt.tell(trial.id, value(trial))
    blocks = [{seeds[id] for id in range(first, first + 8)} for first in (0, 8, 16, 24, 32)]
    assert all(len(block) == 1 for block in blocks)
    assert len(set.union(*blocks)) == 5
    opt.save(tmp_path / "run")
    loaded = nw.Optimizer.load(tmp_path / "run")
    again = loaded.ask()
    assert {t.id for t in held} <= {t.id for t in again}
    assert all(t.seed == seeds.get(t.id, t.seed) for t in again)


@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        *(("watchful", mode) for mode in ("independent", "common", "auto")),
        *(("rb-pem", mode) for mode in ("common", "auto")),
        ("probe-switch", "common"),
        ("gp", "common"),
    ],
)
def test_resume_after_every_wave(name: str, seeds: str, tmp_path: Path) -> None:
    method = nw.methods.get(name)

    def begin() -> nw.Optimizer:
        return nw.Optimizer(
            [1.0, 1.0], sigma0=1.0, budget=300 if seeds == "auto" else 50, rng=0, method=method,
            seeds=seeds, confirm=2,
        )  # fmt: skip

    straight = begin()
    waves = [[(t.id, t.seed) for t in wave] for wave in driven(straight)]
    opt, n = begin(), 0
    again: dict[int, int | None] = {}
    while not opt.done:
        for trial in opt.ask():
            again[trial.id] = trial.seed
            opt.tell(trial.id, value(trial))
        n += 1
        if n % 3 == 0:
            opt.save(tmp_path / f"run{n}")
            opt = nw.Optimizer.load(tmp_path / f"run{n}", method)
    assert again == dict(pair for wave in waves for pair in wave)
    assert support.data_of(opt) == support.data_of(straight)


# -- the objective gets them


def cost(x: Any, a: float = 1.0, *, seed: int) -> float:
    return float(a * (x @ x) + np.random.default_rng(seed).normal())


def costs(X: Any, a: float = 1.0, *, seed: Any) -> Any:
    assert seed.shape == (len(X),)
    return np.array([cost(x, a, seed=int(s)) for x, s in zip(X, seed, strict=True)])


_GOOD: dict[str, Any] = {
    "x0": [2.0] * 3, "sigma0": 1.0, "budget": 120, "rng": 0, "seeds": "common", "args": (2.0,),
    "method": "watchful",
}  # fmt: skip


@pytest.mark.parametrize("how", ["vectorized", "processes", "threads", "space"])
def test_wherever_it_runs_the_outcome_is_the_same(how: str) -> None:
    serial = nw.minimize(cost, **_GOOD)
    if how == "space":
        r = nw.minimize(
            lambda p, seed: cost(np.array([p["a"]]), seed=seed),
            space={"a": "-1..1"}, budget=40, rng=0, seeds="independent", method="watchful",
        )  # fmt: skip
        assert r.nfev == 40
        return
    more: dict[str, Any] = {
        "vectorized": {"vectorized": True},
        "processes": {"executor": nw.executors.processes(1)},
        "threads": {"executor": nw.executors.threads(1)},
    }[how]
    r = nw.minimize(costs if how == "vectorized" else cost, **_GOOD | more)
    np.testing.assert_array_equal(r.x, serial.x)
    assert r.fun == serial.fun


def test_workers_have_the_noise_of_the_seed_and_no_warning(
    recwarn: pytest.WarningsRecorder,
) -> None:
    unused = np.random.default_rng(0)

    def fun(x: Any, seed: int) -> float:
        return cost(x, seed=seed) + 0.0 * float(unused.bit_generator is None)

    given = _GOOD | {"args": (), "workers": 2, "batch": 12}
    one, two = nw.minimize(fun, **given), nw.minimize(fun, **given)
    np.testing.assert_array_equal(one.x, two.x)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("fun", "seeds", "said"),
    [
        (lambda x: 0.0, "common", "fun must take a keyword argument seed with seeds='common'"),
        (lambda x, seed: 0.0, "shared", "seeds must be one of 'independent', 'common', 'auto'"),
        (lambda x, seed: 0.0, 3, "seeds must be one of"),
    ],
)
def test_what_is_refused(fun: Any, seeds: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        nw.minimize(fun, [1.0], sigma0=1.0, budget=10, seeds=seeds)


def test_a_resumed_run_has_the_same_seeds_argument(tmp_path: Path) -> None:
    path = tmp_path / "run"
    nw.minimize(cost, **_GOOD, checkpoint=path)
    with pytest.raises(nw.CheckpointError, match="seeds 'common', not 'independent'"):
        nw.minimize(cost, **_GOOD | {"seeds": "independent"}, checkpoint=path)


# -- what common seeds do to noise handling


def test_replaying_a_seed_does_not_look_deterministic() -> None:
    """All noise is an offset of the seed: the order of a round is exact, the values are not."""

    def offset(x: Any, seed: int) -> float:
        return float(x @ x) + float(np.random.default_rng(seed).integers(1, 1000))

    r = nw.minimize(offset, [2.0] * 3, sigma0=1.0, budget=600, rng=0, seeds="common")
    assert r.estimate == "mean"
    assert r.fun_se > 1.0
    assert r.misranking < 0.05
    assert float(r.x @ r.x) < 1e-3  # noise of that size hides everything from independent seeds


def test_without_noise_it_is_still_noticed() -> None:
    r = nw.minimize(
        lambda x, seed: float(x @ x), [2.0] * 3, sigma0=1.0, budget=400, rng=0, seeds="common"
    )
    assert r.estimate == "exact"


def test_misranking_compares_values_of_one_seed() -> None:
    values = np.array([[1.0, 101.0], [2.0, 102.0], [3.0, 103.0], [4.0, np.nan]])
    assert displacement(Samples(values), common=True) == (0.0, 3)
    assert displacement(Samples(values))[0] > 0.2
    assert math.isnan(displacement(Samples(values[[0, 3]]), common=True)[0])
    values[:3, 1] = [103.0, 102.0, 101.0]
    assert displacement(Samples(values), common=True)[0] == pytest.approx(4 / 9 * 9 / 8)


@given(st.floats(-1e6, 1e6), st.integers(2, 6), st.integers(0, 2**31))
def test_an_offset_of_a_seed_changes_nothing(offset: float, n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = np.column_stack((rng.normal(size=8), np.full(8, np.nan)))
    values[:n, 1] = values[:n, 0] + rng.normal(size=n)
    moved = values.copy()
    moved[:, 1] += offset
    one, two = aligned(Samples(values))[0], aligned(Samples(moved))[0]
    np.testing.assert_allclose(one.values, two.values, atol=1e-8)
    change = one.values[:n, 1] - one.values[:n, 0]
    assert np.median(change) == pytest.approx(0.0, abs=1e-8)


def test_a_single_re_evaluation_under_a_common_seed_says_nothing() -> None:
    values = np.array([[1.0, 7.0], [2.0, np.nan]])
    samples, shifted = aligned(Samples(values))
    assert np.isnan(samples.values[:, 1]).all()
    assert shifted


@pytest.mark.parametrize("method", [Racing(), RBPEM(), Resample(k=2), "uh-cma-es", "watchful"])
def test_offsets_of_seeds_do_not_move_the_search(method: Any) -> None:
    def run(size: float) -> Any:
        def fun(x: Any, seed: int) -> float:
            noise = np.random.default_rng(seed).integers(-9, 10, size=1 + len(x))
            return float(x @ x + size * noise[0] + 0.05 * (noise[1:] @ x))

        return nw.minimize(
            fun, [2.0] * 4, sigma0=1.0, budget=600, rng=0, seeds="common", method=method, confirm=0
        )

    assert np.linalg.norm(run(0.0).x) < 1.0
    np.testing.assert_allclose(run(1024.0).x, run(0.0).x, atol=1e-6)


def test_seeds_take_turns_in_the_rounds_of_a_model() -> None:
    waves = driven(started("gp", budget=85, confirm=0))
    seeds = [wave[0].seed for wave in waves]
    assert len(set(seeds[:64])) == len(set(seeds[64:72])) == 8
    assert seeds[:8] == seeds[8:16]
    assert not set(seeds[:64]) & set(seeds[64:])
    assert all(len({t.seed for t in wave}) == 1 for wave in waves)


def test_a_model_learns_what_seeds_add() -> None:
    """Offsets a hundred times as large as what there is to gain."""

    def fun(x: Any, seed: int) -> float:
        return float(x @ x + 30.0 * np.random.default_rng(seed).normal())

    found = [
        nw.minimize(
            fun, [2.0] * 2, sigma0=1.0, budget=60, rng=1, seeds=seeds, method=method, confirm=0
        ).x
        for method, seeds in (("gp", "common"), ("auto", "common"), ("gp", "independent"))
    ]
    assert [np.linalg.norm(x) < 0.3 for x in found] == [True, True, False]


# -- auto


def test_agreement_of_two_mean_steps() -> None:
    rng = np.random.default_rng(0)
    Z, profile = rng.normal(size=(10, 5)), np.maximum(0.0, np.linspace(1.0, -1.0, 10))
    y = rng.normal(size=10)
    assert agreement(Z, np.column_stack((y, 3.0 + 2.0 * y)), profile) == pytest.approx(1.0)
    random = [agreement(Z, rng.normal(size=(10, 2)), profile) for _ in range(2000)]
    assert np.mean(random) == pytest.approx(0.0, abs=0.03)
    assert math.isnan(agreement(Z, np.full((10, 2), np.inf), profile))


def test_auto_chooses_common_seeds_where_they_help_and_says_so() -> None:
    def offset(x: Any, seed: int) -> float:
        return float(x @ x) + 10.0 * float(np.random.default_rng(seed).normal())

    given: dict[str, Any] = {"sigma0": 1.0, "budget": 1000, "rng": 0, "seeds": "auto"}
    r = nw.minimize(offset, [2.0] * 8, **given)
    assert "seeds: common" in r.message


# -- on the command line


def test_the_command_line_hands_out_seeds_and_logs_them(tmp_path: Path) -> None:
    log, run = tmp_path / "log", tmp_path / "run"
    program = [sys.executable, "-S", "-c", "import sys; print(float(sys.argv[1]))", "{x}", "{seed}"]
    command = ["tune", "--param", "x=0..1", "--budget", "12", "--seed", "1", "--quiet"]
    command += ["--method", "cma-es", "--out", str(run), "--log", str(log)]
    assert main([*command, "--seeds", "common", "--", *program]) == 0
    seeds = [json.loads(line)["seed"] for line in log.read_text().splitlines()]
    opt = nw.Optimizer.load(run)
    assert opt._run.seeds is not None
    first = opt._run.seeds.of_round(0, 0)
    assert seeds.count(first) == 4
    assert main([*command, "--seeds", "common", "--", *program[:-1]]) == 2


def test_auto_leaves_short_runs_and_models_alone() -> None:
    for method in ("gp", "cma-es"):
        opt = started(method, budget=60, seeds="auto")
        assert len({t.seed for t in opt.ask()}) > 3
        assert "not compared" in opt.result().message
