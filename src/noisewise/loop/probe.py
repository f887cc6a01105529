"""How noisy is my objective where I am about to search?"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from noisewise import executors
from noisewise._check import arguments, check_seed, integer, one_of, suggesting
from noisewise._types import FloatArray
from noisewise.cma.covariance import Diagonal
from noisewise.cma.strategy import Strategy
from noisewise.cma.weights import Log
from noisewise.executors import Evaluator
from noisewise.executors.base import EvaluationTimeout, Limits
from noisewise.measured import pairs
from noisewise.measured.intervals import t_quantile
from noisewise.measured.samples import footrule, kendall, ranks, top_mu
from noisewise.methods.method import default_population
from noisewise.problem import given
from noisewise.problem.space import Space, name_problem
from noisewise.problem.trial import Trial
from noisewise.problem.values import as_measured
from noisewise.run import comparison
from noisewise.run.reserve import reserve
from noisewise.run.seeds import AUTO, COMMON, GAIN, INDEPENDENT, MODES, Seeds, agreement

#: Above this P noise decides the ranks; rankings without anything in common have 1/3.
_NOISY, _VERY_NOISY = 0.12, 0.22
#: The advice says what it would cost to put all but this share of pairs in the right order.
_SHARE = 0.05
#: An answer is measured finely if its error is this part of the spread at the start.
_FINE = 0.1


@dataclass(frozen=True)
class ProbeReport:
    """Disagreement of two rankings of the same points.

    P
        Normalised rank disagreement, 0 to 1/2; 1/3 is what pure noise gives.
    kendall
        Fraction of pairs whose order changed.
    top_mu
        Fraction of points that moved into or out of the better half.
    nfev
        Evaluations spent.
    noise, spread
        Standard deviation of the noise, and that of the points' values without it.
    seeds
        How the seeds of the two rankings were shared; None: the probe handed out none.
    agreement
        With ``seeds="auto"``, cosine of the mean steps by the two rankings, for either kind.

    Where no evaluation succeeded, all but ``nfev`` are nan.

    >>> import noisewise as nw
    >>> nw.ProbeReport(P=0.0, kendall=0.0, top_mu=0.0, nfev=20).advice.split(": ")[1]
    'noise does not matter at this scale.'
    """

    P: float
    kendall: float
    top_mu: float
    nfev: int
    noise: float = field(default=math.nan, compare=False)
    spread: float = field(default=math.nan, compare=False)
    dimension: int = field(default=1, compare=False)
    seeds: str | None = field(default=None, compare=False)
    agreement: dict[str, float] = field(default_factory=dict, compare=False)

    def enough(self, budget: int) -> str:
        """Whether a run with this budget can tell how good its answer is, in a sentence: how
        precisely it would measure the answer, compared with what values differ by at the start.

        >>> import noisewise as nw
        >>> probed = nw.ProbeReport(P=0.2, kendall=0.3, top_mu=0.2, nfev=40, noise=1.0, spread=2.0)
        >>> probed.enough(400).split(": ")[1]
        'coarse; confirm=102 would measure it to a tenth'
        """
        if not self.noise >= 0.0 or not self.spread >= 0.0:
            return "too few evaluations succeeded to say whether a budget is enough"
        if self.noise == 0.0:
            return "no noise was seen: every value is as good as it looks, whatever the budget"
        n = max(2, reserve(budget, self.dimension).confirm)
        half = self._error(n)
        said = (
            f"a run with {budget} evaluations would measure its answer with {n} of them, to about "
            f"+- {half:.2g}"
        )
        if not self.spread > 0.0:
            return f"{said}: no difference between points was seen at the start"
        said += f", {half / self.spread:.0%} of the spread of values at the start"
        if half <= _FINE * self.spread:
            return f"{said}: fine enough to tell how much was gained"
        wanted = n
        while self._error(wanted) > _FINE * self.spread and wanted < budget:
            wanted = math.ceil(1.05 * wanted)
        if wanted <= budget // 2:
            return f"{said}: coarse; confirm={wanted} would measure it to a tenth"
        return f"{said}: too coarse, and too few evaluations to measure it to a tenth"

    def smallest_gain(self, budget: int) -> float:
        """The true gain over today's setting that a run with ``incumbent=`` and this budget shows
        in four runs of five; nan where the noise is not known. Common seeds show smaller ones.

        >>> import noisewise as nw
        >>> probed = nw.ProbeReport(P=0.2, kendall=0.3, top_mu=0.2, nfev=40, noise=0.49)
        >>> f"{probed.smallest_gain(3000):.3f}"
        '0.079'
        """
        kept = comparison.reserve(reserve(budget, self.dimension), budget, exact=False)
        return comparison.smallest_gain(self.noise, kept.confirm // 2)

    def _error(self, n: int) -> float:
        """Half the length of the interval to expect of ``n`` confirmations."""
        return t_quantile(n - 1) * self.noise / math.sqrt(n)

    @property
    def advice(self) -> str:
        """What follows, in a sentence or two."""
        return f"{self._advice()}{self._about_seeds()}"

    def _about_seeds(self) -> str:
        if not self.agreement:
            return ""
        a, b = self.agreement[COMMON], self.agreement[INDEPENDENT]
        if math.isnan(a + b):
            return ""
        return (
            f" The two steps that the rankings suggest agree by {a:.2f} with common seeds and by "
            f"{b:.2f} with independent ones; the figures are those of {self.seeds} seeds."
        )

    def _advice(self) -> str:
        if np.isnan(self.P):
            return "no evaluation succeeded: nothing is known about the noise."
        share = f"ranks of repeated evaluations disagree by {self.P:.0%}"
        if self.P == 0.0:
            return f"{share}: noise does not matter at this scale."
        if self.P < _NOISY:
            return (
                f"{share}: noise hardly matters yet. It may later, when steps get small: "
                'method="auto" watches for that.'
            )
        strength = "matters" if self.P < _VERY_NOISY else "dominates"
        return (
            f'{share} (pure noise would give 33 %): noise {strength}. Use method="auto" and '
            "spend evaluations on more candidates per generation rather than on repeating each"
            f"{self._price()}."
        )

    def evaluations_for(self, target: float) -> float:
        """About how many evaluations of each candidate it takes until at most a share ``target``
        of all pairs is in the wrong order; inf where the two rankings have nothing in common.

        >>> import noisewise as nw
        >>> report = nw.ProbeReport(P=0.2, kendall=1 / 3, top_mu=0.2, nfev=40)
        >>> report.evaluations_for(0.05), report.evaluations_for(0.2)
        (40.0, 2.0)
        """
        return math.nan if np.isnan(self.kendall) else pairs.evaluations_for(target, self.kendall)

    def _price(self) -> str:
        k = self.evaluations_for(_SHARE)
        if math.isinf(k):
            return ": no number of repeats would order them"
        return f": ordering {1 - _SHARE:.0%} of all pairs rightly would take about {k:.0f} each"


@suggesting
def probe(
    fun: Callable[..., Any],
    x0: Any = None,
    *,
    bounds: Any = None,
    space: Space | Mapping[str, Any] | None = None,
    sigma0: float | None = None,
    n: int | None = None,
    rng: Any = None,
    args: tuple[Any, ...] = (),
    workers: int = 1,
    executor: Any = None,
    timeout: float | None = None,
    retries: int = 2,
    seeds: str | None = None,
) -> ProbeReport:
    """Evaluate ``n`` points from the initial search distribution twice each and compare ranks.

    Costs 2n evaluations; n is the default population size if not given. With ``seeds`` the
    objective gets ``seed=``, as in `noisewise.minimize`: ``"independent"`` ones, or ``"common"``
    ones, where all points of a ranking share theirs and the other ranking has another one.
    ``"auto"`` does both, for 4n evaluations; the report has the figures of common seeds if the
    steps that their two rankings suggest agree better by 0.1, else those of independent ones.

    An evaluation that fails (nan, +inf or ``timeout`` exceeded) ranks last; an exception is raised
    as it is. ``space``, ``args``, ``workers``, ``executor``, ``timeout`` and ``retries`` are those
    of `noisewise.minimize`.

    >>> import numpy as np, noisewise as nw
    >>> nw.probe(lambda x: x @ x, np.ones(5), sigma0=1.0, rng=0).P
    0.0
    """
    if seeds is not None:
        check_seed(fun, one_of("seeds", seeds, MODES))
    named, x0, bounds = name_problem(space, x0, bounds)
    fun = fun if named is None else named.objective(fun)
    box, mean, sigma = given.describe(x0, bounds, sigma0)
    d = len(mean)
    k = default_population(d) if n is None else integer("n", n, least=2)
    strategy = Strategy(d, Diagonal())
    search, _ = given.generators(rng)
    state = strategy.start(mean, sigma)
    kinds = (INDEPENDENT, COMMON) if seeds == AUTO else (seeds,)
    handed_out = _handed_out(kinds, k, search)
    Z = box.repaired(strategy.sample(state, k, search))
    X = np.tile(box.outer(Z), (2 * len(kinds), 1))
    limits = Limits(timeout, retries)
    with executors.start(
        fun, arguments("args", args), False, workers, executor, seeds is None, limits
    ) as evaluator:
        values = _values(evaluator, X, handed_out).reshape(len(kinds), 2, k)
    kind, agreed = seeds, {}
    if seeds == AUTO:
        steps = [agreement(Z - mean, v.T, Log().weights(k)) for v in values]
        agreed = {INDEPENDENT: steps[0], COMMON: steps[1]}
        kind = COMMON if agreed[COMMON] > agreed[INDEPENDENT] + GAIN else INDEPENDENT
    a, b = values[kinds.index(kind)]
    spent = len(X)
    if np.isposinf(values).all():
        return ProbeReport(np.nan, np.nan, np.nan, spent, seeds=kind, agreement=agreed)
    r_a, r_b = ranks(a), ranks(b)
    P, q, M = footrule(r_a, r_b), kendall(r_a, r_b), top_mu(r_a, r_b, k // 2)
    return ProbeReport(P, q, M, spent, *_deviations(*values[0]), d, kind, agreed)


def _handed_out(
    kinds: tuple[str | None, ...], k: int, stream: np.random.Generator
) -> list[int | None]:
    """Seeds of two rankings of ``k`` points of either kind, from a random stream from which nothing
    is drawn; None where the objective gets none."""
    out: list[int | None] = []
    for kind in kinds:
        ids = range(len(out), len(out) + 2 * k)
        if kind is None:
            out += [None] * (2 * k)
        elif kind == COMMON:
            out += [Seeds.of(kind, stream).of_round(0, slot) for slot in (0, 1) for _ in range(k)]
        else:
            out += [Seeds.of(kind, stream).of_trial(id) for id in ids]
    return out


def _deviations(a: FloatArray, b: FloatArray) -> tuple[float, float]:
    """Standard deviations of the noise and of the values without it, from two values per point."""
    both = np.isfinite(a) & np.isfinite(b)
    a, b = a[both], b[both]
    if len(a) < 2:
        return math.nan, math.nan
    noise = float(np.mean((a - b) ** 2)) / 2.0
    spread = float(np.var((a + b) / 2.0, ddof=1)) - noise / 2.0
    return math.sqrt(noise), math.sqrt(max(0.0, spread))


def _values(evaluator: Evaluator, X: FloatArray, seeds: list[int | None]) -> FloatArray:
    """The value of each row under its seed, +inf where it failed."""
    values = np.full(len(X), np.inf)
    pairs = zip(X, seeds, strict=True)
    trials = [Trial(i, x.copy(), "candidate", seed=s) for i, (x, s) in enumerate(pairs)]
    for outcome in evaluator.evaluated(trials):
        if outcome.error is None:
            values[outcome.id] = as_measured(outcome.value)[0]
        elif not isinstance(outcome.error, EvaluationTimeout):
            raise outcome.error
    return values
