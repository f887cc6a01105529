"""What the values of a run say about its noise, besides how large it is; every round is observed
here and nowhere else.

It decides which kind of estimate is right at one point: values that repeat exactly, two
outcomes such as win and loss, or a law without a mean cannot be told from a few values there.

| symbol | meaning |
|---|---|
| u | distance of a value from its group's median, in units of the median distance |
| low, high | log likelihood of Cauchy's law over Student's t3, given the values below, above |

A group is what was measured at once: the first values of a round, or the values of one point.
The landscape lengthens the upper tail of a round and skewed noise one of the tails; a law
without a mean is recognised by both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.measured.population import Population
from noisewise.measured.samples import Samples, agree, displacement, usual

#: More distinct values than this are not listed: the law counts as continuous.
_LISTED = 20
#: Repeated evaluations that must agree, and the different values that they must agree on, before
#: values with ties count as deterministic: where wins are rare, losses agree by chance.
_AGREED, _AGREED_ON = 12, 2
#: Once re-evaluations have differed this often, and more often than they agreed, there is noise.
_SETTLED = 8
#: Groups of values as which the opinion counts that their skewness is that of the landscape.
_DOUBT = 3.0
#: Groups that count: older ones fade.
_GROUPS = 30.0
#: Values that a group needs, and that all groups need before they say something about tails.
_LEAST, _ENOUGH = 4, 60
#: The skewness of a skewed law's sample grows with its size; that of this many values is kept, and
#: what a larger group shows counts as at most this.
_TYPICAL, _SKEWED = 10, 1.5
#: Median of |t3|, and the logarithms of both densities at zero, the median being one.
_T3 = 0.7648923284
_T3_LOG = math.log(2.0 * _T3 * 2.0 / (math.pi * math.sqrt(3.0)))
_CAUCHY_LOG = math.log(2.0 / math.pi)
#: Far enough for any tail, and its square is finite.
_FAR = 1e100
#: Rounds from which on only some are looked at for the shape of the noise: they say little new.
_NOTED = 64
#: Re-evaluations over which the measured misranking is averaged.
_RECALL = 32.0


@data
@dataclass(slots=True)
class History:
    """Named columns of floats that grow by one row per round, in amortised constant time."""

    columns: tuple[str, ...]
    rows: FloatArray
    n: int = 0

    def append(self, row: tuple[float, ...]) -> None:
        if self.n == len(self.rows):
            bigger = np.zeros((max(16, 2 * self.n), len(self.columns)))
            bigger[: self.n] = self.rows[: self.n]
            self.rows = bigger
        self.rows[self.n] = row
        self.n += 1

    def as_dict(self) -> dict[str, FloatArray]:
        """One read-only array per column, of what is recorded so far."""
        done = self.rows[: self.n]  # a view: what is recorded never changes
        done.setflags(write=False)
        return {name: done[:, j] for j, name in enumerate(self.columns)}


@data
@dataclass(slots=True)
class Recent:
    """Candidates (inner coordinates) and all their values (nan: none, +inf: failed), of as many of
    the newest rounds as it takes to have ``wanted`` places of values."""

    wanted: int
    rounds: list[tuple[FloatArray, FloatArray]] = field(default_factory=list)
    size: int = 0

    def add(self, X: FloatArray, values: FloatArray) -> None:
        """The candidates of one more round; the arrays are kept, not copied."""
        if self.wanted == 0:
            return
        rounds, size = self.rounds, self.size + values.size
        rounds.append((X, values))
        while (left := size - rounds[0][1].size) >= self.wanted:
            size = left
            del rounds[0]
        self.size = size

    def points(self, most: int | None = None) -> tuple[FloatArray, FloatArray, IntArray]:
        """Candidates of the newest rounds with at least ``most`` of them (all, if it is None or
        there are not as many), their mean values and the index of their round, oldest first."""
        first, count = len(self.rounds), 0
        while first > 0 and (most is None or count < most):
            first -= 1
            count += len(self.rounds[first][1])
        rounds = self.rounds[first:]
        X = np.concatenate([X for X, _ in rounds])
        y = np.concatenate([Samples(values).mean() for _, values in rounds])
        return X, y, np.repeat(np.arange(len(rounds)), [len(X) for X, _ in rounds])


@data
@dataclass(frozen=True)
class Shape:
    """Running evidence; ``groups`` and ``values`` count what is behind it."""

    low: float = 0.0
    high: float = 0.0
    skew: float = 0.0
    groups: float = 0.0
    values: float = 0.0

    @property
    def heavy(self) -> bool:
        """Whether both tails look like those of a law without a mean."""
        return self.values >= _ENOUGH and self.low > 0.0 and self.high > 0.0

    def add(self, values: FloatArray) -> Shape:
        """The evidence after a group of values; failures are left out."""
        good = values[np.isfinite(values)]
        if len(good) < _LEAST:
            return self
        u = good - np.median(good)
        size = float(np.median(np.abs(u)))
        if size == 0.0:
            return self
        u = np.clip(u / size, -_FAR, _FAR)
        keep = 1.0 - 1.0 / _GROUPS
        groups = keep * self.groups + 1.0
        skew = skewness(u) * math.sqrt(max(1.0, _TYPICAL / len(good)))
        skew = min(max(skew, -_SKEWED), _SKEWED)
        return Shape(
            keep * self.low + _evidence(-u[u < 0.0]),
            keep * self.high + _evidence(u[u > 0.0]),
            self.skew + (skew - self.skew) / groups,
            groups,
            keep * self.values + len(good),
        )


@data
@dataclass(slots=True)
class Evidence:
    """What is known about the noise; every round is observed once.

    >>> import numpy as np
    >>> seen = Evidence().saw(np.array([0.0, 1.0, 1.0, 0.0, 1.0]))
    >>> seen.discrete, seen.levels.tolist()
    (True, [0.0, 1.0])
    """

    shape: Shape = field(default_factory=Shape)
    #: Distinct finite values, sorted, as long as there are few.
    listed: FloatArray = field(default_factory=lambda: np.empty(0))
    #: Finite values seen.
    n: int = 0
    #: Re-evaluations that gave the same value again, and those that did not.
    agreed: int = 0
    differed: int = 0
    #: Re-evaluations of points chosen for their values, such as the smallest, that gave another.
    contradicted: int = 0
    #: Of those that agreed, how many on a value that other points have as well: where an episode
    #: is cut or a score has a ceiling, bad or good points agree whatever the noise.
    shared: int = 0
    #: The smallest and the largest value, and how many points have them.
    extremes: FloatArray = field(default_factory=lambda: np.array([np.inf, -np.inf]))
    at_extremes: FloatArray = field(default_factory=lambda: np.zeros(2))
    #: Share of the values of the search that are far from those around them, once some of them
    #: turned out to be wrong.
    outlier_share: float = 0.0
    #: Up to two of the values that came again.
    agreed_on: FloatArray = field(default_factory=lambda: np.empty(0))
    #: The newest candidates and their values.
    recent: Recent = field(default_factory=lambda: Recent(0))
    #: Running sum of the misranking that re-evaluations showed, its weight, and re-evaluations.
    moved: float = 0.0
    weight: float = 0.0
    reevaluations: int = 0

    def observe(self, population: Population, round: int | None) -> float:
        """Take note of a round; returns its misranking, nan without re-evaluations. ``round``: its
        number; None where the noise is not asked for."""
        samples, misranking = population.samples, math.nan
        self.recent.add(population.X, samples.values)
        if samples.values.shape[1] > 1:
            misranking, n = displacement(samples, population.common)
            if n:
                recall = self.weight + n > _RECALL
                keep = max(0.0, 1.0 - n / _RECALL) if recall else 1.0
                self.moved = keep * self.moved + n * misranking
                self.weight = keep * self.weight + n
                self.reevaluations += n
        if round is not None:
            if round < _NOTED or round % _NOTED == 0:
                self.saw(samples.values[:, 0])
            if samples.values.shape[1] > 1 and not self.settled:
                self.compared(samples.values)
        return misranking

    @property
    def misranking(self) -> float:
        """Mean misranking that re-evaluations showed; the newest count most."""
        return self.moved / self.weight if self.weight else math.nan

    def saw(self, values: FloatArray) -> Evidence:
        """Take in the first values of a round, in any order."""
        good = values[np.isfinite(values)]
        if len(self.listed) <= _LISTED:
            self.listed = np.unique(np.concatenate((self.listed, good)))[: _LISTED + 1]
        if len(good):
            old = self.extremes
            self.extremes = np.array([min(old[0], good.min()), max(old[1], good.max())])
            at = (good[:, None] == self.extremes).sum(axis=0)
            self.at_extremes = np.where(self.extremes == old, self.at_extremes, 0.0) + at
        self.shape = self.shape.add(good)
        self.n += len(good)
        return self

    def compared(self, values: FloatArray) -> Evidence:
        """Take in a round with re-evaluations; values of one candidate are a row of (k, r), nan
        where there is none. Failures are not compared. Of several values of a candidate, those
        that equal the most frequent one agree."""
        rows = np.isfinite(values).sum(axis=1) > 1
        if not rows.any():
            return self
        first, several = values[:, 0], values[rows]
        most = np.array([usual(row) for row in several])
        counts = agree(several, most[:, None]).sum(axis=1)
        here = (first[None] == most[:, None]).sum(axis=1) > 1
        shared = here | np.isin(most, self.extremes[self.at_extremes > 1.0])
        self.differed += int((np.isfinite(several).sum(axis=1) - counts).sum())
        self._agreed(int((counts - 1).sum()), int((counts - 1)[shared].sum()), most[counts > 1])
        return self

    def checked(self, known: float, again: FloatArray) -> Evidence:
        """Take in that a point which was chosen for its value ``known`` was measured again."""
        again = again[np.isfinite(again)]
        came = again[agree(again, known)]
        shared = len(came) if known in self.extremes[self.at_extremes > 1.0] else 0
        self._agreed(len(came), shared, came)
        self.contradicted += len(again) - len(came)
        return self

    def _agreed(self, n: int, shared: int, values: FloatArray) -> None:
        """``n`` re-evaluations agreed, on these values."""
        if n and len(self.agreed_on) < _AGREED_ON:
            self.agreed_on = np.union1d(self.agreed_on, values)[:_AGREED_ON]
        self.agreed += n
        self.shared += shared

    @property
    def discrete(self) -> bool:
        """Whether few different values come again and again, at different points."""
        return self.n >= 5 and len(self.listed) <= min(_LISTED, self.n // 2)

    @property
    def two_outcomes(self) -> bool:
        """Whether values are two different ones, such as won and lost."""
        return len(self.levels) == 2

    @property
    def levels(self) -> FloatArray:
        """The different values of a discrete law, sorted; empty for a continuous one."""
        return self.listed if self.discrete else np.empty(0)

    @property
    def deterministic(self) -> bool:
        """Whether repeated evaluations give the same value, as far as they can tell."""
        if self.differed or self.contradicted or self.agreed == 0:
            return False
        enough = self.agreed >= _AGREED and len(self.agreed_on) == _AGREED_ON
        return enough or (not self.discrete and self.agreed > self.shared)

    @property
    def outliers(self) -> bool:
        """Whether values are exact but for some that are wrong: most re-evaluations agree to the
        last digit, which they do not by chance where values are continuous."""
        own = self.agreed - self.shared
        some = self.differed + self.contradicted > 0
        return some and not self.discrete and own >= max(1, self.differed)

    @property
    def exact(self) -> bool:
        """Whether there is no noise, but for some wrong values."""
        return self.deterministic or self.outliers

    @property
    def untested(self) -> bool:
        """Whether too few evaluations were repeated to say if there is noise."""
        return not self.differed and not self.contradicted and not self.deterministic

    @property
    def settled(self) -> bool:
        """Whether further re-evaluations would not change what is known: there is noise."""
        return self.differed >= _SETTLED and not self.outliers

    @property
    def heavy(self) -> bool:
        """Whether the noise looks like a law without a mean."""
        return not self.discrete and self.shape.heavy

    @property
    def skew(self) -> float | None:
        """Skewness of the values of a round, averaged over rounds and smaller where they are few;
        None if it is not known."""
        groups = self.shape.groups
        return self.shape.skew * groups / (groups + _DOUBT) if groups else None


def skewness(y: FloatArray) -> float:
    """Third moment of the values around their mean in units of the standard deviation (divisor
    n); zero if all are equal."""
    d = y - y.mean()
    size = float(np.abs(d).max())
    if size == 0.0:
        return 0.0
    d = d / size
    square = d * d
    return float(d @ square) / len(y) / math.pow(float(square.mean()), 1.5)


def _evidence(u: FloatArray) -> float:
    """Log likelihood ratio of the positive halves of the two laws, both with median one."""
    cauchy = _CAUCHY_LOG - np.log1p(u * u)
    student = _T3_LOG - 2.0 * np.log1p((_T3 * u) ** 2 / 3.0)
    return float((cauchy - student).sum())
