"""The figures of a campaign, in one style. Nothing here needs a screen.

Each figure is one panel per group; `svg` makes a panel fit to stand inside a page, `save` writes
a file for print.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from noisewise_bench.profiles import convergence, profiles
from noisewise_bench.score import Comparison
from noisewise_bench.task import Row

STYLE = Path(__file__).with_name("style.mplstyle")
LINES = ("-", "--", ":", "-.")
MARKERS = "osD^vPX"
#: Names longer than this are cut in the middle on figures; tables show them whole.
LABEL_LENGTH = 26
COLUMNS = 3  # of panels in a file for print
WIDTH = 3.6  # inches, of one of them

Look = Mapping[str, dict[str, Any]]


@dataclass(frozen=True)
class Panel:
    """One set of axes: its title, how to draw it, and a sentence that says what it shows."""

    title: str
    caption: str
    height: float  # inches
    draw: Callable[[Any], None]


def looks(methods: Sequence[str]) -> Look:
    """A colour, line and marker per method, the same in every figure of a campaign."""
    with _style():
        colours = [entry["color"] for entry in matplotlib.rcParams["axes.prop_cycle"]]
    return {
        method: {
            "color": colours[i % len(colours)],
            "linestyle": LINES[i // len(colours) % len(LINES)],
            "marker": MARKERS[i % len(MARKERS)],
        }
        for i, method in enumerate(methods)
    }


def label(name: str) -> str:
    """A name that matplotlib shows as it is: no mathematics, not hidden, not too long."""
    half = LABEL_LENGTH // 2
    short = name if len(name) <= LABEL_LENGTH else f"{name[:half]}...{name[-half:]}"
    printable = "".join(c if c.isprintable() else "?" for c in short).replace("$", r"\$")
    return f" {printable}" if printable.startswith("_") else printable


def profile_panel(title: str, rows: Sequence[Row], metric: str, look: Look) -> Panel:
    """Share of targets met against evaluations per dimension."""

    def draw(ax: Any) -> None:
        for found in profiles(rows, metric):
            x, y = found.evaluations_per_dimension, found.share
            ax.step(
                x, y, where="post", label=label(found.method), **_line(look, found.method, len(x))
            )
        _logarithmic(ax)
        ax.set(ylim=(0, 1), xlabel="evaluations / dimension", ylabel="targets met")

    caption = f"Data profile: share of (run, target) pairs met, {metric} regret; higher is better."
    return Panel(title, caption, 3.2, draw)


def convergence_panel(title: str, rows: Sequence[Row], metric: str, look: Look) -> Panel:
    """Median log10 regret against evaluations."""

    def draw(ax: Any) -> None:
        for curve in convergence(rows, metric):
            style = _line(look, curve.method, len(curve.evaluations))
            ax.plot(curve.evaluations, curve.median, label=label(curve.method), **style)
        _logarithmic(ax)
        ax.set(xlabel="evaluations", ylabel=f"log10 {metric} regret")

    caption = f"Convergence: median log10 {metric} regret; lower is better."
    return Panel(title, caption, 3.2, draw)


def difference_panel(title: str, comparisons: Sequence[Comparison], look: Look) -> Panel:
    """Median difference to the reference with its interval, one line per method."""
    order = list(look)
    shown = sorted(comparisons, key=lambda c: -order.index(c.method))  # the same in every panel

    def draw(ax: Any) -> None:
        for y, c in enumerate(shown):
            style = look[c.method]
            ax.plot(
                [c.median_low, c.median_high], [y, y], color=style["color"], solid_capstyle="butt"
            )
            ax.plot(c.median_diff, y, color=style["color"], marker=style["marker"], markersize=6)
        ax.axvline(0.0, color="black", linewidth=0.8)
        ax.set_yticks(range(len(shown)), [label(c.method) for c in shown])
        ax.set_ylim(-0.6, len(shown) - 0.4)
        ax.set_xlabel(f"decades from {label(shown[0].reference)}")

    caption = (
        f"Median difference of log10 {shown[0].metric} regret with its 95% interval; "
        "left of the line is better than the reference."
    )
    return Panel(title, caption, 1.1 + 0.26 * len(shown), draw)


def _logarithmic(ax: Any) -> None:
    ax.set_xscale("log")
    ax.xaxis.set_major_formatter("{x:g}")


def _line(look: Look, method: str, n: int) -> dict[str, Any]:
    # Markers now and then, at other places for every method: lines are told apart without colour.
    first = 2 + list(look).index(method) % 5
    return {**look[method], "markevery": (first, 6) if n > first else 1}


def svg(panel: Panel) -> str:
    """The panel as an SVG element to stand inside an HTML page."""
    with _style():
        figure = Figure(figsize=(4.6, panel.height))
        _fill(figure.subplots(), panel)
        _legend(figure)
        out = io.StringIO()
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        figure.savefig(out, format="svg", metadata=nothing)
    text = out.getvalue()
    text = text[text.index("<svg") :]
    # Several figures share a page: ids that only name a part would occur twice.
    text = re.sub(r' id="[A-Za-z0-9.]+_\d+"', "", text)
    return _without_size(text)


def save(panels: Sequence[Panel], path: Path, columns: int = COLUMNS, width: float = WIDTH) -> None:
    """All panels in one file; its suffix (.pdf, .svg, .png) says which kind.

    ``columns`` panels stand beside each other, each ``width`` inches wide.
    """
    columns = min(columns, len(panels))
    lines = -(-len(panels) // columns)
    with _style():
        size = (width * columns, max(panel.height for panel in panels) * lines + 0.4)
        figure = Figure(figsize=size)
        grid = figure.subplots(lines, columns, squeeze=False).ravel()
        for ax, panel in zip(grid, panels, strict=False):
            _fill(ax, panel)
        for ax in grid[len(panels) :]:
            ax.remove()
        _legend(figure)
        stamp = "CreationDate" if path.suffix == ".pdf" else "Date"
        figure.savefig(path, metadata={} if path.suffix == ".png" else {stamp: None})


def _fill(ax: Any, panel: Panel) -> None:
    panel.draw(ax)
    ax.set_title(label(panel.title), loc="left")


def _legend(figure: Any) -> None:
    """One legend under all panels."""
    found: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, text in zip(*ax.get_legend_handles_labels(), strict=True):
            found.setdefault(text, handle)
    if found:
        columns = max(1, int(figure.get_figwidth() / 2.3))
        figure.legend(list(found.values()), list(found), loc="outside lower center", ncols=columns)


def _without_size(text: str) -> str:
    """Drop width and height of the outermost element, so that the page decides."""
    head, tail = text.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    return f"{head}>{tail}"


@contextmanager
def _style() -> Iterator[None]:
    with matplotlib.rc_context(fname=str(STYLE)), warnings.catch_warnings():
        # A name in a script the font lacks is still shown by the browser.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        with np.errstate(all="ignore"):
            yield
