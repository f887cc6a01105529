"""RB-PEM and its rivals in the variant that produced the published numbers ("as run").

It departs from the algorithm of the paper's text in many points, each marked "as run" below.
It is kept to reproduce and explain the published tables, not to be used.

    symbol      meaning                                                   shape
    m, C        mean and diagonal covariance of the search distribution   (d,)
    sigma       step size                                                 scalar
    X           candidates, clipped to the box, in ask order              (n, d)
    draws       every value seen; nan where a point was drawn only once   (n, 1 + k_max)
    y           first draw; median where there are more                   (n,)
    w           weights of the candidates, summing to one                 (n,)
    me          1 / sum w^2, the effective number of parents              scalar
    s0, s1      noise scale s(y) = s0 + s1 |y|                            scalars

What is recommended is not defined by the published runs, which scored the best point ever
evaluated by its noise-free value; here it is the mean of the distribution, or with
``returns="safe"`` the best mean before any restart, as `DiagonalES.safe` says.
"""

from __future__ import annotations

import argparse
import ast
import math
import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Literal

import numpy as np
import numpy.typing as npt

from .peers import Outcome, cmaes, pycma
from .problem import FloatArray, Method, Oracle
from .record import Recorder

IntArray = npt.NDArray[np.intp]

STALL: Final = 80  # generations without a better value before a restart
POOL: Final = 512
CLIP: Final = 10.0
MIN_RESIDUALS: Final = 6  # as run: fewer in a generation are thrown away
LAST: Final = 10  # generations by whose values a mean is judged; not as run


def seed_of(function: int, instance: int, dimension: int, offset: int = 0) -> int:
    """The published seed of a run on a bbob-noisy problem."""
    return 1000003 * function + 1009 * instance + 7 * dimension + offset


def ranks(values: FloatArray) -> IntArray:
    """0-based ranks along the last axis, ties by index."""
    return np.argsort(np.argsort(values, axis=-1, kind="stable"), axis=-1, kind="stable")


@dataclass
class DiagonalES:
    """Step-size and diagonal covariance adaptation, restarted when it stalls."""

    oracle: Oracle
    rng: np.random.Generator
    restarts: bool = True
    capped: bool = True
    best: float = np.inf
    stalled: int = 0

    def __post_init__(self) -> None:
        self.recent: deque[FloatArray] = deque(maxlen=LAST)  # first draws since the last restart
        self.legs: list[tuple[float, FloatArray]] = []  # how every leg before a restart ended
        d = self.oracle.dimension
        self.lam = 4 + math.floor(3 * math.log(d))
        self.mu = self.lam // 2
        self.chi = math.sqrt(d) * (1 - 1 / (4 * d) + 1 / (21 * d * d))
        if self.oracle.bounds is None:  # never so in the published runs
            self.low, self.high = np.full(d, -np.inf), np.full(d, np.inf)
            self.width = self.oracle.sigma0 / 0.3
        else:
            self.low, self.high = self.oracle.bounds
            self.width = float(np.min(self.high - self.low))
        self._start(self.oracle.x0)

    def _start(self, m: FloatArray) -> None:
        self.m, self.sigma, self.t = m, self.oracle.sigma0, 0
        self.C, self.pc, self.ps = np.ones_like(m), np.zeros_like(m), np.zeros_like(m)

    def ask(self, n: int) -> FloatArray:
        Z = self.rng.standard_normal((n, len(self.m)))
        # as run: the clipped points are evaluated and used in the update
        return np.clip(self.m + self.sigma * np.sqrt(self.C) * Z, self.low, self.high)

    def tell(self, X: FloatArray, w: FloatArray, y_best: float) -> None:
        """Update the distribution from weighted candidates, then restart if it stalled."""
        # as run: full-matrix rates on a diagonal, from the weights of this generation
        n, me = len(self.m), 1 / float(np.sum(w**2))
        cc = (4 + me / n) / (n + 4 + 2 * me / n)
        cs = (me + 2) / (n + me + 5)
        c1 = 2 / ((n + 1.3) ** 2 + me)
        cmu = min(1 - c1, 2 * (me - 2 + 1 / me) / ((n + 2) ** 2 + me))
        ds = 1 + 2 * max(0.0, math.sqrt((me - 1) / (n + 1)) - 1) + cs

        # as run: one Weiszfeld step to the weighted geometric median, not the weighted mean
        D = X - self.m
        a = w / (np.linalg.norm(D, axis=1) + 1e-12 * (1 + self.width))
        m = np.clip(a @ X / a.sum(), self.low, self.high)
        step = (m - self.m) / self.sigma

        self.t += 1
        self.ps = (1 - cs) * self.ps + math.sqrt(cs * (2 - cs) * me) * step / np.sqrt(self.C)
        length = float(np.linalg.norm(self.ps)) / self.chi
        h = length / math.sqrt(1 - (1 - cs) ** (2 * self.t)) < 1.4 + 2 / (n + 1)
        self.pc = (1 - cc) * self.pc + h * math.sqrt(cc * (2 - cc) * me) * step
        keep = 1 - c1 - cmu + (1 - h) * c1 * cc * (2 - cc)
        self.C = keep * self.C + c1 * self.pc**2 + cmu * (w @ (D / self.sigma) ** 2)
        self.C = np.maximum(self.C, 1e-300)
        sigma = self.sigma * math.exp(cs / ds * (length - 1))
        cap = 0.5 * self.width if self.capped else np.inf
        self.sigma = float(np.clip(sigma, 1e-14 * self.width, cap))
        self.m = m
        self._restart_if_stalled(y_best)

    def _restart_if_stalled(self, y_best: float) -> None:
        # as run: most d = 40 runs restart; the best value so far outlives the restart
        self.stalled = 0 if y_best < self.best else self.stalled + 1
        self.best = min(self.best, y_best)
        if self.restarts and self.stalled >= STALL:
            self.stalled = 0
            self.legs.append(self._leg())
            self.recent.clear()
            x0, half = self.oracle.x0, self.width / 2
            low = np.where(np.isfinite(self.low), self.low, x0 - half)
            high = np.where(np.isfinite(self.high), self.high, x0 + half)
            self._start(self.rng.uniform(low, high))

    def _leg(self) -> tuple[float, FloatArray]:
        """Median of the values around the mean, and the mean; +inf where there are none."""
        return (float(np.median(np.concatenate(self.recent))) if self.recent else np.inf), self.m

    def safe(self) -> FloatArray:
        """Of the means at the end of every leg between restarts the one whose last generations
        had the smallest median value: what the run itself knows, without the truth."""
        return min([*self.legs, self._leg()], key=lambda leg: leg[0])[1]


