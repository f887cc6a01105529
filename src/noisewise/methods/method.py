"""The interface of a method: pure functions on its memory.

            size, propose          (evaluate)*           learn                 recommend
memory -------------------> Population ------> Population ------> memory', Info ---------> point
                                 ^-- request: evaluate these (again)

The loop that calls them, round by round, is `noisewise.run.search`:

1. `size` says how many candidates the next round has, `propose` makes them.
2. `request` names the candidates to evaluate. It is asked again when these values are there, so
   that a method can re-evaluate some of them, until it names none.
3. `learn` turns memory and evaluated population into the next memory, or says that another method
   goes on (`Handover`).

A method is a frozen dataclass of options. All that it remembers is its *memory*, a dataclass
registered with `noisewise.plugin.data`, so that a run can be saved and resumed exactly. The memory
belongs to the run: `learn` may change it in place and returns it. Random numbers come from the
generator that is handed in and from nowhere else.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from noisewise._data import data
from noisewise._types import FloatArray, IntArray
from noisewise.measured.population import Population
from noisewise.problem.box import Box
from noisewise.problem.earlier import Earlier
from noisewise.problem.layout import Layout
from noisewise.problem.options import Options

NOTHING: IntArray = np.empty(0, dtype=np.intp)
#: Eigenvalues of a covariance are at least this part of the largest one.
_SMALLEST = 1e-14
#: What the estimate of the answer may mean.
TARGETS = ("mean", "median")


@data
@dataclass(frozen=True)
class Setup:
    """What is known before the first evaluation: the box, the start (``mean``, inner coordinates)
    and its step size, and the search's budget."""

    box: Box
    mean: FloatArray
    sigma: float
    budget: int
    #: Evaluations kept from the search, for a race of finalists and to measure its winner.
    race: int = 0
    confirm: int = 0
    #: Trials that are handed out at a time; 0: as many as there are.
    batch: int = 0
    #: Whether the library decides how many, and gives them back where there is no noise.
    adaptive: bool = False
    #: Whether the candidates of a round share their seeds, and whether the run is to find out.
    common: bool = False
    compares: bool = False
    #: What the estimate of the answer means, one of `TARGETS`.
    target: str = "mean"
    #: `Method.race_part`.
    race_part: float = 0.0
    #: The points that there are, where the problem is a list of them that the method searches.
    options: Options | None = None
    #: How coordinates make up parameters; None: each is a number without steps.
    layout: Layout | None = None
    #: Whether the user gave the start, all coordinates are numbers, and the method `keeps_start`.
    given: bool = False

    @property
    def dimension(self) -> int:
        return len(self.mean)

    @property
    def evaluations(self) -> int:
        """Evaluations of the whole run."""
        return self.budget + self.race + self.confirm

    @property
    def parameters(self) -> int:
        """Number of parameters that vary; a choice has several coordinates."""
        return self.dimension if self.layout is None else self.layout.columns

    @property
    def choices(self) -> int:
        """Number of parameters that are choices."""
        return 0 if self.layout is None else len(self.layout.choices)


class Now(NamedTuple):
    """Where the run stands: evaluations that the search may still ask for, and had at first."""

    free: int
    budget: int


class Size(NamedTuple):
    """Candidates of a round, and the evaluations that each is expected to cost.

    ``singly``: where candidates are asked for one after the other while others are under way, the
    method learns from each of them alone.
    """

    candidates: int
    cost: float = 1.0
    singly: bool = False


class Info(NamedTuple):
    """What a round says about itself.

    row
        Values of the method's `columns`, for the history.
    repeated
        Values that a list's options had in earlier rounds beside those of this one, a row each;
        None: only values of this round are repetitions of each other.
    """

    row: tuple[float, ...] = ()
    repeated: FloatArray | None = None


class Distribution(NamedTuple):
    """A search distribution N(mean, sigma^2 C) in inner coordinates; C is (n, n), or (n,) if it is
    diagonal."""

    mean: FloatArray
    sigma: float
    C: FloatArray

    def whiten(self, Y: FloatArray) -> FloatArray:
        """C^(-1/2) Y for rows, but for a rotation. Between two decompositions updates may have made
        an eigenvalue of C negative; its size counts then."""
        if self.C.ndim == 1:
            return np.asarray(Y / np.sqrt(self.C))
        try:
            return np.asarray(np.linalg.solve(np.linalg.cholesky(self.C), Y.T).T)
        except np.linalg.LinAlgError:
            D2, B = np.linalg.eigh(self.C)
            D2 = np.abs(D2)
            return np.asarray(Y @ B / np.sqrt(np.maximum(D2, _SMALLEST * D2.max())))


class Recommended(NamedTuple):
    """The point to use (inner coordinates), what the method takes for the value there, and the
    standard error that it expects. Only evaluations of the point itself say how sure that is."""

    x: FloatArray
    fun: float = math.nan
    se: float = math.nan


class Handover(NamedTuple):
    """Another method goes on, one of `Method.successors`. `start`, `learn` and `resume` may return
    it in the place of a memory.

    method, memory
        The other method and its memory, begun from the distribution that is handed over.
    message, warnings, earlier
        What the `Explanation` of the run shall say before that of the other method.
    """

    method: Method
    memory: Any
    message: str = ""
    warnings: list[str] = []  # noqa: RUF012 - never changed
    earlier: str = ""


class Sensitivity(NamedTuple):
    """The part of a model's variance in which some coordinates take part, and whether it is larger
    than what the model does not know about them."""

    share: float
    clear: bool


class Standings(NamedTuple):
    """Options of a list (inner coordinates, rows) from the best to the worst: how often each was
    measured with success and without, the mean of its values, what it is expected to be given all
    values (nan without any), and its chance to be the best."""

    X: FloatArray
    n: IntArray
    failed: IntArray
    mean: FloatArray
    expected: FloatArray
    chance: FloatArray


