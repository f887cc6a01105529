"""A result as a small table, for notebooks."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from noisewise.answer import options
from noisewise.answer.sentences import misranking_said
from noisewise.answer.written import constrained, estimated
from noisewise.report.words import counted, number

if TYPE_CHECKING:
    from noisewise.answer.result import Result

#: Coordinates that are listed in full.
_MOST = 20
#: Options of a list that are shown.
_OPTIONS = 5


def card(result: Result) -> str:
    """``result`` as a fragment of HTML."""
    n, failed = result.n_confirmations, result.n_confirmations_failed
    rows = {"verdict": result.verdict} if "verdict" in result else {}
    rows |= {
        **_recommended(result),
        "fun (estimated there)": estimated(result.fun, result.interval, result.estimate, n, failed),
        "luckiest draw": f"{number(result.fun_best_observed)}, too good to be true under noise",
        "evaluations": f"{result.nfev} ({counted(result.n_reevaluations, 're-evaluation')}, "
        f"{result.n_failures} failed) in {counted(result.nit, 'generation')}",
    }
    if "options" in result:
        for row in options.rows(result.options, _OPTIONS)[1:]:
            rows[f"option {row[0]}"] = f"{row[-1]} to be the best, {row[1]} evaluations"
    if "constraints" in result:
        means, errors = result.constraints, result.constraints_se
        rows["constraints"] = constrained(means, errors, result.p_feasible)
    if not math.isnan(result.misranking):
        rows["misranking"] = misranking_said(result.misranking, result.misranking_n)
    rows["message"] = str(result.message)
    cells = "".join(_row(name, text) for name, text in rows.items())
    cells += "".join(_row("warning", text) for text in result.get("warnings", []))
    head = f'<caption style="text-align:left"><b>{escape(str(result.method))}</b></caption>'
    return f"<table>{head}<tbody>{cells}</tbody></table>"


def _recommended(result: Result) -> dict[str, str]:
    if "params" in result:
        return {"recommended": str(result.params)}
    return {"x (recommended)": _listed(result.x)}


def _row(name: str, text: str) -> str:
    left = ' style="text-align:left"'
    return f"<tr><th{left}>{escape(name)}</th><td{left}>{escape(text)}</td></tr>"


def _listed(x: object) -> str:
    values = np.asarray(x).tolist()
    shown = ", ".join(f"{v:.5g}" for v in values[:_MOST])
    return shown if len(values) <= _MOST else f"{shown}, ... ({len(values)} coordinates)"
