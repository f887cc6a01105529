"""Sections of a page about a run, apart from the answer and the figures."""

from __future__ import annotations

import math
from collections.abc import Iterable
from html import escape

import numpy as np

from noisewise.answer import options as standings
from noisewise.report import svg
from noisewise.report.facts import Facts, Spread
from noisewise.report.pictures import thinned
from noisewise.report.text import prospects
from noisewise.report.words import counted, ended, number, sentence

#: Shares below this are shown as none.
_SEEN = 0.005
#: Most rows of the table of generations.
_ROWS = 40
#: Options of a list that are shown.
_OPTIONS = 20
#: Classes of the parts of the budget.
_COLOURS = {
    "new candidates": "p0",
    "re-evaluations": "p1",
    "choosing between finalists": "p2",
    "measuring earlier answers": "p4",
    "comparing with today": "p3",
    "confirming the answer": "p3",
    "not spent": "free",
}
_COLUMNS = {
    "evaluations": "evaluations",
    "mean_value": "mean value",
    "best_value": "best value",
    "sigma": "step size",
    "population": "population",
    "c_mean": "mean learning rate",
    "misranking": "misranking",
    "reevaluations": "re-evaluations so far",
}


def paragraph(text: str, kind: str = "") -> str:
    """``text``, which may hold anything, as a paragraph; nothing for nothing."""
    return f"<p{f' class={kind}' if kind else ''}>{escape(text)}</p>" if text else ""


def warnings(facts: Facts) -> str:
    """What the user should know before trusting the answer."""
    return "".join(paragraph(ended(sentence(text)), "warning") for text in facts.warnings)


def more(facts: Facts) -> str:
    """How good the answer is and what a larger budget would buy."""
    return "".join(map(paragraph, prospects(facts)))


def options(facts: Facts) -> str:
    """How the options of a list stand: a table of the best of them."""
    if facts.options is None or not facts.spent:
        return ""
    head, *rows = standings.rows(facts.options, _OPTIONS)
    table = "".join(
        f"<tr><td class=name><bdi>{escape(row[0])}</bdi></td>"
        f"{''.join(f'<td class=n>{escape(cell)}</td>' for cell in row[1:])}</tr>"
        for row in rows
    )
    names = "".join(f"<th>{escape(name)}</th>" for name in head)
    rest = len(facts.options["option"]) - len(rows)
    said = (
        "Evaluations of the search. The mean of the best option is too good to be true, because it "
        "was chosen for it; the shrunk mean is not. The estimate above has evaluations of its own."
    )
    said += f" {counted(rest, 'option')} more, each with a smaller chance." if rest > 0 else ""
    shown = f'<div class="wide"><table><tr>{names}</tr>{table}</table></div>'
    return shown + paragraph(said, "soft")


def happened(facts: Facts) -> str:
    """What the method says about the run."""
    said = [f"{sentence(facts.message)}."]
    if not facts.generations:
        said.append("No generation is complete yet.")
    return "".join(map(paragraph, said))


def budget(facts: Facts) -> str:
    """Evaluations by what they were for, as a bar and a table."""
    bar = "".join(
        f'<div class="{_COLOURS[what]}" style="width:{100 * n / facts.budget:.3f}%"></div>'
        for what, n in facts.parts.items()
    )
    rows = "".join(
        f'<tr><td><span class="swatch {_COLOURS[what]}"></span> {escape(what)}</td>'
        f'<td class="n">{n}</td><td class="n">{_percent(n / facts.budget)}</td></tr>'
        for what, n in facts.parts.items()
        if n
    )
    failed = f"{counted(facts.failures, 'evaluation')} failed, counted and ranked last."
    said = paragraph(failed) if facts.failures else ""
    return f'<div class="bar" aria-hidden="true">{bar}</div><table>{rows}</table>{said}'


def _percent(part: float) -> str:
    return "< 1%" if 0.0 < part < 0.005 else f"{part:.0%}"


