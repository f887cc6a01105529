"""The loop: ask, evaluate, journal, tell."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from noisewise import executors, methods
from noisewise._check import arguments, check_seed, flag, one_of, shown, suggesting
from noisewise._types import Bounds, Data, Rng, Start
from noisewise.answer import evaluations
from noisewise.answer.result import SHOWN_BY, Result
from noisewise.executors import Evaluator
from noisewise.loop import fingerprint, outcomes
from noisewise.loop.checkpoint import Journal
from noisewise.loop.clock import Clock
from noisewise.loop.optimizer import Optimizer
from noisewise.loop.resume import resume
from noisewise.methods import Method
from noisewise.problem.space import Space, name_problem
from noisewise.run import changes, feasibility
from noisewise.run.seeds import MODES


@suggesting
def minimize(
    fun: Callable[..., Any],
    x0: Start = None,
    *,
    budget: float,
    bounds: Bounds = None,
    space: Space | Mapping[str, Any] | None = None,
    method: str | Method = "auto",
    rng: Rng = None,
    maximize: bool = False,
    workers: int = 1,
    checkpoint: str | os.PathLike[str] | None = None,
    # more
    sigma0: float | None = None,
    constraints: Callable[..., Any] | None = None,
    incumbent: Any = None,
    seeds: str | None = None,
    confirm: float | str = "auto",
    target: str = "mean",
    executor: Any = None,
    batch: int | None = None,
    max_time: float | None = None,
    storage: str | None = None,
    data: Data = None,
    on_error: str = "raise",
    callback: Callable[[Result], Any] | None = None,
    on_evaluation: Callable[[dict[str, Any]], Any] | None = None,
    progress: bool = False,
    interrupt: str = "raise",
    args: tuple[Any, ...] = (),
    vectorized: bool = False,
    extra: Mapping[str, Any] | None = None,
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
    method
        A name of `noisewise.list_methods` or an object from `noisewise.methods`.
    rng
        None, a seed, a ``SeedSequence`` or a numpy ``Generator``: same rng, same run.
    maximize
        True: larger values are better. All values that are shown, kept or returned are those of
        ``fun``.
    workers
        Number of worker processes. With several, none of them waits for a generation to end; the
        outcome then depends on the order in which values come. ``batch=workers`` does not, but
        workers wait for each other.
    checkpoint
        A file that keeps the run: call again with the same path to go on after an interruption,
        or with a larger ``budget`` to go on after the end. Other arguments must be the same. If
        the code of the objective has changed, a warning says so.

    Other Parameters
    ----------------
    sigma0
        Initial step size, in units of the coordinate with the smallest width; 0.3 of that width
        by default. Required unless all bounds are finite.
    constraints
        ``constraints(x, *args)``: one or several noisy values whose means must be at most 0, called
        with the arguments of ``fun`` (names and seed included) once for each call of ``fun``; both
        together are one evaluation. nan or +inf: it failed. For methods ``"auto"``, ``"gp"``,
        ``"watchful"`` and ``"cma-es"``. The result has the entries ``constraints``,
        ``constraints_se``, ``feasible`` and ``p_feasible``.
    incumbent
        Today's setting: a point or, with ``space``, values by name. The search starts there
        unless ``x0`` says otherwise and has about 60 % of the budget. The rest measures
        what it found, the challenger, and the incumbent in turns; with ``seeds`` each pair shares
        one. The challenger is returned if the 95 % interval of its improvement lies above zero,
        else the incumbent. The result has the entries ``incumbent``, ``challenger``,
        ``improvement``, ``improvement_interval`` and ``kept``. ``confirm`` is the number of
        evaluations of both together.
    seeds
        None: ``fun(x, *args)`` draws its own random numbers. Else ``fun(x, *args, seed=s)`` gets
        a seed below 2**31 for them (``vectorized=True``: an array of shape (n,)), the same after
        a resume. ``"independent"``: every evaluation has its own. ``"common"``: all candidates of
        a generation share one; re-evaluations share another. ``"auto"``: early generations try
        both. The recommended point is always measured with independent seeds.
    confirm
        Evaluations of the budget kept to measure the recommended point. ``"auto"``: about the
        square root of the budget, and at most a tenth of a small one; an evolution strategy in
        fewer than ten dimensions keeps a few more to choose between finalists; up to five if there
        is no noise. 0: the value is not measured.
    target
        What ``fun`` of the result estimates: ``"mean"``, the expected value at ``x``, or
        ``"median"``. It also decides how finalists are compared; the search itself compares values
        by their ranks and does not depend on it.
    executor
        Where evaluations run instead: one of `noisewise.executors`, or any
        ``concurrent.futures.Executor``.
    batch
        Evaluations that are done at a time, such as the wells of a plate; only the last batch may
        be smaller. Populations that the method chooses are multiples of it, and ``confirm`` is
        rounded up to whole batches.
    max_time
        Seconds that this call may take, None: any time. The search ends early enough to measure
        its answer, as far as the pace of the newest evaluations tells; none of those under way is
        cut short. What is left of the budget is not spent. With ``checkpoint``, the same call goes
        on and has as many seconds again.
    storage
        A run in a database, instead of ``checkpoint``: ``"sqlite:///runs.db#tuning"`` for processes
        of one machine, ``"postgresql://user@host/db#tuning"`` for many machines; what is behind the
        # names the run. Every process that makes this call takes part in it, may come and go, and
        gets the result; one that dies is replaced by the others. ``budget`` is that of the run,
        ``max_time`` that of the process: the search ends in time for those that have the most.
    data
        ``(X, y)`` or ``(X, y, se)``: measurements made earlier, such as those of another run, in
        the coordinates of ``x`` or by name where there is a ``space``; see `Optimizer.add`. Or a
        table with a column ``value``, such as ``evaluations`` of a result; columns that are no
        parameters are ignored. They are not charged, and methods check them before they rely on
        them.
    on_error
        ``"raise"``: an exception in ``fun`` ends the run with `noisewise.EvaluationError`.
        ``"worst"``: it counts as a failed evaluation, which ranks last.
    callback
        Called after each generation with ``intermediate_result``; raising ``StopIteration``
        ends the run.
    on_evaluation
        Called after each evaluation with a dictionary: the entries of a row of ``evaluations`` of
        the result, the point ``x`` and, with a ``space``, ``params``. Raising ``StopIteration``
        ends the run. A resumed run does not call it again for what was evaluated before.
    progress
        Show a progress bar on stderr. Where stderr is not a terminal, a line per tenth of the
        budget goes to the logger ``"noisewise"`` at level INFO, or to stderr if it has no handler.
    interrupt
        ``"raise"``: Ctrl-C raises KeyboardInterrupt when all values are in the checkpoint; its
        attribute ``result`` is the result so far. ``"return"``: that result is returned.
    extra
        Plain data to keep in the checkpoint, such as names; a resumed run must bring the same.

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
    _check_callables(fun, callback=callback, on_evaluation=on_evaluation)
    given, progress = arguments("args", args), flag("progress", progress)
    path, objective = _path(checkpoint), fun
    if storage is not None and path is not None:
        raise ValueError(f"give checkpoint or storage, not both, got {shown(checkpoint)}")
    named, x0, _ = name_problem(space, x0, bounds)
    fun = fun if named is None else named.objective(fun)
    if constraints is not None:
        feasibility.check(constraints, methods.resolve(method), vectorized)
        rule = constraints if named is None else named.objective(constraints)
        fun = feasibility.Both(fun, rule)
    if seeds is not None:
        check_seed(objective, one_of("seeds", seeds, MODES))
    clock, copied = None if max_time is None else Clock(max_time, vectorized), seeds is None
    with executors.start(fun, given, vectorized, workers, executor, copied) as evaluator:
        opt = Optimizer(
            x0,
            budget=budget,
            bounds=bounds,
            space=named,
            sigma0=sigma0,
            method=method,
            rng=rng,
            confirm=confirm,
            target=target,
            workers=max(evaluator.workers, 1 + (evaluator.elastic or storage is not None)),
            data=data,
            seeds=seeds,
            extra=extra,
            maximize=maximize,
            batch=batch,
            incumbent=incumbent,
        )
        if constraints is not None:
            opt.about = replace(opt.about, constrained=True)
        journal = None if path is None else Journal(path)
        if path is not None or storage is not None:
            opt.about = replace(opt.about, objective=fingerprint.of(objective))
        try:
            if storage is not None:
                from noisewise.loop.shared import share  # it takes a while to import

                bar = SHOWN_BY["progress"] if progress else None
                heard = callback, on_evaluation
                return share(storage, opt, evaluator, on_error, *heard, bar, clock)
            if journal is not None:
                there = journal.path.exists()
                opt = resume(journal, opt)
                evaluator.keep(journal.path, resumed=there)
            bar = SHOWN_BY["progress"](opt) if progress else None
            return _loop(opt, evaluator, journal, on_error, callback, on_evaluation, bar, clock)
        except KeyboardInterrupt as error:
            if interrupt == "return":
                return opt.interrupt()
            outcomes.attach(error, opt, path)
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
    on_evaluation: Callable[[dict[str, Any]], Any] | None,
    progress: Any,
    clock: Clock | None,
) -> Result:
    """Ask, evaluate, journal, tell. A value is in the journal before it is told."""
    search, run, generation, whole = opt._search, opt._run, opt.generation, True
    flows = not run.setup.batch and (
        run.workers > 1 or (clock is not None and not evaluator.together)
    )
    evaluator.one_at_a_time = journal is not None
    try:
        while not search.done:
            whole = False  # an interrupt from here on leaves half an update behind
            if clock is not None and (left := clock.over(run)) is not None:
                changes.shorten(search, left)
                if journal is not None:
                    journal.time_up(left)
                continue
            # None: all that there are.
            wanted = max(0, evaluator.slots - run.out) if flows else None
            trials = search.ask(wanted)
            whole = True
            if journal is not None and (trials or wanted):
                journal.asked(wanted, run.handed)
            if trials:
                if clock is not None:
                    clock.begin([trial.id for trial in trials])
                evaluator.submit(trials)
            elif wanted != 0 and run.out <= 0 and not evaluator.finished:
                raise RuntimeError(
                    f"method {opt.method.name} asks for no evaluation although "
                    f"{run.ledger.remaining} are left and none is under way"
                )
            more = evaluator.elastic and len(trials) == wanted
            while not evaluator.finished:
                evaluator.receive(block=True)
                if more and evaluator.slots > run.out:  # workers have come
                    break
            if not evaluator.finished:
                continue
            values = evaluator.numbers(run.maximize)
            if values is None:
                values = outcomes.values(evaluator.finished, opt, on_error)
            if journal is not None:
                journal.append([value.signed(run.maximize) for value in values])
            if clock is not None:
                clock.end([value.id for value in values])
            whole = False
            for _ in values:
                evaluator.finished.popleft()
            search.tell(values)
            whole = True
            ids = [value.id for value in values]
            for told in evaluations.single(run, opt.space, ids) if on_evaluation else ():
                if on_evaluation is not None and outcomes.wants_to_stop(on_evaluation, told):
                    opt.stop()
            if run.round > generation:
                generation = run.round
                if progress is not None:
                    progress.update()
                if journal is not None:
                    journal.refresh(opt.method, run, opt.extra, opt.about)
                if callback is not None and outcomes.wants_to_stop(callback, opt.result()):
                    opt.stop()
        if progress is not None:  # the last phase is no generation
            progress.update()
    except BaseException:
        outcomes.rescue(opt, evaluator, journal, whole)
        raise
    finally:
        if progress is not None:
            progress.finish()
    # Only here: after an exception the state may be half an update, but the journal is whole.
    if journal is not None:
        journal.open(opt.method, run, opt.extra, opt.about)
    return opt.result()


def _check_callables(fun: Any, **others: Any) -> None:
    if not callable(fun):
        raise ValueError(f"fun must be callable, got {shown(fun)}")
    for name, given in others.items():
        if given is not None and not callable(given):
            raise ValueError(f"{name} must be callable or None, got {shown(given)}")


def _path(checkpoint: Any) -> Path | None:
    if checkpoint is None or isinstance(checkpoint, (str, os.PathLike)):
        return None if checkpoint is None else Path(checkpoint)
    raise ValueError(f"checkpoint must be a path or None, got {shown(checkpoint)}")
