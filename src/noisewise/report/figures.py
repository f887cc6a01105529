"""Figures of a run: its values over time, and the objective as a model of the values sees it."""

from __future__ import annotations

import html
import math
from dataclasses import dataclass

import numpy as np

from noisewise._types import BoolArray, FloatArray, IntArray
from noisewise.answer.importance import blocks
from noisewise.problem.space import Float, Int, Space
from noisewise.report.contours import contour
from noisewise.report.evaluations import Evaluations
from noisewise.report.landscape import CELLS, Band, Landscape
from noisewise.report.svg import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    WIDTH,
    Axis,
    clipped,
    grid,
    limits,
    picture,
)

#: Size of the wide picture and of a map.
_TALL, _SQUARE = 300.0, 340.0
#: Widths of the picture of all values: for a desktop and for a phone.
WIDTHS = (800.0, 400.0)
#: Most points of a figure; most cuts and maps.
_POINTS, MOST_CUTS = 1500, 6
#: Shades of a map, and values that positive data must span for a logarithmic axis.
_SHADES, _LOG_FROM = 8, 20.0
_LOOKS = {"candidate": "dots", "reevaluation": "dots"}


@dataclass(frozen=True)
class Coordinate:
    """A numeric parameter: its name, its column among the coordinates, and what 0 and 1 of the
    column mean."""

    name: str
    column: int
    zero: float = 0.0
    one: float = 1.0
    log: bool = False

    def value(self, u: FloatArray) -> FloatArray:
        """Values of the parameter at places of its column."""
        if self.log:
            low, high = math.log(self.zero), math.log(self.one)
            return np.clip(np.exp(low + u * (high - low)), self.zero, self.one)
        return np.asarray(self.zero + u * (self.one - self.zero))


def coordinates(space: Space | None, dimension: int) -> list[Coordinate]:
    """The numeric parameters that vary."""
    columns = {name: at.start for name, at in blocks(dimension, space).items()}
    if space is None:
        return [Coordinate(name, j) for name, j in columns.items()]
    return [
        Coordinate(name, columns[name], *_ends(p), p.log)
        for name, p in space.parameters.items()
        if isinstance(p, (Float, Int)) and p.width
    ]


def _ends(p: Float | Int) -> tuple[float, float]:
    """What 0 and 1 of the column mean: half a step beyond the range where there are steps."""
    if p.steps is None:
        return float(p.low), float(p.high)
    low, high, log = p.steps
    return (low, high) if log or not p.step else (p.low + p.step * low, p.low + p.step * high)


def values(
    seen: Evaluations,
    band: Band | None,
    estimate: tuple[float, float, float],
    spent: int,
    last: int,
    width: float,
    means: tuple[FloatArray, FloatArray],
) -> str:
    """All values as points over the run, what was known of the best point, and the estimate with
    its interval after the ``spent`` evaluations. ``last`` is where the axis ends; ``means`` of
    generations (evaluations, values) stand for values that are not remembered."""
    shown = np.isfinite(seen.values)
    y, x = seen.values[shown], seen.number[shown].astype(float)
    across = Axis(0.0, float(max(last, 1)), LEFT + 4, width - RIGHT)
    up = _vertical(np.concatenate((y, means[1])), band, estimate, _TALL)
    keep = np.unique(np.linspace(0, len(y) - 1, min(len(y), _POINTS)).round().astype(int))
    kind = np.array(seen.purpose)[shown]
    dots = "".join(
        f'<circle class="{_LOOKS.get(k, "final")}" cx="{a:.1f}" cy="{b:.1f}" r="2.4"/>'
        for a, b, k in zip(across.at(x[keep]), up.at(y[keep]), kind[keep], strict=True)
    )
    known = _band(band, across, up) if band is not None else ""
    early = zip(across.at(means[0]), up.at(means[1]), strict=True)
    line = "L".join(f"{a:.1f} {b:.1f}" for a, b in early if b == b)
    known += f'<path class="aside" d="M{line}"/>' if "L" in line else ""
    inside = grid(across, up, "evaluations") + clipped(
        f"values-{width:g}", across, up, dots + known
    )
    inside += _whisker(estimate, float(across.at(np.array([float(spent)]))[0]), up)
    cursor = f'<line class="cursor" x1="0" x2="0" y1="{up.end:g}" y2="{up.start:g}"/>'
    attributes = f' data-left="{across.start:g}" data-right="{across.end:g}"'
    return picture(inside + cursor, "Values over the run", attributes, width, _TALL)


