"""The command that compares tools in noisy mixed spaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewise_bench.experiments import mixed
from noisewise_bench.experiments.__main__ import main


@pytest.mark.parametrize("family", sorted(mixed.FAMILIES))
def test_every_tool_answers_in_the_space_and_no_value_is_below_the_best(family: str) -> None:
    for tool, run in mixed.RUNS.items():
        if tool == "TPE":  # checks itself, and takes long
            continue
        one = mixed.problem(family, 1, 0.1)
        params = run(one, 20, 1)
        assert one.space.decode(one.space.encode(params)) == pytest.approx(params)
        assert one.value(params) >= 0.0


def test_the_page_has_a_line_per_problem_and_its_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--instances", "1", "--budgets", "10", "--noise", "1", "--tools", "cma-es,random"]
    assert main(["mixed", *options, "--out", str(tmp_path)]) == 0
    text = (tmp_path / "mixed.md").read_text()
    assert capsys.readouterr().out.strip() == text.strip()
    assert " ".join(options) in text
    assert all(text.count(f"| {family} | 1 |") == 1 for family in mixed.FAMILIES)
    assert text.count("\n| random | ") == 3
    assert (tmp_path / "mixed-1.csv").read_text().count("\n") == 1 + 3
    assert (tmp_path / "mixed-2.csv").read_text().count("\n") == 1 + len(mixed.FAMILIES)


def test_shares_are_of_pairs_and_the_least_cell_is_named() -> None:
    cells = {("switches", 1.0): {"a": [0.0, 1.0], "b": [1.0, 1.0]}}
    cells[("paired", 1.0)] = {"a": [2.0, 2.0], "b": [1.0, 1.0]}
    every, tuned, others = mixed.pooled({100: cells}, ["a", "b"]).rows
    assert (every[2], every[3], every[6:]) == (4, 0.375, (0.0, "paired, noise 1, 100"))
    assert (tuned[2], tuned[3]) == (2, 0.75)
    assert (others[2], others[3]) == (2, 0.0)
    assert 0.0 < every[4] < 0.375 < every[5] < 1.0


@pytest.mark.parametrize("wrong", [["--tools", "nobody"], ["--noise", "x"], ["--instances", "x"]])
def test_bad_options_are_one_sentence(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mixed", *wrong]) == 2
    assert capsys.readouterr().err.startswith("error: ")
