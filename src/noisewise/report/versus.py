"""Today's setting beside what was found, as reports tell it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from typing import Any

from noisewise._types import FloatArray
from noisewise.answer.result import Result
from noisewise.answer.today import Setting, sentences
from noisewise.answer.written import estimated
from noisewise.report.words import sentence, valued


@dataclass(frozen=True)
class Versus:
    """The two settings by name, and what the result says about them."""

    verdict: str
    incumbent: dict[str, Any]
    challenger: dict[str, Any]
    result: Result

    @property
    def sentences(self) -> list[str]:
        """The verdict, then what the comparison can show."""
        more = sentences(self.result)
        return [f"{sentence(said)}." for said in (self.verdict, *more)]

    def rows(self) -> list[tuple[str, str, str]]:
        """Name, today's and the challenger's: their values, then the parameters."""
        sides = (self.result.incumbent, self.result.challenger)
        first = ("value", _measured(sides[0]), _measured(sides[1]))
        shared = [(n, valued(v), valued(self.challenger[n])) for n, v in self.incumbent.items()]
        return [first, *shared]

    def as_html(self) -> str:
        """A table of both settings."""
        cells = "".join(
            f"<tr><td><bdi>{escape(name)}</bdi></td><td>{escape(one)}</td>"
            f"<td>{escape(other)}</td></tr>"
            for name, one, other in self.rows()
        )
        head = '<tr class="soft"><th></th><th>today</th><th>best found</th></tr>'
        said = "".join(f"<p>{escape(text)}</p>" for text in self.sentences[1:])
        return f'<div class="wide"><table>{head}{cells}</table></div>{said}'

    def as_data(self) -> dict[str, Any]:
        """For scripts; unknown numbers are None."""
        r = self.result
        return {
            "verdict": self.verdict,
            "kept": r.kept,
            "improvement": _known(r.improvement),
            "interval": [_known(end) for end in r.improvement_interval],
            "smallest_gain": _known(r.smallest_gain),
            "to_decide": r.to_decide,
            "incumbent": _side(self.incumbent, r.incumbent),
            "challenger": _side(self.challenger, r.challenger),
        }


def of(result: Result, named: Callable[[FloatArray], dict[str, Any]]) -> Versus | None:
    """What a result with an incumbent says; None without one."""
    if "verdict" not in result:
        return None
    sides = (named(result.incumbent.x), named(result.challenger.x))
    return Versus(result.verdict, *sides, result)


def _measured(side: Setting) -> str:
    n = side.n + side.failures
    if not n:
        return "not measured"
    if not side.n:
        return "every evaluation failed"
    return f"{estimated(side.value, side.interval, side.kind, n, side.failures)}, n = {n}"


def _side(named: dict[str, Any], side: Setting) -> dict[str, Any]:
    return {
        "parameters": named,
        "estimate": _known(side.value),
        "standard_error": _known(side.se),
        "interval": [_known(end) for end in side.interval],
        "n": side.n,
        "failed": side.failures,
    }


def _known(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
