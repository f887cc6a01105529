"""The command that compares rules of selection, and that the library plays the rule it compares."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import noisewise as nw
from noisewise_bench.experiments import _select_cells as lists
from noisewise_bench.experiments import _select_rules as rules
from noisewise_bench.experiments import select
from noisewise_bench.experiments.__main__ import main


@pytest.mark.parametrize("family", sorted(lists.FAMILIES))
def test_values_have_the_means_that_regret_is_about(family: str) -> None:
    many = lists.Lists(lists.Cell(family, 3, 40), 200)
    low, high = many.tape.mean(axis=0) - many.means, many.tape.std(axis=0)
    z = low / np.maximum(high, 0.05) * np.sqrt(len(many.tape))
    assert abs(float(z.mean())) < 0.35
    assert (many.regret(many.means.argmin(axis=1)) == 0.0).all()


@pytest.mark.parametrize("rule", sorted(rules.RULES))
def test_every_rule_spends_its_budget_and_prefers_good_options(rule: str) -> None:
    many = lists.Lists(lists.Cell("normal", 4, 8), 300)
    regret = many.regret(rules.RULES[rule](many))
    kept = 3 if rule == "auto" else 0
    assert (many.n.sum(axis=1) == 32 - kept).all()
    assert regret.mean() < 0.5 * many.regret(np.zeros(300, dtype=int)).mean()


def test_sequential_halving_halves() -> None:
    many = lists.Lists(lists.Cell("normal", 8, 6), 50)
    rules.halving(many)
    assert {tuple(sorted(n)) for n in many.n.tolist()} == {(2, 2, 2, 2, 6, 6, 14, 14)}


def test_the_library_does_as_well_as_the_rule() -> None:
    """Not value for value, because ties are broken otherwise, but on the average."""
    cell = lists.Cell("loud", 6, 10)
    row = select._library(cell, 150, "")
    many = lists.Lists(cell, 2000)
    regret = many.regret(rules.ours(many))
    assert abs(row.regret - regret.mean()) < 3.5 * regret.std() / np.sqrt(150)
    assert row.covered > 0.88


def test_a_page_with_its_command_that_goes_on_where_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["select", "--runs", "0.005", "--most", "100", "--out", str(tmp_path)]
    assert main(options) == 0
    text = (tmp_path / "select.md").read_text()
    assert "`python -m noisewise_bench.experiments select --runs 0.005 --most 100`" in text
    assert text.count("| worst |") == 3
    assert nw.__version__ in text
    file = tmp_path / "select.jsonl"
    rows = file.read_text().splitlines()
    file.write_text("\n".join(rows[:-1]) + "\n" + rows[-1][: len(rows[-1]) // 2])
    capsys.readouterr()
    assert main(options) == 0
    assert capsys.readouterr().err.count("\n") == 1  # only the row that was cut off
    assert (tmp_path / "select.md").read_text() == text
    assert json.loads(file.read_text().splitlines()[0])["rule"] == "auto"


@pytest.mark.parametrize("wrong", [["--runs", "0"], ["--most", "3"]])
def test_bad_options_are_one_sentence(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["select", *wrong]) == 2
    assert capsys.readouterr().err.startswith("error: ")