class Predictions(ABC):
    """What a model of the function expects; computed when it is asked for."""

    @abstractmethod
    def improvement(self) -> float:
        """By how much the best point is expected to be better than the recommended one."""

    @abstractmethod
    def sensitivities(self, blocks: list[IntArray]) -> list[Sensitivity]:
        """How much each block of coordinates (indices) matters over the range that is searched;
        empty if too little is known."""


@dataclass(frozen=True)
class Explanation:
    """What a method has to say about a run.

    message
        What was seen and done, in plain words.
    diagnostics
        Columns of numbers by name.
    warnings
        Sentences about what the method could not rely on.
    deterministic
        Whether re-evaluations agreed exactly; None if the method does not know.
    residuals
        Residuals of re-evaluations in units of the noise, where the method keeps them.
    earlier
        What came of measurements made elsewhere, in plain words; empty if there were none.
    standings
        How the options of a list stand, for a method that searches one.
    predictions
        Those of a model, for a method that has one.
    """

    message: str = ""
    diagnostics: dict[str, FloatArray] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    deterministic: bool | None = None
    residuals: FloatArray = field(default_factory=lambda: np.empty(0))
    earlier: str = ""
    standings: Standings | None = None
    predictions: Predictions | None = None


class Method(ABC):
    """A method. Only `start`, `size`, `propose`, `learn` and `recommend` must be answered."""

    name: ClassVar[str]
    #: Whether only the order of the values counts, not the values themselves.
    rank_based: ClassVar[bool] = True
    #: Whether measured constraints can be told.
    constrained: ClassVar[bool] = False
    #: Whether `learn` makes use of `Population.limits` itself; for others, values of candidates
    #: that are probably infeasible are replaced by worse ones.
    learns_limits: ClassVar[bool] = False
    #: Whether candidates are sampled from `distribution`, all of a round from the same one.
    sampled: ClassVar[bool] = False
    #: Whether finalists should race for the recommendation; not where a model has averaged all
    #: values and a few more would not change its mind.
    races: ClassVar[bool] = True
    #: Which lists of points it searches by selection: "" (none), "choice" (those of one parameter
    #: without an order) or "all".
    lists: ClassVar[str] = ""
    #: Whether, of outcomes such as won and lost, an answer is returned only if it is better than a
    #: start that the user gave, as far as all values say.
    keeps_start: ClassVar[bool] = False
    #: Columns of the history that `learn` fills.
    columns: ClassVar[tuple[str, ...]] = ()
    #: So many candidates belong together: they are sampled and learnt from together, and share a
    #: seed where the run hands out seeds.
    together: ClassVar[int] = 1
    #: Part of the budget for a race of finalists and the measurement of its winner, in any
    #: dimension and with several workers; 0: as `noisewise.run.reserve` has it.
    race_part: ClassVar[float] = 0.0

    @property
    def successors(self) -> tuple[Method, ...]:
        """The methods to which it may hand over."""
        return ()

    @abstractmethod
    def start(self, setup: Setup, distribution: Distribution | None = None) -> Any:
        """The memory before the first evaluation, or a `Handover`; ``distribution`` is where
        another method hands over."""

    @abstractmethod
    def size(self, memory: Any, now: Now) -> Size:
        """Candidates of the next round, and what each is expected to cost."""

    @abstractmethod
    def propose(
        self, memory: Any, n: int, pending: FloatArray, now: Now, rng: np.random.Generator
    ) -> FloatArray:
        """``n`` candidates, (n, d), inner coordinates; they may lie outside the box.

        ``pending`` are candidates under way whose values are not known, (m, d).
        """

    def request(self, memory: Any, population: Population, rng: np.random.Generator) -> IntArray:
        """Candidates (possibly repeated) to evaluate in this wave; empty: enough.

        In wave 0 nothing is known. Where candidates were asked for one after the other
        (``population.gathered``), wave 0 is about a few of them, later waves about a round.
        """
        return everyone(len(population)) if population.wave == 0 else NOTHING

    @abstractmethod
    def learn(
        self, memory: Any, population: Population, now: Now, rng: np.random.Generator
    ) -> tuple[Any, Info]:
        """The memory after the round, or a `Handover`. Called after every round, failed ones
        too."""

    @abstractmethod
    def recommend(self, memory: Any) -> Recommended:
        """The point to use, its value and how sure that is."""

    def absorb(self, memory: Any, data: Earlier) -> Any | None:
        """The memory with measurements made elsewhere, which may be misleading; None: there is no
        use for them here or now, and a warning of the result says so."""
        return None

    def finalists(self, memory: Any) -> FloatArray:
        """Points (inner coordinates, rows) among which the last evaluations decide, the preferred
        one first."""
        return self.recommend(memory).x[None]

    def explain(self, memory: Any) -> Explanation:
        """What was seen and done, for message, report and warnings."""
        return Explanation()

    def resume(self, memory: Any, setup: Setup) -> Any:
        """The memory when the budget has changed, which ``setup`` has, or a `Handover`. Called
        between two rounds. Override it where a schedule or a choice depends on the budget."""
        return memory

    def distribution(self, memory: Any) -> Distribution | None:
        """The search as N(m, sigma^2 C), for a method that takes over; None if there is none."""
        return None


@lru_cache(maxsize=256)
def everyone(k: int) -> IntArray:
    """All of ``k`` candidates, once. Read-only, and always the same object."""
    out = np.arange(k)
    out.setflags(write=False)
    return out


def default_population(dimension: int) -> int:
    """4 + floor(3 ln d)."""
    return 4 + math.floor(3.0 * math.log(dimension))
