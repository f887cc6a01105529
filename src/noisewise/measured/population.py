"""Candidates that are learnt from together, where they were sampled, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from noisewise._data import data
from noisewise._types import BoolArray, FloatArray, IntArray
from noisewise.measured.aligned import aligned
from noisewise.measured.known import discounted
from noisewise.measured.samples import Samples
from noisewise.problem.box import Box

#: What a population is for.
SEARCH, RACE, CONFIRMATION, COMPARISON = "search", "race", "confirmation", "comparison"
#: Where candidates gather one after the other, there is room for as many as there are.
ANY = -1


@lru_cache(maxsize=256)
def once(k: int) -> tuple[tuple[int, int], ...]:
    """The places of the first values of ``k`` candidates."""
    return tuple((i, 0) for i in range(k))


@data
@dataclass(slots=True)
class Origins:
    """Where candidates were sampled that were not all sampled from the same distribution, one row
    each.

    means, sigmas
        Mean and step size of the distribution; nan for a method that has none.
    versions
        Rounds that had been learnt from.
    normals
        The standard normal numbers that each candidate is made of, but for a rotation; nan where
        there is no distribution.
    """

    means: FloatArray
    sigmas: FloatArray
    versions: IntArray
    normals: FloatArray

    @property
    def known(self) -> BoolArray:
        """Which candidates were sampled from a distribution."""
        return ~np.isnan(self.sigmas)

    def rows(self, which: BoolArray) -> Origins:
        return Origins(
            self.means[which], self.sigmas[which], self.versions[which], self.normals[which]
        )

    def join(self, later: Origins) -> Origins:
        return Origins(
            np.concatenate((self.means, later.means)),
            np.concatenate((self.sigmas, later.sigmas)),
            np.concatenate((self.versions, later.versions)),
            np.concatenate((self.normals, later.normals)),
        )


@data
@dataclass(slots=True)
class Population:
    """Candidates in the order in which they were asked for, with all values observed so far.

    X, sampled
        The candidates in inner coordinates, after and before they were moved into the box.
    samples
        Observed values by candidate and repetition.
    pending
        Trials not told yet: id -> (candidate, slot of its value in ``samples``).
    began
        Spent fraction of the search's budget when the round began.
    wave
        How often the method was asked for evaluations of these candidates.
    failed
        Whether the round is over and no evaluation succeeded.
    seeds
        Seed of each evaluation by candidate and slot, -1 where none was handed out; empty where
        the run hands out none.
    common
        Whether the candidates share their seeds: slot by slot, all were evaluated under the same.
    shifted
        Whether `comparable` removed what such seeds add to all values, which is noise.
    told
        The samples as they were measured, where infeasible candidates have other values here.
    origins
        Where the candidates were sampled, if they were asked for one after the other while the
        search went on; None: all of them at once, from the present distribution.
    number
        The round by which their common seeds are known.
    twice
        Whether every candidate is evaluated twice, to compare common and independent seeds.
    room
        How many more candidates belong to the round, where they are asked for one after the other;
        `ANY`: a round is any of them.
    version
        Rounds that had been learnt from when the candidates are learnt from.
    near_enough
        How far from a point to return, along any coordinate, a measurement may be to count for it.
    placed
        Candidates that the user put there.
    near, steps
        Where `origins` are given, the candidates as an update shall see them: moved a part of the
        way to the present mean; and as the present distribution would have made them of the same
        standard normal numbers.
    limits
        What is known about measured constraints (`noisewise.gp.limits.Limits`), for a method that
        `learns_limits`.
    """

    X: FloatArray
    sampled: FloatArray
    samples: Samples
    pending: dict[int, tuple[int, int]] = field(default_factory=dict)
    began: float = 0.0
    wave: int = 0
    kind: str = SEARCH
    failed: bool = False
    seeds: IntArray = field(default_factory=lambda: np.empty((0, 0), dtype=np.intp))
    common: bool = False
    shifted: bool = False
    told: Samples | None = None
    origins: Origins | None = None
    number: int = 0
    twice: bool = False
    room: int = 0
    version: int = 0
    near_enough: float = 0.0
    placed: list[int] = field(default_factory=list)
    near: FloatArray | None = None
    steps: FloatArray | None = None
    limits: Any = None

    @classmethod
    def of(cls, X: FloatArray, sampled: FloatArray) -> Population:
        """Candidates of which nothing is known yet."""
        values = np.empty((len(X), 1))
        values.fill(np.nan)
        return cls(X, sampled, Samples(values))

    def __len__(self) -> int:
        return len(self.X)

    @property
    def gathered(self) -> bool:
        """Whether candidates were asked for one after the other while the search went on."""
        return self.origins is not None

    def places(self, wanted: list[int]) -> list[tuple[int, int]]:
        """Candidate and slot of each evaluation that is wanted."""
        if self.wave == 0:
            used = [0] * len(self.X)
        else:
            used = (~np.isnan(self.samples.values)).sum(axis=1).tolist()
        places = []
        for i in wanted:
            places.append((i, used[i]))
            used[i] += 1
        return places

    def issue(self, ids: Sequence[int], places: Iterable[tuple[int, int]]) -> None:
        """Trials ``ids`` will bring the values of these candidates and slots."""
        self.pending |= zip(ids, places)  # noqa: B905

    def seed(self, places: Sequence[tuple[int, int]], seeds: Sequence[int]) -> None:
        """Evaluations at these candidates and slots have these seeds."""
        k, slots = len(self.X), 1 + max((slot for _, slot in places), default=0)
        self.seeds = _widened(self.seeds, k, slots)
        for place, seed in zip(places, seeds, strict=True):
            self.seeds[place] = seed

    def is_whole(self, ids: list[int]) -> bool:
        """Whether ``ids`` are all candidates in order, for the first time."""
        return (
            ids == list(self.pending)
            and tuple(self.pending.values()) == once(len(self.X))
            and self.kind == SEARCH
        )

    def put_all(self, values: Sequence[float]) -> None:
        """Store the values of all pending trials, in the order in which they were handed out."""
        places, known = tuple(self.pending.values()), self.samples.values
        if known.shape[1] == 1 and places == once(len(known)):
            known[:, 0] = values
        else:
            rows, slots = zip(*places, strict=True)
            known[rows, slots] = values
        self.pending = {}

    def lowest(self) -> tuple[int, float]:
        """Index and value of the candidate with the smallest value, among those whose constraints
        were met as measured; +inf without a success."""
        values, limits = self.samples.values, self.samples.limits
        if limits is not None:
            values = np.where((limits > 0.0).any(axis=2), np.inf, values)
        k, slots = values.shape
        by_candidate = values.reshape(k) if slots == 1 else np.fmin.reduce(values, axis=1)
        if self.pending:
            by_candidate = np.where(np.isnan(by_candidate), np.inf, by_candidate)
        i = int(by_candidate.argmin())
        return i, float(by_candidate[i])

    def comparable(self, discount: bool = True) -> Population:
        """The population with values that can be compared with each other: under common seeds,
        without what a seed adds to all of them; where standard errors are known, discounted, unless
        the caller looks at the errors itself."""
        samples, shifted = self.samples, False
        if self.common and samples.values.shape[1] > 1:
            samples, shifted = aligned(samples)
        if discount and samples.errors is not None:
            samples = discounted(samples)
        return self if samples is self.samples else replace(self, samples=samples, shifted=shifted)

    def is_only_value(self, id: int) -> bool:
        """Whether no other evaluation of the candidate of this trial was asked for so far."""
        i, _ = self.pending[id]
        pending = [row for row, _ in self.pending.values()]
        return pending.count(i) == 1 and bool(np.isnan(self.samples.values[i]).all())

    def move(self, i: int, row: FloatArray, box: Box, measured: bool) -> bool:
        """Candidate ``i`` is evaluated at ``row``, which takes its place; or it was ``measured``
        there, and is moved to the mean of the points at which its values were measured. A point
        to return stays where it is. Returns whether the value says something about the point
        that was asked for."""
        if measured and self.kind != SEARCH:
            return bool(np.abs(row - self.X[i]).max() <= self.near_enough)
        told = int((~np.isnan(self.samples.values[i])).sum()) if measured else 0
        self.sampled[i] = row if told == 0 else self.X[i] + (row - self.X[i]) / (told + 1.0)
        self.X[i] = box.repaired(self.sampled[i][None])[0]
        return True

    # -- where candidates gather one after the other

    @property
    def evaluations(self) -> int:
        """How many were asked for."""
        return int((~np.isnan(self.samples.values)).sum()) + len(self.pending)

    @property
    def complete(self) -> BoolArray:
        """Which candidates no trial is pending of."""
        out = np.ones(len(self.X), dtype=bool)
        out[[i for i, _ in self.pending.values()]] = False
        return out

    def fresh(self, version: int) -> BoolArray:
        """Which candidates were sampled after ``version`` rounds had been learnt from."""
        if self.origins is None:
            return np.ones(len(self.X), dtype=bool)
        fresh: BoolArray = self.origins.versions == version
        return fresh

    def rows(self, which: BoolArray) -> Population:
        """Some of the candidates."""
        places = np.cumsum(which) - 1
        return replace(
            self,
            X=self.X[which],
            sampled=self.sampled[which],
            samples=self.samples.rows(which),
            pending={
                id: (int(places[i]), slot) for id, (i, slot) in self.pending.items() if which[i]
            },
            seeds=self.seeds[which] if len(self.seeds) else self.seeds,
            placed=[int(places[i]) for i in self.placed if which[i]],
            origins=None if self.origins is None else self.origins.rows(which),
        )

    def join(self, later: Population) -> None:
        """Take in the ``later`` candidates."""
        k = len(self.X)
        self.X = np.concatenate((self.X, later.X))
        self.sampled = np.concatenate((self.sampled, later.sampled))
        self.samples = self.samples.join(later.samples)
        self.pending |= {id: (k + i, slot) for id, (i, slot) in later.pending.items()}
        self.placed += [k + i for i in later.placed]
        if len(self.seeds) or len(later.seeds):
            slots = max(self.seeds.shape[1], later.seeds.shape[1])
            parts = (_widened(self.seeds, k, slots), _widened(later.seeds, len(later), slots))
            self.seeds = np.concatenate(parts)
        if self.origins is not None and later.origins is not None:
            self.origins = self.origins.join(later.origins)


def _widened(seeds: IntArray, k: int, slots: int) -> IntArray:
    """``seeds`` with at least so many slots, -1 in new ones."""
    if len(seeds) == 0:
        return np.full((k, slots), -1)
    missing = slots - seeds.shape[1]
    return np.hstack((seeds, np.full((k, missing), -1))) if missing > 0 else seeds
