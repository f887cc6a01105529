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
    assert (tmp_path / "mixed-1.csv").read_text().count("\n") == 6


@pytest.mark.parametrize("wrong", [["--tools", "nobody"], ["--noise", "x"], ["--instances", "x"]])
def test_bad_options_are_one_sentence(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mixed", *wrong]) == 2
    assert capsys.readouterr().err.startswith("error: ")
