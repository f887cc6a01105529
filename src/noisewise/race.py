"""A race between finalists: which of a few points is best, with few evaluations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.noise import intervals
from noisewise.noise.known import discounted
from noisewise.noise.samples import Samples

#: A challenger must be better by this many standard errors of the difference.
_CLEAR = 1.5


@data
@dataclass(frozen=True)
class Race:
    """A race between finalists in waves. The first finalist is the preferred one: it wins unless
    another is clearly better.

    >>> import numpy as np
    >>> race = start(2, 4)
    >>> request(race).tolist()
    [0, 0, 1, 1]
    >>> race = settle(race, np.array([5.0, 6.0, 1.0, 2.0]))
    >>> request(race).tolist(), race.winner
    ([], 1)
    """

    #: Values by finalist and slot, nan where there is none, +inf where it failed.
    values: FloatArray
    #: Finalists still in the race, and evaluations not spent.
    alive: list[int]
    left: int
    #: Evaluations of each finalist in the next wave; 0: the race is over.
    each: int
    winner: int = 0
    #: Known standard errors of the values, nan where unknown; None: none was given.
    errors: FloatArray | None = None
    #: Standard error of the difference to the runner-up, and that difference; nan if unknown.
    margin: tuple[float, float] = field(default=(math.nan, math.nan))


def start(finalists: int, evaluations: int) -> Race:
    """The race before its first wave. Beyond the second, finalists at the end of the list are left
    out where there are fewer than four evaluations for each."""
    k = min(finalists, max(2, evaluations // 4))
    if k < 2 or evaluations < 4:
        return Race(np.empty((finalists, 0)), [0], evaluations, 0)
    waves = 2 if evaluations >= 4 * k else 1
    each = evaluations // (waves * k)
    return Race(np.empty((finalists, 0)), list(range(k)), evaluations, each)


def request(race: Race) -> IntArray:
    """Finalists to evaluate now, each as often as it is named; empty: the race is over."""
    return np.repeat(np.array(race.alive, dtype=np.intp), race.each)


def settle(race: Race, values: FloatArray, errors: FloatArray | None = None) -> Race:
    """The race after a wave, whose ``values`` are in the order of `request`; so are their known
    standard ``errors`` (nan: unknown)."""
    k, each = len(race.values), race.each
    wave = np.full((k, each), np.nan)
    told = np.where(np.isfinite(values), values, math.inf)
    wave[race.alive] = told.reshape(len(race.alive), each)
    later = Samples(wave)
    if errors is not None:
        later.errors = np.full((k, each), np.nan)
        later.errors[race.alive] = errors.reshape(len(race.alive), each)
    samples = Samples(race.values, race.errors).beside(later)
    seen = samples.values
    # A lucky mean with a large error must not keep a better finalist out.
    fair = discounted(samples).values
    scores = [_score(row) if i in race.alive else (2.0, math.inf) for i, row in enumerate(fair)]
    first = min(race.alive, key=lambda i: (scores[i], i))
    left = race.left - len(values)
    # Where the preferred one is ahead, more values would rarely change that.
    rival = min((i for i in race.alive if i != 0), key=lambda i: (scores[i], i))
    again = left // 2 if first != 0 and race.values.shape[1] == 0 and left >= 4 else 0
    se, lead = difference(seen, samples.errors, rival)
    wins = scores[rival][0] < scores[0][0] or (first != 0 and lead >= _CLEAR * se)
    return replace(
        race,
        values=seen,
        errors=samples.errors,
        alive=[0, rival],
        left=left,
        each=again,
        winner=rival if wins else 0,
        margin=(se, abs(lead)),
    )


def _score(row: FloatArray) -> tuple[float, float]:
    """Share of failed evaluations, then the mean of the others: smaller is better."""
    seen = row[~np.isnan(row)]
    good = seen[np.isfinite(seen)]
    failed = 1.0 - len(good) / len(seen)
    return failed, float(good.mean()) if len(good) else math.inf


def difference(values: FloatArray, errors: FloatArray | None, rival: int) -> tuple[float, float]:
    """By how much the rival's mean is smaller than that of the preferred finalist: its standard
    error, from the spread of all finalists together, and the difference; nan if unknown. Where all
    values of the two have known standard ``errors``, means and standard error are weighted by
    them."""
    if errors is not None:
        first, second = (_known(values[i], errors[i]) for i in (0, rival))
        if first is not None and second is not None:
            return math.hypot(first.se, second.se), first.value - second.value
    rows = [row[np.isfinite(row)] for row in values]
    a, b = len(rows[0]), len(rows[rival])
    degrees = sum(max(0, len(row) - 1) for row in rows)
    if min(a, b, degrees) == 0:
        return math.nan, math.nan
    square = sum(float(((row - row.mean()) ** 2).sum()) for row in rows if len(row))
    se = math.sqrt(square / degrees * (1.0 / a + 1.0 / b))
    return se, float(rows[0].mean() - rows[rival].mean())


def _known(row: FloatArray, errors: FloatArray) -> intervals.Interval | None:
    """Weighted mean of one finalist's successes; None unless all of them have a known error."""
    good = np.isfinite(row)
    if not good.any() or bool(np.isnan(errors[good]).any()):
        return None
    return intervals.known(row[good], errors[good])
