"""What a run has come to, at any moment."""

from __future__ import annotations

import math
from operator import itemgetter

import numpy as np

from noisewise._types import FloatArray
from noisewise.engine import BARREN, Engine
from noisewise.result import ALL_FAILED, BUDGET_SPENT, RUNNING, STOPPED, Result
from noisewise.run import Run


def result(engine: Engine) -> Result:
    """All that is known now; after the end, the result of the run."""
    run, best = engine.run, engine.recommend()
    x_lucky, luckiest = _luckiest(run, best.x)
    diagnostics, warnings = engine.parts.selection.report(run.selection)
    status = BUDGET_SPENT if engine.done and run.status == RUNNING else run.status
    lucky = luckiest < math.inf
    return Result(
        x=best.x,
        fun=best.fun,
        fun_se=best.fun_se,
        x_best_observed=x_lucky if lucky else best.x,
        fun_best_observed=luckiest if lucky else math.nan,
        nfev=run.ledger.told,
        nit=run.generation,
        n_reevaluations=run.ledger.reevaluation,
        n_failures=run.ledger.failures,
        method=engine.method.name,
        misranking=run.misranking,
        history=run.history.as_dict(),
        diagnostics=diagnostics,
        warnings=warnings,
        success=status in (BUDGET_SPENT, STOPPED) and lucky,
        status=status,
        message=_message(engine, status, lucky),
    )


def _luckiest(run: Run, x: FloatArray) -> tuple[FloatArray, float]:
    """The luckiest draw, the values of generations under way included; ``x`` is what is being
    confirmed."""
    found = [(run.best_value, run.best_x.copy())]
    if run.pending:
        seen = np.where(np.isnan(run.samples.values), np.inf, run.samples.values).min(axis=1)
        i = int(seen.argmin())
        found.append((float(seen[i]), x if run.confirming else run.box.outer(run.X[i])))
    if run.ahead is not None:
        early = np.where(np.isnan(run.ahead.values), np.inf, run.ahead.values)
        i = int(early.argmin())
        found.append((float(early[i]), run.box.outer(run.ahead.X[i])))
    value, where = min(found, key=itemgetter(0))
    return where, value


def _message(engine: Engine, status: int, lucky: bool) -> str:
    run = engine.run
    said = {
        BUDGET_SPENT: "the budget is spent",
        STOPPED: "stopped on request",
        ALL_FAILED: f"gave up: {BARREN} generations in a row had no successful evaluation",
        RUNNING: "still running",
    }[status]
    if status == BUDGET_SPENT and not lucky:
        said = "the budget is spent and no evaluation succeeded"
    said = f"{said}; {run.generation} generations, {run.ledger.told} evaluations"
    more = engine.parts.adaptation.explain(run.adaptation)
    return f"{said}; {more}" if more else said
