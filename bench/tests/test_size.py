"""Statements are counted by room, docstrings left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from noisewise_bench import size


def test_rooms_and_files_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "room").mkdir()
    (tmp_path / "top.py").write_text('"""Text."""\nx = 1; y = 2\n')
    (tmp_path / "room" / "one.py").write_text("def f():\n    '''Text.'''\n    return 1\n")
    size.main([str(tmp_path)])
    assert capsys.readouterr().out.split() == ["2", ".", "2", "room", "4", "in", "all"]
    size.main([str(tmp_path), "--files"])
    assert "2  room/one.py" in capsys.readouterr().out


def test_layout_and_texts_do_not_count() -> None:
    assert size.statements("if x:\n    y = (1 +\n         2)\n") == size.statements("if x: y = 3")
    assert size.statements("'a'\n# b\n") == 0
