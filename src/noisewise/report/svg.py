"""Line charts and histograms as SVG, drawn for both a phone and print: few ticks, large text.

| symbol | meaning |
|---|---|
| WIDTH, HEIGHT | size of a picture, in its own units |
| LEFT, RIGHT, TOP, BOTTOM | margins around the plot |
"""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

import numpy as np

from noisewise._types import FloatArray

WIDTH, HEIGHT = 400.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 22.0, 12.0, 42.0
#: Positive data that span more than this factor get a logarithmic axis.
_LOG_FROM = 20.0
#: With more values than this, an axis leaves out what lies far from most of them.
_MANY = 30
#: Most ticks of an axis.
_TICKS = 5
#: Ends of axes are at most as large as this, and their logarithms: sums and powers stay finite.
_MOST, _LOG_MOST = 1e307, math.log(1e307)


@dataclass(frozen=True)
class Series:
    """A line. ``look`` is its class: "main", "aside" (dashed) or "dots"."""

    name: str
    values: FloatArray
    look: str = "main"


@dataclass(frozen=True)
class Chart:
    """Lines over a common x axis.

    name
        An identifier, unique in the page.
    marks
        Horizontal lines with a label each.
    low, high
        Limits of the y axis, where they are not those of the data.
    """

    name: str
    title: str
    series: tuple[Series, ...]
    marks: tuple[tuple[float, str], ...] = ()
    low: float | None = None
    high: float | None = None
    log: bool = False


