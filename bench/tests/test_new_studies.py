"""Studies of today's setting and of workers that do not wait, in small."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from noisewise_bench.experiments import asynchronous
from noisewise_bench.experiments.__main__ import main


def test_the_study_of_todays_setting_prints_its_page(tmp_path: Path) -> None:
    options = ["--families", "smooth,listed", "--budgets", "100", "--runs", "1-2"]
    main(["incumbent", *options, "--out", str(tmp_path)])
    [page] = tmp_path.glob("*.md")
    text = page.read_text(encoding="utf-8")
    assert "smooth" in text
    assert "listed" in text
    assert "--runs 1-2" in text
    file = tmp_path / "incumbent.jsonl"
    lines = file.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 12
    file.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:40], encoding="utf-8")
    main(["incumbent", *options, "--out", str(tmp_path)])  # only the run that was cut off
    assert file.read_text(encoding="utf-8").count("\n") == 13
    assert page.read_text(encoding="utf-8") == text


@pytest.mark.slow
def test_the_study_of_workers_goes_on_where_it_stopped(tmp_path: Path) -> None:
    options = ["--methods", "cma-es", "--dimensions", "5", "--seeds", "1", "--waves", "2"]
    command = ["asynchronous", *options, "--db", str(tmp_path / "done"), "--out", str(tmp_path)]
    main(command)
    done = (tmp_path / "done").read_text(encoding="utf-8").splitlines()
    assert len(done) > 10
    assert all(json.loads(line) for line in done)
    [page] = tmp_path.glob("*.md")
    first = page.read_text(encoding="utf-8")
    main(command)
    assert (tmp_path / "done").read_text(encoding="utf-8").splitlines() == done
    assert page.read_text(encoding="utf-8") == first


@pytest.mark.parametrize("seed", [3, 4])
def test_noise_and_old_candidates_do_not_let_the_step_size_explode(seed: int) -> None:
    """Covariances collapsed, because candidates of wider ones were compared with them, and the step
    size then grew by e in every round: such runs ended above their start."""
    job = asynchronous.Job(
        asynchronous.HIGH, "strong", 5, 1280, "auto", "nobody waits", 64, "log-normal 0.8", seed
    )
    done = asynchronous.run(job)
    assert done.regret < done.start
