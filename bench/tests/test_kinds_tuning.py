"""The study of the constants of auto, in small."""

from pathlib import Path

import pytest

from noisewise.methods import Auto
from noisewise_bench.experiments import kinds_tuning as study
from noisewise_bench.experiments.__main__ import main


@pytest.mark.parametrize("case", study.CASES, ids=lambda case: case.name)
def test_every_constant_is_changed_and_explained(case: study.Case) -> None:
    for factor in study.FACTORS:
        assert study.changed(case, factor) != Auto()
    assert len(study.meaning(case.record, case.name)) > 20


def test_what_a_constant_means() -> None:
    case = next(c for c in study.CASES if c.name == "start_each")
    assert study.meaning(case.record, "start_each") == "Points of the start design, per parameter."


def test_the_study_prints_its_page_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(study, "problems", lambda case, instances: iter([("kinds/bowl/i1/d2", 6)]))
    options = ["--constants", "few_least_each", "--db", str(tmp_path / "rows")]
    command = ["kinds-tuning", *options, "--out", str(tmp_path)]
    assert main(command) == 0
    [page] = tmp_path.glob("*.md")
    text = page.read_text(encoding="utf-8")
    assert "| few_least_each | 2 | 0.5 |" in text
    assert "- `few_least_each`: " in text
    rows = (tmp_path / "rows").read_text()
    assert rows.count("\n") == 3
    assert main(command) == 0
    assert (tmp_path / "rows").read_text() == rows
    assert main(["kinds-tuning", "--constants", "nothing"]) == 2
    assert "constants takes names from" in capsys.readouterr().err
