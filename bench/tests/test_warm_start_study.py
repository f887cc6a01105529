"""The command that measures what earlier data are worth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from noisewise_bench.experiments import warm_start
from noisewise_bench.experiments.__main__ import main


def _case(data: str) -> warm_start.Case:
    return warm_start.Case("cma-es", 2, 40, "sphere", "gaussian", 1, data)


def test_the_page_has_a_line_per_kind_and_its_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--seeds", "1", "--cells", "cma-es:2x40", "--kinds", "earlier-run,constant"]
    assert main(["warm-start", *options, "--workers", "1", "--out", str(tmp_path)]) == 0
    text = (tmp_path / "warm-start.md").read_text()
    assert capsys.readouterr().out.strip() == text.strip()
    assert " ".join(options) in text
    assert text.count("| cma-es | 2 | 40 | earlier-run | 8 |") == 1  # four landscapes, two laws
    assert "| cma-es | 2 | 40 | constant | 8 | +0.00 | 0.00 | 0% | 100% |" in text
    assert (tmp_path / "warm-start-5.csv").read_text().count("\n") == 3


@pytest.mark.parametrize("kind", sorted({*warm_start.GOOD, *warm_start.BAD} - {warm_start.TWICE}))
def test_every_kind_of_data_lies_in_the_box(kind: str) -> None:
    X, y = warm_start._data(_case(kind), np.random.default_rng(0))
    assert X.shape == (len(y), 2)
    assert bool((np.abs(X) <= 5.0).all() and np.isfinite(y).all())


def test_twins_share_their_random_numbers() -> None:
    assert warm_start.measure(_case("constant")) == warm_start.Outcome(_case("constant"), 0.0, True)


@pytest.mark.parametrize(
    "wrong", [["--cells", "auto"], ["--cells", "nobody:2x50"], ["--kinds", "x"], ["--seeds", "x"]]
)
def test_bad_options_are_one_sentence(wrong: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["warm-start", *wrong]) == 2
    assert capsys.readouterr().err.startswith("error: ")
