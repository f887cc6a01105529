"""Results in notebooks, and pictures."""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.methods import RBPEM


@pytest.fixture(scope="module")
def result() -> nw.Result:
    rng = np.random.default_rng(0)
    return nw.minimize(
        lambda x: float(x @ x + rng.normal()),
        [2.0] * 3,
        sigma0=1.0,
        budget=400,
        rng=0,
        method="watchful",
    )


class Text(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.cells: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.cells.append(data)


def test_a_result_is_a_table(result: nw.Result) -> None:
    shown = Text(result._repr_html_())
    assert shown.tags.count("table") == 1
    assert shown.cells[0] == "watchful"
    rows = dict(zip(shown.cells[1::2], shown.cells[2::2], strict=True))
    assert rows["x (recommended)"] == ", ".join(f"{v:.5g}" for v in result.x)
    assert f"fun: {rows['fun (estimated there)']}" in str(result)
    assert "too good to be true" in rows["luckiest draw"]
    assert rows["evaluations"].startswith("400 (")
    assert rows["message"] == result.message
    assert rows["misranking"] in result.message


def test_hostile_words_and_many_coordinates(result: nw.Result) -> None:
    other = nw.Result(result)
    other.update(message="<script>x</script>", warnings=["<b>"], x=np.arange(50.0))
    shown = Text(other._repr_html_())
    assert "<script>x</script>" in shown.cells
    assert {"script", "b"} & set(shown.tags) == {"b"}  # the caption's own
    assert shown.tags.count("b") == 1
    assert any(cell.endswith("19, ... (50 coordinates)") for cell in shown.cells)


def test_an_optimizer_says_how_far_it_is() -> None:
    opt = support.start(RBPEM(), budget=40)
    assert "unknown" in opt._repr_html_()
    for trial in opt.ask()[:2]:
        opt.tell(trial.id, 1.0)
    shown = Text(opt._repr_html_())
    assert shown.cells[0] == repr(opt)
    assert "spent=2" in repr(opt)
    assert "still running; 0 generations, 2 evaluations" in shown.cells


def test_a_plot(result: nw.Result) -> None:
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    axes = result.plot()
    assert axes.shape == (2, 2)
    assert [ax.get_ylabel() for ax in axes.flat] == [
        "value", "misranking", "step size", "population",
    ]  # fmt: skip
    h = result.history
    shown = [h["misranking"], h["sigma"], h["population"]]
    for ax, values in zip(axes.flat[1:], shown, strict=True):
        np.testing.assert_array_equal(ax.lines[0].get_xdata(), h["evaluations"])
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), values)
    assert [line.get_label() for line in axes[0, 1].lines[1:]] == ["pure noise"]
    assert axes[0, 1].lines[1].get_ydata()[0] == pytest.approx(1 / 3)
    assert [len(ax.lines) for ax in axes.flat] == [3, 2, 1, 1]
    mean, lucky = axes[0, 0].lines[:2]
    np.testing.assert_array_equal(mean.get_ydata(), result.history["mean_value"])
    assert (np.diff(lucky.get_ydata()) <= 0.0).all()
    axes[0, 0].figure.canvas.draw()
    early = support.start(RBPEM(), budget=40).result()
    early.plot()[0, 0].figure.canvas.draw()
    pyplot.close("all")


def test_the_extra_is_named(result: nw.Result, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install '\.\[plot\]'"):
        result.plot()
