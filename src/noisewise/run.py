"""What a run is, as data: everything that changes while it goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.budget import Ledger
from noisewise.core.box import Box
from noisewise.core.strategy import State
from noisewise.generation import Controls, Setup
from noisewise.history import History
from noisewise.noise.archive import Archive
from noisewise.noise.samples import Samples
from noisewise.result import RUNNING

#: No candidate was handed out early.
_NOBODY: FloatArray = np.empty((0, 0))
#: Generations over which the measured misranking is averaged.
_RECALL = 16


class Trial:
    """One evaluation to do: ``x`` is the point, ``id`` is what `Optimizer.tell` wants back.

    ``kind`` is "candidate", "reevaluation" or "confirmation".

    >>> import noisewise as nw
    >>> opt = nw.Optimizer([0.0, 0.0], sigma0=1.0, budget=100, rng=0)
    >>> trial = opt.ask(1)[0]
    >>> trial.id, trial.kind, trial.x.shape
    (0, 'candidate', (2,))
    """

    __slots__ = ("id", "kind", "x")

    def __init__(self, id: int, x: FloatArray, kind: str) -> None:
        self.id = id
        self.x = x
        self.kind = kind

    def __repr__(self) -> str:
        return f"Trial(id={self.id}, x={self.x!r}, kind={self.kind!r})"


@data
@dataclass(slots=True)
class Ahead:
    """Candidates of the next generation that are handed out already, so that no worker waits for
    the last values of this one."""

    #: Inner coordinates, after and before repair, and the mean each was sampled around.
    X: FloatArray
    sampled: FloatArray
    means: FloatArray
    #: One value per candidate, nan until it is told, and its standard error, nan if unknown.
    values: FloatArray
    errors: FloatArray
    #: Trials not told yet: id -> candidate.
    pending: dict[int, int]

    @classmethod
    def of(cls, X: FloatArray, sampled: FloatArray, means: FloatArray, ids: Sequence[int]) -> Ahead:
        """Candidates of which nothing is known yet."""
        unknown = np.full(len(X), np.nan)
        return cls(X, sampled, means, unknown, unknown.copy(), dict(zip(ids, range(len(X)))))  # noqa: B905

    def put(self, id: int, value: float, se: float | None) -> None:
        """The value of one trial."""
        i = self.pending.pop(id)
        self.values[i] = value
        if se is not None:
            self.errors[i] = se

    def joined(self, later: Ahead | None) -> Ahead:
        """These candidates, then the ``later`` ones."""
        if later is None:
            return self
        moved = {id: len(self.X) + i for id, i in later.pending.items()}
        pairs = zip(_arrays(self), _arrays(later), strict=True)
        X, sampled, means, values, errors = (np.concatenate(pair) for pair in pairs)
        return Ahead(X, sampled, means, values, errors, self.pending | moved)

    def samples(self, k: int) -> Samples:
        """What is known, as the first of ``k`` candidates."""
        values = np.full((k, 1), np.nan)
        values[: len(self.X), 0] = self.values
        errors = None
        if not np.isnan(self.errors).all():
            errors = np.full((k, 1), np.nan)
            errors[: len(self.X), 0] = self.errors
        return Samples(values, errors)


def _arrays(part: Ahead) -> tuple[FloatArray, ...]:
    return part.X, part.sampled, part.means, part.values, part.errors


@data
@dataclass(slots=True)
class Run:
    """Everything that changes during a run, as data."""

    setup: Setup
    box: Box
    ledger: Ledger
    state: State
    controls: Controls
    selection: Any
    adaptation: Any
    recommender: Any
    search: np.random.Generator
    bootstrap: np.random.Generator
    best_x: FloatArray
    #: What the run was started with; the seed is None if it was no number.
    x0: FloatArray
    sigma0: float
    seed: int | None
    #: The newest candidates and their values: what the report looks at, and nobody else.
    seen: Archive
    best_value: float = math.inf
    generation: int = 0
    barren: int = 0
    status: int = RUNNING
    #: The generation under way: candidates (inner coordinates), values, wave.
    X: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    #: The same candidates as they were sampled, before repair.
    sampled: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    samples: Samples = field(default_factory=lambda: Samples.empty(0))
    wave: int = 0
    #: Spent fraction of the budget when it began, and what its parts noted so far.
    progress: float = 0.0
    notes: dict[str, float] = field(default_factory=dict)
    #: Trials not told yet: id -> (candidate, slot).
    pending: dict[int, tuple[int, int]] = field(default_factory=dict)
    next_id: int = 0
    confirming: bool = False
    #: Values around (last generation) or at (confirmation) the recommendation.
    around: FloatArray = field(default_factory=lambda: np.empty(0))
    history: History = field(default_factory=History)
    misranking: float = math.nan
    #: Generations in which misranking was measured.
    measured: int = 0
    #: Means around which the first candidates were sampled, where older than the distribution.
    means: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    ahead: Ahead | None = None

    def fill(self, fresh: FloatArray) -> None:
        """Begin a generation with the candidates handed out early, then the ``fresh`` ones."""
        self.sampled, self.X, self.wave = fresh, self.box.repaired(fresh), 0
        early, self.ahead = self.ahead, None
        if early is None:
            self.samples, self.means = Samples.empty(len(fresh)), _NOBODY
            return
        self.sampled = np.concatenate((early.sampled, self.sampled))
        self.X = np.concatenate((early.X, self.X))
        self.samples, self.means = early.samples(len(self.X)), early.means
        self.pending = {id: (i, 0) for id, i in early.pending.items()}

    def leave(self) -> None:
        """Move the candidates whose values are missing to the next generation."""
        k, missing = len(self.X), [i for i, _ in self.pending.values()]
        means = np.tile(self.state.mean, (k, 1))
        if len(self.means):
            means[: len(self.means)] = self.means
        late = Ahead.of(self.X[missing], self.sampled[missing], means[missing], list(self.pending))
        self.ahead, self.pending = late.joined(self.ahead), {}
        stays = np.ones(k, dtype=bool)
        stays[missing] = False
        errors = self.samples.errors
        self.samples = Samples(
            self.samples.values[stays], None if errors is None else errors[stays]
        )
        self.means = self.means[stays[: len(self.means)]]
        self.X, self.sampled = self.X[stays], self.sampled[stays]

    def from_mean(self, X: FloatArray) -> FloatArray:
        """Candidates as the update shall see them: those handed out early keep their step from
        the mean they were sampled around. It has moved since, and where ranks are noise they
        would drag it back."""
        early = len(self.means)
        if early == 0:
            return X
        moved: FloatArray = X.copy()
        moved[:early] += self.state.mean - self.means
        return moved

    def note_best(self, X: FloatArray, values: FloatArray, inner: bool = False) -> float:
        """Remember the luckiest draw; returns the smallest of ``values``."""
        by_candidate = values[:, 0] if values.shape[1] == 1 else np.fmin.reduce(values, axis=1)
        i = int(by_candidate.argmin())
        smallest = float(by_candidate[i])
        if smallest < self.best_value:
            self.best_value = smallest
            self.best_x = self.box.outer(X[i]) if inner else X[i].copy()
        return smallest

    def note_misranking(self, measured: float) -> None:
        """Running mean of what is measured; the first measurements count equally."""
        if not math.isnan(measured):
            self.measured += 1
            old = 0.0 if self.measured == 1 else self.misranking
            self.misranking = old + (measured - old) / min(self.measured, _RECALL)
