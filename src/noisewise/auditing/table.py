"""Finished studies of any tool as one table: a dictionary by name and a value per trial."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from noisewise._check import meant, shown
from noisewise.auditing import studies
from noisewise.auditing.trials import Trials, missing
from noisewise.problem.space import Space, name_problem

#: What the column of values is called, and that of their standard errors, first the likeliest.
VALUES = (
    "value",
    "values_0",
    "objective",
    "loss",
    "score",
    "fun",
    "y",
    "target",
    "error",
    "metric",
)
ERRORS = ("se", "sem", "standard_error")
#: Columns about a trial that are no parameters: of any table, and of those of a tool, which are
#: known by one of their columns.
_ANYWHERE = frozenset(
    ("trial", "trial_id", "number", "id", "index", "date", "time", "state", "status", "failed")
)
_OF_TOOLS = {
    "evaluation": frozenset(("evaluation", "purpose", "kind", "generation", "seed")),
    "arm_name": frozenset(
        (
            *("arm_name", "trial_index", "trial_status", "reason", "generator_run_index"),
            *("generation_method", "generation_node"),
        )
    ),
}
#: How the columns of parameters begin where a table marks them.
_PREFIXES = ("params_", "param_", "parameters.", "param.")
#: What stands for a trial that failed, where a column says how trials ended.
_ENDED = ("state", "status", "trial_status")
_FINE = ("complete", "completed", "done", "ok", "success", "finished")


def read(source: Any, space: Any, maximize: bool, value: str | None) -> Trials:
    """The trials of whatever the user has."""
    given, _, _ = name_problem(space, None, None)
    found = _read(source, value, given)
    found.space = given or found.space
    found.maximize = found.maximize or maximize
    return found


def _read(source: Any, value: str | None, space: Space | None) -> Trials:
    if isinstance(source, (str, Path)):
        text = str(source)
        if "://" in text:
            return studies.stored(text)
        return _named(csv_columns(Path(source)), value, Path(source).name, space)
    if studies.is_optuna(source):
        return studies.optuna(source)
    if studies.is_ax(source):
        return studies.ax(source)
    if isinstance(source, tuple) and len(source) in (2, 3) and not isinstance(source[0], Mapping):
        return _points(*source)
    columns = getattr(source, "columns", None)
    if isinstance(source, Mapping) or columns is not None:
        names = source.keys() if columns is None else columns
        return _named({str(n): list(source[n]) for n in names}, value, "", space)
    if isinstance(source, Iterable):
        rows = list(source)
        if rows and all(isinstance(row, Mapping) for row in rows):
            names = dict.fromkeys(str(name) for row in rows for name in row)
            return _named({n: [row.get(n) for row in rows] for n in names}, value, "", space)
    raise ValueError(
        "study_or_table must be an Optuna study or a storage URL, an Ax experiment, a CSV file, a "
        f"data frame, a dictionary of columns, a list of rows or (X, y), got {shown(source)}"
    )


def _points(X: Any, y: Any, se: Any = None) -> Trials:
    """Points in rows and a value for each."""
    try:
        points = np.array(X, dtype=float)
        values = np.array(y, dtype=float)
        errors = np.broadcast_to(np.nan if se is None else np.array(se, dtype=float), values.shape)
    except (TypeError, ValueError):
        points = np.empty(0)
    if points.ndim != 2 or values.shape != (len(points),):
        raise ValueError(f"(X, y) must be rows of numbers and one value per row, got {shown(X)}")
    names = [f"x{j}" for j in range(1, points.shape[1] + 1)]
    rows = [dict(zip(names, row, strict=True)) for row in points.tolist()]
    return Trials(rows, values.tolist(), errors.tolist(), plain=True)


def csv_columns(path: Path) -> dict[str, list[Any]]:
    """The columns of a file, cells as numbers, True, False or text."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise ValueError(f"{path} must be a text file in UTF-8") from None
    head = lines[0] if lines else ""
    mark = max(",;\t", key=head.count)
    rows = [row for row in csv.reader(lines, delimiter=mark, skipinitialspace=True) if any(row)]
    if len(rows) < 2:
        raise ValueError(f"{path} must be a table with a line of names, got {shown(head, 80)}")
    names = [name.strip() for name in rows[0]]
    width = len(names)
    full = [row + [""] * (width - len(row)) for row in rows[1:]]
    cells = ([_cell(row[j], mark == ";") for row in full] for j in range(width))
    return {name: column for name, column in zip(names, cells, strict=True) if name}


def _cell(text: str, comma: bool) -> Any:
    """What a cell holds. Where semicolons separate cells, numbers may have a decimal comma."""
    text = text.strip()
    if text in ("True", "true", "False", "false"):
        return text in ("True", "true")
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text.replace(",", ".") if comma else text)
    except ValueError:
        return text


def _named(
    columns: dict[str, list[Any]], value: str | None, title: str, space: Space | None
) -> Trials:
    """Trials of a table: which column is the value, which are parameters."""
    lengths = {len(column) for column in columns.values()}
    if len(lengths) > 1:
        said = ", ".join(map(str, sorted(lengths)))
        raise ValueError(f"the columns of a table must have the same length, got {said}")
    y = _value_column(columns, value)
    values = [_number(y, v) for v in columns[y]]
    for name in _ENDED:
        if name in columns and all(isinstance(v, str) for v in columns[name]):
            words = [v.rpartition(".")[2].lower() for v in columns[name]]
            if any(word in _FINE for word in words):
                ended = zip(values, words, strict=True)
                values = [v if word in _FINE else math.nan for v, word in ended]
    error = next((n for n in (f"{y}_sem", f"{y}_se", *ERRORS) if n in columns and n != y), None)
    errors = [math.nan] * len(values)
    if error is not None:
        errors = [_number(error, v) for v in columns[error]]
    used = _parameter_columns(columns, {y, error}, space)
    n = len(values)
    rows = [{name: columns[column][i] for name, column in used.items()} for i in range(n)]
    return Trials(rows, values, errors, title=title)


def _value_column(columns: Mapping[str, Any], value: str | None) -> str:
    if value is not None:
        if value not in columns:
            said = meant(value, columns)
            raise ValueError(f"value must be a column of the table, got {value!r}{said}")
        return value
    found = next((name for name in VALUES if name in columns), None)
    if found is None:
        raise ValueError(
            f"the table must have a column named value, or say which it is with value=, got "
            f"{shown(', '.join(columns))}"
        )
    return found


def _parameter_columns(
    columns: Mapping[str, Sequence[Any]], others: set[str | None], space: Space | None
) -> dict[str, str]:
    """Columns of the parameters by their names: those that the space has; those that are marked;
    else all but what is known to be about the trial."""
    marked = {n[len(p) :]: n for p in _PREFIXES for n in columns if n.startswith(p)}
    if space is not None:
        found = {name: marked.get(name, name) for name in space.names}
        absent = [name for name, column in found.items() if column not in columns]
        if absent:
            raise ValueError(
                f"the table must have a column for every parameter, missing {', '.join(absent)}"
            )
        return found
    if marked and not any(name in columns for name in marked):
        return marked
    about = _ANYWHERE.union(*(names for known, names in _OF_TOOLS.items() if known in columns))
    unwanted = ("user_attrs_", "system_attrs_", "constraint")
    return {
        name.removeprefix("param_") if name in marked.values() else name: name
        for name in columns
        if name not in others and name not in about and not name.startswith(unwanted)
    }


def _number(name: str, value: Any) -> float:
    if missing(value):
        return math.nan
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numbers, got {shown(value)}") from None
    return number if math.isfinite(number) else math.nan
