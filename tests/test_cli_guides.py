"""What the guides of the command line and of the report say, as printed."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]


def blocks(guide: str, language: str) -> list[str]:
    text = (ROOT / "docs" / "guides" / guide).read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(words: list[str], here: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        words,
        cwd=here,
        env=os.environ | {"PATH": path, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_command_line_guide(tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples" / "tune_program" / "train.py", tmp_path)
    script = "\n".join(blocks("command-line.md", "sh"))
    out = run(["bash", "-ec", script], tmp_path)
    assert "anks of repeated evaluations disagree by" in out
    found: dict[str, Any] = json.loads((tmp_path / "run.json").read_text())
    assert found["spent"] == 60
    assert found["confirmed"] is True
    # Far from the corners of the space, where the error is several times as large.
    assert 2e-4 < found["recommended"]["lr"] < 5e-2
    assert found["estimate"] < 0.3
    assert "<title>run.nw</title>" in (tmp_path / "run.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("guide", ["command-line.md", "report.md"])
def test_the_python_of_the_guides(guide: str, tmp_path: Path) -> None:
    code = "\n".join(blocks(guide, "python"))
    assert "minimize" in code
    out = run([sys.executable, "-c", code], tmp_path)
    if guide == "report.md":
        assert (tmp_path / "run.png").stat().st_size > 5000
        script = "\n".join(blocks(guide, "sh"))
        run(["bash", "-ec", script], tmp_path)
        assert "<td>units</td>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    else:
        assert "'units': 6" in out