def _whisker(estimate: tuple[float, float, float], x: float, up: Axis) -> str:
    """The estimate with its interval, at a place on the horizontal axis."""
    value, low, high = (float(v) for v in up.at(np.array(estimate)))
    if math.isnan(value):
        return ""
    bar = ""
    if not math.isnan(low):
        bar = f'<line class="interval" x1="{x:g}" x2="{x:g}" y1="{low:.1f}" y2="{high:.1f}"/>'
    return f'{bar}<circle class="estimate" cx="{x:g}" cy="{value:.1f}" r="5"/>'


def _vertical(
    y: FloatArray, band: Band | None, estimate: tuple[float, float, float], height: float
) -> Axis:
    """The axis of values. What lies far out of most values is left out, the estimate never."""
    sure = [v for v in estimate if math.isfinite(v)]
    data = np.concatenate((y, sure, np.empty(0) if band is None else band.middle))
    data = data[np.isfinite(data)]
    if not len(data):
        data = np.zeros(1)
    log = data.min() > 0.0 and data.max() > _LOG_FROM * data.min()
    low, high = limits(data, bool(log))
    margin = 1.1 if log else 0.03 * (high - low)
    for v in sure:
        low, high = (
            min(low, v / margin if log else v - margin),
            max(high, v * margin if log else v + margin),
        )
    return Axis(low, high, height - BOTTOM, TOP, bool(log))


def _band(band: Band, across: Axis, up: Axis) -> str:
    there = np.isfinite(band.middle)
    x, middle = across.at(band.x[there]), up.at(band.middle[there])
    # Where a band reaches below zero, a logarithmic axis ends it at the edge.
    low = np.nan_to_num(up.at(band.low[there]), nan=up.start + 9)
    high = np.nan_to_num(up.at(band.high[there]), nan=up.start + 9)
    edge = [f"{a:.1f} {b:.1f}" for a, b in zip(x, high, strict=True)]
    edge += [f"{a:.1f} {b:.1f}" for a, b in zip(x[::-1], low[::-1], strict=True)]
    line = "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, middle, strict=True) if b == b)
    if not edge:
        return ""
    return f'<path class="band" d="M{"L".join(edge)}Z"/><path class="main" d="M{line}"/>'


def cut(
    land: Landscape,
    along: Coordinate,
    band: Band,
    seen: Evaluations,
    estimate: tuple[float, ...],
    earlier: tuple[FloatArray, FloatArray] | None = None,
) -> str:
    """The model along one parameter, with the newest values as points, older ones paler; points
    and values of ``earlier`` data are hollow."""
    j = along.column
    ends = along.value(np.array([land.low[j], land.high[j]]))
    across = Axis(float(ends[0]), float(ends[1]), LEFT, WIDTH - RIGHT, along.log)
    X, y = _newest(land, seen)
    good = np.isfinite(y)
    up = _vertical(y[good], band, (estimate[0], math.nan, math.nan), HEIGHT)
    dots = _dots(across.at(along.value(X[good, j])), up.at(y[good]))
    if earlier is not None:
        places = zip(across.at(along.value(earlier[0][:, j])), up.at(earlier[1]), strict=True)
        dots += "".join(
            f'<circle class="before" cx="{a:.1f}" cy="{b:.1f}" r="2.6"/>'
            for a, b in places
            if a == a and b == b
        )
    shown = Band(along.value(band.x), band.middle, band.low, band.high)
    inside = dots + _band(shown, across, up)
    place = float(across.at(along.value(land.x[[j]]))[0])
    here = f'<line class="here" x1="{place:.1f}" x2="{place:.1f}" y1="{TOP:g}" y2="{up.start:g}"/>'
    body = grid(across, up, along.name) + clipped(f"cut-{j}", across, up, inside + here)
    return picture(body, f"Expected value along {along.name}")


