"""The studies that compare our sampler and our search with those of the libraries."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from noisewise_bench.experiments import optuna_samplers, sklearn_search
from noisewise_bench.problem import FloatArray, Oracle
from noisewise_bench.task import Row


class Sphere:
    x0 = np.array([0.8, -0.5])
    bounds = (np.full(2, -1.0), np.full(2, 3.0))

    def noisy(self, X: FloatArray, rng: np.random.Generator) -> FloatArray:
        return self.regret(X) + 0.1 * rng.standard_normal(len(X))

    def regret(self, X: FloatArray) -> FloatArray:
        return np.sum(np.asarray(X) ** 2, axis=1)


@pytest.mark.parametrize("anytime", [False, True])
def test_our_sampler_as_a_method_of_the_bench(anytime: bool) -> None:
    problem = Sphere()
    oracle = Oracle(problem, 80, np.random.default_rng(0))
    found = optuna_samplers.noisewise(oracle, 80, seed=1, anytime=anytime)
    assert oracle.remaining == 0
    assert problem.regret(found.x[None])[0] < 0.3
    assert oracle.x0 == pytest.approx([0.8, -0.5])


def test_the_table_says_what_was_promised_and_leaves_out_failed_runs() -> None:
    def row(method: str, truth: float, error: str | None = None) -> Row:
        return Row(
            "task/hpo-digits/s1",
            method,
            "own",
            1,
            "task",
            dimension=5,
            recommended_regret=truth,
            noisy_best=0.01,
            noisy_best_regret=0.2,
            seconds_method=1.0,
            error=error,
        )

    ours, theirs = "noisewise_bench.experiments.optuna_samplers:noisewise", "peer/optuna-tpe"
    rows = [row(ours, 0.05), row(theirs, 0.1), row("peer/optuna-gp", float("nan"), "no torch")]
    against, truths = (found.markdown() for found in optuna_samplers.tables(rows))
    assert "| task/hpo-digits | 5 | TPESampler | 1 | 100% | -0.30 |" in against
    assert "| task/hpo-digits | TPESampler | 1 | 0.1 | -1.000 | 0.2 | 0.01 |" in truths
    assert "| GPSampler |" not in against + truths


def test_the_search_against_random_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    few = sklearn_search.tasks()[:2]
    monkeypatch.setattr(sklearn_search, "tasks", lambda: few)
    command = ["--seeds", "1-2", "--budgets", "10", "--out", str(tmp_path)]
    assert sklearn_search.main(command) == 0
    said = capsys.readouterr().out
    assert "sklearn_search --seeds 1-2 --budgets 10`" in said
    assert said.count("| 10 | 0.") == 2
    assert said.strip() == (tmp_path / "sklearn.md").read_text().strip()
    assert (tmp_path / "sklearn-1.csv").read_text().count("\n") == 3


def test_a_bad_range_is_one_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert sklearn_search.main(["--seeds", "x"]) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_every_task_of_the_search_can_be_run() -> None:
    ours, random = sklearn_search.run(sklearn_search.tasks()[2], 10, seed=1)
    assert 0.1 < ours.truth <= 1.0
    assert 0.1 < random.truth <= 1.0
