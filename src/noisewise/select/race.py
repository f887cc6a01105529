"""A race between finalists: which of a few points is best, with few evaluations.

All of them are measured equally often with the first half of the evaluations. The other half goes
where the rule of `noisewise.select.allocation` wants it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.measured import intervals
from noisewise.measured.known import discounted
from noisewise.measured.samples import Samples
from noisewise.select import allocation
from noisewise.select.tally import OptionValues, Tally

#: A challenger must be better by this many standard errors of the difference.
_CLEAR = 1.5
#: Standard error of a median over that of a mean, under a normal law.
_MEDIAN = 1.2533


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
    #: Finalists in the race, after a wave the preferred one and its rival first; and evaluations
    #: not spent.
    alive: list[int]
    left: int
    #: Finalists to evaluate in the next wave, in order; empty: the race is over.
    wanted: list[int]
    winner: int = 0
    #: Known standard errors of the values, nan where unknown; None: none was given.
    errors: FloatArray | None = None
    #: Whether finalists are compared by their medians instead of their means.
    median: bool = False
    #: Standard error of the difference to the runner-up, and that difference; nan if unknown.
    margin: tuple[float, float] = field(default=(math.nan, math.nan))


def start(finalists: int, evaluations: int, median: bool = False) -> Race:
    """The race before its first wave. Beyond the second, finalists at the end of the list are left
    out where there are fewer than four evaluations for each."""
    k = min(finalists, max(2, evaluations // 4))
    if k < 2 or evaluations < 4:
        return Race(np.empty((finalists, 0)), [0], evaluations, [], median=median)
    waves = 2 if evaluations >= 4 * k else 1
    alive = list(range(k))
    wanted = [i for i in alive for _ in range(evaluations // (waves * k))]
    return Race(np.empty((finalists, 0)), alive, evaluations, wanted, median=median)


def request(race: Race) -> IntArray:
    """Finalists to evaluate now, each as often as it is named; empty: the race is over."""
    return np.array(race.wanted, dtype=np.intp)


def places(race: Race) -> tuple[IntArray, IntArray]:
    """The finalist and the slot of each value of the next wave."""
    slots = [race.wanted[:j].count(i) for j, i in enumerate(race.wanted)]
    return request(race), np.array(slots, dtype=np.intp)


def settle(race: Race, values: FloatArray, errors: FloatArray | None = None) -> Race:
    """The race after a wave, whose ``values`` are in the order of `request`; so are their known
    standard ``errors`` (nan: unknown)."""
    at, slot = places(race)
    shape = len(race.values), 1 + int(slot.max())
    later = Samples(np.full(shape, np.nan))
    later.values[at, slot] = np.where(np.isfinite(values), values, math.inf)
    if errors is not None:
        later.errors = np.full(shape, np.nan)
        later.errors[at, slot] = errors
    samples = Samples(race.values, race.errors).beside(later)
    seen = samples.values
    # A lucky mean with a large error must not keep a better finalist out.
    fair = discounted(samples).values
    scores = [
        _score(row, race.median) if i in race.alive else (2.0, math.inf)
        for i, row in enumerate(fair)
    ]
    first = min(race.alive, key=lambda i: (scores[i], i))
    left = race.left - len(values)
    # Where the preferred one is ahead, more values would rarely change that.
    rival = min((i for i in race.alive if i != 0), key=lambda i: (scores[i], i))
    again = first != 0 and race.values.shape[1] == 0 and left >= 4
    alive, wanted = [0, rival], _next(race, samples, rival, left) if again else []
    if set(wanted) - {0, rival}:
        alive += [i for i in race.alive if i not in alive]
    se, lead = difference(seen, samples.errors, rival, race.median)
    wins = scores[rival][0] < scores[0][0] or (first != 0 and lead >= _CLEAR * se)
    return replace(
        race,
        values=seen,
        errors=samples.errors,
        alive=alive,
        left=left,
        wanted=wanted,
        winner=rival if wins else 0,
        margin=(se, abs(lead)),
    )


def _next(race: Race, samples: Samples, rival: int, evaluations: int) -> list[int]:
    """Finalists to which these ``evaluations`` go: by the rule of selection. Only to the preferred
    one and its rival where standard errors are known (the rule would measure the least certain one
    again and again) or where no noise was seen."""
    i, slot = np.nonzero(~np.isnan(samples.values))
    tally = Tally.of(OptionValues().add(i, samples.values[i, slot]), len(race.values), race.median)
    among = (tally.n > 0) & (samples.errors is None) & bool((tally.v > 0.0).all())
    among[[0, rival]] = True
    w, p = allocation.weights(tally.n, tally.m, tally.v), np.zeros(len(among), dtype=np.intp)
    if samples.errors is not None:
        w[:] = 0.0
    for _ in range(evaluations):
        p[int(allocation.urgency(tally.n, p, w, among).argmax())] += 1
    return [i for i, n in enumerate(p.tolist()) for _ in range(n)]


def _score(row: FloatArray, median: bool) -> tuple[float, float]:
    """Share of failed evaluations, then the mean or median of the others: smaller is better."""
    seen = row[~np.isnan(row)]
    good = seen[np.isfinite(seen)]
    failed = 1.0 - len(good) / len(seen)
    return failed, _centre(good, median) if len(good) else math.inf


def _centre(values: FloatArray, median: bool) -> float:
    return float(np.median(values) if median else values.mean())


def difference(
    values: FloatArray, errors: FloatArray | None, rival: int, median: bool = False
) -> tuple[float, float]:
    """By how much the rival's mean (or ``median``) is smaller than that of the preferred finalist:
    its standard error, from the spread of all finalists together, and the difference; nan if
    unknown. Where all values of the two have known standard ``errors``, means are weighted by
    them."""
    if errors is not None and not median:
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
    return se * (_MEDIAN if median else 1.0), _centre(rows[0], median) - _centre(
        rows[rival], median
    )


def _known(row: FloatArray, errors: FloatArray) -> intervals.Estimate | None:
    """Weighted mean of one finalist's successes; None unless all of them have a known error."""
    good = np.isfinite(row)
    if not good.any() or bool(np.isnan(errors[good]).any()):
        return None
    return intervals.known(row[good], errors[good])
