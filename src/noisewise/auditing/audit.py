"""Is the best trial of a finished study luck, and which setting should be used?"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from noisewise._check import suggesting, whole
from noisewise._types import FloatArray
from noisewise.answer.written import estimated
from noisewise.auditing import sentences
from noisewise.auditing.model import LEAST, LEAST_EACH, Audited
from noisewise.auditing.table import read
from noisewise.auditing.trials import Trials
from noisewise.problem.space import Space


@dataclass(frozen=True)
class Luckiest:
    """The best trial of a study: where it was, the value that it had, and what is expected there
    when it is measured again, with a 95 % interval. ``lucky``: the value lies on the good side of
    the interval, so that much of it was luck."""

    x: FloatArray
    params: dict[str, Any] | None
    value: float
    fun: float
    interval: tuple[float, float]
    lucky: bool


@dataclass(frozen=True)
class Audit:
    """What a finished study is worth. Values have the sign of the study.

    x, params
        The setting to use: the middle of the five settings that are expected to be the best, by
        name where the study has names; ``x`` is then its place in the unit cube of ``space``.
    fun, fun_se, interval
        The expected value there, with its standard error and a 95 % interval, from a model of all
        trials. It knows that the best trials were chosen for their values.
    luckiest
        The best trial, see `Luckiest`.
    chance
        The chance that ``x`` is better than the setting of the best trial; nan if it is that.
    noise
        Standard deviation of a single value at ``x``.
    swapped
        How often noise puts two of the better half of the trials in the wrong order.
    left
        By how much the best setting is expected to be better than ``x``: what a longer search may
        find.
    n, failures
        Trials that have a value and that have none.
    maximize, space, notes
        Whether larger values are better; the parameters; what was left out, in sentences.

    >>> import numpy as np, noisewise as nw
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, 60)
    >>> found = nw.audit({"x": x, "value": x**2 + rng.normal(0, 0.2, 60)})
    >>> bool(found.luckiest.value < 0.0 < found.luckiest.fun), bool(abs(found.params["x"]) < 0.3)
    (True, True)
    """

    x: FloatArray
    params: dict[str, Any] | None
    fun: float
    fun_se: float
    interval: tuple[float, float]
    luckiest: Luckiest
    chance: float
    noise: float
    swapped: float
    left: float
    n: int
    failures: int
    maximize: bool
    space: Space
    title: str = ""
    notes: list[str] = field(default_factory=list)
    #: What is behind it: the model, the trials in the unit cube and their values.
    model: Any = field(default=None, repr=False, compare=False)
    trials: Any = field(default=None, repr=False, compare=False)

    def width_after(self, more: float) -> float:
        """Length of the interval to expect when ``more`` evaluations have measured ``x``."""
        return float(self.model.width_after(self._unit, whole("more", more, least=1)))

    @cached_property
    def _unit(self) -> FloatArray:
        return np.asarray(self.model.x)

    def summary(self, more: int | None = None) -> str:
        """All of it as text, with what ``more`` evaluations (as many again) would buy."""
        return "\n".join(sentences.summary(self, more))

    def page(self, path: Any) -> None:
        """Write one HTML page to ``path``; it needs no network."""
        from noisewise.auditing.page import write

        write(self, path)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        from noisewise.auditing.page import card

        return card(self)

    @property
    def said(self) -> str:
        """The expected value with its interval."""
        return estimated(self.fun, self.interval, "mean")


@suggesting
def audit(
    study_or_table: Any, space: Any = None, maximize: bool = False, *, value: str | None = None
) -> Audit:
    """What the trials of a finished study say: which setting to use, what to expect of it, and
    whether the best trial was luck.

    Parameters
    ----------
    study_or_table
        An Optuna study of any sampler, or the URL of its storage (with ``#name`` where it holds
        several); an Ax experiment; a CSV file, such as Ax and Optuna write; a data frame; a
        dictionary of columns, such as ``evaluations`` of a `noisewise.Result`; a list of
        dictionaries; or ``(X, y)`` or ``(X, y, se)`` with points in rows.
    space
        The parameters, a `noisewise.Space` or a dictionary. A study knows its own. Of a table they
        are all columns but the values and what is known to be about trials, with ranges from the
        smallest to the largest value that was tried.
    maximize
        True: larger values are better. A study knows that itself.
    value
        The column of a table that has the values: "value" or what is usual elsewhere, if None. A
        column "se" or "sem" has their standard errors. Empty values and nan: the trial failed.

    Examples
    --------
    >>> import optuna, noisewise as nw
    >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
    >>> noise = np.random.default_rng(0)
    >>> study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=0))
    >>> def f(trial):
    ...     return trial.suggest_float("x", -1, 1) ** 2 + noise.normal(0, 0.2)
    >>> study.optimize(f, n_trials=50)
    >>> found = nw.audit(study)
    >>> found.luckiest.lucky, bool(found.interval[0] < found.params["x"] ** 2 < found.interval[1])
    (True, True)
    """
    trials = read(study_or_table, space, maximize, value)
    space, X = trials.points()
    sign = -1.0 if trials.maximize else 1.0
    y = sign * np.array(trials.values, dtype=float)
    good = int(np.isfinite(y).sum())
    least = max(LEAST, LEAST_EACH * space.dimension)
    if good < least:
        raise ValueError(
            f"an audit of {len(space.names)} parameters needs at least {least} trials that "
            f"succeeded, got {good}"
        )
    return _audited(trials, space, X, y, sign)


def _audited(trials: Trials, space: Space, X: FloatArray, y: FloatArray, sign: float) -> Audit:
    model = Audited(space, X, y, np.array(trials.errors, dtype=float))
    best = int(np.nanargmin(y))
    here, there = model.expected(model.x), model.expected(X[best])

    def ends(low: float, high: float) -> tuple[float, float]:
        return (low, high) if sign > 0.0 else (-high, -low)

    def shown(x: FloatArray) -> tuple[FloatArray, dict[str, Any] | None]:
        values = space.decode(x)
        if trials.plain:
            row = trials.rows[0]
            return np.array([values.get(name, row[name]) for name in row]), None
        return x, values

    it = there.interval
    failures = int((~np.isfinite(y)).sum())
    luckiest = Luckiest(
        *shown(X[best]), sign * float(y[best]), sign * it.value, ends(it.low, it.high),
        bool(y[best] < it.low),
    )  # fmt: skip
    return Audit(
        *shown(model.x),
        fun=sign * here.interval.value,
        fun_se=here.interval.se,
        interval=ends(here.interval.low, here.interval.high),
        luckiest=luckiest,
        chance=model.better(model.x, X[best]),
        noise=model.noise(model.x),
        swapped=model.swapped,
        left=model.left(model.x),
        n=len(y) - failures,
        failures=failures,
        maximize=trials.maximize,
        space=space,
        title=trials.title,
        notes=trials.notes,
        model=model,
        trials=(X, sign * y),
    )
