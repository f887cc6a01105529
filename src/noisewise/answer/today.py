"""Is it better than today's setting? What a run with an incumbent has to say about that."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from noisewise._types import FloatArray
from noisewise.answer.written import rounded
from noisewise.measured.intervals import Estimate, exact
from noisewise.run import comparing, comparison
from noisewise.run.comparison import CHALLENGER, INCUMBENT
from noisewise.run.search import Search

#: Length of an interval, as a part of the gain, that is nothing but rounding errors.
_EXACT = 1e-9


@dataclass(frozen=True)
class Setting:
    """A point that was measured to compare it with another one: ``x`` (and ``params``, where the
    problem has a space), an estimate of its value, the standard error and a 95 % interval (nan
    where unknown), what the estimate is (see `Result`), and the successful and failed evaluations
    behind it.

    >>> import noisewise as nw, numpy as np
    >>> noise = np.random.default_rng(0)
    >>> f = lambda x: float(x @ x + 0.1 * noise.normal())
    >>> r = nw.minimize(f, bounds=[(-1, 1)] * 2, incumbent=[0.6, 0.4], budget=100, rng=0)
    >>> r.kept, r.challenger.value < r.incumbent.value
    (False, True)
    """

    x: FloatArray
    value: float
    se: float
    interval: tuple[float, float]
    kind: str = "unknown"
    n: int = 0
    failures: int = 0
    params: dict[str, Any] | None = None


class Today:
    """What the values say about the incumbent and its challenger, in the user's sign."""

    def __init__(self, search: Search, done: bool, named: Callable[[FloatArray], Any]) -> None:
        self._run, self._done, self._named = search.run, done, named
        self._stands = comparing.standing(search.method, search.run)
        found = self._stands.compared
        self.settings = tuple(
            one.negated() if self._run.maximize else one for one in (found.first, found.second)
        )

    @cached_property
    def incumbent(self) -> Setting:
        assert self._run.comparison is not None
        return self._setting(self._run.comparison.incumbent, self.settings[INCUMBENT])

    @cached_property
    def challenger(self) -> Setting:
        return self._setting(self._stands.challenger, self.settings[CHALLENGER])

    def _setting(self, point: FloatArray, e: Estimate) -> Setting:
        x = self._run.setup.box.outer(point)
        known = (e.value, e.se, e.interval, e.kind, e.n, e.failures)
        return Setting(x, *known, params=self._named(x))

    @property
    def same(self) -> bool:
        """Whether the search found nothing else than the incumbent."""
        return self._stands.same

    @property
    def gain(self) -> Estimate:
        """The improvement; zero where the challenger is the incumbent."""
        return exact(0.0) if self.same else self._stands.compared.gain

    @property
    def kept(self) -> bool:
        return not self._stands.verdict.challenger

    @property
    def smallest_gain(self) -> float:
        """The gain that this run can show: from the comparison, or from what is known before."""
        gain = self._stands.compared.gain
        return comparison.SHOWN * gain.se if gain.se > 0.0 else comparing.smallest_gain(self._run)

    @property
    def verdict(self) -> str:
        """The answer in a few words, the same on every surface."""
        gain, why = self.gain, self._stands.verdict.why
        if not self._done:
            return "not compared yet"
        if why:
            return f"{'keep today' if self.kept else 'better than today'}: {why}"
        if self.same:
            return "keep today: the search found no other setting that seems better"
        if math.isnan(gain.low):
            equal = gain.value == 0.0
            return f"keep today: the two {'are equal' if equal else 'could not be compared'}"
        if not self.kept:
            return better(gain)
        if gain.high < 0.0:
            return f"keep today: the best that was found is {better(gain)}"
        return f"not shown to be better, keep today: {better(gain)}"

    @property
    def to_decide(self) -> int | None:
        """Evaluations of each with which a gain as large as the one seen would be shown."""
        if self.same or not self.kept or self._stands.verdict.why or not self.gain.value > 0.0:
            return None
        return comparison.evaluations_to_decide(self._stands.compared)


def sentences(result: Mapping[str, Any]) -> list[str]:
    """What a result says beside its verdict: what the comparison can show, and what would decide
    it."""
    n = min(result["incumbent"].n, result["challenger"].n)
    smallest, needed = result["smallest_gain"], result["to_decide"]
    if not smallest > 0.0 or not n:
        return []
    said = f"{n} evaluations of each show gains from about {smallest:.2g}"
    if needed is not None:
        gain = result["improvement"]
        said += f"; if the gain is {gain:.2g}, about {needed} of each would decide"
    return [said]


def better(gain: Estimate) -> str:
    """A gain with its interval.

    >>> better(Estimate(0.0412, 0.01, 0.012, 0.0701))
    '0.041 better than today (95 %: 0.012 to 0.07)'
    >>> better(Estimate(-0.0412, 0.01, -0.0701, -0.012))
    '0.041 worse than today (95 %: 0.012 to 0.07)'
    >>> better(Estimate(-0.0412, 0.04, -0.1201, 0.0402))
    '0.041 worse than today (95 %: 0.12 worse to 0.04 better)'

    Where noise belongs to the seeds alone, the interval may be as short as rounding errors:

    >>> better(Estimate(1 / 3, 1e-17, 1 / 3 - 1e-16, 1 / 3 + 1e-16))
    '0.3333 better than today (95 %: 0.3333 to 0.3333)'
    """
    word, other = "better", "worse"
    value, low, high = gain.value, gain.low, gain.high
    if value < 0.0:
        word, other, value, low, high = other, word, -value, -high, -low
    said, below, above = rounded(value, (low, high))
    if high - low <= _EXACT * value:
        said = below = above = f"{value:.4g}"
    ends = f"{below} to {above}"
    if low < 0.0:
        ends = f"{below.removeprefix('-')} {other} to {above} {word}"
        if word == "worse":  # from the worst to the best
            ends = f"{above} {word} to {below.removeprefix('-')} {other}"
    return f"{said} {word} than today (95 %: {ends})"


#: The entries of a result that are there only with an incumbent.
ENTRIES: dict[str, Callable[[Today], Any]] = {
    "incumbent": lambda t: t.incumbent,
    "challenger": lambda t: t.challenger,
    "improvement": lambda t: t.gain.value,
    "improvement_interval": lambda t: (t.gain.low, t.gain.high),
    "kept": lambda t: t.kept,
    "smallest_gain": lambda t: t.smallest_gain,
    "to_decide": lambda t: t.to_decide,
    "verdict": lambda t: t.verdict,
}
