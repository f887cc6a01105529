"""How good is the answer of a run, and would more evaluations help?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from noisewise.measured import estimate as estimates
from noisewise.measured.estimate import Estimate
from noisewise.measured.evidence import Recent
from noisewise.run import reserve
from noisewise.run.search import Search
from noisewise.select import race

#: Candidates, at least, over which the variance of the newest values is measured.
_NEWEST = 20
#: Standard deviations that hold the middle nine tenths of normal values.
_NINE_TENTHS = 3.29
#: Decades of regret per doubling of the budget above which a search counts as making progress.
_PROGRESS = 0.3
#: A runner-up counts as worse from this many standard errors on.
_CLEAR = 2.0
#: Fewer values than this say nothing about the misranking, the noise or the spread.
ENOUGH = 5
#: A width of the search above this part of the first one means that it has hardly narrowed.
_NARROWED = 0.5
#: Share of the noise in the newest values above which a falling step size is no sign of progress.
_MOSTLY = 0.75
#: The noise differs between points if its standard deviation at the recommended one and that of
#: candidates that were evaluated again differ by more than this factor.
_SAME_NOISE = 3.0
#: A model's word about what is left to gain counts if the interval is at most this part of what the
#: values of the search differ by. Where it is longer, noise hides most of the function.
_RESOLVED = 0.5
#: An improvement below this part of what the values of the search differ by is not worth saying.
_NOTHING = 1e-3


class RunnerUp(NamedTuple):
    """The second of the final race: by how much its mean was worse than the winner's there, and
    the standard error of that. The race chose the winner, so the difference flatters it."""

    worse_by: float
    se: float


@dataclass(frozen=True)
class Outlook:
    """What a run knows about its answer besides the estimate. Numbers are in the units of the
    objective and do not depend on whether it is minimised or maximised; nan if unknown.

    >>> import noisewise as nw
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> r = nw.minimize(lambda x: x @ x + rng.normal(), [3.0] * 2, sigma0=1.0, budget=400, rng=0)
    >>> r.outlook.width_after(100) < r.interval[1] - r.interval[0]
    True
    """

    #: The estimate at the recommended point, with the numbers of successes and failures behind it.
    estimate: Estimate
    budget: int
    dimension: int
    #: Options, where a list of them was searched, else 0.
    options: int = 0
    runner_up: RunnerUp | None = None
    #: Share of the noise in the variance of the newest values that the search compared.
    noise_share: float = math.nan
    #: By how much the best point is better than the recommended one, as a model expects it.
    improvement: float = math.nan
    #: Decades of regret gained per evaluation at the end, by the fall of the step size.
    pace: float = math.nan
    #: How wide the search still was at the end, as a part of its first width.
    narrowed: float = math.nan
    #: Standard deviation of the noise at the candidates that were evaluated again.
    noise_elsewhere: float = math.nan
    #: Standard deviation of the values of the search, without the noise.
    spread: float = math.nan
    #: While the point is not measured: standard error of what the method takes for its value.
    error: float = math.nan

    @property
    def noise(self) -> float:
        """Standard deviation of the noise at the recommended point."""
        found = self.estimate
        known = found.kind in ("mean", "exact", "typical")
        return found.se * math.sqrt(found.n) if known else math.nan

    @property
    def swapped(self) -> float:
        """How often noise swaps two of the newest candidates that the search compared, each
        measured once: 0 without noise, 1/2 where there is nothing else. For normal values, from the
        share of the noise in their variance; nan if it is not known."""
        return math.asin(math.sqrt(self.noise_share)) / math.pi

    def width_after(self, more: int) -> float:
        """Length of the interval to expect if ``more`` evaluations measured the same point."""
        return estimates.expected_width(self.estimate, more)

    def width_of_longer_search(self, more: int) -> float:
        """Length of the interval to expect if the search had ``more`` evaluations and measured
        its answer with the default share of them. nan where the noise at that answer may be
        another: the noise differs between points, or nothing says that it does not and the search
        was still closing in."""
        n = self.estimate.n
        if self.noise_differs or (math.isnan(self.noise_elsewhere) and self._closing_in):
            return math.nan
        kept = reserve.reserve_for("auto", self.budget + more, self.dimension, self.options).confirm
        return estimates.expected_width(self.estimate, kept - n) if n and kept else math.nan

    def evaluations_for(self, width: float) -> int | None:
        """Further evaluations of the point after which the interval should be at most ``width``
        long; None if that cannot be said."""
        return estimates.evaluations_for(self.estimate, width)

    @property
    def _closing_in(self) -> bool:
        return self.pace * self.budget > _PROGRESS

    @property
    def noise_differs(self) -> bool:
        """Whether the noise at the recommended point is clearly not that of other candidates."""
        here, elsewhere = self.noise, self.noise_elsewhere
        return here > _SAME_NOISE * elsewhere or elsewhere > _SAME_NOISE * here

    @property
    def enough(self) -> str:
        """Whether the budget was enough, in a sentence; empty if that cannot be said."""
        if self.estimate.failed:
            return "all evaluations of the recommended point failed: more of them do not help"
        if not math.isnan(self.improvement) and self.estimate.n:
            return self._left()
        if math.isnan(self.pace):
            return ""
        if self._closing_in:
            if self.noise_share > _MOSTLY:
                return (
                    "the step size was still falling when the budget ended, but the newest values "
                    "differ by little but noise: more may help"
                )
            return "the search was still closing in when the budget ended: more should help"
        if self.narrowed > _NARROWED:
            return "the search had hardly narrowed when the budget ended: more should help"
        if self.estimate.kind == "exact":
            return "the step size no longer fell: more evaluations would gain little"
        return (
            "the step size no longer fell: more evaluations would gain slowly, by averaging noise"
        )

    def _left(self) -> str:
        """What a model expects to be left to gain, and whether its word counts."""
        width, left = self.estimate.width, self.improvement
        said = f"the model expects the best point to be better by about {left:.2g}"
        if not width > 0.0:
            return said if left > _NOTHING * self.spread else ""
        if not width <= _RESOLVED * self.spread:
            return f"{said}, but the interval is too long to check that: more may well help"
        if left <= 0.5 * width:
            return f"{said}, too little to tell from the noise"
        return f"{said}: a longer search may find it"

    def sentences(self, more: int | None = None) -> list[str]:
        """What is behind the answer and what ``more`` evaluations (default: as many again) would
        buy."""
        return [one for one in (self._rival(), self._noise(), self._more(more), self.enough) if one]

    def _rival(self) -> str:
        if self.runner_up is None:
            return ""
        by, se = self.runner_up
        clear = "" if by > _CLEAR * se else ", not clearly different"
        how = f"worse by {by:.2g}" if by >= 0.0 else f"better by {-by:.2g}"
        return f"the runner-up of the final race was {how} (standard error {se:.2g}{clear})"

    def _noise(self) -> str:
        if self.noise_differs:
            return (
                f"the standard deviation of the noise is {self.noise:.2g} at this point and was "
                f"{self.noise_elsewhere:.2g} at others"
            )
        if math.isnan(self.noise_share):
            return ""
        if self.estimate.kind == "exact":
            return "no noise was seen: re-evaluations agree"
        said = f"the standard deviation of the noise is {self.noise:.2g} at this point"
        part = _part(self.swapped)
        return f"{said}: it puts {part} of the pairs of new candidates in the wrong order"

    def _more(self, more: int | None) -> str:
        more, width = more or self.budget, self.estimate.width
        if self.estimate.kind == "exact" or not width > 0.0:
            return ""
        longer = self.width_of_longer_search(more)
        said = (
            f"{more} more evaluations of this point would narrow its interval from a length of "
            f"{width:.2g} to about {self.width_after(more):.2g}"
        )
        if longer < width:
            said += f"; a search with {more} more would end with a length of about {longer:.2g}"
        return said


def _part(share: float) -> str:
    return "less than 1 %" if share < 0.01 else f"{100.0 * share:.0f} %"


def of(search: Search, found: Estimate) -> Outlook:
    """The outlook of a run whose estimate is ``found``."""
    run = search.run
    out = Outlook(
        found,
        run.ledger.budget,
        run.setup.dimension,
        0 if run.setup.options is None else len(run.setup.options),
        None if run.final is None else _runner_up(run.final.race),
    )
    history = run.history.as_dict()
    known = np.isfinite(history.get("sigma", np.empty(0)))
    if known.any():
        evaluations, sigma = history["evaluations"][known], history["sigma"][known]
        out = replace(out, pace=reserve.pace(evaluations, sigma), narrowed=_narrowed(search))
    ledger = run.ledger
    repeats = 1.0 + ledger.reevaluation / max(1, ledger.base)
    share = _noise_share(run.evidence.recent, out.noise**2 / repeats)
    model = search.method.explain(run.memory).predictions if search.done else None
    elsewhere = _noise_of_pairs(run.evidence.recent)
    error = math.nan if found.n else search.method.recommend(run.memory).se
    out = replace(out, noise_elsewhere=elsewhere, error=error)
    return replace(
        out,
        # The noise of this point says nothing about that of other ones.
        noise_share=math.nan if out.noise_differs else share,
        improvement=math.nan if model is None else model.improvement(),
        spread=_spread(run.evidence.recent, out.noise**2 / repeats),
    )


def _narrowed(search: Search) -> float:
    """The width of the search distribution over that at the start, the geometric mean over the
    coordinates."""
    found, first = search.method.distribution(search.run.memory), search.run.setup.sigma
    if found is None:
        return math.nan
    variances = found.C if found.C.ndim == 1 else np.diagonal(found.C)
    ratios = found.sigma * np.sqrt(variances) / first
    return float(np.exp(np.mean(np.log(ratios)))) if (ratios > 0.0).all() else math.nan


def _runner_up(told: race.Race) -> RunnerUp | None:
    """The finalist that came second, where the race was run."""
    if told.values.shape[1] == 0 or len(told.alive) < 2:
        return None
    se, lead = race.difference(told.values, told.errors, told.alive[1], told.median)
    return None if math.isnan(se) else RunnerUp(lead if told.winner else -lead, se)


def _noise_share(seen: Recent, noise: float) -> float:
    """Variance of the noise over that of the newest values, at most one."""
    if not seen.rounds or math.isnan(noise):
        return math.nan
    k = max(_NEWEST, len(seen.rounds[-1][1]))
    values = seen.points(2 * k)[1]  # twice as many: some have failed
    good = values[np.isfinite(values)]
    if len(good) < 2:
        return math.nan
    variance = float(np.var(good[-k:], ddof=1))
    return min(1.0, noise / variance) if variance > 0.0 else math.nan


def _spread(seen: Recent, noise: float) -> float:
    """Standard deviation of all values that are kept, without the noise; from quantiles, because a
    few points may be very bad."""
    values = seen.points()[1] if seen.rounds else np.empty(0)
    good = values[np.isfinite(values)]
    if len(good) < ENOUGH or math.isnan(noise):
        return math.nan
    low, high = np.quantile(good, (0.05, 0.95))
    return math.sqrt(max(0.0, ((high - low) / _NINE_TENTHS) ** 2 - noise))


def _noise_of_pairs(seen: Recent) -> float:
    """Standard deviation of the noise from the first two values of candidates that were evaluated
    again; nan for too few."""
    pairs = [values[:, :2] for _, values in seen.rounds if values.shape[1] > 1]
    if not pairs:
        return math.nan
    both = np.concatenate(pairs)
    d = np.diff(both[np.isfinite(both).all(axis=1)])
    return float(np.sqrt(0.5 * np.mean(d * d))) if len(d) >= ENOUGH else math.nan
