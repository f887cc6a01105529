"""One run, one row: the same on every machine, whatever happens in it."""

from __future__ import annotations

import dataclasses
import json
import random
import time

import bench_toys
import numpy as np
import pytest

from noisewise_bench.problem import Method, Oracle
from noisewise_bench.task import VOLATILE, Row, Task, lost, method_seed, run_task, run_tasks, stream

SPHERE = "bench_toys:Sphere(dimension=3)"


def row_of(method: str | Method, budget: str = "20d", seed: int = 1, problem: str = SPHERE) -> Row:
    if isinstance(method, str):
        return run_task(Task(problem, f"bench_toys:{method}", budget, seed))
    return run_task(Task(problem, "given", budget, seed, method_object=method))


def stable(row: Row) -> dict[str, object]:
    return {k: v for k, v in dataclasses.asdict(row).items() if k not in VOLATILE}


def test_a_row_holds_what_the_run_left_behind() -> None:
    row = row_of("random_search")
    assert row.error is None
    assert (row.suite, row.dimension, row.evaluations, row.spent) == (
        "bench_toys:Sphere",
        3,
        60,
        60,
    )
    assert (row.generations, row.reevaluations, row.stopped) == (12, 2, "method")
    x = np.array(json.loads(row.x or ""))
    assert row.recommended_regret == pytest.approx(float(np.sum((x - 1) ** 2)))
    assert 0 <= row.best_evaluated_regret <= row.recommended_regret
    curve = json.loads(row.curve)
    assert curve[-1] == [60, float(f"{row.best_evaluated_regret:.8g}"), curve[-1][2]]
    assert min(row.seconds_method, row.seconds_problem, row.seconds_truth) >= 0
    assert row.version
    assert len(row.code) == 12
    assert "numpy" in json.loads(row.environment)


def test_the_same_seed_gives_the_same_row_and_another_seed_another() -> None:
    assert stable(row_of("random_search")) == stable(row_of("random_search"))
    assert row_of("random_search", seed=2).x != row_of("random_search", seed=1).x


def test_seeds_are_fixed_numbers_on_every_machine() -> None:
    assert method_seed("bbob-noisy/f110/i3/d40", 1) == 933178962
    words = stream("noise", "bbob-noisy/f110/i3/d40", 1).generate_state(2)
    assert words.tolist() == [3016127009, 869337737]
    assert stream("noise", "a", 11).entropy != stream("noise", "a1", 1).entropy


def test_methods_meet_the_same_noise() -> None:
    seen: dict[str, list[float]] = {}

    def watch(name: str) -> Method:
        def run(oracle: Oracle, budget: int, seed: int) -> object:
            seen[name] = [*oracle(np.zeros((5, 3))), float(seed)]
            return oracle.x0

        return run

    row_of(watch("a"))
    row_of(watch("b"))
    run_task(Task(SPHERE, "c", "20d", 2, method_object=watch("c")))
    assert seen["a"] == seen["b"]
    assert set(seen["a"]).isdisjoint(seen["c"])


def test_a_method_that_uses_global_random_state_still_repeats_itself() -> None:
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    expected = random.random(), np.random.random()  # noqa: NPY002
    random.seed(5)
    np.random.seed(5)  # noqa: NPY002
    first = row_of("careless")
    assert (random.random(), np.random.random()) == expected  # noqa: NPY002
    assert stable(first) == stable(row_of("careless"))


def test_asking_for_too_much_ends_the_run_with_the_luckiest_point() -> None:
    row = row_of("careless")
    assert (row.stopped, row.spent, row.error) == ("budget", 60, None)
    assert row.recommended_regret == row.noisy_best_regret


def test_asking_for_too_much_at_once_leaves_nothing_to_recommend() -> None:
    row = row_of(lambda oracle, budget, seed: oracle(np.zeros((budget + 1, 3))))
    assert row.error is not None
    assert row.error.startswith("BudgetExceeded: 61 more evaluations")


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("outside", "outside the box"),
        ("nowhere", "not finite"),
        ("missing", "has no attribute 'missing'"),
        ("not_callable", "is not a function run"),
    ],
)
def test_what_fails_becomes_a_row_with_the_reason(method: str, message: str) -> None:
    row = row_of(method)
    assert message in str(row.error)
    assert np.isnan(row.recommended_regret)
    assert row.finished


def test_points_of_the_wrong_shape_and_unusable_problems_are_named() -> None:
    assert "shape (2,), but (3,) was expected" in str(row_of(lambda o, b, s: np.zeros(2)).error)
    row = row_of("stay", problem="bench_toys:Outcome(x=None, nit=3)")
    assert "lacks the attribute x0, bounds, noisy, regret" in str(row.error)
    assert row.dimension == 0
    assert "own" in str(row_of("stay", budget="own").error)

    class Nan(bench_toys.Sphere):
        def regret(self, X: np.ndarray) -> np.ndarray:
            return np.full(len(X), np.nan)

        def noisy(self, X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            return np.zeros(len(X))

    task = Task("nan", "stay", "9", 1, Nan(), bench_toys.stay)
    assert "regret of the recommended point is nan" in str(run_task(task).error)


def test_a_point_on_the_edge_of_the_box_is_inside() -> None:
    row = row_of(lambda oracle, budget, seed: oracle.bounds[1] + 1e-12)  # type: ignore[index]
    assert row.error is None
    assert json.loads(row.x or "") == [5.0, 5.0, 5.0]


def test_without_bounds_any_point_is_allowed() -> None:
    problem = bench_toys.Sphere()
    problem.bounds = None  # type: ignore[assignment]
    row = run_task(Task("free", "outside", "9", 1, problem, bench_toys.outside))
    assert row.error is None
    assert row.recommended_regret == pytest.approx(3 * 99.0**2)


def test_large_points_are_not_stored() -> None:
    assert row_of("stay", budget="5", problem="bench_toys:Sphere(dimension=101)").x is None


def test_a_lost_task_says_so_and_chunks_keep_their_order() -> None:
    tasks = [Task(SPHERE, "bench_toys:stay", "9", seed) for seed in (3, 1, 2)]
    assert [row.seed for row in run_tasks(tasks)] == [3, 1, 2]
    assert "died" in str(lost(tasks[0]).error)
    assert lost(tasks[0]).key == tasks[0].key


def test_what_is_done_aside_is_no_time_of_the_method() -> None:
    def waits(oracle: Oracle, budget: int, seed: int) -> np.ndarray:
        with oracle.aside():
            time.sleep(1.0)
        oracle(np.zeros((budget, oracle.dimension)))
        return oracle.x0

    row = row_of(waits)
    assert row.error is None
    assert 0.0 <= row.seconds_method < 1.0
