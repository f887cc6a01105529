"""Ask and tell."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from noisewise import checkpoint, methods, problem
from noisewise._check import integer
from noisewise._types import FloatArray
from noisewise.budget import Ledger
from noisewise.engine import BARREN, Engine, Trial
from noisewise.errors import BadValueError, CheckpointError
from noisewise.generation import Setup
from noisewise.methods import Method
from noisewise.recommend import Recommendation
from noisewise.result import ALL_FAILED, BUDGET_SPENT, INTERRUPTED, RUNNING, STOPPED, Result


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
    ) -> None:
        budget = integer("budget", budget, least=1)
        confirm = integer("confirm", confirm, least=0)
        if confirm >= budget:
            raise ValueError(f"confirm must be smaller than the budget {budget}, got {confirm}")
        start = problem.start(x0, bounds, sigma0)
        setup = Setup(len(start.mean), budget - confirm, integer("workers", workers, least=1))
        ledger = Ledger(budget, reserve=confirm)
        self._engine = Engine.begin(resolve(method), setup, ledger, start, problem.generators(rng))

    def ask(self, n: int | None = None) -> list[Trial]:
        """All evaluations that can be done now, at most ``n``; empty while results are awaited."""
        engine = self._engine
        count = None if n is None else integer("n", n, least=1)
        if not engine.waiting and not engine.run.pending and not engine.done:
            engine.open()
        ids = engine.waiting[:count]
        engine.waiting = engine.waiting[len(ids) :]
        return engine.trials(ids)

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
        if isinstance(id, (int, np.integer)):
            self._tell(int(id), value, se)
            return
        run = self._engine.run
        array = np.asarray(value)
        whole = se is None and not self._engine.waiting and list(id) == list(run.pending)
        plain = array.shape == (len(run.pending),) and array.dtype.kind in "fiu"
        # A finite sum has finite terms only; it is much faster than asking each of them.
        if whole and plain and math.isfinite(sum(array.tolist())):
            self._engine.tell_wave(array)
            return
        values = list(value)
        if len(id) != len(values):
            raise ValueError(f"value must have one entry per id ({len(id)}), got {len(values)}")
        errors = [None] * len(values) if se is None else list(se)
        for one, v, s in zip(id, values, errors, strict=True):
            self._tell(int(one), v, s)

    def _tell(self, id: int, value: Any, se: Any) -> None:
        engine, run = self._engine, self._engine.run
        place = run.pending.get(id)
        if place is None:
            raise ValueError(self._why_not(id))
        number = as_value(value)
        if se is not None:
            se = float(se)
            if not 0.0 <= se < math.inf:
                raise ValueError(f"se must be a non-negative finite number or None, got {se!r}")
        del run.pending[id]
        if engine.waiting and id in engine.waiting:  # told before it was asked for
            engine.waiting.remove(id)
        run.samples.put(*place, number, se)
        run.ledger.settle(number == math.inf)
        if not run.pending:
            engine.advance()

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
        return self._engine.run.ledger.remaining

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
        run, best = self._engine.run, self.recommend()
        if run.pending and not run.confirming:
            told = np.where(np.isnan(run.samples.values), np.inf, run.samples.values)
            self._engine.note_best(run.X, told, inner=True)
        diagnostics, warnings = self._engine.parts.selection.report(run.selection)
        status = BUDGET_SPENT if self.done and run.status == RUNNING else run.status
        lucky = run.best_value < math.inf
        return Result(
            x=best.x,
            fun=best.fun,
            fun_se=best.fun_se,
            x_best_observed=run.best_x if lucky else best.x,
            fun_best_observed=run.best_value if lucky else math.nan,
            nfev=run.ledger.told,
            nit=run.generation,
            n_reevaluations=run.ledger.reevaluation,
            n_failures=run.ledger.failures,
            method=self.method.name,
            misranking=run.misranking,
            history=run.history.as_dict(),
            diagnostics=diagnostics,
            warnings=warnings,
            success=status in (BUDGET_SPENT, STOPPED) and lucky,
            status=status,
            message=self._message(status),
        )

    def _message(self, status: int) -> str:
        run = self._engine.run
        said = {
            BUDGET_SPENT: "the budget is spent",
            STOPPED: "stopped on request",
            ALL_FAILED: f"gave up: {BARREN} generations in a row had no successful evaluation",
            RUNNING: "still running",
        }[status]
        if status == BUDGET_SPENT and run.best_value == math.inf:
            said = "the budget is spent and no evaluation succeeded"
        return f"{said}; {run.generation} generations, {run.ledger.told} evaluations"

    def __repr__(self) -> str:
        return (
            f"Optimizer(method={self.method.name!r}, spent={self.spent}, "
            f"remaining={self.remaining}, done={self.done})"
        )

    @property
    def data(self) -> tuple[Method, Any]:
        """All there is: the method and the data of the run."""
        return self.method, self._engine.run

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file, atomically. `load` goes on from here, bit for bit."""
        checkpoint.write(path, *self.data)

    @classmethod
    def load(cls, path: str | os.PathLike[str], method: Method | None = None) -> Optimizer:
        """The optimizer that was saved; trials not told then are asked again, with their ids.

        ``method`` is needed only where the method holds a function (``PEM``).
        """
        saved = checkpoint.read(path, method)
        opt = cls.__new__(cls)
        try:
            opt._engine = Engine(saved.method, saved.run)
            for id, value, se in saved.tells:
                if id not in saved.run.pending:
                    opt.ask()
                opt.tell(id, value, se)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise CheckpointError(f"checkpoint {path} is damaged: {str(error)[:200]}") from error
        opt._engine.waiting = list(saved.run.pending)
        return opt


def resolve(method: str | Method) -> Method:
    """A method object from a name or an object."""
    if isinstance(method, str):
        return methods.get(method)
    if isinstance(method, Method):
        return method
    known = ", ".join(methods.names())
    raise ValueError(f"method must be one of {known} or a method object, got {method!r}")


def as_value(value: Any) -> float:
    """An objective value as a float; failures (nan, +inf) as +inf."""
    if type(value) is not float:
        array = np.asarray(value)
        if array.shape not in ((), (1,)) or array.dtype.kind not in "fiub":
            shown = f"an array of shape {array.shape}" if array.shape else repr(value)
            raise BadValueError(f"the objective must return one real number, got {shown}")
        value = float(array.reshape(()))
    if value == -math.inf:
        raise BadValueError("the objective must not return -inf: there is nothing below it")
    return value if value < math.inf else math.inf
