"""Ask and tell."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from numbers import Real
from typing import Any, overload

import numpy as np

from noisewise import checkpoint, integrity, methods, problem, summary
from noisewise._check import integer, shown
from noisewise._types import FloatArray
from noisewise._values import LARGEST, as_value
from noisewise.budget import Ledger
from noisewise.engine import Engine
from noisewise.errors import CheckpointError
from noisewise.generation import Setup
from noisewise.methods import Method
from noisewise.recommend import Recommendation
from noisewise.result import ALL_FAILED, INTERRUPTED, RUNNING, STOPPED, Result
from noisewise.run import Trial


class Optimizer:
    """Minimise by asking and telling.

    >>> import noisewise as nw
    >>> opt = nw.Optimizer([3.0, 3.0], budget=200, sigma0=1.0, rng=0)
    >>> while not opt.done:
    ...     for trial in opt.ask():
    ...         opt.tell(trial.id, float(trial.x @ trial.x))
    >>> bool(opt.recommend().fun < 1e-2)
    True

    Arguments are those of `noisewise.minimize`; ``workers`` is how many evaluations run at the
    same time, for methods that fill their generations accordingly.

    lookahead
        Candidates of the next generation that are handed out with each generation, so that
        workers do not wait for its last values. They are sampled before the distribution has
        learnt from that generation. None: half the workers where a default population is at
        least twice their number, else 0. The order of values does not change the outcome.
    late
        A generation is closed while at most so many of its values are missing; they count in the
        next one. The outcome then depends on the order in which values come.
    """

    def __init__(
        self,
        x0: Any = None,
        *,
        budget: int,
        bounds: Any = None,
        sigma0: float | None = None,
        method: str | Method = "auto",
        rng: Any = None,
        confirm: int = 0,
        workers: int = 1,
        lookahead: int | None = None,
        late: int = 0,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        budget = integer("budget", budget, least=1)
        confirm = integer("confirm", confirm, least=0)
        if confirm >= budget:
            raise ValueError(f"confirm must be smaller than the budget {budget}, got {confirm}")
        start = problem.start(x0, bounds, sigma0)
        setup = Setup(len(start.mean), budget - confirm, integer("workers", workers, least=1))
        chosen = resolve(method)
        setup = replace(
            setup,
            lookahead=min(_lookahead(chosen, setup, lookahead), budget),
            late=min(integer("late", late, least=0), budget),
        )
        ledger = Ledger(budget, reserve=confirm)
        streams = problem.generators(rng)
        self._engine = Engine.begin(chosen, setup, ledger, start, streams, problem.seed(rng))
        self._extra = problem.plain(extra)

    def ask(self, n: int | None = None) -> list[Trial]:
        """All evaluations that can be done now, at most ``n``; empty while results are awaited."""
        engine = self._engine
        count = None if n is None else integer("n", n, least=1)
        if engine.done:
            return []
        if not engine.run.pending:
            engine.open()
        ids = engine.waiting[:count]
        engine.waiting = engine.waiting[len(ids) :]
        return engine.trials(ids) if ids else []

    @overload
    def tell(self, id: int, value: float, se: float | None = None) -> None: ...
    @overload
    def tell(
        self, id: Sequence[int], value: Sequence[float] | FloatArray, se: Any = None
    ) -> None: ...
    def tell(self, id: Any, value: Any, se: Any = None) -> None:
        """The value of a trial, in any order; nan or +inf: this evaluation failed.

        ``se`` is its standard error, where known. Sequences tell several trials at once.
        """
        if type(id) is int or not isinstance(id, (Sequence, np.ndarray)) or isinstance(id, str):
            self._settle(*self._checked(id, value, se))
            return
        ids = list(id)
        if se is None and self._is_wave(ids):
            array = np.asarray(value)
            plain = array.shape == (len(ids),) and array.dtype.kind in "fiu"
            # A small sum has small terms only; it is much faster than asking each of them.
            if plain and sum(map(abs, array.tolist())) < LARGEST:
                self._engine.tell_wave(array)
                return
        values = _entries("value", value, len(ids))
        errors = [None] * len(ids) if se is None else _entries("se", se, len(ids))
        checked = list(map(self._checked, ids, values, errors))  # all of them, before any counts
        if len(set(ids)) < len(ids):
            twice = next(one for one in ids if ids.count(one) > 1)
            raise ValueError(f"id must be that of a trial not told yet, got {twice}, here twice")
        for one in checked:
            self._settle(*one)

    def _is_wave(self, ids: list[int]) -> bool:
        """Whether ``ids`` are all that is left of a wave, in order."""
        engine = self._engine
        return not engine.waiting and ids == list(engine.run.pending) and not engine.done

    def _checked(self, id: Any, value: Any, se: Any) -> tuple[int, float, float | None]:
        """Id, value and standard error as numbers, if this trial can be told them."""
        run = self._engine.run
        if isinstance(id, bool) or not isinstance(id, (int, np.integer)):
            raise ValueError(f"id must be that of a trial, or a sequence of such, got {shown(id)}")
        if run.status != RUNNING or not (id in run.pending or self._is_ahead(id)):
            raise ValueError(self._why_not(int(id)))
        number = as_value(value)
        if se is None:
            return int(id), number, None
        if not isinstance(se, Real) or isinstance(se, bool) or not 0.0 <= float(se) < math.inf:
            raise ValueError(f"se must be a non-negative finite number or None, got {shown(se)}")
        return int(id), number, float(se)

    def _settle(self, id: int, number: float, se: float | None) -> None:
        engine, run = self._engine, self._engine.run
        if engine.waiting and id in engine.waiting:  # told before it was asked for
            engine.waiting.remove(id)
        run.ledger.settle(number == math.inf)
        if id in run.pending:
            run.samples.put(*run.pending.pop(id), number, se)
            engine.settled()
        else:
            assert run.ahead is not None
            run.ahead.put(id, number, se)

    def _is_ahead(self, id: Any) -> bool:
        ahead = self._engine.run.ahead
        return ahead is not None and id in ahead.pending

    def _why_not(self, id: int) -> str:
        if self.done:
            return f"tell came after the end of the run, got id {id}"
        if 0 <= id < self._engine.run.next_id:
            return f"id must be that of a trial not told yet, got {id}, which was told already"
        return f"id must come from ask(), got the unknown {id}"

    @property
    def done(self) -> bool:
        """Whether the run has ended."""
        return self._engine.done

    @property
    def spent(self) -> int:
        """Evaluations told so far, failures included."""
        return self._engine.run.ledger.told

    @property
    def remaining(self) -> int:
        """Evaluations not asked for yet."""
        return self._engine.run.ledger.remaining + len(self._engine.waiting)

    @property
    def budget(self) -> int:
        """Evaluations the run may spend in all."""
        return self._engine.run.ledger.budget

    @property
    def dimension(self) -> int:
        """Number of coordinates."""
        return self._engine.run.setup.dimension

    @property
    def generation(self) -> int:
        """Completed generations."""
        return self._engine.run.generation

    @property
    def method(self) -> Method:
        """The method that runs."""
        return self._engine.method

    @property
    def extra(self) -> dict[str, Any]:
        """What is kept with the run."""
        return self._extra

    @property
    def deviations(self) -> FloatArray:
        """Standard deviation of the search distribution along each coordinate."""
        run = self._engine.run
        shape = self._engine.strategy.covariance.deviations(run.state.covariance)
        return np.asarray(run.state.sigma * shape * run.box.scale)

    def stop(self) -> None:
        """End the run now; what was learnt stays."""
        if not self.done:
            self._engine.run.status = STOPPED

    def interrupt(self) -> Result:
        """The result of a run that is left where it is and may be resumed."""
        result = self.result()
        if not self.done:
            result.status, result.success = INTERRUPTED, False
            result.message = result.message.replace("still running", "interrupted")
        return result

    def recommend(self) -> Recommendation:
        """The point to use, with an honest estimate of f there."""
        return self._engine.recommend()

    def result(self) -> Result:
        """All that is known now; after the end, the result of the run."""
        return summary.result(self._engine)

    def __repr__(self) -> str:
        return (
            f"Optimizer(method={self.method.name!r}, spent={self.spent}, "
            f"remaining={self.remaining}, done={self.done})"
        )

    def _repr_html_(self) -> str:
        shown: str = self.result()._repr_html_()
        return f"<p>{escape(repr(self))}</p>{shown}"

    @property
    def data(self) -> tuple[Method, Any]:
        """All there is: the method and the data of the run."""
        return self.method, self._engine.run

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, atomically. `load` goes on from here, bit for bit."""
        checkpoint.write(path, *self.data, self.extra)

    @classmethod
    def load(cls, path: str | os.PathLike[str], method: Method | None = None) -> Optimizer:
        """The optimizer that was saved; trials not told then are asked again, with their ids.

        ``method`` is needed only where the method holds a function (``PEM``).
        """
        saved = checkpoint.read(path, method)
        opt = cls.__new__(cls)
        try:
            integrity.check(saved.run)
            if saved.whole:  # a function of the user's is not called for this
                integrity.rehearse(saved.method, saved.run)
            opt._engine, opt._extra = Engine(saved.method, saved.run), saved.extra
            for id, value, se in saved.tells:
                opt.ask()  # as whoever wrote them did before each
                if saved.run.status == ALL_FAILED:  # they came with the interrupt that ended it
                    break
                opt.tell(id, value, se)
        except Exception as error:  # a file may hold anything
            raise CheckpointError(f"checkpoint {path} is damaged: {str(error)[:200]}") from error
        opt._engine.ask_again()
        return opt


def _lookahead(method: Method, setup: Setup, asked: int | None) -> int:
    """Candidates to hand out early. A population that the user chose is left as it is; one that
    fills the workers only once cannot spare half of them."""
    if asked is not None:
        return integer("lookahead", asked, least=0)
    enough = method.controls(setup).population >= 2 * setup.workers
    return setup.workers // 2 if enough and method.population is None else 0


def resolve(method: str | Method) -> Method:
    """A method object from a name or an object."""
    if isinstance(method, str):
        return methods.get(method)
    if isinstance(method, Method):
        return method
    known = ", ".join(methods.names())
    raise ValueError(f"method must be one of {known} or a method object, got {shown(method)}")


def _entries(name: str, values: Any, n: int) -> list[Any]:
    """``values`` as a list of ``n``."""
    try:
        found = list(values)
    except TypeError:
        raise ValueError(f"{name} must have one entry per id ({n}), got {shown(values)}") from None
    if len(found) != n:
        raise ValueError(f"{name} must have one entry per id ({n}), got {len(found)}")
    return found