@dataclass
class NoiseModel:
    """Noise scale and a pool of standardised residuals, learned from re-evaluated points."""

    kind: Literal["absolute", "variance"]
    rng: np.random.Generator
    coefficients: FloatArray = field(default_factory=lambda: np.zeros(2))
    pool: FloatArray = field(default_factory=lambda: np.empty(0))
    patient: bool = True
    newest: bool = False

    def scale(self, y: FloatArray) -> FloatArray:
        base, slope = self.coefficients
        if self.kind == "variance":
            return np.asarray(np.sqrt(base + slope * y**2))
        return np.asarray(base + slope * np.abs(y))

    def learn(self, draws: FloatArray, centre: FloatArray) -> None:
        """Fit the scale to this generation's residuals about ``centre`` and pool them."""
        again = np.isfinite(draws[:, -1])
        centre = np.repeat(centre[again], draws.shape[1])
        residual = draws[again].ravel() - centre
        if len(residual) < (MIN_RESIDUALS if self.patient else 1):
            return
        size, target = np.abs(centre), np.abs(residual)
        if self.kind == "variance":
            size, target = size**2, target**2
        A = np.column_stack([np.ones_like(size), size])
        fit = np.maximum(np.linalg.lstsq(A, target, rcond=None)[0], 0.0)
        old = self.coefficients if self.patient or len(self.pool) else fit
        self.coefficients = 0.75 * old + 0.25 * fit  # as run: from zero
        z = residual / np.maximum(self.scale(centre), 1e-300)
        self.pool = np.concatenate([self.pool, np.clip(z, -CLIP, CLIP)])
        if self.newest:
            self.pool = self.pool[-POOL:]
        elif len(self.pool) > POOL:
            self.pool = self.rng.choice(self.pool, POOL, replace=False)

    def replicate(self, draws: FloatArray, n: int, medians: FloatArray | None = None) -> FloatArray:
        """``n`` synthetic value vectors (n, len(draws)), each around the observed values; around
        ``medians``, and without raw values, where they are given (not as run)."""
        centre = draws[:, 0] if medians is None else medians
        values = np.tile(centre, (n, 1))
        if len(self.pool):
            values += self.scale(centre) * self.rng.choice(self.pool, values.shape)
        if medians is not None:
            return values
        # as run: the centre is the observed value (no regression), and a re-evaluated point
        # has one of its raw values, with no noise added
        again = np.flatnonzero(np.isfinite(draws[:, 1:]).any(axis=1))
        columns = self.rng.integers(0, draws.shape[1], (n, len(again)))
        values[:, again] = draws[again, columns]
        return values


