"""The trials of a study, whatever tool wrote it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.auditing.columns import parameters
from noisewise.problem.space import Space


@dataclass
class Trials:
    """Trials of a study: values by name, what was measured (nan: failed), its standard error (nan:
    not known), the parameters if they are known, and what was left out, in sentences."""

    rows: list[dict[str, Any]]
    values: list[float]
    errors: list[float]
    space: Space | None = None
    maximize: bool = False
    title: str = ""
    notes: list[str] = field(default_factory=list)
    #: Whether the rows are points without names.
    plain: bool = False

    def points(self) -> tuple[Space, FloatArray]:
        """The space, made of the rows where it is not known, and the rows in its unit cube; rows
        outside of it are left out."""
        space = self.space or Space(parameters(self.rows))
        names, kept, X = set(space.names), [], []
        why = ""
        for i, row in enumerate(self.rows):
            try:
                values = {name: v for name, v in row.items() if name in names and not missing(v)}
                if absent := space.missing(values):
                    raise ValueError(f"it has no value of {absent[0]}")
                X.append(space.encode(values))
                kept.append(i)
            except ValueError as error:
                why = why or f"trial {i}: {error}"
        left = len(self.rows) - len(kept)
        if left:
            self.notes.append(f"{left} trials are left out that are not in the space ({why})")
        self.values = [self.values[i] for i in kept]
        self.errors = [self.errors[i] for i in kept]
        return space, np.array(X).reshape(len(kept), space.dimension)


def missing(value: Any) -> bool:
    """Whether a cell is empty."""
    return value is None or value == "" or (isinstance(value, float) and math.isnan(value))
