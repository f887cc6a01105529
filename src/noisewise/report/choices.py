"""What each option of a choice is expected to give, as bars with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import numpy as np

from noisewise._types import FloatArray
from noisewise.problem.parameters import Choice
from noisewise.problem.space import Space
from noisewise.report.landscape import Landscape
from noisewise.report.svg import RIGHT, WIDTH, Axis, limits, picture, short

#: Most options of a choice that is drawn, and most characters of an option.
_OPTIONS, _TEXT = 12, 14
#: Height of an option, and room for the axis below and for the words on the left.
_ROW, _BELOW, _WORDS = 26.0, 44.0, 112.0


@dataclass(frozen=True)
class Options:
    """The options of a choice as text, what each is expected to give with its 95 % interval, the
    others as recommended, and which one is recommended."""

    name: str
    options: list[str]
    middle: FloatArray
    low: FloatArray
    high: FloatArray
    chosen: int

    @property
    def clear(self) -> bool:
        """Whether two of the intervals are apart."""
        return bool(self.low.max() > self.high.min())


def settled(space: Space | None, X: FloatArray) -> FloatArray:
    """The points with every value at its place: in the middle of its step, or of its option."""
    if space is None or len(X) == 0:
        return X
    return np.array([space.encode(space.decode(x)) for x in X])


def options(space: Space | None, land: Landscape) -> list[Options]:
    """The choices that apply at the recommendation, those with the largest effects first."""
    if space is None:
        return []
    here, found = space.decode(land.x), []
    for name, p in space.parameters.items():
        if not isinstance(p, Choice) or name not in here or not 2 <= len(p.values) <= _OPTIONS:
            continue
        X = np.tile(land.x, (len(p.values), 1))
        X[:, space.blocks[name]] = [p.encode(value) for value in p.values]
        texts = [str(value) for value in p.values]
        found.append(Options(name, texts, *land.expected(X), texts.index(str(here[name]))))
    return sorted(found, key=lambda one: -float(np.ptp(one.middle)))


def draw(one: Options) -> str:
    """The options under each other, the recommended one marked."""
    n = len(one.options)
    height = _BELOW + _ROW * n
    low, high = limits(np.concatenate((one.low, one.high)))
    across = Axis(low, high, _WORDS, WIDTH - RIGHT)
    bottom = height - _BELOW + 6
    grid = "".join(
        f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="4" y2="{bottom:g}"/>'
        f'<text x="{x:.1f}" y="{bottom + 16:g}" text-anchor="middle">{short(v)}</text>'
        for v, x in ((v, float(across.at(np.array([v]))[0])) for v in across.ticks())
    )
    rows = "".join(_row(one, i, across) for i in range(n))
    label = f'<text x="{WIDTH / 2:g}" y="{height - 4:g}" text-anchor="middle">expected value</text>'
    title = f"Expected value of each option of {one.name}"
    return picture(grid + rows + label, title, "", WIDTH, height)


def _row(one: Options, i: int, across: Axis) -> str:
    y = 4 + _ROW * (i + 0.5)
    middle, low, high = across.at(np.array([one.middle[i], one.low[i], one.high[i]])).tolist()
    text = one.options[i]
    text = text if len(text) <= _TEXT else f"{text[: _TEXT - 1]}…"
    chosen = i == one.chosen
    mark = f'<circle class="ring" cx="{middle:.1f}" cy="{y:g}" r="8"/>' if chosen else ""
    weight = ' font-weight="bold"' if chosen else ""
    return (
        f'<text x="{_WORDS - 8:g}" y="{y + 4:g}" text-anchor="end"{weight}>{escape(text)}</text>'
        f'<line class="span" x1="{low:.1f}" x2="{high:.1f}" y1="{y:g}" y2="{y:g}"/>'
        f'<circle class="column" cx="{middle:.1f}" cy="{y:g}" r="4.5"/>{mark}'
    )