def _newest(land: Landscape, seen: Evaluations) -> tuple[FloatArray, FloatArray]:
    return seen.X[-land.count :], seen.values[-land.count :]


def _dots(x: FloatArray, y: FloatArray, radius: float = 2.2) -> str:
    """Points in the order of their age: the newest are darkest."""
    n = max(len(x) - 1, 1)
    return "".join(
        f'<circle class="aged" cx="{a:.1f}" cy="{b:.1f}" r="{radius:g}" '
        f'opacity="{0.15 + 0.75 * i / n:.2f}"/>'
        for i, (a, b) in enumerate(zip(x, y, strict=True))
        if a == a and b == b
    )


def plane(
    land: Landscape, right: Coordinate, up: Coordinate, seen: Evaluations, maximize: bool
) -> str:
    """The model over two parameters: the stronger the colour the better, cells it knows little
    about are hatched; points are the newest evaluations, older ones paler."""
    i, j = right.column, up.column
    middle, width = land.map(i, j)
    across = _axis(land, right, LEFT + 18, _SQUARE - 14)
    side = _axis(land, up, _SQUARE - BOTTOM, TOP)
    name = f"{i}-{j}"
    order = np.argsort(np.argsort((middle if maximize else -middle).ravel()))
    shade = (order * _SHADES // order.size).reshape(middle.shape)
    unknown = width > np.ptp(middle)
    cells = _cells(shade, unknown, across, side, name)
    lines = "".join(
        f'<path class="contour" d="{contour(middle, level, across, side)}"/>'
        for level in np.quantile(middle, [0.1, 0.3, 0.5, 0.7, 0.9])
    )
    X, _ = _newest(land, seen)
    places = across.at(right.value(X[:, i])), side.at(up.value(X[:, j]))
    x, y = (
        float(axis.at(c.value(land.x[[c.column]]))[0]) for axis, c in ((across, right), (side, up))
    )
    here = f'<circle class="ring" cx="{x:.1f}" cy="{y:.1f}" r="7"/>'
    hatch = (
        f'<pattern id="hatch-{name}" width="5" height="5" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect class="hatch" width="1.6" height="5"/></pattern>'
    )
    body = hatch + clipped(f"map-{name}", across, side, cells + lines + _dots(*places, 2.0) + here)
    title = f"Expected value over {right.name} and {up.name}"
    inside = body + grid(across, side, right.name, up.name)
    return picture(inside, title, "", _SQUARE, _SQUARE)


def _axis(land: Landscape, c: Coordinate, start: float, end: float) -> Axis:
    ends = c.value(np.array([land.low[c.column], land.high[c.column]]))
    return Axis(float(ends[0]), float(ends[1]), start, end, c.log)


def _cells(shade: IntArray, unknown: BoolArray, across: Axis, up: Axis, name: str) -> str:
    """Rectangles of one shade each; neighbours in a row that look alike are one."""
    xs = np.linspace(across.start, across.end, CELLS + 1)
    ys = np.linspace(up.start, up.end, CELLS + 1)
    parts = []
    for row in range(CELLS):
        looks = [(int(s), bool(u)) for s, u in zip(shade[row], unknown[row], strict=True)]
        first = 0
        for column in range(1, CELLS + 1):
            if column < CELLS and looks[column] == looks[first]:
                continue
            level, hatched = looks[first]
            box = (
                f'x="{xs[first]:.1f}" y="{ys[row + 1]:.1f}" '
                f'width="{xs[column] - xs[first] + 0.3:.1f}" '
                f'height="{ys[row] - ys[row + 1] + 0.3:.1f}"'
            )
            opacity = 0.06 + 0.62 * level / (_SHADES - 1)
            parts.append(f'<rect class="cell" {box} opacity="{opacity:.2f}"/>')
            if hatched:
                parts.append(f'<rect {box} fill="url(#hatch-{name})"/>')
            first = column
    return "".join(parts)


def label(text: str) -> str:
    """A name that may hold anything, for HTML."""
    return f"<bdi>{html.escape(text)}</bdi>"
