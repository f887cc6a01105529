"""Which figures a page has, with their captions. Nothing empty or constant is drawn."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from html import escape
from itertools import combinations

import numpy as np

from noisewise._types import FloatArray
from noisewise.answer.outlook import ENOUGH
from noisewise.report import choices, figures, landscape, svg
from noisewise.report.evaluations import Evaluations
from noisewise.report.facts import Facts
from noisewise.report.figures import Coordinate
from noisewise.report.landscape import Band, Landscape
from noisewise.report.svg import Chart, Series
from noisewise.report.words import counted

#: Most generations that a figure shows.
_POINTS = 400
_CAPTIONS = {
    "misranking": "How much two rankings of the same candidates disagree; 0: not at all.",
    "sigma": "Scale of the search; it falls while the search closes in.",
    "population": "Candidates per generation; more of them average noise out.",
    "c_mean": "Part of each step that is taken; smaller parts average noise out.",
}
_MAPS = (
    "The same model over two parameters at a time: the stronger the colour, the better the value. "
    "Lines join equal values, hatched parts are little known, the ring is the recommendation."
)


@dataclass
class Pictures:
    """Figures as HTML, and what their readings need: series by figure, over common places."""

    values: str = ""
    landscape: str = ""
    history: str = ""
    x: FloatArray = field(default_factory=lambda: np.zeros(1))
    readings: dict[str, list[tuple[str, FloatArray]]] = field(default_factory=dict)


def thinned(history: dict[str, FloatArray], most: int) -> dict[str, FloatArray]:
    """At most that many generations, the first and the last included."""
    n = len(history["evaluations"])
    which = np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int)) if n else slice(0)
    return {name: column[which] for name, column in history.items()}


def pictures(facts: Facts) -> Pictures:
    """All figures of a run."""
    out, seen = Pictures(), facts.evaluations
    X = choices.settled(facts.space, seen.X)
    seen = replace(seen, X=X)
    x = choices.settled(facts.space, facts.x[None])[0]
    if facts.constant:
        return out
    shown = thinned(facts.history, _POINTS)
    if facts.generations:
        out.x = shown["evaluations"]
    sign = -1.0 if facts.maximize else 1.0
    land = landscape.of(seen.X, seen.values, x, facts.bounds, sign)
    band = None
    if land is not None:
        band = landscape.progress(land, seen.X, seen.values, seen.number, facts.bounds)
        out.landscape = _landscape(facts, land, seen)
    if np.isfinite(seen.values).sum() >= 2:
        out.values = _values(facts, band, out)
    charts = [chart for chart in _charts(shown) if _varies(chart)] if facts.generations else []
    if facts.misranking_n < ENOUGH:
        charts = [chart for chart in charts if chart.name != "misranking"]
    if charts:
        drawn = "".join(
            _figure(chart.name, chart.title, svg.draw(chart, out.x), _legend(chart))
            for chart in charts
        )
        out.history = f'<div class="figures">{drawn}</div>'
        for chart in charts:
            out.readings[chart.name] = [(s.name, s.values) for s in chart.series]
    return out


def _values(facts: Facts, band: Band | None, out: Pictures) -> str:
    estimate = (facts.value, *facts.interval)
    last = facts.spent if facts.done else facts.budget
    means = _before(facts)
    wide, narrow = (
        figures.values(facts.evaluations, band, estimate, facts.spent, last, width, means)
        for width in figures.WIDTHS
    )
    best = [("luckiest draw so far", facts.history["luckiest"])] if facts.generations else []
    if band is not None and len(out.x) and facts.generations:
        at = np.searchsorted(band.x, out.x, side="right") - 1
        there = at >= 0
        columns = (("expected", band.middle), ("at least", band.low), ("at most", band.high))
        out.readings["values"] = [
            (name, np.where(there, column[np.maximum(at, 0)], np.nan)) for name, column in columns
        ]
    elif best:
        out.readings["values"] = [(best[0][0], thinned(facts.history, _POINTS)["luckiest"])]
    if "values" in out.readings:
        out.readings["values-narrow"] = out.readings["values"]
    keys = [('<circle class="dots" cx="13" cy="5" r="3"/>', "one evaluation")]
    if {"finalist", "confirmation", "comparison"} & set(facts.evaluations.purpose):
        keys.append(
            ('<circle class="final" cx="13" cy="5" r="3"/>', "one of a finalist or the answer")
        )
    if len(means[0]) > 1:
        keys.append(('<path class="aside" d="M0 5L26 5"/>', "mean of a generation, before that"))
    if band is not None:
        key = '<rect class="band" width="26" height="10"/><path class="main" d="M0 5L26 5"/>'
        keys.append((key, "expected value of the best point, with 95 % band"))
    sure = ", with 95 % interval" if np.isfinite(facts.interval[0]) else ""
    if np.isfinite(facts.value):
        keys.append(('<circle class="estimate" cx="13" cy="5" r="4"/>', f"estimate{sure}"))
    said = "Single values scatter: the lowest of them is luck. What counts is the line."
    if facts.maximize:
        said = said.replace("lowest", "highest")
    hint = "Move over a figure, or focus it and use the arrow keys, to read values."
    said = said if band is not None and not facts.exact else ""
    return (
        f'<p class="soft noprint">{hint}</p>'
        + _figure("values", "Values", wide, _keys(keys), said, "broad")
        + _figure("values-narrow", "Values", narrow, _keys(keys), said, "narrow")
    )


def _before(facts: Facts) -> tuple[FloatArray, FloatArray]:
    """Mean values of generations whose evaluations are no longer remembered."""
    if not facts.generations:
        return np.empty(0), np.empty(0)
    shown = thinned(facts.history, _POINTS)
    old = (shown["evaluations"] <= facts.evaluations.missing) & np.isfinite(shown["mean_value"])
    return shown["evaluations"][old], shown["mean_value"][old]


def _landscape(facts: Facts, land: Landscape, seen: Evaluations) -> str:
    """What choices and numbers do."""
    return _choices(facts, land) + _numbers(facts, land, seen)


def _choices(facts: Facts, land: Landscape) -> str:
    """What each option of the choices is expected to give."""
    found = choices.options(facts.space, land)[: figures.MOST_CUTS]
    if not found:
        return ""
    drawn = "".join(_figure(f"choice-{i}", c.name, choices.draw(c)) for i, c in enumerate(found))
    said = (
        "What each option is expected to give, the other parameters as recommended, with 95 % "
        "intervals; the ring is the recommendation."
    )
    return f'<p class="soft">{said}</p><div class="figures">{drawn}</div>'


def _numbers(facts: Facts, land: Landscape, seen: Evaluations) -> str:
    """Cuts along the numeric parameters with an effect, and maps."""
    numeric = {
        c.column: c for c in figures.coordinates(facts.space, len(facts.x)) if c.column in land.free
    }
    bands = {c: land.cut(c.column) for c in numeric.values()}
    if not bands:
        return ""
    effects = {c: float(np.ptp(b.middle)) for c, b in bands.items()}
    ranked = sorted(bands, key=lambda c: -effects[c])
    # Somewhere along it the band leaves where it is elsewhere, by as much as can be seen.
    clear = [
        c
        for c in ranked
        if bands[c].low.max() > bands[c].high.min() and effects[c] > 0.05 * effects[ranked[0]]
    ]
    if not clear:
        return ""
    estimate = (facts.value, *facts.interval)
    drawn = "".join(
        _figure(
            f"cut-{c.column}",
            c.name,
            figures.cut(land, c, bands[c], seen, estimate, facts.earlier),
        )
        for c in clear[: figures.MOST_CUTS]
    )
    maps = "".join(
        _figure(
            f"map-{a.column}-{b.column}",
            f"{a.name} and {b.name}",
            figures.plane(land, a, b, seen, facts.maximize),
        )
        for a, b in combinations(clear[:3], 2)
    )
    return (
        _said(facts, land, clear, ranked)
        + f'<div class="figures">{drawn}</div>'
        + (f'<p class="soft">{_MAPS}</p><div class="figures maps">{maps}</div>' if maps else "")
    )


def _said(facts: Facts, land: Landscape, clear: list[Coordinate], ranked: list[Coordinate]) -> str:
    said = (
        f"A model of the newest {counted(land.count, 'evaluation')}, cut along each parameter with "
        "the others as recommended. The line is the expected value, the band its 95 % interval, "
        "the vertical line the recommendation. Points are single evaluations, pale where old. "
        "Their other parameters differ, so they need not lie on the line."
    )
    if facts is not None and facts.earlier is not None:
        said += f" Hollow points are the {counted(len(facts.earlier[1]), 'row')} of earlier data."
    none = [c.name for c in ranked if c not in clear]
    if len(clear) > figures.MOST_CUTS:
        said += f" The {figures.MOST_CUTS} parameters with the largest effects are shown."
    if none:
        said += f" No visible effect there: {', '.join(none)}."
    return f'<p class="soft">{escape(said)}</p>'


def _figure(
    name: str, title: str, drawn: str, legend: str = "", said: str = "", kind: str = ""
) -> str:
    caption = legend + escape(said or _CAPTIONS.get(name, ""))
    below = f"<figcaption>{caption}</figcaption>" if caption else ""
    save = (
        '<span class="save noprint"><button data-save="svg">SVG</button>'
        '<button data-save="png">PNG</button></span>'
    )
    return (
        f'<figure data-chart="{escape(name)}"{f" class={kind}" if kind else ""}>'
        f"<h3>{figures.label(title)} {save}</h3>{drawn}<output></output>{below}</figure>"
    )


def _charts(shown: dict[str, FloatArray]) -> list[Chart]:
    noise = (
        Series("one generation", shown["misranking"], "dots"),
        Series("running mean", shown["misranking_mean"]),
    )
    charts = [Chart("misranking", "Misranking", noise, ((1 / 3, "pure noise"),), low=0.0, high=0.4)]
    if "sigma" in shown:
        charts.append(Chart("sigma", "Step size", (Series("step size", shown["sigma"]),), log=True))
    charts.append(
        Chart("population", "Population", (Series("candidates", shown["population"]),), low=0.0)
    )
    if "c_mean" in shown:
        rate = Series("mean learning rate", shown["c_mean"])
        charts.append(Chart("c_mean", "Mean learning rate", (rate,), low=0.0, high=1.05))
    return charts


def _varies(chart: Chart) -> bool:
    """Whether there is something to see: two values that differ."""
    known = np.concatenate([s.values[np.isfinite(s.values)] for s in chart.series])
    least = 3 if chart.name == "population" else 2  # a start design, then single candidates
    return len(np.unique(known)) >= least and bool(np.ptp(known) > 1e-12 * np.abs(known).max())


def _legend(chart: Chart) -> str:
    if len(chart.series) < 2:
        return ""
    return _keys([(_key(series), series.name) for series in chart.series])


def _key(series: Series) -> str:
    if series.look == "dots":
        return '<circle class="dots" cx="13" cy="5" r="3"/>'
    return f'<path class="{series.look}" d="M0 5L26 5"/>'


def _keys(keys: list[tuple[str, str]]) -> str:
    drawn = "".join(
        f'<span><svg viewBox="0 0 26 10" aria-hidden="true">{key}</svg>{escape(name)}</span>'
        for key, name in keys
    )
    return f'<div class="legend">{drawn}</div>'
