"""What a run returns."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterator, ValuesView
from functools import cache
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.answer import options, outlook, today, written
from noisewise.answer.sentences import counted
from noisewise.answer.snapshot import Snapshot
from noisewise.answer.today import Setting

#: Stands for an entry that was not asked for yet.
_LATER: Any = object()
#: What shows a result, by kind: `noisewise.report` fills it, of which a result knows nothing.
SHOWN_BY: dict[str, Callable[[Any], Any]] = {}


class Result(dict[str, Any]):
    """Result of a run: a dictionary whose entries are attributes, too.

    params
        The recommended values by name, where the problem has a ``space``.
    x
        The recommended point; with a ``space``, its place in the unit cube.
    fun, fun_se, interval
        An estimate of the expected value at ``x``, its standard error and a 95 % interval, from
        evaluations of ``x`` that were kept for this and did not choose it. With ``confirm=0``
        there are none: ``fun`` is then the mean of the last generation around ``x``, which is
        usually too high, and the others are nan.
    estimate
        What ``fun`` estimates: ``"mean"``; ``"median"`` where the noise seems to have no mean or
        ``target="median"`` asked for it; ``"exact"`` where several evaluations of ``x`` agree to
        the last digit and none elsewhere disagreed; ``"typical"`` where a few values are far from
        all others and were set aside; ``"unknown"`` where ``x`` was not measured.
    set_aside, mean_of_all
        The share of such values in the run, about, and the mean of all evaluations of ``x``, those
        that were set aside included.
    agreed, differed
        How many re-evaluations gave the value of their point again to the last digit, and how many
        did not.
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
        `noisewise.answer.outlook.Outlook`; `summary` says it in sentences.
    evaluations
        Every evaluation, as columns by name that ``pandas.DataFrame(r.evaluations)`` takes: its
        number, what it was for (``kind``, as of `noisewise.Trial`), the generation, the
        point (x1, x2, ... or the parameters by name, None where one does not apply), ``value``
        (nan: it failed), ``se`` (nan: not known), ``seed`` (None: none was given) and ``failed``.
        A long run keeps its newest, 60,000 numbers in all.
    importance
        How much each parameter matters, as columns: ``parameter``, ``share``, ``clear`` (whether
        it is told apart from chance) and ``of``, what it is a share of: the ``"variance"`` of a
        model, or the ``"ranks"`` of candidates.
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
    set_aside: float
    mean_of_all: float
    agreed: int
    differed: int
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
    evaluations: dict[str, list[Any]]
    importance: dict[str, list[Any]]
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
    #: Only where the problem is a list of options: columns by name, from the best option to the
    #: worst, as of `noisewise.answer.options.table`; ``pandas.DataFrame(r.options)`` takes them.
    options: dict[str, list[Any]]
    #: Only with measured constraints: estimates of their means at ``x`` and the standard errors,
    #: whether all estimates are at most 0, and the chance that all means are.
    constraints: FloatArray
    constraints_se: FloatArray
    feasible: bool
    p_feasible: float
    #: Only with an incumbent: estimates of it and of the best that was found, how much better the
    #: latter is (in the user's sign) with a 95 % interval, whether the answer is the incumbent, the
    #: gain that this many evaluations show in four runs of five, how many of each would show the
    #: gain that was seen (None: it was shown, or none was seen), and all of that in a sentence.
    incumbent: Setting
    challenger: Setting
    improvement: float
    improvement_interval: tuple[float, float]
    kept: bool
    smallest_gain: float
    to_decide: int | None
    verdict: str

    #: Where entries come from that were not asked for yet.
    __slots__ = ("__weakref__", "_snapshot")

    @classmethod
    def of(cls, snapshot: Snapshot) -> Result:
        """The result of a run as it stood when the snapshot was taken."""
        found = cls(_blank(snapshot.names))
        object.__setattr__(found, "_snapshot", snapshot)
        return found

    def __getattr__(self, name: str) -> Any:
        if name in self:
            return self[name]
        raise AttributeError(f"a result has no entry {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        if name not in self:
            raise AttributeError(f"a result has no entry {name!r}")
        del self[name]

    # What reads values of a dictionary has to see to it that they are there.

    def __getitem__(self, name: str) -> Any:
        value = super().__getitem__(name)
        if value is _LATER:
            snapshot: Snapshot = object.__getattribute__(self, "_snapshot")
            value = _own(snapshot.entry(name))
            super().__setitem__(name, value)
        return value

    def __iter__(self) -> Iterator[str]:
        return super().__iter__()  # with an __iter__ of our own, dict(r) asks __getitem__

    def _complete(self) -> Result:
        for name in self:
            self[name]
        return self

    def get(self, name: str, default: Any = None) -> Any:
        if name in self:
            return self[name]
        return default

    def setdefault(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else super().setdefault(name, default)

    def pop(self, name: str, *default: Any) -> Any:
        self.get(name)
        return super().pop(name, *default)

    def popitem(self) -> tuple[str, Any]:
        return super(Result, self._complete()).popitem()

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        return super(Result, self._complete()).values()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        return super(Result, self._complete()).items()

    def copy(self) -> dict[str, Any]:
        return super(Result, self._complete()).copy()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Result):
            other._complete()
        return super(Result, self._complete()).__eq__(other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __or__(self, other: Any) -> dict[str, Any]:  # type: ignore[override]
        return self.copy() | dict(other)

    def __ror__(self, other: Any) -> dict[str, Any]:  # type: ignore[override]
        return dict(other) | self.copy()

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (), None, None, iter(self.items())

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self]

    def __repr__(self) -> str:
        answer = ("params", str(self.params)) if "params" in self else ("x", _array(self.x))
        rows = [
            answer,
            ("fun", self._value()),
            ("best observed", f"{self.fun_best_observed:.6g} (the luckiest draw)"),
            (
                "nfev",
                f"{self.nfev} ({counted(self.n_reevaluations, 're-evaluation')}, "
                f"{self.n_failures} failed)",
            ),
            ("nit", str(self.nit)),
            ("method", str(self.method)),
            ("message", str(self.message)),
        ]
        if "constraints" in self:
            rows.insert(2, ("constraints", self._constraints()))
        if "verdict" in self:
            rows.insert(0, ("verdict", self.verdict))
        rows += [("warning", text) for text in self.get("warnings", [])]
        width = max(len(name) for name, _ in rows)
        gap = "\n" + " " * (width + 2)
        return "\n".join(f"{name:>{width}}: {text.replace('; ', ';' + gap)}" for name, text in rows)

    __str__ = __repr__

    def _value(self) -> str:
        """``fun`` with its interval."""
        n, failed = self.n_confirmations, self.n_confirmations_failed
        return written.estimated(self.fun, self.interval, self.estimate, n, failed)

    def _constraints(self) -> str:
        return written.constrained(self.constraints, self.constraints_se, self.p_feasible)

    def summary(self, more: int | None = None) -> str:
        """The answer, how sure it is, and what ``more`` evaluations would buy, as text; ``more`` is
        the budget again if it is not given.

        >>> import noisewise as nw
        >>> r = nw.minimize(lambda x: x @ x, [3.0] * 4, sigma0=1.0, budget=200, rng=0)
        >>> print(r.summary())  # doctest: +ELLIPSIS
        fun: ... (exact: 5 values of this point agree)
        ...
        """
        lines = [f"verdict: {self.verdict}"] if "verdict" in self else []
        lines.append(f"fun: {self._value()}")
        if "constraints" in self:
            lines.append(f"constraints: {self._constraints()}")
        lines += today.sentences(self) if "verdict" in self else []
        if "options" in self:
            lines += options.lines(self.options)
        if "params" in self:
            lines.insert(0, f"params: {self.params}")
        lines += self.outlook.sentences(more)
        lines += [f"warning: {text}" for text in self.warnings]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return str(SHOWN_BY["card"](self))

    def plot(self) -> Any:
        """Values, misranking, step size and population over the run: a 2 x 2 array of matplotlib
        axes. Needs the extra ``plot``."""
        return SHOWN_BY["plot"](self)


@cache
def _blank(names: tuple[str, ...]) -> dict[str, Any]:
    return dict.fromkeys(names, _LATER)


def _array(x: Any) -> str:
    return np.array2string(np.asarray(x), precision=5, threshold=12, max_line_width=88)


def _own(value: Any) -> Any:
    """``value`` with arrays, lists and dictionaries of its own: results of the same moment share
    a snapshot, and users may change theirs."""
    if isinstance(value, np.ndarray):
        return value.copy() if value.flags.writeable else value
    if isinstance(value, dict):
        return {name: _own(one) for name, one in value.items()}
    return list(value) if isinstance(value, list) else value
