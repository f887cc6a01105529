"""Every evaluation that a run remembers, one row each."""

from __future__ import annotations

import csv
import io
import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.measured.told import KINDS
from noisewise.problem.space import Space
from noisewise.run.run import Run

#: What makes a spreadsheet compute a cell, or send it somewhere, where it should show its text.
_FORMULA = re.compile("'*[=+@\t\r-]")


@dataclass(frozen=True)
class Evaluations:
    """Points (user coordinates), values (the user's sign; nan: failed), what each evaluation was
    for, and its place in the run, from 1. Old ones are missing where a run was long."""

    X: FloatArray
    values: FloatArray
    number: IntArray
    purpose: list[str]
    #: Evaluations of the run that are not remembered.
    missing: int

    def __len__(self) -> int:
        return len(self.values)


def of(run: Run, sign: float) -> Evaluations:
    """The evaluations of a run; ``sign`` is -1 where more is better."""
    told = run.told.read(run.setup.dimension)
    missing = run.ledger.told - len(told.y)
    return Evaluations(
        run.setup.box.outer(told.X),
        np.where(np.isfinite(told.y), sign * told.y, math.nan),
        missing + np.arange(1, len(told.y) + 1),
        [KINDS[kind] for kind in told.kind],
        missing,
    )


def as_csv(evaluations: Evaluations, space: Space | None) -> str:
    """A table with a header: number, purpose, value (empty where it failed), then the parameters
    by name (empty where they do not apply)."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    d = evaluations.X.shape[1]
    names = space.names if space is not None else [f"x{j}" for j in range(1, d + 1)]
    writer.writerow(["evaluation", "purpose", "value", *map(cell, names)])
    for x, value, number, purpose in zip(
        evaluations.X,
        evaluations.values.tolist(),
        evaluations.number.tolist(),
        evaluations.purpose,
        strict=True,
    ):
        point = x.tolist()
        if space is not None:
            values = space.decode(x)
            point = [values.get(name, "") for name in names]
        shown = "" if math.isnan(value) else repr(value)
        writer.writerow([number, purpose, shown, *map(cell, point)])
    return out.getvalue()


def cell(value: Any) -> Any:
    """A value as a cell: text that a spreadsheet would take for a formula begins with an
    apostrophe, which marks text there. Numbers stay numbers.

    >>> cell("=1+1"), cell("adam"), cell(-1), cell("-1")
    ("'=1+1", 'adam', -1, '-1')
    """
    if not isinstance(value, str) or not _FORMULA.match(value):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value


def uncell(text: str) -> str:
    """The text of a cell that `cell` wrote."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
