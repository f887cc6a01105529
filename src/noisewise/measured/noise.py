"""The noise model behind expected weights from a residual bootstrap: its options, the pool of
standardised residuals that is kept over generations, and the scale of the noise.

| symbol | meaning | shape |
|---|---|---|
| eps | residual of a value about its candidate's median, widened for few repeats | |
| x | estimate of f at the candidate; for "spread", the spread of its generation's values | |
| s(x) | scale of the noise | |
| z | clip(eps / s, [-M, M]), what the pool holds | (N,) |

s(x) is s0 ("constant"), s0 + s1 |x| ("linear"), sqrt(v0 + v1 x^2) ("variance") or s1 x ("spread").
Only "constant" and "spread" do not change when a constant is added to f, and only "spread"
follows at once when values and noise shrink together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from noisewise._check import flag, integer, one_of, positive_real
from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.measured import centres
from noisewise.measured.samples import Samples

_ROOT_2 = math.sqrt(2.0)
#: Rows that a pool without a capacity has at first; it doubles when they are full.
_FIRST_ROOM = 512
#: Memory of the running averages, in generations.
RECALL = 20
#: Larger ratios of residuals to what was predicted for them count as this.
_FAR_OFF = 10.0


@data
@dataclass(slots=True)
class Pool:
    """A ring of the newest ``capacity`` residuals; None: all of them. Columns: z, |centre| at which
    it was seen, generation."""

    capacity: int | None
    rows: FloatArray = field(default_factory=lambda: np.empty((0, 3)))
    #: Residuals ever inserted; the next one goes to ``inserted % capacity``.
    inserted: int = 0

    @property
    def size(self) -> int:
        return self.inserted if self.capacity is None else min(self.inserted, self.capacity)

    @property
    def z(self) -> FloatArray:
        """The residuals, in no particular order."""
        out: FloatArray = self.rows[: self.size, 0]
        return out

    def insert(self, z: FloatArray, centre: FloatArray, generation: int) -> None:
        if len(self.rows) == 0:
            self.rows = np.zeros((self.capacity or _FIRST_ROOM, 3))
        while self.capacity is None and self.inserted + len(z) > len(self.rows):
            self.rows = np.concatenate((self.rows, np.zeros(self.rows.shape)))
        new = np.empty((len(z), 3))
        new[:, 0], new[:, 1], new[:, 2] = z, np.abs(centre), generation
        for place, part in places(self.inserted, len(self.rows), len(z)):
            self.rows[place] = new[part]
        self.inserted += len(z)

    def by_age(self) -> FloatArray:
        """All rows, oldest first."""
        if self.capacity is None or self.inserted <= self.capacity:
            return self.rows[: self.inserted]
        turn = self.inserted % self.capacity
        return np.concatenate((self.rows[turn:], self.rows[:turn]))


@data
@dataclass(slots=True)
class Archive:
    """A ring of the newest ``capacity`` points (inner coordinates) and values."""

    capacity: int
    X: FloatArray = field(default_factory=lambda: np.empty((0, 0)))
    y: FloatArray = field(default_factory=lambda: np.empty(0))
    inserted: int = 0

    @property
    def size(self) -> int:
        return min(self.inserted, self.capacity)

    def insert(self, X: FloatArray, y: FloatArray) -> None:
        if len(self.y) == 0:
            self.X, self.y = np.zeros((self.capacity, X.shape[1])), np.zeros(self.capacity)
        for place, part in places(self.inserted, self.capacity, len(y)):
            self.X[place], self.y[place] = X[part], y[part]
        self.inserted += len(y)

    def points(self) -> tuple[FloatArray, FloatArray]:
        """Points and values, in no particular order."""
        return self.X[: self.size], self.y[: self.size]


def places(inserted: int, capacity: int, n: int) -> list[tuple[slice, slice]]:
    """Slices of a ring of ``capacity``, with the slices of ``n`` new entries that go there, after
    ``inserted`` earlier ones. Of more entries than the ring holds, the newest stay.

    >>> places(inserted=5, capacity=4, n=2)
    [(slice(1, 3, None), slice(0, 2, None))]
    >>> places(inserted=7, capacity=4, n=2)
    [(slice(3, 4, None), slice(0, 1, None)), (slice(0, 1, None), slice(1, 2, None))]
    """
    skip = max(0, n - capacity)
    start = (inserted + skip) % capacity
    end = start + n - skip
    if end <= capacity:
        return [(slice(start, end), slice(skip, n))]
    turn = skip + capacity - start
    return [(slice(start, capacity), slice(skip, turn)), (slice(0, end - capacity), slice(turn, n))]


def residuals(samples: Samples, widen: bool = True) -> tuple[IntArray, FloatArray, FloatArray]:
    """Candidates (one entry per residual), residuals about the candidate's median, and those
    medians, of all candidates with at least two values.

    n residuals about their own median vary less than the noise does; they are widened by
    sqrt(n / (n - 1)), which is exact for pairs, unless ``widen`` is False.
    """
    values = samples.values
    if values.shape[1] < 2:
        return np.empty(0, dtype=np.intp), np.empty(0), np.empty(0)
    if values.shape[1] == 2:  # many times faster than the general case
        who: list[int] = []
        middles: list[float] = []
        found: list[float] = []
        wider = _ROOT_2 if widen else 1.0
        for i, (a, b) in enumerate(values.tolist()):
            if math.isfinite(a + b):
                middle = 0.5 * (a + b)
                who += (i, i)
                middles += (middle, middle)
                found += ((a - middle) * wider, (b - middle) * wider)
        return np.array(who, dtype=np.intp), np.array(found), np.array(middles)
    counts = samples.counts
    again = np.flatnonzero(counts >= 2)
    block = values[again]
    good = np.isfinite(block)
    clean = np.where(good, block, np.nan)
    n = counts[again]
    medians = np.nanmedian(clean, axis=1) if len(again) else np.empty(0)
    eps = clean - medians[:, None]
    if widen:
        eps *= np.sqrt(n / (n - 1.0))[:, None]
    return np.repeat(again, n), eps[good], np.repeat(medians, n)


# -- the scale of the noise
SCALES = ("constant", "linear", "variance", "spread")
#: Scales are never smaller than this.
LEAST_SCALE = 1e-200


def fit_scale(model: str, x: FloatArray, eps: FloatArray) -> tuple[float, float]:
    """The two coefficients, by least squares with both kept non-negative.

    All but "variance" fit E|eps|, which heavy tails disturb less than the variance; it is
    sqrt(2/pi) of the standard deviation for Gaussian noise, and the pool takes up the rest.
    """
    size = np.abs(eps)
    if model == "constant":
        return float(size.sum()) / len(size), 0.0
    if model == "spread":
        seen = x > 1e-100 * size  # a generation of equal values says nothing
        if not seen.all():
            size, x = size[seen], x[seen]
        return 0.0, float(np.add.reduce(size / x)) / max(1, len(x))
    if model == "linear":
        return _line(np.abs(x), size)
    return _line(x * x, eps * eps)


def scale_at(model: str, coefficients: tuple[float, float], x: FloatArray) -> FloatArray:
    """s at each x, never so small that a residual over it overflows."""
    a, b = coefficients
    if model in ("spread", "linear"):
        s = a + b * np.abs(x)
    elif model == "constant":
        s = np.full(len(x), a)
    else:
        s = np.sqrt(a + b * x * x)
    return np.asarray(np.maximum(s, LEAST_SCALE))


def spread_of(values: FloatArray) -> float:
    """Mean distance of the finite ``values`` from their median."""
    # Lists: many times faster than arrays as short as a population.
    good: list[float] = values.tolist()
    if not math.isfinite(sum(good)):
        good = [v for v in good if math.isfinite(v)]
    if not good:
        return 0.0
    good.sort()
    middle = good[len(good) // 2]
    return sum([abs(v - middle) for v in good]) / len(good)


def _line(x: FloatArray, y: FloatArray) -> tuple[float, float]:
    """Non-negative intercept and slope of the least-squares line through (x, y >= 0)."""
    mx, my = float(x.mean()), float(y.mean())
    dx = x - mx
    spread = float(dx @ dx)
    slope = float(dx @ y) / spread if spread > 0.0 else 0.0
    intercept = my - slope * mx
    if slope < 0.0:
        return my, 0.0
    if intercept < 0.0:
        square = float(x @ x)
        return 0.0, float(x @ y) / square if square > 0.0 else 0.0
    return intercept, slope


# -- what re-evaluations show about all that
@data
@dataclass(slots=True)
class Running:
    """Running averages over generations with repeated evaluations, for `Diagnostics`."""

    correlation: float = math.nan
    #: Mean change between two evaluations, in units of its size.
    regression: float = 0.0
    centre: float = math.nan
    #: Size of held-out residuals over what was predicted for them.
    ratio: float = math.nan
    #: Generations with repeated evaluations.
    seen: int = 0

    def observe(
        self, samples: Samples, spread: float, eps: FloatArray, expected: FloatArray
    ) -> None:
        """Take note of a generation with repeated evaluations, whose values are ``spread`` apart;
        ``expected`` is the scale that was predicted for each residual before it was seen."""
        self.seen += 1
        pairs = samples.values[:, :2].tolist()
        changes = [b - a for a, b in pairs if math.isfinite(a + b)]
        change, n = np.array(changes), len(changes)
        size = math.sqrt(float(change.dot(change)) / max(1, n))
        if n >= 2 and size > 0.0:
            # Candidates looked at again because of their rank regress towards the others. That
            # is the same in every generation, while shared noise comes and goes.
            shared = _intra_class(change - self.regression * size)
            self.correlation = self._average(self.correlation, shared)
            self.regression += (float(change.mean()) / size - self.regression) / RECALL
        if n and spread > 0.0:
            # Two Gaussian values differ by sqrt(2) times as much as one from the median.
            mean = sum(map(abs, changes)) / n
            self.centre = self._average(self.centre, mean / (math.sqrt(2.0) * spread))
        predicted = expected.tolist()
        if min(predicted) > LEAST_SCALE:  # there was a prediction
            off = [min(abs(e) / s, _FAR_OFF) for e, s in zip(eps.tolist(), predicted, strict=True)]
            self.ratio = self._average(self.ratio, sum(off) / len(off))

    @property
    def scale(self) -> float:
        """|log| of the ratio of held-out residuals to what was predicted for them."""
        return abs(math.log(self.ratio)) if self.ratio > 0.0 else math.nan

    def _average(self, old: float, new: float) -> float:
        """Running mean in which the first generations count equally."""
        return new if math.isnan(old) else old + (new - old) / min(self.seen, RECALL)


def _intra_class(change: FloatArray) -> float:
    """Correlation of the entries of ``change`` with each other: 1 if all are the same."""
    k, square = len(change), float(change @ change)
    if square == 0.0:
        return 0.0
    return (float(change.sum()) ** 2 - square) / ((k - 1) * square)


# -- the options
@data
@dataclass(frozen=True)
class NoiseModel:
    """How RB-PEM models the noise.

    centre
        What the bootstrap scatters about: ``"observed"``, ``"ridge"`` (a cross-fitted ridge
        regression), ``"cross-fitted"`` (the same as the paper prints it) or ``"archive"``
        (borrows from earlier generations; slower).
    scale
        Scale of the noise: ``"constant"``, ``"linear"`` (s0 + s1 |f|), ``"variance"`` or
        ``"spread"`` (a multiple of the spread of the generation's values). With
        ``centre="observed"`` a scale that depends on the value takes lucky draws for precise
        ones, so ``"linear"`` and ``"variance"`` should not be combined with this centre.
    clip
        Standardised residuals are clipped to [-clip, clip].
    pool_size
        Residuals kept; None: all.
    archive_size
        Evaluated points kept for ``centre="archive"``.
    widen
        Whether residuals of n values about their median are widened by sqrt(n / (n - 1)), since
        they vary less than the noise.

    >>> import noisewise as nw
    >>> nw.methods.RBPEM(noise=nw.methods.NoiseModel(centre="archive")).noise.pool_size
    512
    """

    centre: str = "observed"
    scale: str = "spread"
    clip: float = 10.0
    pool_size: int | None = 512
    archive_size: int = 600
    widen: bool = True

    def __post_init__(self) -> None:
        one_of("centre", self.centre, centres.CENTRES)
        one_of("scale", self.scale, SCALES)
        positive_real("clip", self.clip)
        if self.pool_size is not None:
            integer("pool_size", self.pool_size, least=2)
        integer("archive_size", self.archive_size, least=2)
        flag("widen", self.widen)
