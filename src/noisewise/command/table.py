"""Earlier measurements from a table: a column per parameter, ``value`` and perhaps ``se``."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from noisewise.problem.parameters import Choice, Parameter
from noisewise.problem.space import Space
from noisewise.report.evaluations import uncell

VALUE, ERROR = "value", "se"
#: Lines that an error message names.
_NAMED = 3


class Table(NamedTuple):
    """Values by name, one dictionary per row, with their measurements and standard errors (nan:
    not known); and why rows were left out."""

    rows: list[dict[str, Any]]
    values: list[float]
    errors: list[float]
    left_out: list[str]

    def points(self, space: Space) -> tuple[Any, Any, Any]:
        """The table as ``data`` of `noisewise.minimize`, in points of the unit cube."""
        X = np.array([space.encode(row) for row in self.rows])
        return X.reshape(len(self.rows), space.dimension), self.values, self.errors


def read(path: str, space: Space, skip: bool = False) -> Table:
    """The table in a file. Rows that cannot be read or lie outside the ranges are refused with
    their line numbers, or left out with ``skip``."""
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(f"--data {path} must be a text file in UTF-8") from None
    lines = text.splitlines()
    head = lines[0] if lines else ""
    mark = max(",;\t", key=head.count)
    reader = csv.DictReader(lines, delimiter=mark, skipinitialspace=True)
    names = [uncell(name.strip()) for name in reader.fieldnames or []]
    reader.fieldnames = names
    missing = [name for name in (*space.names, VALUE) if name not in names]
    if missing:
        raise ValueError(
            f"--data {path} must have a column for every parameter and one named {VALUE}, missing "
            f"{', '.join(missing)}"
        )
    found = Table([], [], [], [])
    for row in reader:
        try:
            # Spreadsheets separate columns by semicolons where the comma is the decimal mark.
            values, value, error = _read_row(row, space, comma=mark == ";")
        except ValueError as wrong:
            found.left_out.append(f"line {reader.line_num}: {wrong}")
            continue
        found.rows.append(values)
        found.values.append(value)
        found.errors.append(error)
    if found.left_out and not skip:
        more = len(found.left_out) - _NAMED
        said = "; ".join(found.left_out[:_NAMED]) + (f"; {more} more lines" if more > 0 else "")
        raise ValueError(f"--data {path}: {said} (--skip-rows leaves them out)")
    return found


def typed(parameter: Parameter, text: str) -> Any:
    """The value of a parameter that ``text`` shows: a number, or one of the values of a choice."""
    if isinstance(parameter, Choice):
        values = parameter.values
        return next((v for v in values if str(v) == text or json.dumps(v) == text), text)
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"must be a number, got {text!r}") from None


def _read_row(
    row: Mapping[str, Any], space: Space, comma: bool = False
) -> tuple[dict[str, Any], float, float]:
    """Values by name, the measurement and its standard error; with ``comma``, numbers may have a
    decimal comma."""
    found: dict[str, Any] = {}
    choices = {n for n, p in space.parameters.items() if isinstance(p, Choice)}
    if comma:
        numbers = {*space.names, VALUE, ERROR} - choices
        row = {n: t.replace(",", ".") if t and n in numbers else t for n, t in row.items()}
    meant: dict[str, Any] = {}
    for name, parameter in space.parameters.items():
        if not space.applies(name, meant):
            continue
        try:
            text = (row[name] or "").strip()
            found[name] = typed(parameter, uncell(text))
            if isinstance(parameter, Choice) and found[name] not in parameter.values:
                found[name] = typed(parameter, text)
            meant[name] = parameter.decode(parameter.encode(found[name]))
        except ValueError as error:
            raise ValueError(f"{name} {error}") from None
    value, se = (row[VALUE] or "").strip(), (row.get(ERROR) or "").strip()
    return found, _number(VALUE, value), _number(ERROR, se) if se else math.nan


def _number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise ValueError(f"{name} must be a number, got {text!r}") from None
    if name == ERROR and not (math.isnan(number) or 0.0 <= number < math.inf):
        raise ValueError(f"{name} must be non-negative and finite, got {text!r}")
    return number
