"""Tables of earlier measurements: columns by name, rows that cannot be used named or left out."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from noisewise.command import table
from noisewise.space import Space

SPACE = Space({"lr": "1e-4..1e-1:log", "layers": "1..4:int", "opt": ["adam", "sgd", 7]})


def write(tmp_path: Path, text: str) -> str:
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    return str(tmp_path / "t.csv")


@pytest.mark.parametrize("mark", [",", ";", "\t", ", "])
def test_columns_are_found_by_name(tmp_path: Path, mark: str) -> None:
    lines = ["date,opt,lr,value,se,layers", "mon,adam,1e-3,0.5,0.1,2", "tue,7,0.01,nan,,4"]
    path = write(tmp_path, "\ufeff" + "\n".join(lines).replace(",", mark) + "\n\n")
    found = table.read(path, SPACE)
    assert found.rows == [
        {"lr": 1e-3, "layers": 2.0, "opt": "adam"},
        {"lr": 0.01, "layers": 4.0, "opt": 7},
    ]
    assert found.values[0] == 0.5
    assert math.isnan(found.values[1])
    assert found.errors[0] == 0.1
    assert math.isnan(found.errors[1])
    X, _, _ = found.points(SPACE)
    np.testing.assert_allclose(X, [SPACE.encode(row) for row in found.rows])


def test_a_decimal_comma_where_semicolons_separate(tmp_path: Path) -> None:
    space = Space({"lr": "0..1", "opt": ["a,b", "c"]})
    path = write(tmp_path, "lr;opt;value;se\n0,25;a,b;-1,5e1;0,5\n0.5;c;2;\n")
    found = table.read(path, space)
    assert found.rows == [{"lr": 0.25, "opt": "a,b"}, {"lr": 0.5, "opt": "c"}]
    assert found.values == [-15.0, 2.0]
    assert found.errors[0] == 0.5
    with pytest.raises(ValueError, match=r"got '1\.2\.3'"):
        table.read(write(tmp_path, "lr;opt;value\n1,2,3;c;2\n"), space)


BAD = """lr,layers,opt,value,se
0.01,2,adam,0.5,
5,2,adam,0.5,
0.01,two,adam,0.5,
0.01,2,rmsprop,0.5,
0.01,2,adam,,
0.01,2,adam,0.5,-1
0.01
"""


def test_rows_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, BAD)
    with pytest.raises(ValueError, match="--data") as caught:
        table.read(path, SPACE)
    assert str(caught.value) == (
        f"--data {path}: line 3: lr must be a number in 0.0001..0.1, got 5.0; "
        "line 4: layers must be a number, got 'two'; "
        'line 5: opt must be one of ["adam", "sgd", 7], got \'rmsprop\'; 3 more lines '
        "(--skip-rows leaves them out)"
    )


def test_or_left_out(tmp_path: Path) -> None:
    found = table.read(write(tmp_path, BAD), SPACE, skip=True)
    assert len(found.rows) == 1
    assert [why.split(":")[0] for why in found.left_out] == [f"line {n}" for n in range(3, 9)]
    assert found.left_out[3] == "line 6: value must be a number, got ''"
    assert found.left_out[4] == "line 7: se must be non-negative and finite, got '-1'"


def test_missing_columns_and_strange_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"one named value, missing layers, value$"):
        table.read(write(tmp_path, "lr,opt\n0.01,adam\n"), SPACE)
    with pytest.raises(ValueError, match=r"missing lr, layers, opt, value$"):
        table.read(write(tmp_path, ""), SPACE)
    (tmp_path / "t.bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="must be a text file in UTF-8"):
        table.read(str(tmp_path / "t.bin"), SPACE)
    empty = table.read(write(tmp_path, "lr,layers,opt,value\n"), SPACE)
    assert empty.points(SPACE)[0].shape == (0, 5)


def test_cells_of_what_does_not_apply_are_not_read(tmp_path: Path) -> None:
    space = Space.parse(
        [
            "opt=adam,sgd",
            "layers=1..3:int",
            "momentum=0..1 when opt=sgd",
            "width=1..9:int when layers=3",
        ]
    )
    text = "opt,layers,momentum,width,value\nadam,3,,4,1\nsgd,2,0.5,?,2\n"
    found = table.read(write(tmp_path, text), space)
    assert found.rows == [
        {"opt": "adam", "layers": 3.0, "width": 4.0},
        {"opt": "sgd", "layers": 2.0, "momentum": 0.5},
    ]
    with pytest.raises(ValueError, match="line 2: momentum must be a number, got ''"):
        table.read(write(tmp_path, "opt,layers,momentum,width,value\nsgd,1,,,1\n"), space)