def flip_rate(
    first: FloatArray, again: FloatArray, band: IntArray, mu: int, per: int | None = None
) -> float:
    """How many of ``band`` leave or join the elite when they have the values of a row of
    ``again`` and the others their first, ``per`` that many (the elite's size).

    The published runs do not define it. Of two dozen definitions tried, that with a raw value
    drawn for each agrees best with their re-evaluations under strong noise and their regrets
    under weak noise, where it decides whether a pool ever forms. The obvious one, the share of
    the band that changes sides by its medians, does not.
    """
    values = np.tile(first, (len(again), 1))
    values[:, band] = again
    flipped = (ranks(values) < mu) != (ranks(first) < mu)
    return float(flipped[:, band].sum(axis=1).mean()) / (per or mu)


@dataclass(frozen=True)
class RBPEM:
    """RB-PEM as run. ``k_max`` is the number of extra draws *per re-evaluated point*."""

    weights: Literal["power-lift", "log"] = "power-lift"
    k_max: int = 1
    b_boot: int = 32
    noise_model: Literal["absolute", "variance"] = "absolute"
    restarts: bool = True  # False: not as run, to see what they are worth
    flips: Literal["drawn", "median"] = "drawn"  # "median": not as run, see `flip_rate`
    returns: Literal["last", "safe"] = "last"  # "safe": not spoilt by a late restart
    truncated: bool = True  # False: not as run, all averages are kept and not the mu largest
    raw: bool = True  # False: not as run, re-evaluated points are replicated like all others
    capped: bool = True  # False: not as run, the step size has no upper limit
    patient: bool = True  # False: not as run, scales are fitted at once, from any residuals
    newest: bool = False  # True: not as run, a full pool keeps its newest residuals
    band: int | None = None  # not as run: so many points are re-evaluated in every generation
    #: Called every generation with the strategy, the noise model, and draws and medians of the
    #: re-evaluated points.
    watch: Callable[[DiagonalES, NoiseModel, FloatArray, FloatArray], None] | None = None

    def __post_init__(self) -> None:
        if self.weights not in ("power-lift", "log"):
            raise ValueError(f"weights must be 'power-lift' or 'log', got {self.weights!r}")
        if self.noise_model not in ("absolute", "variance"):
            raise ValueError(
                f"noise_model must be 'absolute' or 'variance', got {self.noise_model!r}"
            )
        if self.flips not in ("drawn", "median"):
            raise ValueError(f"flips must be 'drawn' or 'median', got {self.flips!r}")
        if self.returns not in ("last", "safe"):
            raise ValueError(f"returns must be 'last' or 'safe', got {self.returns!r}")
        if self.k_max < 0 or self.b_boot < 1:
            raise ValueError(
                f"k_max must be at least 0 and b_boot at least 1, got {self.k_max}, {self.b_boot}"
            )

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        rng = np.random.default_rng([seed, 1])
        es = DiagonalES(oracle, rng, self.restarts, self.capped)
        noise = NoiseModel(self.noise_model, rng, patient=self.patient, newest=self.newest)
        flips, nit, reevaluations, start = 0.0, 0, 0, oracle.spent
        while oracle.remaining:
            X = es.ask(min(es.lam, oracle.remaining))
            draws = np.full((len(X), 1 + self.k_max), np.nan)
            draws[:, 0] = oracle(X)
            y = draws[:, 0].copy()
            band = self._band(es, y, flips, oracle.remaining)
            if len(band):
                extra = oracle(np.repeat(X[band], self.k_max, axis=0))
                draws[band, 1:] = extra.reshape(len(band), self.k_max)
                y[band] = np.median(draws[band], axis=1)
                noise.learn(draws, y)
                reevaluations += len(extra)
            values = noise.replicate(draws, self.b_boot, None if self.raw else y)
            if self.flips == "drawn":
                rate = flip_rate(draws[:, 0], values[:, band], band, es.mu)
            else:
                rate = flip_rate(draws[:, 0], y[None, band], band, es.mu, per=len(band))
            flips = 0.8 * flips + 0.2 * rate
            w = self._weights(es, (oracle.spent - start) / budget, values)
            if self.watch is not None:
                self.watch(es, noise, draws[band], y[band])
            es.recent.append(draws[:, 0])
            es.tell(X, w, float(np.min(y)))
            nit += 1
            oracle.report(es.safe() if self.returns == "safe" else es.m)
        return Outcome(es.safe() if self.returns == "safe" else es.m, nit, reevaluations)

    def _band(self, es: DiagonalES, y: FloatArray, flips: float, remaining: int) -> IntArray:
        """Candidates to re-evaluate: the first few of 0-based ranks mu - 2 to mu + 2.

        ``flips`` is a running mean of `flip_rate`.
        """
        if self.k_max == 0:
            return np.empty(0, dtype=np.intp)
        count = min(2 + round(flips * es.lam), math.floor(0.3 * es.lam))
        count = min(count if self.band is None else self.band, remaining // self.k_max)
        return np.argsort(y, kind="stable")[max(0, es.mu - 2) : es.mu + 3][:count]

    def _weights(self, es: DiagonalES, fraction: float, values: FloatArray) -> FloatArray:
        """Rank weights averaged over replicates; as run, only the mu largest averages stay."""
        r = np.arange(es.lam)
        if self.weights == "log":
            table = np.log(es.mu + 0.5) - np.log(r + 1)
        else:  # as run: power-lift, sharper as the budget is spent
            table = (1 - r / (es.lam - 1)) ** (1.2 + 2.8 * fraction)
        w: FloatArray = np.where(r < es.mu, table, 0.0)[ranks(values)].mean(axis=0)
        if self.truncated:
            w[ranks(-w) >= es.mu] = 0.0
        return np.asarray(w / w.sum())


@dataclass(frozen=True)
class ProbeSwitch:
    """Measure misranking with two draws of one population, then run RB-PEM or CMA-ES.

    Without ``warm`` nothing of the probe is used again. With it, draw one is CMA-ES' first
    generation, and the probe ends after four exact repetitions.
    """

    tau: float = 0.12
    warm: bool = False
    rb_pem: RBPEM = RBPEM()

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        return self._warm(oracle, seed) if self.warm else self._cold(oracle, seed)

    def _cold(self, oracle: Oracle, seed: int) -> Outcome:
        es = DiagonalES(oracle, np.random.default_rng([seed, 2]))
        X = es.ask(es.lam)
        if oracle.remaining <= 2 * len(X):  # no budget for a probe
            return pycma.CMA(diagonal=True)(oracle, oracle.remaining, seed)
        P = misranking(oracle(X), oracle(X))
        chosen: Method = self.rb_pem if self.tau <= P else pycma.CMA(diagonal=True)
        outcome: Outcome = chosen(oracle, oracle.remaining, seed)
        return outcome

    def _warm(self, oracle: Oracle, seed: int) -> Outcome:
        es = pycma.strategy(oracle, seed, diagonal=True)
        X = es.ask()
        if oracle.remaining > 2 * len(X):
            rows, first = np.array(X), oracle(np.array(X))
            far = np.argsort(-np.linalg.norm(rows - oracle.x0, axis=1), kind="stable")[:4]
            second = first.copy()
            second[far] = oracle(rows[far])
            if np.any(second != first):
                rest = np.setdiff1d(np.arange(len(X)), far)
                second[rest] = oracle(rows[rest])
                if misranking(first, second) >= self.tau:
                    return self.rb_pem(oracle, oracle.remaining, seed)
            es.tell(X, first)
            oracle.report(pycma.mean_of(es, oracle))
        return pycma.spend(es, oracle)


def misranking(first: FloatArray, second: FloatArray) -> float:
    """P = sum |rank difference| / lambda^2 between two draws of one population, in [0, 1/2]."""
    return float(np.sum(np.abs(ranks(first) - ranks(second)))) / len(first) ** 2


def get(name: str) -> Method:
    """The method of that name, e.g. ``rb-pem(k_max=0)``; see `NAMES` for those published."""
    parsed = re.fullmatch(r"([a-z-]+)(?:\((.*)\))?", name)
    if parsed is None or parsed[1] not in METHODS:
        raise ValueError(f"the method as run {name!r} is unknown; known are {', '.join(NAMES)}")
    call = ast.parse(f"f({parsed[2] or ''})", mode="eval").body
    assert isinstance(call, ast.Call)
    arguments = [ast.literal_eval(a) for a in call.args]
    options = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    method: Method = METHODS[parsed[1]](*arguments, **options)
    return method


METHODS: Final[dict[str, Callable[..., Method]]] = {
    "rb-pem": RBPEM,
    "rb-pem-log": partial(RBPEM, "log"),
    "probe-switch": ProbeSwitch,
    "probe-switch-log": partial(ProbeSwitch, rb_pem=RBPEM("log")),
    "probe-switch-warm": partial(ProbeSwitch, warm=True),
    "probe-switch-safe": partial(ProbeSwitch, rb_pem=RBPEM(returns="safe")),
    # pycma separable with its own box handling; no stop criterion is ever consulted
    "cma-es": partial(pycma.CMA, diagonal=True),
    "resample": lambda k: pycma.CMA(diagonal=True, samples=k),
    "uh-cma-es": lambda max_evaluations=30: pycma.UncertaintyHandling(max_evaluations, 0.0),
    "lra-cma-es": partial(cmaes.CMAES, "learning-rate adaptation"),
}
NAMES: Final = (
    *("rb-pem", "rb-pem(k_max=0)", "rb-pem(k_max=3)", "rb-pem(b_boot=16)", "rb-pem(b_boot=64)"),
    *("rb-pem(noise_model='variance')", "rb-pem-log"),
    *("probe-switch", "probe-switch(tau=0.22)", "probe-switch-log", "probe-switch-warm"),
    *("cma-es", "resample(5)", "resample(10)", "uh-cma-es(10)", "uh-cma-es(30)", "lra-cma-es"),
)

#: Median log10 regret of the best evaluated point, d = 40, B = 100 d, 15 instances: the
#: paper's table "Median log10 regret at B=100d across all 15 high-misranking COCO functions".
PUBLISHED: Final[dict[int, dict[str, float]]] = {
    function: dict(zip(("cma-es", "uh-cma-es(30)", "rb-pem", "probe-switch"), row, strict=True))
    for function, row in {
        108: (2.39, 2.46, 2.37, 2.36),
        110: (4.87, 5.35, 4.47, 4.53),
        111: (5.22, 5.48, 5.11, 5.09),
        113: (2.87, 3.05, 2.77, 2.75),
        114: (3.03, 3.16, 3.13, 3.06),
        116: (4.65, 4.99, 4.48, 4.54),
        117: (4.93, 4.98, 4.90, 4.89),
        119: (1.58, 1.74, 1.53, 1.50),
        120: (1.73, 1.84, 1.69, 1.68),
        122: (1.04, 1.14, 1.03, 1.04),
        123: (1.13, 1.19, 1.15, 1.15),
        125: (0.26, 0.36, 0.12, 0.10),
        126: (0.32, 0.39, 0.22, 0.21),
        128: (1.91, 1.92, 1.91, 1.90),
        129: (1.91, 1.91, 1.91, 1.91),
    }.items()
}


def best_evaluated(method: Method, function: int, instance: int, d: int = 40) -> float:
    """Log10 regret of the best point evaluated in one published run, B = 100 d."""
    from .problems.bbob_noisy import BBOBNoisy  # needed by this check alone

    problem, seed = BBOBNoisy(function, instance, d), seed_of(function, instance, d)
    recorder = Recorder(problem)
    oracle = Oracle(problem, 100 * d, np.random.default_rng([seed, 3]), recorder)
    outcome = method(oracle, 100 * d, seed)
    return math.log10(recorder.finish(outcome.x).best_evaluated_regret)


def check(names: list[str], instances: int) -> None:
    """Print measured medians beside the published ones, and the first method's wins."""
    print(f"median log10 best evaluated regret, {instances} instances: measured (published)")
    print("function", *(f"{name:>16}" for name in names))
    runs = np.empty((len(PUBLISHED), len(names), instances))
    for row, function in zip(runs, PUBLISHED, strict=True):
        for k, name in enumerate(names):
            row[k] = [best_evaluated(get(name), function, i + 1) for i in range(instances)]
        known = [PUBLISHED[function].get(name, math.nan) for name in names]
        medians = np.median(row, axis=1)
        cells = (f"{m:8.2f} ({p:5.2f})" for m, p in zip(medians, known, strict=True))
        print(f"f{function:<7}", *cells, flush=True)
    for k, name in enumerate(names[1:], start=1):
        wins = int(np.sum(runs[:, 0] < runs[:, k]))
        print(f"{names[0]} is better than {name} on {wins} of {runs[:, 0].size}")


def main() -> None:
    parser = argparse.ArgumentParser(description="The published methods as they were run.")
    parser.add_argument("--check", action="store_true", help="compare with the published table")
    parser.add_argument("--methods", nargs="+", default=["rb-pem", "cma-es"], metavar="NAME")
    parser.add_argument("--instances", type=int, default=3, help="1 to this one (published: 15)")
    arguments = parser.parse_args()
    if arguments.check:
        check(arguments.methods, arguments.instances)
    else:
        print(*NAMES, sep="\n")


if __name__ == "__main__":
    main()
