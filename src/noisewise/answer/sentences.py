"""What a result says in words about how its run ended: the message and the warnings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from noisewise.answer import outlook
from noisewise.measured.estimate import Estimate
from noisewise.run.run import ALL_FAILED, BUDGET_SPENT, RUNNING, STOPPED, Run

#: So many equal values, and none that differs, are worth a warning.
_CONSTANT = 5


def message(
    run: Run, status: int, best: Estimate, more: Iterable[str], lucky: bool, exact: bool
) -> str:
    """How a run has ended or stands; ``more`` is what its method says, ``lucky`` whether any
    evaluation succeeded, ``exact`` whether re-evaluations agreed."""
    spent = "the time is up" if run.time_up else "the budget is spent"
    said = {
        BUDGET_SPENT: spent,
        STOPPED: "stopped on request",
        ALL_FAILED: _gave_up(run),
        RUNNING: "still running",
    }[status]
    if status == BUDGET_SPENT and not lucky:
        found = run.ledger.failures < run.ledger.told
        said = f"{spent} and no evaluation "
        said += "was feasible" if found else f"succeeded: {_reason(run)}"
    elif status == BUDGET_SPENT and best.failed:
        said = f"{spent} and no evaluation of the recommended point succeeded"
        said += f", the last failure was {run.failure}" if run.failure else ""
    parts = [said, f"{counted(run.round, 'generation')}, {counted(run.ledger.told, 'evaluation')}"]
    count = run.evidence.reevaluations
    if count and not exact:
        parts.append(misranking_said(run.evidence.misranking, count))
    parts += filter(None, more)
    if run.seeds is not None and (chosen := run.seeds.said()):
        parts.append(chosen)
    return "; ".join(parts)


def warnings(run: Run, best: Estimate, status: int, method: str) -> list[str]:
    """What to be careful with, as far as the run itself knows."""
    found = _nothing(run) + _about_answer(run, best, status)
    return found + _constant(run) + _unused(run.unused, method)


def infeasible(chance: float) -> str:
    """What the user should know where the constraints are not met at the recommended point."""
    return (
        "no point was found that meets the constraints: x is the nearest to one, with a chance "
        f"of {chance:.2g}"
    )


def _gave_up(run: Run) -> str:
    ledger = run.ledger
    if ledger.crashes == ledger.told:
        return f"gave up: {_all_failed(run)}"
    said = f"gave up: {run.barren} generations in a row had no successful evaluation"
    return f"{said}: {_reason(run)}"


def _all_failed(run: Run) -> str:
    link = ", " if run.failure else ": "
    return f"all {run.ledger.told} evaluations failed{link}{_reason(run)}"


def _reason(run: Run) -> str:
    """Why evaluations failed, as far as is known."""
    if run.failure:
        return f"the last one with {run.failure}"
    return "the objective returned nan or inf"


def counted(n: int, thing: str) -> str:
    """A number of things: 1 failure, 2 failures."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def misranking_said(value: float, count: int) -> str:
    """The measured misranking in words, with the number of re-evaluations behind it."""
    if count < outlook.ENOUGH:
        return f"{counted(count, 're-evaluation')}: too few to say how much ranks are noise"
    return f"ranks of {count} re-evaluations disagree by {value:.0%} (pure noise: 33%)"


def misranking_shown(value: float, count: int) -> str:
    """The same for a line of progress."""
    few = f"{counted(count, 're-evaluation')}: too few to say"
    return f"misranking {value:.2f} (n={count})" if count >= outlook.ENOUGH else few


def _unused(rows: int, method: str) -> list[str]:
    """What the user should know about the data they brought."""
    if rows == 0:
        return []
    return [f"method {method} had no use for {rows} rows of earlier data when they were added"]


def _nothing(run: Run) -> list[str]:
    """What the user should know where no evaluation succeeded."""
    return [_all_failed(run)] if 0 < run.ledger.told == run.ledger.failures else []


def _constant(run: Run) -> list[str]:
    """What the user should know where no candidate was better than another."""
    history, n = run.history.as_dict(), run.ledger.told - run.ledger.failures
    values = np.concatenate([history["best_value"], history["mean_value"], [run.best_value]])
    good = values[np.isfinite(values)]
    if n < _CONSTANT or len(good) < 3 or good.min() < good.max():
        return []
    return [f"all {n} values are equal: does the objective use its parameters?"]


def _about_answer(run: Run, best: Estimate, status: int) -> list[str]:
    """What the user should know about the estimate, and about points that were given up."""
    given_up = 0 if run.final is None else run.final.given_up
    if best.failed:
        tried = f", as did all at {counted(given_up, 'other finalist')}" if given_up else ""
        return [
            f"{best.failures} of {best.failures} confirmations failed at the recommended point"
            f"{tried}: there is no answer, x is only the point that was tried last"
        ]
    found = _about_estimate(best, status, run.setup.target)
    if given_up:
        which = "the point chosen first" if given_up == 1 else f"the first {given_up} choices"
        found.append(f"all confirmations of {which} failed: another finalist was returned")
    return found


def _about_estimate(best: Estimate, status: int, target: str) -> list[str]:
    if best.failures:
        said = f"{best.failures} of {best.n + best.failures} confirmations failed"
        about = "the estimate and its interval are about the successes"
        return [f"{said} at the recommended point; {about}"]
    if best.kind == "typical":
        return [
            f"about {best.set_aside:.2g} of the values are outliers: fun is the value without them "
            f"(the mean of all {best.n} evaluations of x is {best.mean_of_all:.4g})"
        ]
    if best.kind == "median" and target == "mean":
        return ["the noise seems to have no mean: fun is the median"]
    if best.kind == "unknown" and status == BUDGET_SPENT:
        return [
            "fun was not measured at x (confirm=0, or a tiny budget), so its error is not known"
        ]
    return []
