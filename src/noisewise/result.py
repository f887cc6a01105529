"""What a run returns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from noisewise import outlook
from noisewise._types import FloatArray

if TYPE_CHECKING:
    from noisewise.models.limits import Limits
    from noisewise.noise.estimate import Estimate
    from noisewise.run import Run
    from noisewise.search import Search

#: ``status`` of a result, and what it means.
BUDGET_SPENT, STOPPED, ALL_FAILED, INTERRUPTED, RUNNING = 0, 1, 2, 3, 4
#: So many equal values, and none that differs, are worth a warning.
_CONSTANT = 5
#: Rounds in a row without one success before a run gives up; they must have at least as many
#: candidates as so many rounds of an evolution strategy.
BARREN = 3


class Result(dict[str, Any]):
    """Result of a run: a dictionary whose entries are attributes, too.

    x
        The recommended point.
    fun, fun_se, interval
        An estimate of the expected value at ``x``, its standard error and a 95 % interval, from
        evaluations of ``x`` that were kept for this and did not choose it. With ``confirm=0``
        there are none: ``fun`` is then the mean of the last generation around ``x``, which is
        usually too high, and the others are nan.
    estimate
        What ``fun`` estimates: ``"mean"``; ``"median"`` where the noise seems to have no mean;
        ``"exact"`` where re-evaluations agree exactly; ``"unknown"`` where ``x`` was not measured.
    x_best_observed, fun_best_observed
        The luckiest draw. Under noise its value is too good to be true.
    nfev, nit, n_reevaluations, n_failures
        Evaluations, completed generations, re-evaluations, failed evaluations.
    misranking, misranking_n
        Disagreement of the ranks of re-evaluations, 0 (none) to 1/2, nan if not measured; and the
        re-evaluations behind it.
    n_confirmations, n_confirmations_failed
        Evaluations of ``x`` behind ``fun``, and how many of them failed.
    outlook
        What else is known about the answer, and what more evaluations would buy: a
        `noisewise.outlook.Outlook`; `summary` says it in sentences.
    history, diagnostics
        Dictionaries of arrays, one entry per generation.
    warnings
        Sentences about what to be careful with; empty if all is well.
    method, success, status, message
        What ran and how it ended.
    maximize
        Whether larger values are better. All values here are those of the objective itself.

    >>> import noisewise as nw
    >>> r = nw.minimize(lambda x: x @ x, [3.0] * 4, sigma0=1.0, budget=200, rng=0)
    >>> r.nfev, r.success, r.method
    (200, True, 'auto')
    >>> len(r.history["sigma"]) == r.nit
    True
    """

    x: FloatArray
    fun: float
    fun_se: float
    interval: tuple[float, float]
    estimate: str
    x_best_observed: FloatArray
    fun_best_observed: float
    nfev: int
    nit: int
    n_reevaluations: int
    n_failures: int
    misranking: float
    misranking_n: int
    n_confirmations: int
    n_confirmations_failed: int
    outlook: outlook.Outlook
    history: dict[str, FloatArray]
    diagnostics: dict[str, FloatArray]
    warnings: list[str]
    method: str
    success: bool
    status: int
    message: str
    maximize: bool
    #: Values by name, where the problem has a space; else None.
    params: dict[str, Any] | None
    params_best_observed: dict[str, Any] | None
    #: Only with measured constraints: estimates of their means at ``x`` and the standard errors,
    #: whether all estimates are at most 0, and the chance that all means are.
    constraints: FloatArray
    constraints_se: FloatArray
    feasible: bool
    p_feasible: float

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"a result has no entry {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        try:
            del self[name]
        except KeyError:
            raise AttributeError(f"a result has no entry {name!r}") from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        rows = [
            ("x", _array(self.x)),
            ("fun", self._value()),
            ("best observed", f"{self.fun_best_observed:.6g} (the luckiest draw)"),
            (
                "nfev",
                f"{self.nfev} ({_many(self.n_reevaluations, 're-evaluation')}, "
                f"{self.n_failures} failed)",
            ),
            ("nit", str(self.nit)),
            ("method", str(self.method)),
            ("message", str(self.message)),
        ]
        if "constraints" in self:
            rows.insert(2, ("constraints", self._constraints()))
        rows += [("warning", text) for text in self.get("warnings", [])]
        width = max(len(name) for name, _ in rows)
        gap = "\n" + " " * (width + 2)
        return "\n".join(f"{name:>{width}}: {text.replace('; ', ';' + gap)}" for name, text in rows)

    __str__ = __repr__

    def _value(self) -> str:
        """``fun`` with its interval."""
        n, failed = self.n_confirmations, self.n_confirmations_failed
        return outlook.estimated(self.fun, self.interval, self.estimate, n, failed)

    def _constraints(self) -> str:
        return outlook.constrained(self.constraints, self.constraints_se, self.p_feasible)

    def summary(self, more: int | None = None) -> str:
        """The answer, how sure it is, and what ``more`` evaluations would buy, as text; ``more`` is
        the budget again if it is not given.

        >>> import noisewise as nw
        >>> r = nw.minimize(lambda x: x @ x, [3.0] * 4, sigma0=1.0, budget=200, rng=0)
        >>> print(r.summary())  # doctest: +ELLIPSIS
        fun: ... (exact: re-evaluations agree)
        ...
        """
        lines = [f"fun: {self._value()}"]
        if "constraints" in self:
            lines.append(f"constraints: {self._constraints()}")
        lines += self.outlook.sentences(more)
        lines += [f"warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from noisewise.report.card import card

        return card(self)

    def plot(self) -> Any:
        """Values, misranking, step size and population over the run: a 2 x 2 array of matplotlib
        axes. Needs the extra ``plot``."""
        from noisewise.report.plot import plot

        return plot(self)


def of(search: Search) -> Result:
    """All that is known now; after the end, the result of the run."""
    run, (x, best) = search.run, search.recommend()
    told = search.method.explain(run.memory)
    more = "; ".join(filter(None, (told.message, search.method.absorbed(run.memory))))
    lucky_x, luckiest = _luckiest(search)
    lucky, sign = luckiest < math.inf, -1.0 if run.maximize else 1.0
    status = BUDGET_SPENT if search.done and run.status == RUNNING else run.status
    found = Result(
        x=x,
        fun=best.value,
        fun_se=best.se,
        interval=best.interval,
        estimate=best.kind,
        x_best_observed=lucky_x if lucky else x,
        fun_best_observed=sign * luckiest if lucky else math.nan,
        nfev=run.ledger.told,
        nit=run.round,
        n_reevaluations=run.ledger.reevaluation,
        n_failures=run.ledger.failures,
        method=search.method.name,
        misranking=run.misranking.value,
        misranking_n=run.misranking.count,
        n_confirmations=best.n + best.failures,
        n_confirmations_failed=best.failures,
        outlook=outlook.of(search, best),
        history=_history(run),
        diagnostics=told.diagnostics,
        warnings=_warnings(best, status)
        + _constant(run)
        + _unused(run.unused, search.method.name)
        + told.warnings,
        success=status in (BUDGET_SPENT, STOPPED) and lucky,
        status=status,
        message=_message(search, status, lucky, more, told.deterministic is True),
        maximize=run.maximize,
    )
    if run.limits is not None:
        _add_constraints(found, run, run.limits)
    return found


def without_constraints(found: Result) -> Result:
    """A result of a run whose constraints were never measured: every evaluation failed."""
    found.constraints, found.constraints_se = np.empty(0), np.empty(0)
    found.feasible, found.p_feasible = False, math.nan
    return found


def _add_constraints(found: Result, run: Run, limits: Limits) -> None:
    """What is known about the constraints at the recommended point."""
    x = run.setup.box.inner(found.x)[None]
    g, s = limits.predict(x)
    found.constraints, found.constraints_se = g[:, 0], s[:, 0]
    found.feasible, found.p_feasible = bool((g <= 0.0).all()), float(limits.chance(x)[0])
    found.success = found.success and found.feasible
    if not found.feasible:
        found.warnings.append(
            "no point was found that meets the constraints: x is the nearest to one, with a chance "
            f"of {found.p_feasible:.2g}"
        )


def _history(run: Run) -> dict[str, FloatArray]:
    """The history, values in the user's sign."""
    history = run.history.as_dict()
    if run.maximize:
        for name in ("mean_value", "best_value"):
            history[name] = -history[name]
    return history


