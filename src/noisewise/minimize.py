"""The loop: ask, evaluate, journal, tell."""

from __future__ import annotations

import contextlib
import math
import os
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Any, NamedTuple

from noisewise import constrained, executors, fingerprint, methods
from noisewise._check import arguments, check_seed, flag, one_of, shown
from noisewise._types import FloatArray
from noisewise._values import LARGEST, Measured, as_constraints, as_measured
from noisewise.checkpoint import Journal
from noisewise.errors import BadValueError, EvaluationError
from noisewise.executors import Evaluator, Outcome
from noisewise.executors.base import EvaluationTimeout, Limits
from noisewise.methods import Method
from noisewise.optimizer import Optimizer
from noisewise.report import logger
from noisewise.report.progress import Progress
from noisewise.result import Result
from noisewise.resume import resume
from noisewise.seeds import MODES
from noisewise.space import Space, name_problem


def minimize(
    fun: Callable[..., Any],
    x0: Any = None,
    *,
    budget: float,
    bounds: Any = None,
    space: Space | Mapping[str, Any] | None = None,
    sigma0: float | None = None,
    method: str | Method = "auto",
    rng: Any = None,
    args: tuple[Any, ...] = (),
    vectorized: bool = False,
    workers: int = 1,
    executor: Any = None,
    on_error: str = "raise",
    confirm: float | str = "auto",
    callback: Callable[[Result], Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    extra: Mapping[str, Any] | None = None,
    progress: bool = False,
    timeout: float | None = None,
    retries: int | None = None,
    lookahead: int | None = None,
    late: int = 0,
    data: Any = None,
    seeds: str | None = None,
    interrupt: str = "raise",
    maximize: bool = False,
    batch: int | None = None,
    constraints: Callable[..., Any] | None = None,
) -> Result:
    """Minimise, or maximise, a function that can only be measured with noise.

    Parameters
    ----------
    fun
        ``fun(x, *args) -> float``, a noisy value at ``x``, or a tuple ``(value, se)`` with its
        standard error where that is known. With ``vectorized=True``, ``fun(X, *args) -> (n,)`` for
        ``X`` of shape (n, d), or a tuple of two such arrays. nan and +inf (-inf with
        ``maximize=True``) mean that the evaluation failed. Values beyond 1e70 count as 1e70, with
        a warning.
    x0
        Where to start; the middle of finite bounds by default. With ``space``, values by name:
        ``{"lr": 0.01}``.
    budget
        Number of evaluations, everything included: a hard cap, and all of it is used. A whole
        number; 1e3 is 1000. An evaluation that was running when its worker or this process was
        killed is done again and counted once.
    bounds
        A list of pairs ``(low, high)``, one per coordinate; a tuple ``(low, high)`` of numbers or
        arrays; or ``scipy.optimize.Bounds``. None or infinite: no bound. Equal bounds fix a
        coordinate.
    space
        Named parameters instead of bounds: a `noisewise.Space` or a dictionary such as
        ``{"lr": "1e-4..1:log"}``. ``fun`` gets a dictionary of values by name (with
        ``vectorized=True``, a list of them). In the result, ``params`` is such a dictionary and
        ``x`` its point in the unit cube.
    sigma0
        Initial step size, in units of the coordinate with the smallest width; 0.3 of that width
        by default. Required unless all bounds are finite.
    method
        A name of `noisewise.list_methods` or an object from `noisewise.methods`.
    rng
        None, a seed, a ``SeedSequence`` or a numpy ``Generator``: same rng, same run.
    workers
        Number of worker processes. The order in which values arrive does not change the outcome.
    executor
        Where evaluations run instead: one of `noisewise.executors`, or any
        ``concurrent.futures.Executor``.
    on_error
        ``"raise"``: an exception in ``fun`` ends the run with `noisewise.EvaluationError`.
        ``"worst"``: it counts as a failed evaluation, which ranks last.
    confirm
        Evaluations of the budget kept to measure the recommended point. ``"auto"``: about the
        square root of the budget, and at most a tenth of a small one; an evolution strategy in
        fewer than ten dimensions keeps a few more to choose between finalists; one if there is no
        noise. 0: the value is not measured.
    callback
        Called after each generation with ``intermediate_result``; raising ``StopIteration``
        ends the run.
    checkpoint
        A file that keeps the run: call again with the same path to go on after an interruption,
        or with a larger ``budget`` to go on after the end. Other arguments must be the same. If
        the code of the objective has changed, a warning says so.
    extra
        Plain data to keep in the checkpoint, such as names; a resumed run must bring the same.
    progress
        Show a progress bar on stderr. Where stderr is not a terminal, a line per tenth of the
        budget goes to the logger ``"noisewise"`` at level INFO, or to stderr if it has no handler.
    timeout
        Deprecated: set it on the executor. Seconds after which an evaluation is given up. It stays
        charged and counts as a failure, whatever ``on_error`` is.
    retries
        Deprecated: set it on the executor. How often an evaluation whose worker died is tried
        again, at no charge.
    lookahead
        Candidates of the next generation that are handed out with each generation, so that no
        worker waits for its last values. None: half the workers, if the method chooses its
        population itself and that is at least twice the workers; else 0.
    late
        Close a generation while at most so many of its values are missing; they count in the
        next one. The outcome then depends on the order in which values arrive.
    data
        ``(X, y)`` or ``(X, y, se)``: measurements made earlier, such as those of another run, in
        the coordinates of ``x`` or by name where there is a ``space``; see `Optimizer.add`. They
        are not charged, and methods check them before they rely on them.
    seeds
        None: ``fun(x, *args)`` draws its own random numbers. Else ``fun(x, *args, seed=s)`` gets
        a seed below 2**31 for them (``vectorized=True``: an array of shape (n,)), the same after
        a resume. ``"independent"``: every evaluation has its own. ``"common"``: all candidates of
        a generation share one; re-evaluations share another. ``"auto"``: early generations try
        both. The recommended point is always measured with independent seeds.
    interrupt
        ``"raise"``: Ctrl-C raises KeyboardInterrupt when all values are in the checkpoint; its
        attribute ``result`` is the result so far. ``"return"``: that result is returned.
    maximize
        True: larger values are better. All values that are shown, kept or returned are those of
        ``fun``.
    batch
        Evaluations that are done at a time, such as the wells of a plate; only the last batch may
        be smaller. Populations that the method chooses are multiples of it, and ``confirm`` is
        rounded up to whole batches.
    constraints
        ``constraints(x, *args)``: one or several noisy values whose means must be at most 0, called
        with the arguments of ``fun`` (names and seed included) once for each call of ``fun``; both
        together are one evaluation. nan or +inf: it failed. For methods ``"auto"``, ``"gp"``,
        ``"watchful"`` and ``"cma-es"``. The result has the entries ``constraints``,
        ``constraints_se``, ``feasible`` and ``p_feasible``.

    Examples
    --------
    >>> import numpy as np, noisewise as nw
    >>> noise = np.random.default_rng(1)
    >>> r = nw.minimize(lambda x: x @ x + noise.normal(), [3.0] * 5, sigma0=1.0, budget=500, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 1.0)
    (500, True)
    """
    one_of("on_error", on_error, ("raise", "worst"))
    one_of("interrupt", interrupt, ("raise", "return"))
    _check_callables(fun, callback)
    given, progress = arguments("args", args), flag("progress", progress)
    path, limits, objective = _path(checkpoint), _limits(timeout, retries), fun
    named, x0, _ = name_problem(space, x0, bounds)
    fun = fun if named is None else named.objective(fun)
    if constraints is not None:
        constrained.check(constraints, methods.resolve(method), vectorized)
        rule = constraints if named is None else named.objective(constraints)
        fun = constrained.Both(fun, rule)
    if seeds is not None:
        check_seed(objective, one_of("seeds", seeds, MODES))
    copied = seeds is None
    with executors.start(fun, given, vectorized, workers, executor, limits, copied) as evaluator:
        opt = Optimizer(
            x0,
            budget=budget,
            bounds=bounds,
            space=named,
            sigma0=sigma0,
            method=method,
            rng=rng,
            confirm=confirm,
            workers=evaluator.workers,
            lookahead=lookahead,
            late=late,
            data=data,
            seeds=seeds,
            extra=extra,
            maximize=maximize,
            batch=batch,
        )
        if constraints is not None:
            opt._about["constrained"] = True
        journal = None if path is None else Journal(path)
        try:
            if journal is not None:
                opt._about["objective"] = fingerprint.of(objective)
                opt = resume(journal, opt)
            bar = Progress(opt, True, logger.stream()) if progress else None
            return _loop(opt, evaluator, journal, on_error, callback, bar)
        except KeyboardInterrupt as error:
            if interrupt == "return":
                return opt.interrupt()
            _attach(error, opt, path)
            raise
        finally:
            if journal is not None:
                journal.close()


def _loop(
    opt: Optimizer,
    evaluator: Evaluator,
    journal: Journal | None,
    on_error: str,
    callback: Callable[[Result], Any] | None,
    progress: Progress | None,
) -> Result:
    """Ask, evaluate, journal, tell. A value is in the journal before it is told."""
    search, generation, whole = opt._search, opt.generation, True
    try:
        while not search.done:
            whole = False  # an interrupt from here on leaves half an update behind
            trials = search.ask(None)
            whole, moved = True, False
            evaluator.submit(trials)
            while not moved:
                while not evaluator.finished:
                    evaluator.receive(block=True)
                finished = evaluator.finished
                ids, values, errors, limits = _values(finished, opt, on_error)
                if journal is not None:
                    journal.append(ids, _shown(values, opt), errors, limits)
                whole = False
                if len(ids) == len(finished):
                    finished.clear()
                else:
                    for _ in ids:
                        finished.popleft()
                moved = search.tell(ids, values, errors, limits)
                whole = True
            if search.run.round > generation:
                generation = search.run.round
                if progress is not None:
                    progress.update()
                if journal is not None:
                    journal.refresh(opt.method, search.run, opt.extra, opt._about)
                if callback is not None and _wants_to_stop(callback, opt.result()):
                    opt.stop()
        if progress is not None:  # the last phase is no generation
            progress.update()
    except BaseException:
        _rescue(opt, evaluator, journal, whole)
        raise
    finally:
        if progress is not None:
            progress.finish()
    # Only here: after an exception the state may be half an update, but the journal is whole.
    if journal is not None:
        journal.open(opt.method, search.run, opt.extra, opt._about)
    return opt.result()


class _Told(NamedTuple):
    """What is told: ids, values to minimise (+inf: failed), standard errors and constraints."""

    ids: list[int]
    values: list[float]
    errors: list[float | None] | None = None
    constraints: list[FloatArray | None] | None = None


def _values(outcomes: Collection[Outcome], opt: Optimizer, on_error: str) -> _Told:
    """What came back first, with standard errors and constraints where there are some; raises
    where the user wants that. Failures come on their own: they may be due to an interrupt that is
    just arriving."""
    ids: list[int] = []
    values: list[float] = []
    errors: dict[int, float] = {}
    limits: list[FloatArray | None] = []
    more = opt._search.run.maximize
    # The common case, much faster than one by one: a small sum has small terms only.
    told, found, _ = zip(*outcomes, strict=True)
    if set(map(type, found)) == {float} and sum(map(abs, found)) < LARGEST:
        return _Told(list(told), [-value for value in found] if more else list(found))
    for id, value, error in outcomes:
        if error is None:
            try:
                number, se, constraints = _measured(value, opt, limits)
                values.append(number)
                limits.append(constraints)
                if se is not None:
                    errors[len(ids)] = se
            except BadValueError as wrong:
                error = wrong
        if error is not None:
            if ids:
                break
            if not _counts_as_failure(error, on_error):
                raise _evaluation_error(id, error, opt) from error
            return _Told([id], [math.inf])
        ids.append(id)
    known = [errors.get(i) for i in range(len(ids))] if errors else None
    return _Told(ids, values, known, limits if any(one is not None for one in limits) else None)


def _measured(
    value: Any, opt: Optimizer, before: Sequence[FloatArray | None] = ()
) -> tuple[float, float | None, FloatArray | None]:
    """What an objective returned: value, standard error and constraints, as many as ``before``. A
    value whose constraints could not be measured is a failure."""
    if not isinstance(value, Measured):
        return *as_measured(value, opt.maximize), None
    number, se = as_measured(value.value, opt.maximize)
    constraints, known = as_constraints(value.constraints), opt._search.run.limits
    if constraints is None:
        return math.inf, None, None
    q = next((len(one) for one in before if one is not None), len(constraints))
    q = q if known is None else len(known.measured)
    if len(constraints) != q:
        raise BadValueError(f"constraints must always be {q} values, got {len(constraints)}")
    return number, se, constraints


def _shown(values: list[float], opt: Optimizer) -> list[float]:
    """Values to minimise in the user's sign."""
    return [-value for value in values] if opt.maximize else values


def _counts_as_failure(error: BaseException, on_error: str) -> bool:
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


def _rescue(opt: Optimizer, evaluator: Evaluator, journal: Journal | None, whole: bool) -> None:
    """Keep the values that are there but were not told, when something ended the run. Not the
    failures: they may come of what ended the run, as when Ctrl-C reaches a program, too."""
    with contextlib.suppress(Exception):  # what ended the run is what the user shall see
        evaluator.receive(block=False)
    for outcome in list(evaluator.finished):
        with contextlib.suppress(Exception):
            if outcome.error is None:
                value, se, limits = _measured(outcome.value, opt)
                told = _Told(
                    [outcome.id],
                    [value],
                    None if se is None else [se],
                    None if limits is None else [limits],
                )
                if journal is not None:
                    journal.append(told.ids, _shown(told.values, opt), *told[2:])
                if whole:
                    opt._search.tell(*told)
    evaluator.finished.clear()


def _attach(error: KeyboardInterrupt, opt: Optimizer, path: Path | None) -> None:
    """Give the interrupt the result so far, and a message that says how to go on."""
    with contextlib.suppress(Exception):  # it may have come in the middle of an update
        error.result = opt.interrupt()  # type: ignore[attr-defined]
    so_far = "the result so far is in its attribute result"
    how = so_far if path is None else f"the same call goes on from {path}"
    said = f"interrupted after {opt.spent} of {opt.budget} evaluations; {how}"
    error.args = error.args or (said,)


def _limits(timeout: float | None, retries: int | None) -> Limits:
    """Limits of evaluations, which belong to the executor."""
    if timeout is not None or retries is not None:
        warnings.warn(
            "timeout and retries of minimize are deprecated: set them on the executor, as in "
            "executor=noisewise.executors.processes(4, timeout=60, retries=2)",
            DeprecationWarning,
            stacklevel=3,
        )
    return Limits(timeout, 2 if retries is None else retries)


def _check_callables(fun: Any, callback: Any) -> None:
    if not callable(fun):
        raise ValueError(f"fun must be callable, got {shown(fun)}")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be callable or None, got {shown(callback)}")


def _path(checkpoint: Any) -> Path | None:
    if checkpoint is None or isinstance(checkpoint, (str, os.PathLike)):
        return None if checkpoint is None else Path(checkpoint)
    raise ValueError(f"checkpoint must be a path or None, got {shown(checkpoint)}")


def _wants_to_stop(callback: Callable[[Result], Any], intermediate_result: Result) -> bool:
    try:
        callback(intermediate_result)
    except StopIteration:
        return True
    return False
