"""Seeds for the objective's random numbers, handed out with each trial.

| symbol | meaning |
|---|---|
| key | 64 bits that tell runs apart; follows from the run's ``rng`` |
| seed | hash of (key, trial), or of (key, round, slot) where candidates share seeds |
| s_1, s_2 | mean step of a round by the ranks of its first and of its second values |
| a | cosine of s_1 and s_2: 0 where ranks are noise, 1 where noise does not matter |

A model proposes few candidates at a time: in its rounds a few seeds take turns (`seeding`), and it
learns what each of them adds to all values.

A seed is a pure function of these numbers: nothing grows, and a resumed run hands out the same.

``"auto"`` compares how well two independent evaluations of whole rounds agree on the mean step:
where the budget pays for forty rounds, the first four and two of every 24 that follow are evaluated
twice, in turn under two seeds that all candidates share and under seeds of their own. Candidates
share seeds once the mean of a over the newest four such rounds is larger that way by 0.1 and by its
standard error, until it is smaller. The order of single candidates cannot decide this: the shared
part of the error changes no order within a round and does not average out over it either.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray

INDEPENDENT, COMMON, AUTO = MODES = ("independent", "common", "auto")
#: Seeds lie below this: they are non-negative in 32 bits with and without a sign.
BELOW = 2**31
#: The first four rounds are compared, and two of every 24 that follow.
_FIRST, _EVERY = 4, 24
#: Rounds that the budget must still pay for before the first comparison, and before later ones.
_LEAST_ROUNDS, _LEAST_LATER = 40, 8
#: Comparisons of either kind that count, and by how much common seeds must be better.
_KEPT, GAIN = 4, 0.1


@data
@dataclass(slots=True)
class Seeds:
    """Which seeds a run hands out.

    >>> seeds = Seeds("common", key=1)
    >>> seeds.of_round(0, 0) == seeds.of_round(0, 0), seeds.of_round(0, 0) == seeds.of_round(0, 1)
    (True, False)
    """

    mode: str
    key: int
    #: For "auto": a of the newest rounds compared, and what was decided ("" before that).
    common: list[float] = field(default_factory=list)
    independent: list[float] = field(default_factory=list)
    decided: str = ""

    @classmethod
    def of(cls, mode: str, stream: np.random.Generator) -> Seeds:
        """For a run with this random stream, from which nothing is drawn."""
        return cls(mode, _hashed(repr(stream.bit_generator.state), 8))

    def of_trial(self, id: int) -> int:
        """The seed of a trial that shares it with no other."""
        return _hashed(f"{self.key} trial {id}", 4) % BELOW

    def of_round(self, round: int, slot: int) -> int:
        """The seed of evaluation ``slot`` of every candidate of a round."""
        return _hashed(f"{self.key} round {round} {slot}", 4) % BELOW

    def compares(self, round: int) -> bool:
        """Whether this round is one of those that decide, if it can be evaluated twice."""
        return self.mode == AUTO and (round < _FIRST or round % _EVERY < 2)

    def shared(self, round: int, compared: bool) -> bool:
        """Whether the candidates of a round share their seeds; ``compared`` rounds take turns."""
        if compared:
            return round % 2 == 0
        return COMMON in (self.mode, self.decided)

    @property
    def begun(self) -> bool:
        """Whether a round was compared already."""
        return bool(self.common or self.independent)

    def compared(self, shared: bool, agreement: float) -> None:
        """After a round that was evaluated twice; nan: it says nothing."""
        if math.isnan(agreement):
            return
        newest = self.common if shared else self.independent
        newest.append(agreement)
        del newest[:-_KEPT]
        if min(len(self.common), len(self.independent)) < 2:
            return
        a, b = np.array(self.common), np.array(self.independent)
        gain = float(a.mean() - b.mean())
        se = math.sqrt(float(a.var(ddof=1)) / len(a) + float(b.var(ddof=1)) / len(b))
        if gain > max(GAIN, se):
            self.decided = COMMON
        elif gain < 0.0 or not self.decided:
            self.decided = INDEPENDENT

    def said(self) -> str:
        """What was decided and why, in a few words; empty where the user decided."""
        if self.mode != AUTO:
            return ""
        if not self.common or not self.independent:
            return "seeds: independent (not compared)"
        a, b = (f"{np.mean(x):.2f}" for x in (self.common, self.independent))
        seen = f"two mean steps agree by {a} with common and {b} with independent ones"
        return f"seeds: {self.decided or 'undecided'}, {seen}"


def affordable(free: int, candidates: int, begun: bool) -> bool:
    """Whether so many evaluations are enough to spare some for a comparison; ``begun``: whether
    it is not the first one."""
    return candidates >= 4 and free >= (_LEAST_LATER if begun else _LEAST_ROUNDS) * candidates


def agreement(Z: FloatArray, values: FloatArray, profile: FloatArray) -> float:
    """a: cosine of the mean steps by the first and by the second column of ``values``, (k, r).
    ``Z`` are the candidates in units of the search distribution, (k, d). Candidates without both
    values are left out; nan for fewer than three."""
    both = np.isfinite(values[:, :2]).all(axis=1)
    k = int(both.sum())
    if k < 3:
        return math.nan
    Z = Z[both] - Z[both].mean(axis=0)  # else two random rankings would agree on the average
    steps = [_weights(values[both, j], profile[:k]) @ Z for j in (0, 1)]
    size = float(np.linalg.norm(steps[0]) * np.linalg.norm(steps[1]))
    return float(steps[0] @ steps[1]) / size if size > 0.0 else math.nan


def _weights(values: FloatArray, profile: FloatArray) -> FloatArray:
    out = np.empty(len(values))
    out[values.argsort(kind="stable")] = profile
    return out


def _hashed(text: str, size: int) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=size).digest(), "big")
