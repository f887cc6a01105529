"""Every evaluation that a run remembers, one row each."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import dataclass

import numpy as np

from noisewise._types import FloatArray, IntArray
from noisewise.population import CONFIRMATION, RACE, SEARCH
from noisewise.run import Run
from noisewise.space import Space

_WORDS = {SEARCH: "search", RACE: "finalist", CONFIRMATION: "confirmation"}


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
    parts = [(X, y, SEARCH) for X, y in _searched(run)]
    if run.final is not None:
        waves, tested = run.final.race.values, run.final.tested
        if len(tested):  # they move elsewhere with the confirmation
            parts.append((np.tile(run.final.finalists[0], (len(tested), 1)), tested, RACE))
        for i, slot in zip(*np.nonzero(~np.isnan(waves)), strict=True):
            parts.append((run.final.finalists[[i]], waves[i, [slot]], RACE))
    outer = [run.setup.box.outer(X) for X, _, _ in parts]
    confirmed = run.confirmed
    if len(confirmed):
        outer.append(np.tile(run.setup.box.outer(run.confirmed_at), (len(confirmed), 1)))
    values = np.concatenate([*(y for _, y, _ in parts), confirmed])
    purpose = [_WORDS[kind] for _, y, kind in parts for _ in y]
    purpose += [_WORDS[CONFIRMATION]] * len(confirmed)
    missing = max(0, run.ledger.told - len(values))
    return Evaluations(
        np.concatenate([np.empty((0, run.setup.box.dimension)), *outer]),
        np.where(np.isfinite(values), sign * values, math.nan),
        missing + np.arange(1, len(values) + 1),
        purpose,
        missing,
    )


def _searched(run: Run) -> list[tuple[FloatArray, FloatArray]]:
    """Points and values of the search, those of the generation under way last."""
    parts = []
    if run.seen.size:
        X, y, _ = run.seen.evaluations()
        parts.append((X, y))
    for part in (run.current, run.next):
        if part is not None and part.kind == SEARCH and part.samples.values.size:
            row, slot = np.nonzero(~np.isnan(part.samples.values))
            parts.append((part.X[row], part.samples.values[row, slot]))
    return parts


def as_csv(evaluations: Evaluations, space: Space | None) -> str:
    """A table with a header: number, purpose, value (empty where it failed), then the parameters
    by name."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    d = evaluations.X.shape[1]
    names = space.names if space is not None else [f"x{j}" for j in range(1, d + 1)]
    writer.writerow(["evaluation", "purpose", "value", *names])
    for x, value, number, purpose in zip(
        evaluations.X,
        evaluations.values.tolist(),
        evaluations.number.tolist(),
        evaluations.purpose,
        strict=True,
    ):
        point = list(space.decode(x).values()) if space is not None else x.tolist()
        writer.writerow([number, purpose, "" if math.isnan(value) else repr(value), *point])
    return out.getvalue()