@dataclass(frozen=True)
class Axis:
    """Data to picture: ``low`` is drawn at ``start``, ``high`` at ``end``."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, values: FloatArray) -> FloatArray:
        """Places of ``values``; nan where there is none."""
        if self.log:
            with np.errstate(divide="ignore", invalid="ignore"):
                logs = np.where(values > 0.0, np.log(values), np.nan)
            part = (logs - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        else:
            part = (values - self.low) / (self.high - self.low)
        # A little outside is enough to leave the picture.
        return np.asarray(self.start + np.clip(part, -1.0, 2.0) * (self.end - self.start))

    def ticks(self) -> list[float]:
        """A few round numbers within the axis."""
        return _log_ticks(self.low, self.high) if self.log else _ticks(self.low, self.high)


def draw(chart: Chart, x: FloatArray) -> str:
    """The chart over ``x``, increasing and positive."""
    across = Axis(0.0, float(x[-1]), LEFT, WIDTH - RIGHT)
    up = _up(chart)
    px = across.at(x)
    lines = "".join(_line(series, px, up.at(series.values)) for series in chart.series)
    marks = "".join(_mark(up, level, label) for level, label in chart.marks)
    plot = clipped(chart.name, across, up, lines + marks)
    cursor = f'<line class="cursor" x1="0" x2="0" y1="{TOP:g}" y2="{HEIGHT - BOTTOM:g}"/>'
    inside = grid(across, up, "evaluations") + plot + cursor
    return picture(inside, chart.title, f' data-left="{LEFT:g}" data-right="{WIDTH - RIGHT:g}"')


def clipped(name: str, across: Axis, up: Axis, inside: str) -> str:
    """What is ``inside`` the axes, cut off a little beyond them."""
    return (
        f'<clipPath id="clip-{name}"><rect x="{across.start:g}" y="{up.end - 3:g}" '
        f'width="{across.end - across.start:g}" height="{up.start - up.end + 6:g}"/></clipPath>'
        f'<g clip-path="url(#clip-{name})">{inside}</g>'
    )


def histogram(values: FloatArray, title: str, label: str) -> str:
    """Shares of ``values`` in equal bins."""
    counts, edges = np.histogram(values, bins=min(30, max(6, int(math.sqrt(len(values))))))
    shares = 100.0 * counts / len(values)
    across = Axis(float(edges[0]), float(edges[-1]), LEFT, WIDTH - RIGHT)
    up = Axis(0.0, 1.1 * float(shares.max()), HEIGHT - BOTTOM, TOP)
    places, tops = across.at(edges), up.at(shares)
    bars = "".join(
        f'<rect class="column" x="{left:.1f}" y="{top:.1f}" width="{right - left - 0.5:.1f}" '
        f'height="{up.start - top:.1f}">'
        f"<title>{low:.3g} to {high:.3g}: {share:.1f} %</title></rect>"
        for left, right, top, low, high, share in zip(
            places[:-1], places[1:], tops, edges[:-1], edges[1:], shares, strict=True
        )
    )
    return picture(grid(across, up, label) + bars, title)


def picture(
    inside: str, title: str, attributes: str = "", width: float = WIDTH, height: float = HEIGHT
) -> str:
    """An SVG element with a name for those who do not see it."""
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{html.escape(title)}"'
        f"{attributes}>{inside}</svg>"
    )


def _line(series: Series, px: FloatArray, py: FloatArray) -> str:
    known = np.isfinite(py)
    if series.look == "dots":
        return "".join(
            f'<circle class="dots" cx="{a:.1f}" cy="{b:.1f}" r="2.2"/>'
            for a, b in zip(px[known], py[known], strict=True)
        )
    # Steps across what is unknown start anew.
    starts = known & ~np.concatenate(([False], known[:-1]))
    path = "".join(
        f"{'M' if begins else 'L'}{a:.1f} {b:.1f}"
        for a, b, begins, there in zip(px, py, starts, known, strict=True)
        if there
    )
    return f'<path class="{html.escape(series.look)}" d="{path}"/>'


def _mark(up: Axis, level: float, label: str) -> str:
    """A horizontal line with a label at its left end."""
    left, right = LEFT, WIDTH - RIGHT
    y = float(up.at(np.array([level]))[0])
    if math.isnan(y):
        return ""
    return (
        f'<line class="mark" x1="{left:g}" x2="{right:g}" y1="{y:.1f}" y2="{y:.1f}"/>'
        f'<text class="mark" x="{left + 4:g}" y="{y - 5:.1f}">'
        f"{html.escape(label)}</text>"
    )


def grid(across: Axis, up: Axis, label: str, side: str = "") -> str:
    """Both axes with their ticks and labels; ``up.start`` is the lower edge of the plot."""
    left, right, bottom = across.start, across.end, up.start
    parts = []
    for tick, y in zip(up.ticks(), up.at(np.array(up.ticks())), strict=True):
        parts.append(
            f'<line class="grid" x1="{left:g}" x2="{right:g}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{left - 6:g}" y="{y + 4:.1f}" text-anchor="end">{short(tick)}</text>'
        )
    for tick, x in zip(across.ticks(), across.at(np.array(across.ticks())), strict=True):
        parts.append(
            f'<text x="{x:.1f}" y="{bottom + 16:g}" text-anchor="middle">{short(tick)}</text>'
        )
    parts.append(
        f'<line class="axis" x1="{left:g}" x2="{right:g}" y1="{bottom:g}" y2="{bottom:g}"/>'
        f'<text class="label" x="{(left + right) / 2:g}" y="{bottom + 34:g}" '
        f'text-anchor="middle">{html.escape(label)}</text>'
    )
    if side:
        parts.append(
            f'<text class="label" transform="translate(13 {(up.start + up.end) / 2:g}) '
            f'rotate(-90)" text-anchor="middle">{html.escape(side)}</text>'
        )
    return "".join(parts)


def _up(chart: Chart) -> Axis:
    """The y axis: the data's limits, without what lies far out."""
    data = np.concatenate([series.values for series in chart.series])
    data = data[np.isfinite(data)]
    if len(data) == 0:
        data = np.zeros(1)
    log = chart.log and float(data.min()) > 0.0 and _LOG_FROM * data.min() < data.max()
    low, high = limits(data, log)
    if not log:
        low = chart.low if chart.low is not None else low
        high = max(float(data.max()), chart.high) if chart.high is not None else high
    return Axis(low, high, HEIGHT - BOTTOM, TOP, log)


def limits(data: FloatArray, log: bool = False) -> tuple[float, float]:
    """Limits of an axis for ``data``, without what lies far out of many values; all numbers that
    it needs are finite."""
    if log:
        low, high = limits(np.log(data))
        return math.exp(max(low, -_LOG_MOST)), math.exp(min(high, _LOG_MOST))
    data = np.clip(data, -_MOST, _MOST)
    least, most = float(data.min()), float(data.max())
    lower, upper = (float(q) for q in np.quantile(data, (0.1, 0.9)))
    if len(data) > _MANY and upper > lower:
        least, most = max(least, 2 * lower - upper), min(most, 2 * upper - lower)
    margin = 0.06 * (most - least) or 0.5 * abs(most) or 1.0
    return least - margin, most + margin


def _ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / _TICKS
    size = 10.0 ** math.floor(math.log10(raw))
    step = next(m * size for m in (1, 2, 2.5, 5, 10) if m * size >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    every = max(1, (last - first + 4) // 5)
    tens = [10.0**k for k in range(first, last + 1, every)]
    inside = [t for t in tens if low <= t <= high]
    if len(inside) >= 3:
        return inside
    finer = [m * 10.0**k for k in range(first, last + 1) for m in (1, 2, 5)]
    return [t for t in finer if low <= t <= high]


def short(value: float) -> str:
    """A tick's label."""
    text = f"{value:.6g}"
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else text
