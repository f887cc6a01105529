"""The loop."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from noisewise import executors
from noisewise._check import arguments, flag, one_of, shown
from noisewise.checkpoint import Journal
from noisewise.drive import Drive
from noisewise.errors import CheckpointError
from noisewise.executors import Evaluator
from noisewise.executors.base import Limits
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
    timeout: float | None = None,
    retries: int = 2,
    lookahead: int | None = None,
    late: int = 0,
) -> Result:
    """Minimise a function that can only be measured with noise.

    Parameters
    ----------
    fun
        ``fun(x, *args) -> float``, a noisy value at ``x``. With ``vectorized=True``,
        ``fun(X, *args) -> (n,)`` for ``X`` of shape (n, d). nan and +inf count as failures. Values
        beyond 1e70 in size count as 1e70, with a warning.
    x0
        Where to start; the middle of finite bounds by default.
    budget
        How many evaluations are counted, everything included: a hard cap, and all of it is used.
        An evaluation that was in flight when its worker or this process was killed is done again
        and counted once.
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
    timeout
        Seconds after which an evaluation is given up. It stays charged and counts as a failure,
        whatever ``on_error`` says. Evaluations run in processes then, one for ``workers=1``.
    retries
        How often an evaluation whose worker died is tried again, at no charge.
    lookahead
        Candidates of the next generation that are handed out with each generation, so that no
        worker waits for its last values. None: half the workers, if the method chooses its
        population itself and that is at least twice the workers; else 0.
    late
        Close a generation while at most so many of its values are missing; they count in the
        next one. Unlike all the rest, this makes the outcome depend on the order of results.

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
    given, progress = arguments("args", args), flag("progress", progress)
    path, limits = _path(checkpoint), Limits(timeout, retries)
    with executors.start(fun, given, vectorized, workers, executor, limits) as evaluator:
        opt = Optimizer(
            x0,
            budget=budget,
            bounds=bounds,
            sigma0=sigma0,
            method=method,
            rng=rng,
            confirm=confirm,
            workers=evaluator.workers,
            lookahead=lookahead,
            late=late,
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
    drive = Drive(opt, evaluator, journal, on_error)
    try:
        while not opt.done:
            drive.step()
            if opt.generation > generation:
                generation = opt.generation
                progress.update()
                if journal is not None:
                    journal.refresh(*opt.data, opt.extra)
                if callback is not None and _wants_to_stop(callback, opt.result()):
                    opt.stop()
    except KeyboardInterrupt:
        drive.rescue()
        return opt.interrupt()
    except BaseException:
        drive.rescue()
        raise
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


def _resume(journal: Journal, fresh: Optimizer) -> Optimizer:
    """The run kept in the checkpoint if there is one, else ``fresh``; the journal is open."""
    journal.lock()
    opt = fresh
    if journal.path.exists():
        opt = Optimizer.load(journal.path, fresh.method)
        old, new = _arguments(opt), _arguments(fresh)
        for what in old:
            if old[what] != new[what] and (what != "rng" or None not in (old[what], new[what])):
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
        "x0": run.x0.tolist(),
        "sigma0": run.sigma0,
        "rng": run.seed,  # None if it is no number, which may mean any
        "extra": opt.extra,
    }
