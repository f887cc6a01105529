"""From what an objective returned to values that can be told, and what becomes of them when a run
is interrupted."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any

from noisewise._check import one_line
from noisewise._check import told as reason
from noisewise.errors import BadValueError, EvaluationError
from noisewise.executors import Evaluator, Outcome
from noisewise.executors.base import EvaluationTimeout
from noisewise.loop.checkpoint import Journal
from noisewise.loop.optimizer import Optimizer
from noisewise.problem.values import Measured, Value, as_constraints, as_measured


def values(outcomes: Collection[Outcome], opt: Optimizer, on_error: str) -> list[Value]:
    """What came back first; raises where the user wants that. Failures come on their own: they may
    be due to an interrupt that is just arriving."""
    values: list[Value] = []
    for id, value, error in outcomes:
        if error is None:
            try:
                values.append(_measured(id, value, opt, values))
            except BadValueError as wrong:
                error = wrong
        if error is not None:
            if values:
                break
            if not _counts_as_failure(error, on_error):
                raise _evaluation_error(id, error, opt) from error
            return [Value(id, math.inf, why=one_line(reason(error)))]
    return values


def _measured(id: int, value: Any, opt: Optimizer, before: Sequence[Value] = ()) -> Value:
    """What an objective returned: value, standard error and constraints, as many as ``before``. A
    value whose constraints could not be measured is a failure."""
    if not isinstance(value, Measured):
        return Value(id, *as_measured(value, opt.maximize))
    number, se = as_measured(value.value, opt.maximize)
    constraints, known = as_constraints(value.constraints), opt.state.limits
    if constraints is None:
        return Value(id, math.inf)
    others = [one.constraints for one in before if one.constraints is not None]
    q = len(constraints) if not others else len(others[0])
    q = q if known is None else len(known.measured)
    if len(constraints) != q:
        raise BadValueError(f"constraints must always be {q} values, got {len(constraints)}")
    return Value(id, number, se, constraints)


def _counts_as_failure(error: BaseException, on_error: str) -> bool:
    from concurrent.futures import BrokenExecutor  # takes long to import

    if isinstance(error, EvaluationTimeout):  # the user said when to give up
        return True
    # A broken pool is no failure of the objective, and every further evaluation would meet it.
    return on_error == "worst" and not isinstance(error, (BadValueError, BrokenExecutor))


def _evaluation_error(id: int, error: BaseException, opt: Optimizer) -> EvaluationError:
    if isinstance(error, BadValueError):
        return EvaluationError(str(error), opt.result())
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    said = f"evaluation {id} failed after {opt.spent} evaluations with {what}"
    return EvaluationError(said, opt.result())


def rescue(opt: Optimizer, evaluator: Evaluator, journal: Journal | None, whole: bool) -> None:
    """Keep the values that are there but were not told, when something ended the run."""
    for value in known(opt, evaluator):
        with contextlib.suppress(Exception):
            if journal is not None:
                journal.append([value.signed(opt.maximize)])
            if whole:
                opt._search.tell([value])


def known(opt: Optimizer, evaluator: Evaluator) -> list[Value]:
    """The values that are there but were not told, when something ended the run. Not the failures:
    they may come of what ended the run, as when Ctrl-C reaches a program, too."""
    found = []
    with contextlib.suppress(Exception):  # what ended the run is what the user shall see
        evaluator.receive(block=False)
    for outcome in list(evaluator.finished):
        with contextlib.suppress(Exception):
            if outcome.error is None:
                found.append(_measured(outcome.id, outcome.value, opt))
    evaluator.finished.clear()
    return found


def attach(error: KeyboardInterrupt, opt: Optimizer, path: Path | None) -> None:
    """Give the interrupt the result so far, and a message that says how to go on."""
    with contextlib.suppress(Exception):  # it may have come in the middle of an update
        error.result = opt.interrupt()  # type: ignore[attr-defined]
    so_far = "the result so far is in its attribute result"
    how = so_far if path is None else f"the same call goes on from {path}"
    said = f"interrupted after {opt.spent} of {opt.budget} evaluations; {how}"
    error.args = error.args or (said,)


def wants_to_stop(callback: Callable[[Any], Any], told: Any) -> bool:
    """Whether a callback that is told something raises StopIteration."""
    try:
        callback(told)
    except StopIteration:
        return True
    return False
