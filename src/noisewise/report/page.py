"""One page about a run: a single file that needs no network. The answer first."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from noisewise._types import FloatArray
from noisewise.outlook import misranking_said, rounded
from noisewise.report import svg
from noisewise.report.facts import Facts, Spread
from noisewise.report.svg import Chart, Series
from noisewise.report.text import basis, estimate, luck, nothing, prospects, spending
from noisewise.report.words import counted, number, sentence, valued

TEMPLATE = Path(__file__).with_name("page.html")
#: Most generations a figure shows, and most rows of the table behind the figures.
_POINTS, _ROWS = 400, 40
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


def page(facts: Facts, version: str = "") -> str:
    """The run as one HTML document."""
    shown = _thinned(facts.history, _POINTS)
    charts = _charts(facts, shown) if facts.generations else []
    sections = {
        "": _answer(facts),
        "How good is it, and would more help?": _prospects(facts),
        "The luckiest draw": _paragraph(luck(facts)) + _paragraph(_listed(facts.luckiest), "soft"),
        "What happened": _events(facts),
        "The run": _figures(charts, shown),
        "How the budget was spent": _budget(facts),
        "Which parameters mattered": _importance(facts),
        "Where the search ended": _spread(facts),
        "Checks of the noise model": _checks(facts),
        "Residuals": _residuals(facts),
        "Numbers behind the figures": _numbers(facts),
    }
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(facts.title),
        subtitle=escape(f"{facts.method}, {spending(facts)}"),
        body="\n".join(
            f"<section>{f'<h2>{name}</h2>' if name else ''}{body}</section>"
            for name, body in sections.items()
            if body
        ),
        version=escape(version),
        data=_data(charts, shown),
    )


def _data(charts: list[Chart], shown: dict[str, FloatArray]) -> str:
    """What the figures' readings need. No text in it can end the element that holds it."""
    content = {
        "x": shown["evaluations"].tolist() if charts else [0],
        "charts": {c.name: [[s.name, _known(s.values)] for s in c.series] for c in charts},
    }
    return json.dumps(content).replace("<", "\\u003c")


def _known(values: FloatArray) -> list[float | None]:
    return [float(f"{v:.6g}") if math.isfinite(v) else None for v in values.tolist()]


def _thinned(history: dict[str, FloatArray], most: int) -> dict[str, FloatArray]:
    """At most that many generations, the first and the last included."""
    n = len(history["evaluations"])
    which = np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)) if n else slice(0)
    return {name: column[which] for name, column in history.items()}


def _paragraph(text: str, kind: str = "") -> str:
    return f"<p{f' class={kind}' if kind else ''}>{escape(text)}</p>"


def _table(values: dict[str, Any]) -> str:
    rows = "".join(
        f"<tr><td>{escape(name)}</td><td>{escape(valued(value))}</td></tr>"
        for name, value in values.items()
    )
    return f"<table>{rows}</table>"


def _listed(values: dict[str, Any]) -> str:
    return "Drawn at " + ", ".join(f"{name} {valued(v)}" for name, v in values.items()) + "."


def _answer(facts: Facts) -> str:
    command = (
        f'<h3>Use it</h3><code aria-label="command">{escape(facts.command)}</code>'
        if facts.command and not nothing(facts)
        else ""
    )
    early = "" if facts.done else _paragraph("The run has not ended yet.", "warning")
    heading = "Nothing to recommend" if nothing(facts) else "Recommended"
    return (
        f'{early}<h2>{heading}</h2><div class="answer"><div>{_table(facts.recommended)}</div>'
        f'<div><p class="soft">Its value, estimated</p>'
        f'<p class="big">{_shown(facts)}</p>{_paragraph(estimate(facts))}'
        f"{_paragraph(sentence(basis(facts)), 'soft')}</div></div>{command}"
    )


def _shown(facts: Facts) -> str:
    unknown = math.isnan(facts.value) or math.isnan(facts.interval[0])
    return number(facts.value) if unknown else rounded(facts.value, facts.interval)[0]


