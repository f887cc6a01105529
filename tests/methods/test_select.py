"""A list of options: what is found, what is said about it, and what is refused."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.methods import Select
from noisewise.run.reserve import reserve_of_list

Value = Callable[[nw.Trial], float]


def listed(k: int, noise: float = 1.0, seed: int = 0) -> tuple[dict[str, Any], Value, Any]:
    """A list of ``k`` options, its objective with noise that belongs to the trial, and means."""
    means = np.random.default_rng(seed).normal(size=k)

    def value(trial: nw.Trial) -> float:
        assert trial.params is not None
        draw = np.random.default_rng([trial.id, seed]).normal()
        return float(means[trial.params["option"]] + noise * draw)

    return {"space": {"option": list(range(k))}}, value, means


def run(value: Value, asked: Counter[Any] | None = None, **given: Any) -> nw.Optimizer:
    opt = nw.Optimizer(**({"rng": 0} | given))
    while not opt.done:
        for trial in opt.ask():
            if asked is not None and trial.kind == "candidate":
                asked[trial.params["option"]] += 1  # type: ignore[index]
            opt.tell(trial.id, value(trial))
    return opt


@pytest.mark.parametrize("k", [2, 3, 20])
def test_auto_selects_where_there_is_one_list(k: int) -> None:
    given, value, _ = listed(k)
    a, b = (run(value, budget=5 * k, method=method, **given) for method in ("auto", "select"))
    assert a.result().options == b.result().options
    assert a.result().x.tolist() == b.result().x.tolist()


@pytest.mark.parametrize(
    "space",
    [
        {"n": "1..9:int"},
        {"rate": "0..1:step=0.25"},
        {"a": ["x", "y"], "b": [True, False]},
        {"a": ["x", "y"], "rate": "0..1"},
    ],
)
def test_ordered_or_several_parameters_are_the_models(space: dict[str, Any]) -> None:
    opt = nw.Optimizer(space=space, budget=60)
    assert opt.state.setup.options is None
    assert "options" not in opt.result()


def test_select_takes_combinations_of_lists_and_whole_numbers() -> None:
    space = {"n": "1..5:int:step=2", "kind": ["a", "b"], "fixed": [7]}
    opt = run(lambda t: t.params["n"] + (t.params["kind"] == "a"), space=space, budget=80,  # type: ignore[index,operator]
              method="select")  # fmt: skip
    r = opt.result()
    assert r.params == {"n": 1, "kind": "b", "fixed": 7}
    assert len(r.options["option"]) == 6
    assert r.options["option"][0] == r.params


@pytest.mark.parametrize(
    "given",
    [
        {"x0": [1.0, 2.0], "sigma0": 1.0},
        {"bounds": [(0, 1)]},
        {"space": {"rate": "0..1"}},
        {"space": {"n": "1..9:int", "rate": "0..1"}},
        {"space": {"option": list(range(1001))}},
        {"space": {"a": "1..40:int", "b": "1..40:int"}},
    ],
)
def test_select_says_what_it_needs(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"^method 'select' needs a space of lists or whole"):
        nw.Optimizer(budget=50, method="select", **given)


@pytest.mark.parametrize("k", [2, 5, 20])
def test_the_first_look_and_what_follows(k: int) -> None:
    """Twice each, once below five each; then the good ones more often than the bad ones."""
    for each in (2, 20):
        given, value, means = listed(k)
        asked: Counter[Any] = Counter()
        run(value, asked, budget=each * k, confirm=0, **given)
        assert sum(asked.values()) == each * k
        assert min(asked.values()) >= (2 if each >= 5 else 1)
        order = np.argsort(means)
        if k > 2 and each > 2:
            assert asked[order[0]] + asked[order[1]] > asked[order[-1]] + asked[order[-2]]


@pytest.mark.parametrize("budget", [1, 2, 5, 19])
def test_a_budget_below_the_number_of_options(budget: int) -> None:
    given, value, _ = listed(20)
    asked: Counter[Any] = Counter()
    r = run(value, asked, budget=budget, **given).result()
    assert sum(asked.values()) >= 0.9 * budget
    assert r.params["option"] in asked  # type: ignore[index]
    assert any("were not measured: the budget is too small" in said for said in r.warnings)
    if budget == 19:  # some of them again, to tell good ones from lucky ones
        assert 11 <= len(asked) < sum(asked.values())


def test_the_option_to_start_from_is_measured_first() -> None:
    space = {"option": ["a", "b", "c", "d"]}
    opt = nw.Optimizer({"option": "c"}, space=space, budget=40, rng=0)
    assert opt.ask(1)[0].params == {"option": "c"}
    assert nw.Optimizer({"option": "c"}, space=space, budget=40).recommend().params == {
        "option": "c"
    }


def test_the_table_counts_the_search_and_the_estimate_does_not() -> None:
    given, value, _ = listed(10)
    asked: Counter[Any] = Counter()
    r = run(value, asked, budget=200, **given).result()
    table = r.options
    assert dict(zip(table["option"], table["n"], strict=True)) == dict(asked)
    assert (r.n_confirmations, sum(table["n"])) == (40, 160)
    assert table["option"][0] == r.params["option"]  # type: ignore[index]
    assert sum(table["chance"]) == pytest.approx(1.0)
    assert table["shrunk"] == sorted(table["shrunk"])
    assert {len(column) for column in table.values()} == {10}
    for text in (r.summary(), r._repr_html_()):
        assert str(r.params) in text.replace("&#x27;", "'")


def test_maximizing_is_minimizing_the_negative() -> None:
    given, value, _ = listed(8)
    low = run(value, budget=120, **given).result()
    high = run(lambda t: -value(t), budget=120, maximize=True, **given).result()
    assert high.params == low.params
    assert high.options["option"] == low.options["option"]
    for name in ("mean", "shrunk"):
        assert high.options[name] == [-v for v in low.options[name]]
    assert high.options["chance"] == low.options["chance"]
    assert high.fun == -low.fun


def test_an_option_that_always_fails_is_tried_three_times() -> None:
    given, value, means = listed(8)
    best = int(np.argmin(means))
    asked: Counter[Any] = Counter()

    def failing(t: nw.Trial) -> float:
        return math.nan if t.params["option"] == best else value(t)  # type: ignore[index]

    r = run(failing, asked, budget=160, **given).result()
    assert asked[best] == 3
    assert r.params["option"] != best  # type: ignore[index]
    assert r.options["option"][-1] == best
    assert (r.options["failed"][-1], r.options["n"][-1]) == (3, 0)
    assert math.isnan(r.options["mean"][-1])
    assert r.options["chance"][-1] == 0.0
    assert any("1 of 8 options were given up" in said for said in r.warnings)


def test_an_option_that_fails_now_and_then_may_still_be_chosen() -> None:
    given, value, means = listed(5, noise=0.3)
    best = int(np.argmin(means))

    def flaky(t: nw.Trial) -> float:
        fails = t.params["option"] == best and np.random.default_rng([t.id, 9]).random() < 0.3  # type: ignore[index]
        return math.nan if fails else value(t)

    assert run(flaky, budget=100, **given).result().params == {"option": best}


def test_all_options_fail() -> None:
    given, _, _ = listed(3)
    r = run(lambda t: math.nan, budget=200, **given).result()
    assert not r.success
    assert r.nfev < 200
    assert r.options["n"] == [0, 0, 0]


def test_wins_and_losses() -> None:
    rates = np.array([0.5, 0.6, 0.9, 0.7])

    def won(t: nw.Trial) -> float:
        return float(np.random.default_rng([t.id, 3]).random() < rates[t.params["option"]])  # type: ignore[index]

    r = run(won, space={"option": [0, 1, 2, 3]}, budget=400, maximize=True).result()
    assert r.params == {"option": 2}
    assert r.interval[0] < 0.9 < r.interval[1]


def test_without_noise_every_option_is_measured_and_the_best_is_exact() -> None:
    given, value, means = listed(12, noise=0.0)
    r = run(value, budget=70, **given).result()
    assert r.params == {"option": int(np.argmin(means))}
    assert r.estimate == "exact"
    assert r.fun == means.min()
    assert r.agreed > 0
    assert r.differed == 0


def test_noise_is_noticed_by_measuring_an_option_again() -> None:
    given, value, _ = listed(12)
    r = run(value, budget=100, **given).result()
    assert r.differed > 10
    assert r.agreed == 0


def test_median_of_heavy_tails() -> None:
    def cauchy(t: nw.Trial) -> float:
        return float(t.params["option"] + np.random.default_rng([t.id, 1]).standard_cauchy())  # type: ignore[index]

    found = [
        run(cauchy, space={"option": [0, 1, 2, 3]}, budget=200, target="median", rng=rng).result()
        for rng in range(5)
    ]
    assert sum(r.params["option"] == 0 for r in found) >= 4  # type: ignore[index]
    assert {r.estimate for r in found} == {"median"}


def test_a_precise_value_counts_for_more() -> None:
    opt = nw.Optimizer(space={"option": ["vague", "precise"]}, budget=60, confirm=0, rng=0)
    for _ in range(2):
        for trial in opt.ask():
            vague = trial.params == {"option": "vague"}
            opt.tell(trial.id, -1.0 if vague else 0.0, 30.0 if vague else 0.1)
    table = opt.result().options
    assert table["shrunk"][table["option"].index("vague")] > -0.2


@pytest.mark.parametrize("agrees", [True, False])
def test_earlier_data_count_as_long_as_own_values_agree(agrees: bool) -> None:
    given, value, means = listed(10, noise=0.5)
    known = means if agrees else means[::-1]
    rng = np.random.default_rng(5)
    X = [{"option": i} for i in range(10) for _ in range(6)]
    y = [known[row["option"]] + 0.5 * rng.normal() for row in X]
    asked: Counter[Any] = Counter()
    r = run(value, asked, budget=60, data=(X, y), **given).result()
    assert r.params == {"option": int(np.argmin(means))}
    said = "60 rows of earlier data were " + ("used" if agrees else "left out: own values differ")
    assert said in r.message
    assert (len(asked) < 10) == agrees  # bad ones need not be measured


def test_common_seeds_measure_options_of_a_block_under_one_seed() -> None:
    means = np.linspace(0.0, 0.5, 6)
    found = []
    for rng in range(6):
        opt = nw.Optimizer(space={"option": list(range(6))}, budget=90, seeds="common", rng=rng)
        blocks: list[set[int]] = []
        while not opt.done:
            trials = opt.ask()
            if trials[0].kind == "candidate":
                blocks.append({t.seed for t in trials})  # type: ignore[misc]
                assert len({t.params["option"] for t in trials}) == len(trials)  # type: ignore[index]
            for t in trials:
                shared = np.random.default_rng(t.seed).normal()
                own = np.random.default_rng([t.id, 2]).normal()
                opt.tell(t.id, float(means[t.params["option"]] + 5.0 * shared + 0.1 * own))  # type: ignore[index]
        assert all(len(seeds) == 1 for seeds in blocks)
        assert len(set.union(*blocks)) == len(blocks)
        found.append(opt.result().params["option"])  # type: ignore[index]
    assert found == [0] * 6  # the shared part is fifty times as large as what is left


def test_with_workers_nobody_waits_and_pending_options_count() -> None:
    given, value, _ = listed(6)
    opt = nw.Optimizer(budget=120, workers=6, rng=0, confirm=0, **given)
    out = opt.ask()
    assert {t.params["option"] for t in out} == set(range(6))  # type: ignore[index]
    told = 0
    while not opt.done:
        trial = out.pop(told % len(out))
        opt.tell(trial.id, value(trial))
        told += 1
        out += opt.ask()
        assert len(out) == min(6, 120 - told)


@pytest.mark.parametrize("batch", [1, 7, 50])
def test_batches(batch: int) -> None:
    given, value, means = listed(10, noise=0.5)
    r = run(value, budget=210, batch=batch, **given).result()
    assert r.params == {"option": int(np.argmin(means))}
    assert r.nfev == 210


def test_more_budget_goes_on_with_what_is_known(tmp_path: Path) -> None:
    given, value, means = listed(10)
    opt = run(value, budget=30, **given)
    opt.save(tmp_path / "run")
    opt = nw.Optimizer.load(tmp_path / "run")
    before = sum(opt.result().options["n"])
    opt.extend(270)
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, value(trial))
    r = opt.result()
    assert r.nfev == 300
    assert sum(r.options["n"]) > before + 180
    assert r.params == {"option": int(np.argmin(means))}


@pytest.mark.parametrize(
    ("budget", "options", "kept"),
    [(4, 2, 0), (20, 2, 2), (100, 2, 10), (100, 9, 10), (100, 10, 20), (40, 20, 4), (400, 20, 80)],
)
def test_what_is_kept_to_measure_the_answer(budget: int, options: int, kept: int) -> None:
    assert reserve_of_list(budget, options) == (0, kept)
    assert kept <= budget / 5


def test_intervals_of_the_answer_cover_its_mean() -> None:
    """The best of twenty equal options: its mean in the search is far too low, fresh ones are
    not."""
    covered, bias = 0, []
    for rng in range(60):
        noise = np.random.default_rng(rng)
        r = nw.minimize(
            lambda p, noise=noise: noise.normal(), space={"option": list(range(20))}, budget=100,
            rng=rng,
        )  # fmt: skip
        covered += r.interval[0] <= 0.0 <= r.interval[1]
        bias.append((r.fun, r.options["mean"][0]))
    fresh, pooled = np.mean(bias, axis=0)
    assert covered >= 52  # binomial: fewer than that come with a chance of 1 %
    assert abs(fresh) < 0.12
    assert pooled < -0.4


def test_a_long_list_is_not_selected_from() -> None:
    opt = nw.Optimizer(space={"option": list(range(1001))}, budget=30)
    assert opt.state.setup.options is None


def test_the_memory_does_not_hold_every_point() -> None:
    given, _, _ = listed(200)
    opt = nw.Optimizer(budget=400, **given)
    assert len(support.data_of(opt)) < 50_000


def test_rounds_of_several_options() -> None:
    opt = nw.Optimizer(space={"option": [0, 1, 2]}, budget=60, method=Select(population=4), rng=0)
    sizes = []
    while not opt.done:
        trials = opt.ask()
        sizes.append(len(trials))
        for t in trials:
            opt.tell(t.id, support.noisy(t))
    assert sizes[1:-2] == [4] * len(sizes[1:-2])


def test_the_best_option_that_meets_the_constraints() -> None:
    """The best of all misses them clearly, the second best just meets them."""
    means, over = [0.0, 0.5, 1.0, 1.5], [1.0, -0.3, -1.0, -1.0]
    rng = np.random.default_rng(2)
    asked: Counter[Any] = Counter()

    def measure(p: dict[str, Any]) -> float:
        asked[p["option"]] += 1
        return means[p["option"]] + 0.3 * float(rng.normal())

    r = nw.minimize(
        measure, space={"option": [0, 1, 2, 3]}, budget=80, rng=0,
        constraints=lambda p: over[p["option"]] + 0.1 * float(rng.normal()),
    )  # fmt: skip
    assert r.params == {"option": 1}
    assert r.success
    assert r.constraints[0] == pytest.approx(-0.3, abs=0.1)
    assert asked[0] < 15
    assert r.options["chance"][r.options["option"].index(0)] == 0.0


def test_no_option_meets_the_constraints() -> None:
    over = [0.5, 0.2, 2.0]
    r = nw.minimize(
        lambda p: 0.0, space={"option": [0, 1, 2]}, budget=30, rng=0,
        constraints=lambda p: over[p["option"]],
    )  # fmt: skip
    assert not r.success
    assert r.params == {"option": 1}
    assert any("no point was found that meets the constraints" in said for said in r.warnings)
