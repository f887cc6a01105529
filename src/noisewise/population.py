"""The candidates of one round, where they were sampled, and what is known of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

import numpy as np

from noisewise._data import DataError, data
from noisewise._types import FloatArray, IntArray
from noisewise.noise.aligned import aligned
from noisewise.noise.known import discounted
from noisewise.noise.samples import Samples

#: What a population is for.
SEARCH, RACE, CONFIRMATION = "search", "race", "confirmation"


@lru_cache(maxsize=256)
def once(k: int) -> tuple[tuple[int, int], ...]:
    """The places of the first values of ``k`` candidates."""
    return tuple((i, 0) for i in range(k))


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
    origins
        Points around which the first candidates were sampled, where these were handed out before
        the method had learnt from the previous round; nan for methods that have no such point. The
        other candidates are up to date.
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
    """

    X: FloatArray
    sampled: FloatArray
    samples: Samples
    pending: dict[int, tuple[int, int]] = field(default_factory=dict)
    origins: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    began: float = 0.0
    wave: int = 0
    kind: str = SEARCH
    failed: bool = False
    seeds: IntArray = field(default_factory=lambda: np.empty((0, 0), dtype=np.intp))
    common: bool = False
    shifted: bool = False
    told: Samples | None = None

    @classmethod
    def of(cls, X: FloatArray, sampled: FloatArray) -> Population:
        """Candidates of which nothing is known yet."""
        values = np.empty((len(X), 1))
        values.fill(np.nan)
        return cls(X, sampled, Samples(values))

    def __len__(self) -> int:
        return len(self.X)

    def places(self, wanted: list[int]) -> list[tuple[int, int]]:
        """Candidate and slot of each evaluation that is wanted and not under way."""
        places = []
        if self.wave == 0:
            used, early = [0] * len(self.X), len(self.origins)
        else:
            used = (~np.isnan(self.samples.values)).sum(axis=1).tolist()
            early = 0
        for i in wanted:
            if i >= early or used[i] > 0:
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

    def steps_from(self, origin: FloatArray, X: FloatArray) -> FloatArray:
        """``X``, one row per candidate, as if all had been sampled around ``origin``: candidates
        that were handed out early keep their step from the point they were sampled around. It has
        moved since, and where ranks are noise they would drag it back."""
        early = len(self.origins)
        if early == 0:
            return X
        moved: FloatArray = X.copy()
        moved[:early] += np.nan_to_num(origin - self.origins)
        return moved

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

    def split(self, origin: FloatArray) -> tuple[Population, Population]:
        """The candidates whose values are there, and those without any value. The latter were
        sampled around ``origin`` unless `origins` says otherwise."""
        k = len(self.X)
        missing = [i for i, _ in self.pending.values()]
        origins = np.tile(origin, (k, 1))
        if len(self.origins):
            origins[: len(self.origins)] = self.origins
        unknown = Samples(np.full((len(missing), 1), np.nan))
        late = Population(self.X[missing], self.sampled[missing], unknown)
        late.origins = origins[missing]
        late.common = self.common
        late.issue(list(self.pending), ((i, 0) for i in range(len(missing))))
        stays = np.ones(k, dtype=bool)
        stays[missing] = False
        known = Population(self.X[stays], self.sampled[stays], self.samples.rows(stays))
        known.origins = self.origins[stays[: len(self.origins)]]
        known.began, known.wave, known.common = self.began, self.wave, self.common
        if len(self.seeds):
            late.seeds, known.seeds = self.seeds[missing, :1], self.seeds[stays]
        return known, late

    def join(self, later: Population) -> Population:
        """These candidates, then the ``later`` ones."""
        k = len(self.X)
        joined = Population(
            np.concatenate((self.X, later.X)),
            np.concatenate((self.sampled, later.sampled)),
            self.samples.join(later.samples),
            self.pending | {id: (k + i, slot) for id, (i, slot) in later.pending.items()},
            origins=self.origins,
        )
        if len(later.origins):
            joined.origins = np.concatenate((self.origins, later.origins))
        if len(self.seeds) or len(later.seeds):
            slots = max(self.seeds.shape[1], later.seeds.shape[1])
            parts = (_widened(p.seeds, len(p.X), slots) for p in (self, later))
            joined.seeds = np.concatenate(tuple(parts))
        return joined

    def check(self, n: int, next_id: int) -> None:
        """Raise `DataError` unless this is a population of ``n`` coordinates that could be."""
        values, k = self.samples.values, len(self.X)
        errors, limits = self.samples.errors, self.samples.limits
        places = list(self.pending.values())
        fine = (
            self.X.shape == self.sampled.shape == (k, n)
            and k > 0
            and values.ndim == 2
            and len(values) == k
            and (errors is None or errors.shape == values.shape)
            and (limits is None or (limits.ndim == 3 and limits.shape[:2] == values.shape))
            and (len(self.origins) == 0 or self.origins.shape[1:] == (n,))
            and len(self.origins) <= k
            and bool(np.isfinite(self.X).all() and not np.isinf(self.origins).any())
            and len(set(places)) == len(places)
            and all(0 <= i < k and 0 <= j < values.shape[1] for i, j in places)
            and all(np.isnan(values[i, j]) for i, j in places)
            and all(0 <= id < next_id for id in self.pending)
            and 0.0 <= self.began <= 1.0
            and self.wave >= 0
            and self.kind in (SEARCH, RACE, CONFIRMATION)
            and (len(self.seeds) == 0 or self._seeds_fit(places))
        )
        if not fine:
            raise DataError("its candidates do not fit together")

    def _seeds_fit(self, places: list[tuple[int, int]]) -> bool:
        seeds, slots = self.seeds, self.samples.values.shape[1]
        return (
            seeds.ndim == 2
            and len(seeds) == len(self.X)
            and 1 <= seeds.shape[1] <= slots
            and seeds.dtype.kind == "i"
            and bool((seeds >= -1).all())
            and all(j < seeds.shape[1] and seeds[i, j] >= 0 for i, j in places)
        )


def _widened(seeds: IntArray, k: int, slots: int) -> IntArray:
    """``seeds`` with at least so many slots, -1 in new ones."""
    if len(seeds) == 0:
        return np.full((k, slots), -1)
    missing = slots - seeds.shape[1]
    return np.hstack((seeds, np.full((k, missing), -1))) if missing > 0 else seeds
