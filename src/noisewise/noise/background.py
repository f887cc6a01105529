"""What the values of a whole run say about its noise, besides how large it is.

It decides which kind of estimate is right at one point: values that repeat exactly, two
outcomes such as win and loss, or a law without a mean cannot be told from a few values there.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray
from noisewise.noise.shape import Shape

#: More distinct values than this are not listed: the law counts as continuous.
_LISTED = 20
#: Repeated evaluations that must agree, and the different values that they must agree on, before
#: values with ties count as deterministic: where wins are rare, losses agree by chance.
_AGREED, _AGREED_ON = 12, 2
#: Values that differ by less than this part of them agree: the last digits of a vectorised
#: objective may depend on what else is evaluated.
ROUNDING = 1e-12
#: Groups of values as which the opinion counts that their skewness is that of the landscape.
_DOUBT = 3.0


@data
@dataclass(frozen=True)
class Background:
    """Evidence about the noise, updated once per round.

    >>> import numpy as np
    >>> seen = Background().saw(np.array([0.0, 1.0, 1.0, 0.0, 1.0]))
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
    #: Of those that agreed, how many on a value that other points have as well: where an episode
    #: is cut or a score has a ceiling, bad or good points agree whatever the noise.
    shared: int = 0
    #: The smallest and the largest value, and how many points have them.
    extremes: FloatArray = field(default_factory=lambda: np.array([np.inf, -np.inf]))
    at_extremes: FloatArray = field(default_factory=lambda: np.zeros(2))
    #: Up to two of the values that came again.
    agreed_on: FloatArray = field(default_factory=lambda: np.empty(0))

    def saw(self, values: FloatArray) -> Background:
        """After the first values of a round, in any order."""
        good = values[np.isfinite(values)]
        listed = self.listed
        if len(listed) <= _LISTED:
            listed = np.unique(np.concatenate((listed, good)))[: _LISTED + 1]
        extremes, at = self.extremes, self.at_extremes
        if len(good):
            found = np.array([min(extremes[0], good.min()), max(extremes[1], good.max())])
            at = np.where(found == extremes, at, 0.0) + (good[:, None] == found).sum(axis=0)
            extremes = found
        return replace(
            self,
            shape=self.shape.add(good),
            listed=listed,
            n=self.n + len(good),
            extremes=extremes,
            at_extremes=at,
        )

    def compared(self, values: FloatArray) -> Background:
        """After a round with re-evaluations; values of one candidate are a row of (k, r), nan
        where there is none. Failures are not compared."""
        if values.shape[1] < 2:
            return self
        first, again = values[:, :1], values[:, 1:]
        both = np.isfinite(first) & np.isfinite(again)
        same = both & np.isclose(first, again, rtol=ROUNDING, atol=0.0)
        agreed = int(same.sum())
        differed = int(both.sum()) - agreed
        on = self.agreed_on
        if agreed and len(on) < _AGREED_ON:
            on = np.union1d(on, again[same])[:_AGREED_ON]
        return replace(
            self,
            agreed=self.agreed + agreed,
            differed=self.differed + differed,
            shared=self.shared + self._shared(first[:, 0], again[same]),
            agreed_on=on,
        )

    def _shared(self, first: FloatArray, agreed: FloatArray) -> int:
        """How many of the ``agreed`` values other points have as well."""
        elsewhere = self.extremes[self.at_extremes > 1.0]
        here = (first[None] == agreed[:, None]).sum(axis=1) > 1
        return int((here | np.isin(agreed, elsewhere)).sum())

    @property
    def discrete(self) -> bool:
        """Whether few different values come again and again, at different points."""
        return self.n >= 5 and len(self.listed) <= min(_LISTED, self.n // 2)

    @property
    def levels(self) -> FloatArray:
        """The different values of a discrete law, sorted; empty for a continuous one."""
        return self.listed if self.discrete else np.empty(0)

    @property
    def deterministic(self) -> bool:
        """Whether repeated evaluations give the same value, as far as they can tell."""
        if self.differed or self.agreed == 0:
            return False
        enough = self.agreed >= _AGREED and len(self.agreed_on) == _AGREED_ON
        return enough or (not self.discrete and self.agreed > self.shared)

    @property
    def untested(self) -> bool:
        """Whether too few evaluations were repeated to say if there is noise."""
        return self.differed == 0 and not self.deterministic

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
