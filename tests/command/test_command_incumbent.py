"""`noisewise tune --incumbent`: the verdict comes first, is in the page, and survives a resume."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from noisewise.command.main import main

#: Noise that is the same in every run of the tests and another in every evaluation.
NOISY = [
    "sh",
    "-c",
    'echo >> count; awk -v s=$(wc -l < count) "$0"',
    "BEGIN { print ({x}-0.3)^2 + ({n}-7)^2/50 + (s * 7919 % 1000) / 5000 }",
]
PARAMS = ["--param", "x=0..1", "--param", "n=1..20:int"]
BAD, BEST = ["x=0.9", "n=19"], ["x=0.3", "n=7"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tune(*options: str, budget: int = 60) -> int:
    given = ["tune", *PARAMS, "--seed", "1", "--method", "watchful", "--budget", str(budget)]
    return main([*given, *options, "--", *NOISY])


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["show", "run.nw", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_the_answer_begins_with_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--incumbent", *BAD) == 0
    said = capsys.readouterr().out.splitlines()
    assert " better than today (95 %: " in said[0]
    assert main(["report", "run.nw"]) == 0
    (page,) = Path().glob("*.html")
    text = page.read_text()
    assert 0 < text.index("better than today (95 %:") < text.index("<h2>")
    today = shown(capsys)["comparison"]
    assert today["kept"] is False
    assert today["interval"][0] > 0.0
    assert today["verdict"] in said[0]


def test_todays_setting_is_kept_where_nothing_is_better(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert tune("--incumbent", *BEST) == 0
    assert "keep today" in capsys.readouterr().out.splitlines()[0].lower()
    found = shown(capsys)
    assert found["comparison"]["kept"] is True
    assert found["recommended"] == {"x": 0.3, "n": 7}


def test_a_run_goes_on_with_its_incumbent(capsys: pytest.CaptureFixture[str]) -> None:
    assert tune("--incumbent", *BAD) == 0
    before = shown(capsys)["comparison"]
    assert tune("--incumbent", *BAD, budget=90) == 0
    after = shown(capsys)["comparison"]
    assert after["incumbent"]["n"] > before["incumbent"]["n"]
    capsys.readouterr()
    assert tune("--incumbent", *BEST, budget=120) == 2
    assert "incumbent" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["x=0.9"], "--incumbent must have a value of n, got x=0.9"),
        (["x=0.9", "n=99"], "n"),
        (["x=0.9", "m=3"], "m"),
        (["0.9", "3"], "--incumbent"),
    ],
)
def test_a_wrong_incumbent_is_one_sentence(
    texts: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune("--incumbent", *texts) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert said in err
    assert not Path("count").exists()