def _prospects(facts: Facts) -> str:
    return "".join(map(_paragraph, prospects(facts)))


def _events(facts: Facts) -> str:
    said = [f"{sentence(facts.message)}."]
    if math.isnan(facts.misranking):
        said.append("Nothing was evaluated twice, so how much noise changes ranks is not known.")
    else:
        said_of_ranks = misranking_said(facts.misranking, facts.misranking_n)
        said.append(
            "Misranking says how far apart two rankings of the same candidates are: 0 is none, "
            f"0.33 is what pure noise gives. Here {said_of_ranks}."
        )
    warnings = "".join(_paragraph(f"{sentence(text)}.", "warning") for text in facts.warnings)
    return warnings + "".join(map(_paragraph, said))


def _charts(facts: Facts, shown: dict[str, FloatArray]) -> list[Chart]:
    level = () if math.isnan(facts.value) else ((facts.value, "estimate"),)
    noise = (
        Series("one generation", shown["misranking"], "dots"),
        Series("running mean", shown["misranking_mean"]),
    )
    charts = [
        Chart(
            "convergence",
            "Values",
            (
                Series("mean of a generation", shown["mean_value"]),
                Series("luckiest draw so far", shown["luckiest"], "aside"),
            ),
            marks=level,
            log=True,
        ),
        Chart("misranking", "Misranking", noise, ((1 / 3, "pure noise"),), low=0.0, high=0.4),
        Chart("population", "Population", (Series("candidates", shown["population"]),), low=0.0),
    ]
    if "sigma" in shown:
        sigma = Series("step size", shown["sigma"])
        charts.insert(2, Chart("sigma", "Step size", (sigma,), log=True))
    if "c_mean" in shown:
        rate = Series("mean learning rate", shown["c_mean"])
        charts.append(Chart("c_mean", "Mean learning rate", (rate,), low=0.0, high=1.05))
    return charts


_CAPTIONS = {
    "convergence": "Means are honest, the luckiest draw is not: it can only improve, noise or not.",
    "misranking": "How much the ranks of candidates evaluated twice disagreed.",
    "sigma": "Scale of the search; it falls while the search closes in.",
    "population": "Candidates per generation; more of them average noise out.",
    "c_mean": "Part of each step that is taken; smaller parts average noise out.",
}


def _figures(charts: list[Chart], shown: dict[str, FloatArray]) -> str:
    if not charts:
        return _paragraph("No generation is complete yet.")
    drawn = "".join(
        f'<figure data-chart="{chart.name}"><h3>{escape(chart.title)}</h3>'
        f"{svg.draw(chart, shown['evaluations'])}<output></output>"
        f"<figcaption>{_legend(chart)}{escape(_CAPTIONS[chart.name])}</figcaption></figure>"
        for chart in charts
    )
    hint = "Move over a figure, or focus it and use the arrow keys, to read values."
    return f'<p class="soft noprint">{hint}</p><div class="figures">{drawn}</div>'


def _legend(chart: Chart) -> str:
    if len(chart.series) < 2:
        return ""
    keys = "".join(
        f'<span><svg viewBox="0 0 26 10" aria-hidden="true">{_key(series)}</svg>'
        f"{escape(series.name)}</span>"
        for series in chart.series
    )
    return f'<div class="legend">{keys}</div>'


def _key(series: Series) -> str:
    if series.look == "dots":
        return '<circle class="dots" cx="13" cy="5" r="3"/>'
    return f'<path class="{series.look}" d="M0 5L26 5"/>'


