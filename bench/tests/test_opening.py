"""The study of what the model is worth that opens long runs with few parameters."""

from __future__ import annotations

from noisewise_bench.experiments.opening import OTHERS, STUDY
from noisewise_bench.experiments.study import Scope
from noisewise_bench.task import Row


def row(problem: str, method: str, regret: float) -> Row:
    suite, dimension = problem.split("/")[0], int(problem.split("/d")[1].split("/")[0])
    return Row(problem, method, "200d", 1, suite, dimension=dimension, recommended_regret=regret)


def test_every_method_runs_on_both_suites() -> None:
    (grid,) = STUDY.grids(Scope((1,), (2, 5), (1,)))
    assert set(grid.methods) == {"auto", *OTHERS}
    assert len(grid.problems) == 2 * (30 + 5 * 4)
    assert "small/steps/i1/d5/t3/0.2" in grid.problems


def test_groups_of_both_tables() -> None:
    rows = []
    for problem, ours in (
        ("bbob-noisy/f101/i1/d2", 1e-3),
        ("bbob-noisy/f108/i1/d2", 1.0),
        ("small/sphere/i1/d2/gaussian/0.2", 1e-2),
    ):
        rows += [row(problem, "auto", ours), row(problem, "cma-es", 1e-1)]
    coco, small = STUDY.tables(rows)
    assert [(line[0], line[4]) for line in coco.rows] == [
        ("complement", 1.0),
        ("high misranking", 0.0),
    ]
    assert [(line[0], round(line[5], 6)) for line in small.rows] == [("gaussian 0.2", -1.0)]