def _luckiest(search: Search) -> tuple[FloatArray, float]:
    """The luckiest draw, the values of populations under way included."""
    run = search.run
    where, value = run.best_x.copy(), run.best_value
    for part in (run.current, run.next):
        if part is not None:
            i, smallest = part.lowest()
            if smallest < value:
                where, value = run.setup.box.outer(part.X[i]), smallest
    return where, value


def _message(search: Search, status: int, lucky: bool, more: str, exact: bool) -> str:
    run = search.run
    said = {
        BUDGET_SPENT: "the budget is spent",
        STOPPED: "stopped on request",
        ALL_FAILED: f"gave up: {run.barren} generations in a row had no successful evaluation",
        RUNNING: "still running",
    }[status]
    if status == BUDGET_SPENT and not lucky:
        found = run.ledger.failures < run.ledger.told
        said = f"the budget is spent and no evaluation {'was feasible' if found else 'succeeded'}"
    parts = [said, f"{_many(run.round, 'generation')}, {_many(run.ledger.told, 'evaluation')}"]
    count = run.misranking.count
    if count and not exact:
        parts.append(outlook.misranking_said(run.misranking.value, count))
    if more:
        parts.append(more)
    if run.seeds is not None and (chosen := run.seeds.said()):
        parts.append(chosen)
    return "; ".join(parts)


def _many(n: int, thing: str) -> str:
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"


def _array(x: Any) -> str:
    return np.array2string(np.asarray(x), precision=5, threshold=12, max_line_width=88)


def _unused(rows: int, method: str) -> list[str]:
    """What the user should know about the data they brought."""
    if rows == 0:
        return []
    return [f"method {method} had no use for {rows} rows of earlier data when they were added"]


def _constant(run: Run) -> list[str]:
    """What the user should know where no candidate was better than another."""
    history, n = run.history.as_dict(), run.ledger.told - run.ledger.failures
    values = np.concatenate([history["best_value"], history["mean_value"], [run.best_value]])
    good = values[np.isfinite(values)]
    if n < _CONSTANT or len(good) < 3 or good.min() < good.max():
        return []
    return [f"all {n} values are equal: does the objective use its parameters?"]


def _warnings(best: Estimate, status: int) -> list[str]:
    """What the user should know about the estimate."""
    if best.failures:
        n = best.n + best.failures
        said = f"{best.failures} of {n} confirmations failed at the recommended point"
        about = "; the estimate and its interval are about the successes"
        return [f"{said}{about}" if best.n else said]
    if best.kind == "median":
        return ["the noise seems to have no mean: fun is the median"]
    if best.kind == "unknown" and status == BUDGET_SPENT:
        return ["fun was not measured at x (confirm=0), so nothing is known about its error"]
    return []
