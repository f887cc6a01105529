"""An audit as one HTML page that needs no network, and as a small table for notebooks."""

from __future__ import annotations

import json
import math
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import numpy as np

from noisewise.answer.written import rounded
from noisewise.auditing import sentences
from noisewise.command.streams import write_page
from noisewise.report import figures, landscape
from noisewise.report.evaluations import Evaluations
from noisewise.report.figures import MOST_CUTS
from noisewise.report.page import TEMPLATE
from noisewise.report.words import ended, ranged, sentence, valued


def card(audit: Any) -> str:
    """The audit as a fragment of HTML."""
    lines = (line.partition(": ") for line in sentences.summary(audit))
    left = ' style="text-align:left"'
    rows = "".join(
        f"<tr><th{left}>{escape(name)}</th><td{left}>{escape(said)}</td></tr>"
        for name, _, said in lines
    )
    return f"<table><tbody>{rows}</tbody></table>"


def write(audit: Any, path: Any) -> None:
    """Write the page, atomically."""
    write_page(Path(path), page(audit))


def page(audit: Any, version: str = "") -> str:
    """The audit as one document."""
    parts = {
        "": _answer(audit),
        "Was the best trial luck?": _paragraphs(sentences.luck(audit), sentences.choice(audit)),
        "What does each parameter do?": _cuts(audit),
        "What would more evaluations buy?": _paragraphs(sentences.prospects(audit)),
        "What is this based on?": _paragraphs(
            sentences.trials(audit),
            *audit.notes,
            "a Gaussian process of all trials, which knows that the best of them were chosen for "
            "their values",
        ),
    }
    body = "\n".join(
        f"<section>{f'<h2>{name}</h2>' if name else ''}{said}</section>"
        for name, said in parts.items()
        if said
    )
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=escape(f"Audit of {audit.title}" if audit.title else "Audit of a study"),
        head="",
        body=body,
        version=escape(version),
        data=json.dumps({"x": [], "last": 1, "charts": {}, "csv": "", "stamp": ""}),
    )


def _paragraphs(*said: str) -> str:
    return "".join(f"<p>{escape(ended(sentence(text)))}</p>" for text in said if text)


def _answer(audit: Any) -> str:
    params = audit.params
    if params is None:
        params = {f"x{j}": v for j, v in enumerate(audit.x.tolist(), start=1)}
    ranges = audit.space.texts
    rows = "".join(
        f"<tr><td><bdi>{escape(name)}</bdi></td><td>{escape(valued(value, 5))}</td>"
        f'<td class="soft">{escape(ranged(ranges[name])) if name in ranges else ""}</td></tr>'
        for name, value in params.items()
    )
    said, low, high = rounded(audit.fun, audit.interval)
    better = "larger is better" if audit.maximize else "smaller is better"
    head = '<tr class="soft"><th>parameter</th><th>value</th><th>range</th></tr>'
    return (
        f'<h2>What to use</h2><div class="answer"><div class="wide"><table>{head}{rows}</table>'
        f'</div><div><p class="soft">Expected value ({better})</p><p class="big">{said}</p>'
        f"<p>95 % interval {low} to {high}</p>{_paragraphs(sentences.noise(audit))}</div></div>"
    )


def _cuts(audit: Any) -> str:
    """The model along each numeric parameter, with all trials."""
    X, values = audit.trials
    d = X.shape[1]
    sign = -1.0 if audit.maximize else 1.0
    bounds = np.array([np.zeros(d), np.ones(d)])
    land = landscape.of(X, values, audit.model.x, bounds, sign)
    if land is None:
        return ""
    n = len(values)
    seen = Evaluations(X, values, np.arange(1, n + 1), ["candidate"] * n, 0)
    numeric = [c for c in figures.coordinates(audit.space, d) if c.column in land.free]
    bands = {c: land.cut(c.column) for c in numeric}
    ranked = sorted(numeric, key=lambda c: -float(np.ptp(bands[c].middle)))[:MOST_CUTS]
    drawn = "".join(
        f"<figure><h3>{figures.label(c.name)}</h3>"
        f"{figures.cut(land, c, bands[c], seen, (audit.fun, math.nan, math.nan))}</figure>"
        for c in ranked
    )
    said = (
        "A model of the trials, cut along each parameter with the others as recommended. The line "
        "is the expected value, the band its 95 % interval, the vertical line the recommendation; "
        "points are single trials."
    )
    return f'<p class="soft">{said}</p><div class="figures">{drawn}</div>' if drawn else ""
