"""Ask and tell: checks what the user gives and hands it to the search."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any, overload

import numpy as np

from noisewise._check import integer, suggesting, whole
from noisewise._types import Bounds, Data, FloatArray, Rng, Start
from noisewise.answer import snapshot
from noisewise.answer.recommendation import Recommendation
from noisewise.answer.result import Result
from noisewise.answer.snapshot import Snapshot
from noisewise.errors import CheckpointError
from noisewise.loop import checkpoint, telling
from noisewise.loop.begin import begin
from noisewise.methods import Method
from noisewise.problem import earlier, given
from noisewise.problem.earlier import Earlier
from noisewise.problem.space import Space, named
from noisewise.problem.trial import Trial
from noisewise.problem.values import Value, entries
from noisewise.run import changes
from noisewise.run.about import About
from noisewise.run.run import ALL_FAILED, INTERRUPTED, Run


class Optimizer:
    """Minimise by asking and telling.

    >>> import noisewise as nw
    >>> opt = nw.Optimizer([3.0, 3.0], budget=200, sigma0=1.0, rng=0)
    >>> while not opt.done:
    ...     for trial in opt.ask():
    ...         opt.tell(trial.id, float(trial.x @ trial.x))
    >>> bool(opt.recommend().fun < 1e-2)
    True

    Arguments are those of `noisewise.minimize`.

    workers
        How many evaluations run at the same time. With several, candidates are handed out one after
        the other and nobody waits for a generation to end; the order in which values come then
        changes the outcome, as it does not with one worker or with ``batch``.
    seeds
        Each trial has a ``seed`` for its random numbers; see `noisewise.minimize`.
    batch
        Trials that `ask` returns at a time; only the last batch may be smaller.
    """

    #: When the file that the run was loaded from was last written, in seconds since 1970.
    written: float = math.nan

    @suggesting
    def __init__(
        self,
        x0: Start = None,
        *,
        budget: float,
        bounds: Bounds = None,
        space: Space | Mapping[str, Any] | None = None,
        sigma0: float | None = None,
        method: str | Method = "auto",
        rng: Rng = None,
        confirm: float | str = "auto",
        target: str = "mean",
        workers: int = 1,
        data: Data = None,
        seeds: str | None = None,
        extra: Mapping[str, Any] | None = None,
        maximize: bool = False,
        batch: int | None = None,
        incumbent: Any = None,
    ) -> None:
        self._search, self._space = begin(
            x0, budget, bounds, space, sigma0, method, rng, confirm, target, workers, seeds,
            maximize, batch, incumbent,
        )  # fmt: skip
        #: What is kept with the run.
        self.extra = given.plain(extra)
        #: Kept with the run beside ``extra``.
        self.about = About(time.time(), None if self._space is None else self._space.parameters)
        if data is not None:
            self._add(earlier.read(data, self._run.setup.box, self._space, self.maximize))

    def ask(self, n: int | None = None) -> list[Trial]:
        """Evaluations to do now. With one worker all of a generation, at most ``n``; empty while
        results are awaited. With several, ``n`` of them, or one for each free worker, as long as
        the budget lasts. With ``batch`` a whole batch, as soon as the one before it is told."""
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
        if isinstance(id, str) or not isinstance(id, (Sequence, np.ndarray)):
            id, value, se, x, constraints = [id], [value], [se], [x], [constraints]
        told = telling.values(self._search, list(id), value, se, constraints)
        points = [None] * len(told) if x is None else entries("x", x, len(told))
        if all(point is None for point in points):
            self._search.tell(told)
            return
        box, search = self._run.setup.box, self._search
        rows = [None if x is None else earlier.point(x, box, self._space) for x in points]
        for one, row in zip(told, rows, strict=True):
            counts = row is None or changes.move(search, one.id, row, measured=True)
            search.tell([one if counts else Value(one.id, math.inf)])

    def enqueue(self, x: Any) -> None:
        """Have a point measured next, with its coordinates or its parameters by name: it takes the
        place of the next candidate that `ask` hands out. Once the search is over, it has no effect.

        >>> import noisewise as nw
        >>> opt = nw.Optimizer([3.0, 3.0], budget=100, sigma0=1.0, rng=0)
        >>> opt.enqueue([1.0, 2.0])
        >>> opt.ask(1)[0].x.tolist()
        [1.0, 2.0]
        """
        changes.enqueue(self._search, earlier.point(x, self._run.setup.box, self._space))

    def abandon(self, id: int) -> None:
        """Trial ``id`` will never be told, because its worker is gone: `ask` hands it out again, at
        no charge. Once the search is over it is given up, since the answer does not need it."""
        telling.part_of(self._search, id)
        changes.abandon(self._search, id)

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
        changes.add(self._search, data)
        self.about = replace(self.about, earlier=(*self.about.earlier, earlier.digest(data)))

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
        return self._run.ledger.remaining + len(self._run.waiting)

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
        """The method that was chosen."""
        return self._search.chosen

    @property
    def in_charge(self) -> Method:
        """The chosen method, or another one to which it has handed over."""
        return self._search.method

    @property
    def space(self) -> Space | None:
        """The named parameters, where the problem was given by name."""
        return self._space

    @property
    def state(self) -> Run:
        """Everything that changes during the run, for reports, which only read it."""
        return self._search.run

    _run = state

    @property
    def gave_up(self) -> bool:
        """Whether the run ended because nothing but failures came."""
        return self._run.status == ALL_FAILED

    @property
    def deviations(self) -> FloatArray:
        """Standard deviation of the search distribution along each coordinate, 0 where it is
        fixed; nan for a method that has none."""
        search, box = self.in_charge.distribution(self._run.memory), self._run.setup.box
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
        changes.regrant(self._search, self.budget + whole("n", n, least=1))

    def stop(self) -> None:
        """End the run now; what was learnt stays."""
        changes.stop(self._search)

    def interrupt(self) -> Result:
        """The result of a run that is left where it is and may be resumed."""
        found = self._snapshot()
        found.complete()  # what interrupted the run may have done so in the middle of an update
        result = Result.of(found)
        if not self.done:
            result.status, result.success = INTERRUPTED, False
            result.message = result.message.replace("still running", "interrupted")
        return result

    def recommend(self) -> Recommendation:
        """The point to use, with an honest estimate of f there."""
        x, best = self._search.recommend()
        params = None if self._space is None else self._space.decode(x)
        return Recommendation(x, best.value, best.se, best.interval, best.kind, params)

    def result(self) -> Result:
        """All that is known now; after the end, the result of the run."""
        found = self._snapshot()
        if self.done:  # it may be kept for long, but need not keep the run
            found.complete()
        return Result.of(found)

    def _snapshot(self) -> Snapshot:
        return snapshot.of(self._search, self._space, self.about.constrained)

    def candidate(self, id: int) -> FloatArray:
        """The point of a trial that is not told, as it was sampled: inner coordinates, perhaps
        outside the box."""
        part = telling.part_of(self._search, id)
        point: FloatArray = part.sampled[part.pending[id][0]].copy()
        return point

    def is_only_value(self, id: int) -> bool:
        """Whether no other evaluation of the candidate of this trial was handed out so far."""
        return telling.part_of(self._search, id).is_only_value(id)

    def move(self, id: int, sampled: FloatArray) -> None:
        """Put another point in the place of that trial's `candidate`, before it is told: it was
        evaluated there, by a process that sampled another point for the same trial."""
        telling.part_of(self._search, id)
        changes.move(self._search, id, np.asarray(sampled, dtype=float))

    def __repr__(self) -> str:
        return (
            f"Optimizer(method={self.method.name!r}, spent={self.spent}, "
            f"remaining={self.remaining}, done={self.done})"
        )

    def _repr_html_(self) -> str:
        return f"<p>{escape(repr(self))}</p>{self.result()._repr_html_()}"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, atomically. `load` goes on from here, bit for bit."""
        checkpoint.write(path, self.method, self._run, self.extra, self.about)

    @classmethod
    def load(cls, path: str | os.PathLike[str], method: Method | None = None) -> Optimizer:
        """The optimizer that was saved; trials not told then are asked again, with their ids.

        ``method`` is needed only where the method holds a function (``PEM``).
        """
        opt = cls.__new__(cls)
        opt._restore(path, checkpoint.read(path, method))
        opt._run.hand_out_again()
        opt.written = os.stat(path).st_mtime
        return opt

    def _restore(self, path: Any, saved: checkpoint.Saved) -> None:
        """Take over what a file holds."""
        try:
            self._search = telling.rebuilt(saved.method, saved.run, saved.events)
            self.extra, self.about = saved.extra, saved.about
            self._space = named(saved.about.space, saved.run.setup.box.dimension)
        except Exception as error:  # a file may hold anything
            raise CheckpointError(f"checkpoint {path} is damaged: {str(error)[:200]}") from error
