"""Methods by name: the library's, its peers', the published ones, and anyone's."""

from __future__ import annotations

import json

import numpy as np
import pytest

import noisewise
from noisewise_bench import methods
from noisewise_bench.names import BenchError
from noisewise_bench.task import Task, method_seed, run_task

SPHERE = "bench_toys:Sphere(dimension=3)"


@pytest.mark.parametrize(
    "name",
    [
        "auto",
        "nw/cma-es",
        "cma-es(population=12)",
        "peer/pycma",
        "as-run/rb-pem",
        "as-run/resample(5)",
    ],
)
def test_every_kind_of_name_runs_and_improves_on_the_start(name: str) -> None:
    row = run_task(Task(SPHERE, name, "100d", 1))
    assert row.error is None
    assert row.spent <= row.evaluations == 300
    assert row.recommended_regret < 0.5 < 3.0  # 3.0 is the start


def test_the_library_is_run_as_a_user_would_run_it() -> None:
    def sphere(X: np.ndarray) -> np.ndarray:
        return np.asarray(np.sum((X - 1.0) ** 2, axis=1))

    name = "bench_toys:Sphere(dimension=3, noise=0.0)"
    row = run_task(Task(name, "cma-es", "50d", 1))
    result = noisewise.minimize(
        sphere,
        np.zeros(3),
        budget=150,
        bounds=(np.full(3, -5.0), np.full(3, 5.0)),
        sigma0=3.0,
        method="cma-es",
        rng=method_seed(name, 1),
        vectorized=True,
        confirm=0,
    )
    assert json.loads(row.x or "") == result.x.tolist()
    assert (row.generations, row.reevaluations) == (result.nit, result.n_reevaluations)


def test_the_recommendation_is_reported_on_the_way() -> None:
    row = run_task(Task(SPHERE, "cma-es", "100d", 1))
    reported = [regret for _, _, regret in json.loads(row.curve)]
    assert sum(regret is not None for regret in reported) > 20


def test_options_are_kept_with_the_row() -> None:
    row = run_task(Task(SPHERE, "cma-es(population=12)", "20d", 1))
    assert json.loads(row.options)["population"] == 12
    own = run_task(Task(SPHERE, "bench_toys:random_search(spread=0.5)", "20d", 1))
    assert json.loads(own.options) == {"spread": 0.5}
    assert own.x != run_task(Task(SPHERE, "bench_toys:random_search", "20d", 1)).x


def test_exact_pem_may_draw_noise_and_the_row_says_how_much() -> None:
    row = run_task(Task(SPHERE, "pem", "20d", 1))
    assert row.error is None
    assert row.uncharged > 0
    assert row.spent <= 60


@pytest.mark.parametrize("name", ["nonsense", "nw/nonsense", "other/cma-es"])
def test_an_unknown_name_lists_the_known_ones(name: str) -> None:
    with pytest.raises(
        BenchError,
        match=r"auto, gp, watchful, select, cma-es.*peer/pycma.*as-run/rb-pem.*module:function",
    ):
        methods.get(name)


@pytest.mark.parametrize(
    "name", ["peer/nonsense", "as-run/nonsense", "as-run/rb-pem(nonsense=1)", "cma-es(nonsense=1)"]
)
def test_wrong_options_and_foreign_names_are_one_sentence(name: str) -> None:
    with pytest.raises(BenchError) as caught:
        methods.get(name)
    assert "nonsense" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_known_names_are_found() -> None:
    found = methods.known()
    assert len(found) == len(set(found))
    for name in found:
        assert callable(methods.get(name))