def importance(facts: Facts) -> str:
    """How much of the ranks each parameter explains."""
    if not facts.importances or facts.constant:
        return ""
    of = "ranks" if facts.compared else "variance"
    rows = "".join(
        f'<div class="row"><bdi>{escape(i.name)}</bdi>: {i.share:.0%} of the {of}'
        f'<div class="track" aria-hidden="true"><i style="left:0;width:{100 * i.share:.2f}%"></i>'
        "</div></div>"
        for i in facts.importances
        if i.clear
    )
    rest = ", ".join(
        f"<bdi>{escape(i.name)}</bdi> {i.share:.0%}"
        for i in facts.importances
        if not i.clear and i.share >= _SEEN
    )
    none = ", ".join(
        f"<bdi>{escape(i.name)}</bdi>" for i in facts.importances if not i.clear and i.share < _SEEN
    )
    if rest:
        rows += f'<div class="row">Not clear: {rest} of the {of}.</div>'
    if none:
        rows += f'<div class="row">No effect seen: {none}.</div>'
    method = (
        "How much of the ranking within a generation each parameter explains on its own, less what "
        f"chance explains, over the newest {counted(facts.compared, 'candidate')}. The rest is "
        "noise and what several parameters do together."
    )
    limits = (
        f"{'Not clear: chance could explain it. ' if rest else ''}The search narrows what matters "
        "most, so a parameter that settled early may show no effect among these candidates."
    )
    if not facts.compared:
        method = (
            "How much of the variation of the model over all ranges each parameter takes part in, "
            "alone or with others; the parts may add up to more than 100 %."
        )
        limits = "Not clear: the model is not sure of the effect." if rest else ""
    return f'{paragraph(method, "soft")}<div class="spread">{rows}</div>{paragraph(limits, "soft")}'


def _narrowed(s: Spread) -> str:
    times = number(s.narrowed, 2)
    return "as wide as at the start" if times == "1" else f"{times} times as wide as at the start"


def spread(facts: Facts) -> str:
    """How wide the search still is along each coordinate."""
    if not (facts.generations and facts.spreads):  # as at the start, or choices only
        return ""
    rows = []
    for s in facts.spreads:
        around = f", mostly between {s.low} and {s.high}" if s.low != s.high else ""
        said = f"{s.value}{around}"
        track = ""
        if s.at is not None and s.share is not None:
            left, right = max(0.0, s.at - s.share), min(1.0, s.at + s.share)
            said += f" ({100 * s.share:.2g} % of its range)"
            band = f"left:{100 * left:.2f}%;width:{100 * (right - left):.2f}%"
            track = (
                f'<div class="track" aria-hidden="true"><i style="{band}"></i>'
                f'<b style="left:{100 * s.at:.2f}%"></b></div>'
            )
        else:
            said += f" ({_narrowed(s)})"
        # The name may be written from right to left, or try to turn what follows.
        rows.append(f'<div class="row"><bdi>{escape(s.name)}</bdi>: {escape(said)}{track}</div>')
    meaning = (
        "The mark is the recommendation. The band is one standard deviation of the last candidates "
        "to either side, within the range of the parameter. A narrow band means that the search "
        "settled there, which proves little under strong noise. A wide one means that the "
        "parameter matters little or that the budget was too small to tell."
    )
    return f'{paragraph(meaning, "soft")}<div class="spread">{"".join(rows)}</div>'


def checks(facts: Facts) -> str:
    """Diagnostics of the noise model."""
    if not facts.checks:
        return ""
    rows = "".join(
        f"<tr><td class=name>{escape(c.name.replace('_', ' '))}</td>"
        f"<td class=n>{number(c.value, 3)}</td>"
        f"<td class=name>{'alarm' if c.fires else 'fine'} (alarm {c.side} "
        f"{number(c.threshold, 3)})</td>"
        f"<td>{escape(c.meaning) if c.fires else ''}</td></tr>"
        for c in facts.checks
    )
    return f'<h3>Checks of the noise model</h3><div class="wide"><table>{rows}</table></div>'


def residuals(facts: Facts) -> str:
    """What repeated evaluations differed by."""
    if len(facts.residuals) < 8:
        return ""
    label = "residual, in units of the noise"
    drawn = svg.histogram(facts.residuals, "Residuals of repeated evaluations", label)
    said = "What repeated evaluations differed by: the noise as the method sees it, in percent."
    figure = f"<h3>Residuals</h3>{drawn}<figcaption>{said}</figcaption>"
    return f'<div class="figures"><figure>{figure}</figure></div>'


def numbers(facts: Facts) -> str:
    """A table of generations."""
    if not facts.generations:
        return ""
    few = thinned(facts.history, _ROWS)
    there = [name for name in _COLUMNS if name in few and np.isfinite(few[name]).any()]
    head = _row("th", (_COLUMNS[name] for name in there))
    columns = [few[name] for name in there]
    rows = "".join(
        _row("td", ("" if math.isnan(v) else number(v) for v in row))
        for row in zip(*(c.tolist() for c in columns), strict=True)
    )
    table = f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"
    return (
        f"<details><summary>A table of at most {_ROWS} generations</summary>"
        f'<div class="wide">{table}</div></details>'
    )


def _row(tag: str, cells: Iterable[str]) -> str:
    return f"<tr>{''.join(f'<{tag} class=n>{escape(c)}</{tag}>' for c in cells)}</tr>"
