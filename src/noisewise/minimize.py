"""The loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Any

from noisewise import executors
from noisewise._check import one_of, shown
from noisewise._values import as_value
from noisewise.checkpoint import Journal
from noisewise.errors import BadValueError, CheckpointError, EvaluationError
from noisewise.executors import Evaluator, Outcome
from noisewise.methods import Method
from noisewise.optimizer import Optimizer
from noisewise.report.progress import Progress
from noisewise.result import Result


def minimize(
    fun: Callable[..., Any],
    x0: Any = None,
    *,
    budget: int,
    bounds: Any = None,
    sigma0: float | None = None,
    method: str | Method = "auto",
    rng: Any = None,
    args: tuple[Any, ...] = (),
    vectorized: bool = False,
    workers: int = 1,
    executor: Any = None,
    on_error: str = "raise",
    confirm: int = 0,
    callback: Callable[[Result], Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    extra: Mapping[str, Any] | None = None,
    progress: bool = False,
) -> Result:
    """Minimise a function that can only be measured with noise.

    Parameters
    ----------
    fun
        ``fun(x, *args) -> float``, a noisy value at ``x``. With ``vectorized=True``,
        ``fun(X, *args) -> (n,)`` for ``X`` of shape (n, d). nan and +inf count as failures.
    x0
        Where to start; the middle of finite bounds by default.
    budget
        How often ``fun`` may be called, everything included. Never exceeded; all of it is used.
    bounds
        ``(low, high)`` with scalars or arrays, a list of pairs, or ``scipy.optimize.Bounds``.
        None or infinite sides are open.
    sigma0
        Initial step size, in units of the coordinate with the smallest width; 0.3 of that width
        by default. Required where a bound is missing.
    method
        A name of `noisewise.list_methods` or an object from `noisewise.methods`.
    rng
        None, a seed, a ``SeedSequence`` or a numpy ``Generator``: same rng, same run.
    workers, executor
        Worker processes, or any ``concurrent.futures.Executor``, or one of
        `noisewise.executors`. The order in which results arrive does not change the outcome.
    on_error
        ``"raise"``: an exception in ``fun`` ends the run with `noisewise.EvaluationError`.
        ``"worst"``: it counts as a failed evaluation, which ranks last.
    confirm
        Evaluations of the budget kept to measure the recommended point itself.
    callback
        Called after each generation with ``intermediate_result``; raising ``StopIteration``
        ends the run.
    checkpoint
        A file that keeps the run: call again with the same path to go on after an interruption.
    extra
        Plain data to keep in the checkpoint, such as names; a resumed run must bring the same.
    progress
        Show a progress bar on stderr.

    Examples
    --------
    >>> import numpy as np, noisewise as nw
    >>> noise = np.random.default_rng(1)
    >>> r = nw.minimize(lambda x: x @ x + noise.normal(), [3.0] * 5, sigma0=1.0, budget=500, rng=0)
    >>> r.nfev, bool(r.x @ r.x < 1.0)
    (500, True)
    """
    one_of("on_error", on_error, ("raise", "worst"))
    _check_callables(fun, callback)
    if not isinstance(args, (tuple, list)):
        raise ValueError(f"args must be a tuple of further arguments of fun, got {shown(args)}")
    path = _path(checkpoint)
    with executors.start(fun, tuple(args), vectorized, workers, executor) as evaluator:
        opt = Optimizer(
            x0,
            budget=budget,
            bounds=bounds,
            sigma0=sigma0,
            method=method,
            rng=rng,
            confirm=confirm,
            workers=evaluator.workers,
            extra=extra,
        )
        journal = None if path is None else Journal(path)
        try:
            if journal is not None:
                opt = _resume(journal, opt)
            return _loop(opt, evaluator, journal, on_error, callback, Progress(opt, progress))
        finally:
            if journal is not None:
                journal.close()


def _check_callables(fun: Any, callback: Any) -> None:
    if not callable(fun):
        raise ValueError(f"fun must be callable, got {shown(fun)}")
    if callback is not None and not callable(callback):
        raise ValueError(f"callback must be callable or None, got {shown(callback)}")


def _path(checkpoint: Any) -> Path | None:
    if checkpoint is None or isinstance(checkpoint, (str, os.PathLike)):
        return None if checkpoint is None else Path(checkpoint)
    raise ValueError(f"checkpoint must be a path or None, got {shown(checkpoint)}")


def _loop(
    opt: Optimizer,
    evaluator: Evaluator,
    journal: Journal | None,
    on_error: str,
    callback: Callable[[Result], Any] | None,
    progress: Progress,
) -> Result:
    generation = opt.generation
    try:
        while not opt.done:
            evaluator.submit(opt.ask())
            for outcome in evaluator.collect():
                value = _value(outcome, opt, on_error)
                if journal is not None:
                    journal.append(outcome.id, value)
                opt.tell(outcome.id, value)
            if opt.generation > generation:
                generation = opt.generation
                progress.update()
                if journal is not None:
                    journal.refresh(*opt.data, opt.extra)
                if callback is not None and _wants_to_stop(callback, opt.result()):
                    opt.stop()
    except KeyboardInterrupt:
        return opt.interrupt()
    finally:
        progress.finish()
    # Only here: after an exception the state may be half an update, but the journal is whole.
    if journal is not None:
        journal.open(*opt.data, opt.extra)
    return opt.result()


def _wants_to_stop(callback: Callable[[Result], Any], intermediate_result: Result) -> bool:
    try:
        callback(intermediate_result)
    except StopIteration:
        return True
    return False


def _value(outcome: Outcome, opt: Optimizer, on_error: str) -> float:
    """The outcome's value, +inf for a failure; raises where the user wants that."""
    error = outcome.error
    if error is None:
        try:
            return as_value(outcome.value)
        except BadValueError as wrong:
            error = wrong
    if isinstance(error, BadValueError):
        raise EvaluationError(str(error), opt.result()) from error
    # A broken pool is no failure of the objective, and every further evaluation would meet it.
    if on_error == "worst" and not isinstance(error, BrokenExecutor):
        return float("inf")
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    raise EvaluationError(
        f"evaluation {outcome.id} failed after {opt.spent} evaluations with {what}", opt.result()
    ) from error


def _resume(journal: Journal, fresh: Optimizer) -> Optimizer:
    """The run kept in the checkpoint if there is one, else ``fresh``; the journal is open."""
    journal.lock()
    opt = fresh
    if journal.path.exists():
        opt = Optimizer.load(journal.path, fresh.method)
        old, new = _arguments(opt), _arguments(fresh)
        for what in old:
            if old[what] != new[what]:
                raise CheckpointError(
                    f"checkpoint {journal.path} holds a run with {what} {shown(old[what])}, not "
                    f"{shown(new[what])}: give the same arguments or another path"
                )
    journal.open(*opt.data, opt.extra)
    return opt


def _arguments(opt: Optimizer) -> dict[str, Any]:
    """What has to be the same when a run is resumed."""
    _, run = opt.data
    return {
        "budget": opt.budget,
        "dimension": opt.dimension,
        "confirm": opt.budget - run.setup.budget,
        "bounds": (run.box.low.tolist(), run.box.high.tolist()),
        "extra": opt.extra,
    }