def _budget(facts: Facts) -> str:
    parts = list(facts.parts.items())
    bar = "".join(
        f'<div class="p{j}" style="width:{100 * n / facts.budget:.3f}%"></div>'
        for j, (_, n) in enumerate(parts)
    )
    rows = "".join(
        f'<tr><td><span class="swatch p{j}"></span> {escape(what)}</td><td class="n">{n}</td>'
        f'<td class="n">{n / facts.budget:.0%}</td></tr>'
        for j, (what, n) in enumerate(parts)
        if n
    )
    failed = f"{facts.failures} of all evaluations failed; they are counted and ranked last."
    said = _paragraph(failed) if facts.failures else ""
    return f'<div class="bar" aria-hidden="true">{bar}</div><table>{rows}</table>{said}'


def _importance(facts: Facts) -> str:
    if not facts.importances:
        return ""
    of = "ranks" if facts.compared else "variance"
    rows = "".join(
        f'<div class="row"><bdi>{escape(i.name)}</bdi>: {i.share:.0%} of the {of}, '
        f"{'mattered' if i.clear else 'not told apart from chance'}"
        f'<div class="track" aria-hidden="true"><i style="left:0;width:{100 * i.share:.2f}%"></i>'
        "</div></div>"
        for i in facts.importances
    )
    method = (
        f"How much of the ranking of candidates within a generation each parameter explains on its "
        f"own (a value and its square, or one level per word), averaged over the newest "
        f"{counted(facts.compared, 'candidate')}, less what chance explains. The rest is noise, "
        "the other parameters, and what parameters do only together."
    )
    limits = (
        "It holds for the region that was searched and for the widths it was searched with, which "
        "the next section shows: the search narrows what matters most, so that late in a run all "
        "parameters seem to matter alike. Not told apart from chance does not mean that a "
        "parameter has no effect."
    )
    if not facts.compared:
        method = (
            "The part of the variance of the model's values over the whole range that a parameter "
            "takes part in, alone or together with others: the parts may add up to more than one."
        )
        limits = (
            "Not told apart from chance means that the model is less sure of the effect than the "
            "effect is large."
        )
    return (
        f'{_paragraph(method, "soft")}<div class="spread">{rows}</div>{_paragraph(limits, "soft")}'
    )


def _narrowed(s: Spread) -> str:
    return f"{number(s.narrowed, 2)} times as wide as at the start"


def _spread(facts: Facts) -> str:
    rows = []
    for s in facts.spreads:
        said = f"{s.value}, mostly between {s.low} and {s.high}"
        track = ""
        if s.at is not None and s.share is not None:
            left, right = max(0.0, s.at - s.share), min(1.0, s.at + s.share)
            said += f" ({100 * s.share:.2g} % of its range, {_narrowed(s)})"
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
        "The mark is the recommendation, the band one standard deviation of the last candidates "
        "to either side, over the whole range of the parameter. A narrow band: the search "
        "settled there, which under strong noise is no proof. A wide one: the parameter matters "
        "little, or the budget did not suffice to tell."
    )
    return f'{_paragraph(meaning, "soft")}<div class="spread">{"".join(rows)}</div>'


def _checks(facts: Facts) -> str:
    if not facts.checks:
        return ""
    rows = "".join(
        f"<tr><td>{escape(c.name.replace('_', ' '))}</td><td class=n>{number(c.value, 3)}</td>"
        f"<td>{'alarm' if c.fires else 'fine'} (alarm {c.side} {number(c.threshold, 3)})</td>"
        f"<td>{escape(c.meaning) if c.fires else ''}</td></tr>"
        for c in facts.checks
    )
    return f'<div class="wide"><table>{rows}</table></div>'


def _residuals(facts: Facts) -> str:
    if len(facts.residuals) < 8:
        return ""
    label = "residual, in units of the noise"
    drawn = svg.histogram(facts.residuals, "Residuals of repeated evaluations", label)
    said = "What repeated evaluations differed by: the noise as the method sees it, in percent."
    return f'<div class="figures"><figure>{drawn}<figcaption>{said}</figcaption></figure></div>'


def _numbers(facts: Facts) -> str:
    if not facts.generations:
        return ""
    few = _thinned(facts.history, _ROWS)
    there = [name for name in _COLUMNS if name in few]
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
