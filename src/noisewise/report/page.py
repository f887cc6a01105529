"""One page about a run: a single file that needs no network. The answer first."""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.answer.written import rounded
from noisewise.report import evaluations, sections
from noisewise.report.facts import Facts
from noisewise.report.pictures import Pictures, pictures
from noisewise.report.sections import paragraph
from noisewise.report.text import basis, constraints, estimate, luck, nothing, use
from noisewise.report.words import counted, day, lasting, number, sentence, valued

TEMPLATE = Path(__file__).with_name("page.html")
#: Evaluations that the page itself holds for download.
_DOWNLOADED = 4000


def page(facts: Facts, version: str = "", stamp: str = "") -> str:
    """The run as one HTML document; with a ``stamp`` it looks for a page with another one."""
    drawn = pictures(facts)
    parts = {
        "": _verdict(facts) + _answer(facts) + sections.warnings(facts),
        "Today's setting and the best that was found": _versus(facts),
        "How good is it, and would more help?": sections.more(facts),
        "The options": sections.options(facts),
        "What each parameter and each choice does": drawn.landscape,
        "Which parameters mattered": sections.importance(facts),
        "How the run went": drawn.values + sections.happened(facts),
        f"Where the search {'ended' if facts.done else 'is now'}": sections.spread(facts),
        "How the budget was spent": sections.budget(facts),
        "The luckiest draw": "" if nothing(facts) or facts.spent < 2 else _luckiest(facts),
        "Noise and search": drawn.history + sections.checks(facts) + sections.residuals(facts),
        "Numbers": sections.numbers(facts) + _downloads(facts),
    }
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(_title(facts)),
        head=_head(facts),
        body="\n".join(
            f"<section{' class=noprint' if name == 'Numbers' else ''}>"
            f"{f'<h2>{name}</h2>' if name else ''}{body}</section>"
            for name, body in parts.items()
            if body
        ),
        version=escape(version),
        data=_data(facts, drawn, stamp),
    )


def _title(facts: Facts) -> str:
    """The function that was minimised, if it has a name; else the file."""
    known = facts.objective and not facts.command and facts.objective != "<lambda>"
    return facts.objective if known else facts.title


def _head(facts: Facts) -> str:
    """What ran, when and for how long."""
    rows = {"File": facts.title} if _title(facts) != facts.title else {}
    rows |= {"Objective": facts.objective if not rows else "", "Method": facts.method}
    if not math.isnan(facts.began):
        rows["Started"] = day(facts.began)
        if facts.written >= facts.began:
            name = "Lasted" if facts.done else "Time so far"
            rows[name] = lasting(facts.written - facts.began)
    rows["Seed"] = "none given" if facts.seed is None else str(facts.seed)
    rows["Evaluations"] = f"{facts.spent} of {facts.budget}"
    cells = "".join(
        f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in rows.items() if text
    )
    return f'<dl class="head">{cells}</dl>'


def _answer(facts: Facts) -> str:
    command = (
        f'<h3>{escape(use(facts))}</h3><code aria-label="command">{escape(facts.command)}</code>'
        if facts.command and facts.answered
        else ""
    )
    early = "" if facts.done else paragraph("The run has not ended yet.", "warning")
    so_far = "Recommended" if facts.done else "Recommended so far"
    heading = (
        f"Nothing to recommend{'' if facts.done else ' yet'}" if not facts.answered else so_far
    )
    better = "larger is better" if facts.maximize else "smaller is better"
    return (
        f'{early}<h2>{heading}</h2><div class="answer"><div>{_recommended(facts)}</div>'
        f'<div><p class="soft">Its value, estimated ({better})</p>'
        f'<p class="big">{_shown(facts)}</p>{paragraph(_certainty(facts))}'
        f"{paragraph(sentence(basis(facts)), 'soft')}{paragraph(constraints(facts))}</div></div>"
        f"{command}"
    )


def _verdict(facts: Facts) -> str:
    """Whether it is better than today's setting."""
    if facts.versus is None:
        return ""
    return f'<p class="big">{escape(sentence(facts.versus.verdict))}</p>'


def _versus(facts: Facts) -> str:
    return "" if facts.versus is None else facts.versus.as_html()


def _shown(facts: Facts) -> str:
    unknown = math.isnan(facts.value) or math.isnan(facts.interval[0])
    return number(facts.value) if unknown else rounded(facts.value, facts.interval)[0]


def _certainty(facts: Facts) -> str:
    """What the estimate says beside its number: the interval, mostly."""
    return sentence(estimate(facts).partition(" (")[2].removesuffix(")"))


def _recommended(facts: Facts) -> str:
    """The parameters with the ranges they were searched in."""
    rows = "".join(
        f"<tr><td><bdi>{escape(name)}</bdi></td><td>{escape(valued(value))}</td>"
        f'<td class="soft">{escape(facts.ranges.get(name, ""))}</td></tr>'
        for name, value in facts.recommended.items()
    )
    head = '<tr class="soft"><th>parameter</th><th>value</th><th>range</th></tr>'
    return f'<div class="wide"><table>{head}{rows}</table></div>'


def _luckiest(facts: Facts) -> str:
    listed = ", ".join(f"{name} {valued(v)}" for name, v in facts.luckiest.items())
    return paragraph(luck(facts)) + paragraph(f"Drawn at {listed}.", "soft")


def _downloads(facts: Facts) -> str:
    """A button; what it saves is in the page already."""
    seen = facts.evaluations
    if not len(seen):
        return ""
    n = min(len(seen), _DOWNLOADED)
    which = "all" if n == facts.spent else "the newest"
    many = f"{which} {counted(n, 'evaluation')}" if n > 1 else "1 evaluation"
    said = f"A table of {many}."
    if n < len(seen):
        said += f" noisewise report --csv writes {len(seen)} of them."
    return (
        f'<p class="noprint"><button data-save="csv">Save evaluations as CSV</button> '
        f'<span class="soft">{said}</span></p>'
    )


def _data(facts: Facts, drawn: Pictures, stamp: str) -> str:
    """What the figures' readings need, and the table of evaluations. No text in it can end the
    element that holds it."""
    seen = facts.evaluations
    newest = slice(max(0, len(seen) - _DOWNLOADED), None)
    kept = evaluations.Evaluations(
        seen.X[newest],
        seen.values[newest],
        seen.number[newest],
        seen.purpose[newest],
        seen.missing,
    )
    content: dict[str, Any] = {
        "x": drawn.x.tolist(),
        "last": facts.budget if not facts.done else max(facts.spent, 1),
        "charts": {
            name: [[label, _known(values)] for label, values in series]
            for name, series in drawn.readings.items()
        },
        "csv": evaluations.as_csv(kept, facts.space) if len(kept) else "",
        "stamp": stamp,
    }
    return json.dumps(content).replace("<", "\\u003c")


def _known(values: FloatArray) -> list[float | None]:
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in np.asarray(values).tolist()]
