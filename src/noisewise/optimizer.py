"""Ask and tell: checks what the user gives and hands it to the search."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any, overload

import numpy as np

from noisewise import checkpoint, constrained, earlier, methods, problem, result
from noisewise._check import flag, integer, one_of, shown, whole
from noisewise._types import FloatArray
from noisewise._values import LARGEST, as_constraints, as_error, as_value, entries
from noisewise.budget import Ledger
from noisewise.errors import CheckpointError
from noisewise.methods import Method
from noisewise.methods.method import Earlier, Setup
from noisewise.rehearsal import rehearse
from noisewise.reserve import Reserve, in_batches, reserve_for
from noisewise.result import ALL_FAILED, INTERRUPTED, Result
from noisewise.run import Run, begin
from noisewise.search import Search
from noisewise.seeds import COMMON, MODES
from noisewise.space import Space, name_problem, named
from noisewise.trial import Trial


@dataclass(frozen=True)
class Recommendation:
    """A point with an estimate of f there (``fun``), its standard error and a 95 % interval (nan
    if unknown). ``kind`` is what ``fun`` estimates, see `Result`.

    >>> import noisewise as nw
    >>> opt = nw.Optimizer([1.0, 2.0], sigma0=0.5, budget=100)
    >>> best = opt.recommend()  # before anything was told: where the search starts
    >>> best.x.tolist(), best.fun
    ([1.0, 2.0], nan)
    """

    x: FloatArray
    fun: float
    fun_se: float
    interval: tuple[float, float] = (math.nan, math.nan)
    kind: str = "unknown"
    #: Values by name, where the problem has a space.
    params: dict[str, Any] | None = None


class Optimizer:
    """Minimise by asking and telling.

    >>> import noisewise as nw
    >>> opt = nw.Optimizer([3.0, 3.0], budget=200, sigma0=1.0, rng=0)
    >>> while not opt.done:
    ...     for trial in opt.ask():
    ...         opt.tell(trial.id, float(trial.x @ trial.x))
    >>> bool(opt.recommend().fun < 1e-2)
    True

    Arguments are those of `noisewise.minimize`. ``workers`` is how many evaluations run at the
    same time; it decides how large generations are.

    lookahead
        Candidates of the next generation that are handed out with each generation, so that
        workers do not wait for its last values. They are sampled before the distribution has
        learnt from that generation. None: half the workers where a default population is at
        least twice their number, else 0. The order of values does not change the outcome.
    late
        A generation is closed while at most so many of its values are missing; they count in the
        next one. The outcome then depends on the order in which values come.
    seeds
        Each trial has a ``seed`` for its random numbers; see `noisewise.minimize`.
    batch
        Trials that `ask` returns at a time; only the last batch may be smaller.
    """

    #: When the file that the run was loaded from was last written, in seconds since 1970.
    _written: float = math.nan

    def __init__(
        self,
        x0: Any = None,
        *,
        budget: float,
        bounds: Any = None,
        space: Space | Mapping[str, Any] | None = None,
        sigma0: float | None = None,
        method: str | Method = "auto",
        rng: Any = None,
        confirm: float | str = "auto",
        workers: int = 1,
        lookahead: int | None = None,
        late: int = 0,
        data: Any = None,
        seeds: str | None = None,
        extra: Mapping[str, Any] | None = None,
        maximize: bool = False,
        batch: int | None = None,
    ) -> None:
        budget = whole("budget", budget, least=1)
        self._space, x0, bounds = name_problem(space, x0, bounds)
        box, mean, sigma = problem.describe(x0, bounds, sigma0)
        kept = reserve_for(confirm, budget, len(mean))
        workers = integer("workers", workers, least=1)
        chosen = methods.resolve(method)
        kind = None if seeds is None else one_of("seeds", seeds, MODES)
        size = _batch(batch, chosen, lookahead, late)
        held = sum(kept)
        if size:
            workers, kept = size, Reserve(0, kept.confirm)
            held = in_batches(kept, budget, 0, size, confirm == "auto")
        setup = Setup(
            box,
            mean,
            sigma,
            budget - held,
            workers,
            batch=size,
            race=kept.race,
            confirm=kept.confirm,
            adaptive=confirm == "auto",
            common=kind == COMMON,
        )
        if lookahead is None:
            fills = workers > 1 and not size
            ahead = chosen.lookahead(chosen.start(setup), workers) if fills else 0
        else:
            ahead = integer("lookahead", lookahead, least=0)
        late = integer("late", late, least=0)
        setup = replace(setup, lookahead=min(ahead, budget), late=min(late, budget))
        ledger, streams = Ledger(budget, reserve=held), problem.generators(rng)
        more = flag("maximize", maximize)
        run = begin(chosen, setup, ledger, streams, problem.seed(rng), more, kind)
        self._search = Search(chosen, run)
        self._extra = problem.plain(extra)
        #: Kept with the run beside ``extra``: when it began (seconds since 1970), named
        #: parameters, the objective's fingerprint.
        self._about: dict[str, Any] = {"began": time.time()}
        if self._space is not None:
            self._about["space"] = self._space.parameters
        if data is not None:
            self._add(earlier.read(data, box, self._space, self.maximize))

    def ask(self, n: int | None = None) -> list[Trial]:
        """All evaluations that can be done now, at most ``n``; empty while results are awaited.
        With ``batch``, a whole batch, as soon as the one before it is told."""
        trials = self._search.ask(None if n is None else integer("n", n, least=1))
        if self._space is not None:
            for trial in trials:
                trial.params = self._space.decode(trial.x)
        return trials

    @overload
    def tell(
        self,
        id: int,
        value: float,
        se: float | None = None,
        x: Any = None,
        *,
        constraints: Any = None,
    ) -> None: ...
    @overload
    def tell(
        self,
        id: Sequence[int],
        value: Sequence[float] | FloatArray,
        se: Any = None,
        x: Any = None,
        *,
        constraints: Any = None,
    ) -> None: ...
    def tell(
        self, id: Any, value: Any, se: Any = None, x: Any = None, *, constraints: Any = None
    ) -> None:
        """Tell the value of a trial, in any order; nan or +inf (-inf with ``maximize``): this
        evaluation failed.

        ``se`` is its standard error, where known. ``x`` is the point that was really measured,
        where it is not the trial's: the candidate is moved there. A measurement of the recommended
        point that is off by more than a twentieth of ``sigma0`` counts as failed. ``constraints``
        are one or several values measured with it that must be at most 0; a run has them for all
        of its trials or for none. Sequences tell several trials at once. After the end of a run,
        trials that were asked for before it can still be told.
        """
        several = type(id) is list or isinstance(id, (Sequence, np.ndarray))
        if not several or isinstance(id, str):
            self._check_id(id)
            errors = None if se is None else [as_error(se)]
            numbers, limits = [as_value(value, self.maximize)], None
            if constraints is not None or self._run.limits is not None:
                limits = self._limits([constraints], numbers)
            if x is not None:
                self._tell_moved([int(id)], numbers, errors, [x], limits)
            else:
                self._search.tell([int(id)], numbers, errors, limits)
            return
        ids, search = list(id), self._search
        current = search.run.current
        simple = se is None and x is None and constraints is None and search.run.limits is None
        if simple and current is not None and ids == list(current.pending):
            array = np.asarray(value)
            plain = array.shape == (len(ids),) and array.dtype.kind in "fiu"
            plain = plain and not isinstance(value, np.ma.MaskedArray)
            # A small sum has small terms only; it is much faster than asking each of them.
            if plain and sum(map(abs, numbers := array.tolist())) < LARGEST:
                search.tell(ids, [-v for v in numbers] if self.maximize else numbers)
                return
        values = [as_value(v, self.maximize) for v in entries("value", value, len(ids))]
        errors = None if se is None else list(map(as_error, entries("se", se, len(ids))))
        for one in ids:  # all of them, before any counts
            self._check_id(one)
        if len(set(ids)) < len(ids):
            twice = next(one for one in ids if ids.count(one) > 1)
            raise ValueError(f"trial {twice} is told twice in one call")
        ids, limits = list(map(int, ids)), None
        if constraints is not None or search.run.limits is not None:
            n = len(ids)
            given = [None] * n if constraints is None else entries("constraints", constraints, n)
            limits = self._limits(given, values)
        if x is not None:
            self._tell_moved(ids, values, errors, entries("x", x, len(ids)), limits)
        else:
            search.tell(ids, values, errors, limits)

    def _limits(self, given: list[Any], values: list[float]) -> list[FloatArray | None]:
        """The checked constraints of trials with these values, of which those with a constraint
        that could not be measured become failures."""
        run, found = self._run, [None if one is None else as_constraints(one) for one in given]
        told = next((len(one) for one in found if one is not None), 0)
        q = told if run.limits is None else len(run.limits.measured)
        if run.limits is None and run.ledger.told > run.ledger.failures:
            raise ValueError("constraints must be told with every trial, got trials without them")
        constrained.check_method(self.method)
        for i, one in enumerate(found):
            if given[i] is None and values[i] < math.inf:
                raise ValueError(f"constraints must be told with every trial, {q} values, got None")
            if one is None:
                values[i] = math.inf
            elif len(one) != q:
                raise ValueError(f"constraints must always be {q} values, got {len(one)}")
        return found

    def _tell_moved(
        self,
        ids: list[int],
        values: list[float],
        errors: Any,
        points: list[Any],
        limits: list[FloatArray | None] | None = None,
    ) -> None:
        """Tell trials that were measured at ``points``, each of them a point or None."""
        box, search = self._run.setup.box, self._search
        rows = [None if x is None else earlier.point(x, box, self._space) for x in points]
        for i, (id, row) in enumerate(zip(ids, rows, strict=True)):
            counts = row is None or search.measured_at(id, row)
            value, constraints = values[i] if counts else math.inf, limits and [limits[i]]
            search.tell([id], [value], errors and [errors[i]], constraints if counts else None)

    def add(self, X: Any, y: Any, se: Any = None) -> None:
        """Add measurements made elsewhere, at any time: points ``X`` in rows, or by name where the
        problem has a space (a list of dictionaries, a dictionary of columns, a data frame), their
        values ``y`` (nan or +inf: failed) and, where known, standard errors ``se``.

        They are not charged. Methods treat them with caution, because they may be misleading; an
        evolution strategy has no use for them after its first generation.

        >>> import noisewise as nw
        >>> opt = nw.Optimizer([1.0, 2.0], sigma0=0.5, budget=100)
        >>> opt.add([[0.5, 1.0], [0.0, 0.5]], [1.3, 0.2], se=0.1)
        >>> opt.spent
        0
        """
        self._add(earlier.read((X, y, se), self._run.setup.box, self._space, self.maximize))

    def _add(self, data: Earlier) -> None:
        self._search.add(data)
        self._about["data"] = [*self._about.get("data", []), earlier.digest(data)]

    def _check_id(self, id: Any) -> None:
        """Raise ValueError unless ``id`` is that of a trial that is waited for."""
        if isinstance(id, bool) or not isinstance(id, (int, np.integer)):
            raise ValueError(
                f"id must be that of a trial, such as trial.id, or several of them, got {shown(id)}"
            )
        if self._search.holder(int(id)) is not None:
            return
        if 0 <= id < self._search.run.next_id:
            raise ValueError(f"trial {id} was already told")
        raise ValueError(f"id must come from ask(), got the unknown {id}")

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._search.done

    @property
    def spent(self) -> int:
        """Evaluations told so far, failures included."""
        return self._run.ledger.told

    @property
    def remaining(self) -> int:
        """Evaluations not asked for yet."""
        return self._run.ledger.remaining + len(self._search.waiting)

    @property
    def budget(self) -> int:
        """Evaluations the run may spend in all."""
        return self._run.ledger.budget

    @property
    def dimension(self) -> int:
        """Number of coordinates, fixed ones included."""
        return self._run.setup.box.dimension

    @property
    def maximize(self) -> bool:
        """Whether larger values are better."""
        return self._run.maximize

    @property
    def generation(self) -> int:
        """Completed generations."""
        return self._run.round

    @property
    def method(self) -> Method:
        """The method that runs."""
        return self._search.method

    @property
    def space(self) -> Space | None:
        """The named parameters, where the problem was given by name."""
        return self._space

    @property
    def extra(self) -> dict[str, Any]:
        """What is kept with the run."""
        return self._extra

    @property
    def gave_up(self) -> bool:
        """Whether the run ended because nothing but failures came."""
        return self._run.status == ALL_FAILED

    @property
    def deviations(self) -> FloatArray:
        """Standard deviation of the search distribution along each coordinate, 0 where it is
        fixed; nan for a method that has none."""
        search, box = self.method.distribution(self._run.memory), self._run.setup.box
        if search is None:
            return np.full(self.dimension, math.nan)
        variances = search.C if search.C.ndim == 1 else np.diagonal(search.C)
        return box.whole(np.asarray(search.sigma * np.sqrt(variances) * box.scale), fill=0.0)

    def extend(self, n: float) -> None:
        """``n`` more evaluations. A run that has ended goes on; what it has confirmed still counts
        if the same point is returned in the end.

        >>> import noisewise as nw
        >>> opt = nw.Optimizer([3.0, 3.0], budget=100, sigma0=1.0, rng=0)
        >>> opt.extend(50)
        >>> opt.budget, opt.remaining
        (150, 150)
        """
        self._search.regrant(self.budget + whole("n", n, least=1))

    def stop(self) -> None:
        """End the run now; what was learnt stays."""
        self._search.stop()

    def interrupt(self) -> Result:
        """The result of a run that is left where it is and may be resumed."""
        result = self.result()
        if not self.done:
            result.status, result.success = INTERRUPTED, False
            result.message = result.message.replace("still running", "interrupted")
        return result

    def recommend(self) -> Recommendation:
        """The point to use, with an honest estimate of f there."""
        x, best = self._search.recommend()
        params = self._params(x)
        return Recommendation(x, best.value, best.se, best.interval, best.kind, params)

    def result(self) -> Result:
        """All that is known now; after the end, the result of the run."""
        found = result.of(self._search)
        if self._about.get("constrained") and "constraints" not in found:
            found = result.without_constraints(found)
        if self._space is not None:
            found["params"] = self._params(found.x)
            found["params_best_observed"] = self._params(found.x_best_observed)
        return found

    def _params(self, x: FloatArray) -> dict[str, Any] | None:
        return None if self._space is None else self._space.decode(x)

    def candidate(self, id: int) -> FloatArray:
        """The point of a trial that is not told, as it was sampled: inner coordinates, perhaps
        outside the box."""
        self._check_id(id)
        part = self._search.holder(id)
        assert part is not None
        point: FloatArray = part.sampled[part.pending[id][0]].copy()
        return point

    def move(self, id: int, sampled: FloatArray) -> None:
        """Put another point in the place of that trial's `candidate`, before it is told: it was
        evaluated there, by a process that sampled another point for the same trial."""
        self._check_id(id)
        self._search.move(id, np.asarray(sampled, dtype=float))

    def __repr__(self) -> str:
        return (
            f"Optimizer(method={self.method.name!r}, spent={self.spent}, "
            f"remaining={self.remaining}, done={self.done})"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.result()._repr_html_()}"

    @property
    def _run(self) -> Run:
        return self._search.run

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, atomically. `load` goes on from here, bit for bit."""
        checkpoint.write(path, self.method, self._run, self.extra, self._about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], method: Method | None = None) -> Optimizer:
        """The optimizer that was saved; trials not told then are asked again, with their ids.

        ``method`` is needed only where the method holds a function (``PEM``).
        """
        saved = checkpoint.read(path, method)
        opt = cls.__new__(cls)
        try:
            saved.run.check()
            if not saved.method.check(saved.run.memory, saved.run.setup.dimension):
                raise ValueError("its search does not fit together")
            if saved.whole:  # a function of the user's is not called for this
                rehearse(saved.method, saved.run)
            opt._search, opt._extra = Search(saved.method, saved.run), saved.extra
            opt._about, opt._space = saved.about, named(saved.about, saved.run.setup.box.dimension)
            for told in saved.tells:
                opt.ask()  # as the process that wrote them did before each
                opt.tell(told.id, told.value, told.se, constraints=told.constraints)
        except Exception as error:  # a file may hold anything
            raise CheckpointError(f"checkpoint {path} is damaged: {str(error)[:200]}") from error
        opt._search.hand_out_again()
        opt._written = os.stat(path).st_mtime
        return opt


def _batch(batch: Any, method: Method, lookahead: Any, late: Any) -> int:
    """The checked size of a batch; 0 if there is none."""
    if batch is None:
        return 0
    size = integer("batch", batch, least=1)
    for name, value in (("lookahead", lookahead), ("late", late)):
        if value:
            raise ValueError(f"{name} must not be given with batch, got {name}={shown(value)}")
    for part in (method, getattr(method, "low", None), getattr(method, "high", None)):
        population = getattr(part, "population", None)
        if population is not None and population < size:
            raise ValueError(
                f"population must be at least the batch of {size}, or None, got {population}"
            )
    return size
