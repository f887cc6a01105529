"""The study of `auto` against the best fixed setting in hindsight."""

from __future__ import annotations

import numpy as np

from noisewise_bench.experiments.hindsight import STUDY, hindsight, settings
from noisewise_bench.experiments.study import Scope
from noisewise_bench.task import Row


def row(instance: int, method: str, log10_regret: float, noise: str = "gaussian/0.2") -> Row:
    return Row(
        problem=f"small/sphere/i{instance}/d2/{noise}",
        method=method,
        budget="20d",
        seed=1,
        suite="small",
        dimension=2,
        recommended_regret=10.0**log10_regret,
    )


def test_a_setting_is_chosen_on_one_half_and_scored_on_the_other() -> None:
    rows = [
        *(row(1, "auto", -1.0), row(2, "auto", -1.0)),
        *(row(1, "a", -3.0), row(2, "a", 0.0)),  # chosen on the first half, poor on the second
        *(row(1, "b", 1.0), row(2, "b", -2.0)),
    ]
    chosen, differences = hindsight(rows)
    assert chosen == "a; b"
    np.testing.assert_allclose(sorted(differences), [-2.0, -1.0])


def test_a_failed_run_is_never_the_best() -> None:
    rows = [row(i, m, v) for i in (1, 2) for m, v in (("auto", 0.0), ("a", -1.0), ("b", 1.0))]
    rows[1] = Row(**{**_fields(rows[1]), "error": "failed"})
    chosen, differences = hindsight(rows)
    assert chosen == "b; a"
    assert differences[1] == -np.inf


def _fields(row: Row) -> dict[str, object]:
    return {name: getattr(row, name) for name in Row.__dataclass_fields__}


def test_the_table_counts_cells_behind() -> None:
    rows = []
    for noise, behind in (("gaussian/0.2", 0.5), ("relative/1.0", -0.3)):
        for i in range(1, 5):
            rows += [row(i, "auto", behind, noise), row(i, "cma-es", 0.0, noise)]
    (table,) = STUDY.tables(rows)
    np.testing.assert_allclose([line[5] for line in table.rows], [0.5, -0.3])
    assert "Mean over the 2 cells +0.10; `auto` is behind by more than 0.10 in 1" in table.notes[0]


def test_a_model_is_a_setting_only_where_evaluations_are_few() -> None:
    assert "gp" in settings(10, 20)
    assert "gp" not in settings(10, 50)
    assert "gp" not in settings(40, 5)
    grids = STUDY.grids(Scope((1, 2), (2,), (1,)))
    assert all("auto" in {task.method for task in grid.tasks()} for grid in grids)
