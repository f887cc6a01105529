"""The study of seeds: evaluations under a seed, and its page."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from noisewise_bench.experiments import _seeded, seeds


@pytest.mark.parametrize("name", list(_seeded.TASKS))
@pytest.mark.parametrize("n", [1, 3, 4])
def test_a_row_has_the_noise_of_its_seed_alone(name: str, n: int) -> None:
    task = _seeded.TASKS[name][0](1)
    rng = np.random.default_rng(0)
    low, high = task.bounds
    X = low + rng.random((n, len(low))) * (high - low)
    given = [5, 7, 5, 9][:n]
    together = _seeded.costs(task, X, np.array(given))
    alone = [
        task.noisy(x[None], np.random.default_rng(s))[0] for x, s in zip(X, given, strict=True)
    ]
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--tasks", "queue", "--methods", "cma-es", "--seeds", "1-2", "--out", str(tmp_path)]
    assert seeds.main(given) == 0
    page = (tmp_path / "seeds.md").read_text(encoding="utf-8")
    assert page.strip() in capsys.readouterr().out
    assert [line.split("|")[3].strip() for line in page.splitlines() if "| queue" in line] == list(
        seeds.MODES
    )
    assert "--tasks queue --methods cma-es --seeds 1-2`" in page


def test_methods_are_compared_under_common_seeds(tmp_path: Path) -> None:
    given = ["--tasks", "queue-short", "--methods", "cma-es,sep-cma-es", "--seeds", "1-2"]
    assert seeds.main([*given, "--modes", "independent,common", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "seeds.md").read_text(encoding="utf-8")
    assert "--seeds 1-2 --modes independent,common`" in page
    assert page.count("| queue-short |") == 5
    change = [
        np.log10(
            seeds.measure("queue-short", "cma-es", "common", s).cost
            / seeds.measure("queue-short", "sep-cma-es", "common", s).cost
        )
        for s in (1, 2)
    ]
    found = seeds.between(["queue-short"], ["cma-es", "sep-cma-es"], [1, 2]).rows[0]
    assert found[:4] == ("queue-short", 100, "sep-cma-es", np.mean(np.array(change) < 0.0))
    assert found[6] == pytest.approx(np.mean(change))
    assert seeds.main([*given, "--modes", "common"]) == 2


def test_unknown_tasks_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert seeds.main(["--tasks", "moon"]) == 2
    assert "got 'moon'" in capsys.readouterr().err
