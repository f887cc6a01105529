"""Where things are in a picture, worked out by hand from the size of the plot: 400 wide with
margins of 52 and 22, 230 high with margins of 12 above and 42 below."""

from __future__ import annotations

import math
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest

from noisewise.report import figures, pictures, svg
from noisewise.report.evaluations import Evaluations
from noisewise.report.figures import Coordinate
from noisewise.report.landscape import Band
from noisewise.report.svg import Axis, Chart, Series

Element = ElementTree.Element
NAN = math.nan


def parsed(text: str) -> Element:
    return ElementTree.fromstring(text.replace("<svg ", '<svg xmlns="" ', 1))


def of_class(picture: Element, name: str) -> list[dict[str, str]]:
    return [e.attrib for e in picture.iter() if e.get("class") == name]


def numbers(found: dict[str, str], *names: str) -> list[float]:
    return [float(found[name]) for name in names]


def labels(picture: Element) -> dict[str, tuple[float, float]]:
    return {
        e.text or "": (float(e.get("x", "nan")), float(e.get("y", "nan")))
        for e in picture.iter("text")
    }


# -- axes


def test_places_on_an_axis() -> None:
    axis = Axis(10.0, 20.0, 100.0, 0.0)
    np.testing.assert_allclose(axis.at(np.array([10.0, 15.0, 20.0, NAN])), [100.0, 50.0, 0.0, NAN])
    # A little outside is enough: one length before it, one behind it.
    np.testing.assert_allclose(axis.at(np.array([-1e9, 1e9])), [200.0, -100.0])
    logs = Axis(1.0, 100.0, 0.0, 50.0, log=True)
    np.testing.assert_allclose(logs.at(np.array([1.0, 10.0, 0.0, -1.0])), [0.0, 25.0, NAN, NAN])


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([0.0, 10.0], (-0.6, 10.6)),  # six in a hundred on either side
        ([4.0], (2.0, 6.0)),
        ([0.0], (-1.0, 1.0)),
        # Of many values what lies farther out than the distance of the outer tenths is left out.
        ([*range(30), 1000.0], (-0.06 * 51.0, 51.0 + 0.06 * 51.0)),
        ([*range(29), 1000.0], (-60.0, 1060.0)),  # not of thirty
        ([1.0] * 30 + [1e308], (1.0 - 0.06e307, 1.06e307)),
    ],
)
def test_limits_of_an_axis(data: list[float], expected: tuple[float, float]) -> None:
    assert svg.limits(np.array(data, dtype=float)) == pytest.approx(expected)


def test_limits_of_a_logarithmic_axis() -> None:
    assert svg.limits(np.array([1.0, 100.0]), log=True) == pytest.approx(
        (100.0**-0.06, 100.0**1.06)
    )


@pytest.mark.parametrize(
    ("low", "high", "log", "ticks"),
    [
        (0.0, 10.0, False, [0, 2, 4, 6, 8, 10]),
        (0.0, 1.25, False, [0, 0.25, 0.5, 0.75, 1.0, 1.25]),
        (0.0, 5.0, False, [0, 1, 2, 3, 4, 5]),
        (-3.0, 21.0, False, [0, 5, 10, 15, 20]),
        (0.5, 200.0, True, [1, 10, 100]),
        (3.0, 150.0, True, [5, 10, 20, 50, 100]),
        (1e-3, 1e6, True, [1e-3, 1e-1, 1e1, 1e3, 1e5]),
    ],
)
def test_ticks(low: float, high: float, log: bool, ticks: list[float]) -> None:
    assert Axis(low, high, 0.0, 1.0, log).ticks() == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("value", "said"), [(0.25, "0.25"), (1e-07, "1e-7"), (2.5e12, "2.5e12"), (123456.0, "123456")]
)
def test_labels_of_ticks(value: float, said: str) -> None:
    assert svg.short(value) == said


# -- charts


def test_a_chart() -> None:
    """Evaluations 0 to 100 over 52 to 378, values 0 to 10 over 188 to 12."""
    line = Series("line", np.array([0.0, NAN, 5.0, 10.0]))
    dots = Series("dots", np.array([NAN, 10.0, NAN, 2.5]), "dots")
    chart = Chart("c", "<Title>", (line, dots), ((5.0, "half"), (NAN, "nowhere")), 0.0, 10.0)
    found = parsed(svg.draw(chart, np.array([20.0, 40.0, 60.0, 100.0])))
    assert found.get("viewBox") == "0 0 400 230"
    assert found.get("aria-label") == "<Title>"
    assert numbers(dict(found.attrib), "data-left", "data-right") == [52.0, 378.0]
    # Where a value is not known the line is broken.
    (path,) = of_class(found, "main")
    assert path["d"] == "M117.2 188.0M247.6 100.0L378.0 12.0"
    assert [numbers(dot, "cx", "cy") for dot in of_class(found, "dots")] == [
        [182.4, 12.0],
        [378.0, 144.0],
    ]
    (level,) = (m for m in of_class(found, "mark") if "x1" in m)
    assert numbers(level, "x1", "x2", "y1", "y2") == [52.0, 378.0, 100.0, 100.0]
    said = labels(found)
    assert said["half"] == (56.0, 95.0)
    assert said["evaluations"] == (215.0, 222.0)
    assert said["20"] == (117.2, 204.0)  # below the plot
    assert said["10"] == (46.0, 16.0)  # beside it
    assert "nowhere" not in said
    (clip,) = found.iter("clipPath")
    assert numbers(dict(clip[0].attrib), "x", "y", "width", "height") == [52.0, 9.0, 326.0, 182.0]
    (cursor,) = of_class(found, "cursor")
    assert numbers(cursor, "y1", "y2") == [12.0, 188.0]
    (axis,) = of_class(found, "axis")
    assert numbers(axis, "x1", "x2", "y1", "y2") == [52.0, 378.0, 188.0, 188.0]


@pytest.mark.parametrize(
    ("values", "low", "high", "log", "expected"),
    [
        ([1.0, 19.0], None, None, True, (-0.08, 20.08, False)),
        ([1.0, 21.0], None, None, True, (21.0**-0.06, 21.0**1.06, True)),
        ([1.0, 21.0], None, None, False, (-0.2, 22.2, False)),
        ([-1.0, 21.0], None, None, True, (-2.32, 22.32, False)),
        ([1.0, 3.0], 0.0, 2.0, False, (0.0, 3.0, False)),  # what is larger is not left out
        ([1.0, 3.0], 0.0, 9.0, False, (0.0, 9.0, False)),
        ([NAN], None, None, False, (-1.0, 1.0, False)),
    ],
)
def test_the_axis_of_a_chart(
    values: list[float],
    low: float | None,
    high: float | None,
    log: bool,
    expected: tuple[float, float, bool],
) -> None:
    """Logarithmic from a factor of twenty on."""
    axis = svg._up(Chart("c", "t", (Series("s", np.array(values)),), (), low, high, log))
    assert (axis.low, axis.high) == pytest.approx(expected[:2])
    assert (axis.log, axis.start, axis.end) == (expected[2], 188.0, 12.0)


def test_a_histogram() -> None:
    """Six bins at least; 10 of 20 values in the first, so that it is 50 / 55 of the height."""
    found = parsed(svg.histogram(np.array([0.0] * 10 + [3.0] * 4 + [6.0] * 6), "t", "residual"))
    columns = of_class(found, "column")
    assert len(columns) == 6
    wide = 326.0 / 6.0
    assert numbers(columns[0], "x", "y", "width", "height") == pytest.approx(
        [52.0, 188.0 - 160.0, wide - 0.5, 160.0], abs=0.06
    )
    assert [float(c["height"]) for c in columns] == pytest.approx([160, 0, 0, 64, 0, 96], abs=0.06)
    titles = [e.text for e in found.iter("title")]
    assert titles[3] == "3 to 4: 20.0 %"
    many = parsed(svg.histogram(np.arange(400.0), "t", "residual"))
    assert len(of_class(many, "column")) == 20  # the root of their number
    assert len(of_class(parsed(svg.histogram(np.arange(4000.0), "t", "r")), "column")) == 30


# -- all values of a run


def seen(values: list[float], purpose: list[str]) -> Evaluations:
    n = len(values)
    return Evaluations(np.zeros((n, 1)), np.array(values), 1 + np.arange(n), purpose, 0)


NOTHING = (np.empty(0), np.empty(0))


def test_values_over_the_run() -> None:
    """300 high, so that values lie from 258 up to 12; 10 evaluations from 56 to 378."""
    data = seen([0.0, 10.0, NAN, 5.0], ["search", "search", "search", "finalist"])
    drawn = figures.values(data, None, (5.0, 2.0, 8.0), 4, 10, 400.0, NOTHING)
    found = parsed(drawn)
    assert found.get("viewBox") == "0 0 400 300"
    x = [56.0 + 32.2 * n for n in (1, 2, 4)]
    low, high = -0.6, 10.6
    y = [258.0 - 246.0 * (v - low) / (high - low) for v in (0.0, 10.0, 5.0)]
    dots = [*of_class(found, "dots"), *of_class(found, "final")]
    np.testing.assert_allclose([numbers(d, "cx", "cy") for d in dots], np.c_[x, y], atol=0.06)
    (whisker,) = of_class(found, "interval")
    ends = [258.0 - 246.0 * (v - low) / (high - low) for v in (2.0, 8.0)]
    np.testing.assert_allclose(numbers(whisker, "x1", "y1", "y2"), [x[2], *ends], atol=0.06)
    (estimate,) = of_class(found, "estimate")
    np.testing.assert_allclose(numbers(estimate, "cx", "cy"), [x[2], y[2]], atol=0.06)


def test_an_estimate_without_an_interval_has_no_whisker() -> None:
    data = seen([0.0, 10.0], ["search"] * 2)
    found = parsed(figures.values(data, None, (5.0, NAN, NAN), 2, 2, 400.0, NOTHING))
    assert of_class(found, "interval") == []
    assert len(of_class(found, "estimate")) == 1
    found = parsed(figures.values(data, None, (NAN, NAN, NAN), 2, 2, 400.0, NOTHING))
    assert of_class(found, "estimate") == []


def test_the_band_goes_forth_above_and_back_below() -> None:
    band = Band(*(np.array(v) for v in ([1.0, 2.0], [4.0, 6.0], [0.0, 5.0], [10.0, 7.0])))
    data = seen([0.0, 10.0], ["search"] * 2)
    found = parsed(figures.values(data, band, (5.0, NAN, NAN), 2, 2, 400.0, NOTHING))
    corners = of_class(found, "band")[0]["d"].strip("MZ").split("L")
    x, up = [217.0, 378.0], lambda v: 258.0 - 246.0 * (v + 0.6) / 11.2
    expected = [[x[0], up(10.0)], [x[1], up(7.0)], [x[1], up(5.0)], [x[0], up(0.0)]]
    found_at = [[float(v) for v in corner.split()] for corner in corners]
    np.testing.assert_allclose(found_at, expected, atol=0.06)
    line = of_class(found, "main")[0]["d"].strip("M").split("L")
    np.testing.assert_allclose(
        [[float(v) for v in corner.split()] for corner in line],
        [[x[0], up(4.0)], [x[1], up(6.0)]],
        atol=0.06,
    )


def test_the_estimate_is_never_left_out() -> None:
    """Its interval reaches beyond all values: three hundredths of the height stay around it."""
    axis = figures._vertical(np.array([0.0, 1.0]), None, (5.0, -4.0, 9.0), 300.0)
    low, high = svg.limits(np.array([0.0, 1.0, 5.0, -4.0, 9.0]))
    assert (axis.low, axis.high) == pytest.approx((low, high))
    crowd = np.linspace(0.0, 1.0, 100)
    axis = figures._vertical(crowd, None, (5.0, -4.0, 9.0), 300.0)
    width = np.ptp(svg.limits(np.r_[crowd, 5.0, -4.0, 9.0]))
    assert (axis.low, axis.high) == pytest.approx((-4.0 - 0.03 * width, 9.0 + 0.03 * width))
    logs = figures._vertical(np.geomspace(1.0, 25.0, 100), None, (1e3, 1e2, 1e4), 300.0)
    assert logs.log
    assert logs.high == pytest.approx(1.1e4)


@pytest.mark.parametrize(("low", "high", "log"), [(1.0, 19.0, False), (1.0, 21.0, True)])
def test_values_of_twenty_times_the_smallest_have_a_logarithmic_axis(
    low: float, high: float, log: bool
) -> None:
    assert figures._vertical(np.array([low, high]), None, (NAN,) * 3, 300.0).log == log
    assert not figures._vertical(np.array([-low, high]), None, (NAN,) * 3, 300.0).log


@pytest.mark.parametrize(
    ("coordinate", "expected"),
    [
        (Coordinate("x", 0), [0.0, 0.25, 1.0]),
        (Coordinate("x", 0, 10.0, 30.0), [10.0, 15.0, 30.0]),
        (Coordinate("x", 0, 1.0, 16.0, log=True), [1.0, 2.0, 16.0]),
    ],
)
def test_values_of_a_parameter(coordinate: Coordinate, expected: list[float]) -> None:
    np.testing.assert_allclose(coordinate.value(np.array([0.0, 0.25, 1.0])), expected)


def test_old_points_are_paler() -> None:
    drawn = parsed(f"<svg >{figures._dots(np.arange(3.0), np.array([1.0, NAN, 2.0]))}</svg>")
    assert [float(d["opacity"]) for d in of_class(drawn, "aged")] == pytest.approx([0.15, 0.9])


# -- which charts there are


def history(n: int, **columns: object) -> dict[str, np.ndarray]:
    usual = {"evaluations": 10.0 * np.arange(1, n + 1), "misranking": np.full(n, 0.2)}
    usual |= {"misranking_mean": np.full(n, 0.2), "population": np.full(n, 10.0)}
    return usual | {name: np.asarray(column) for name, column in columns.items()}


def test_charts_of_what_a_method_has() -> None:
    assert [c.name for c in pictures._charts(history(3))] == ["misranking", "population"]
    every = pictures._charts(history(3, sigma=np.ones(3), c_mean=np.ones(3)))
    assert [c.name for c in every] == ["misranking", "sigma", "population", "c_mean"]
    assert [(c.low, c.high, c.log) for c in every] == [
        (0.0, 0.4, False),
        (None, None, True),
        (0.0, None, False),
        (0.0, 1.05, False),
    ]
    assert every[0].marks == ((1 / 3, "pure noise"),)
    assert [s.look for s in every[0].series] == ["dots", "main"]


@pytest.mark.parametrize(
    ("name", "values", "varies"),
    [
        ("sigma", [1.0, 1.0, NAN], False),
        ("sigma", [1.0, 2.0], True),
        ("sigma", [1.0, 1.0 + 1e-13], False),
        ("sigma", [NAN], False),
        ("population", [4.0, 1.0, 1.0], False),  # a start design, then single candidates
        ("population", [4.0, 1.0, 2.0], True),
    ],
)
def test_constants_are_not_drawn(name: str, values: list[float], varies: bool) -> None:
    assert pictures._varies(Chart(name, "t", (Series("s", np.array(values)),))) == varies


@pytest.mark.parametrize(
    ("n", "most", "kept"), [(3, 5, [0, 1, 2]), (5, 3, [0, 2, 4]), (0, 3, []), (7, 3, [0, 3, 6])]
)
def test_of_many_generations_some_are_shown(n: int, most: int, kept: list[int]) -> None:
    found = pictures.thinned(history(n), most)
    assert found["evaluations"].tolist() == [10.0 * (i + 1) for i in kept]
    assert {len(column) for column in found.values()} == {len(kept)}


@pytest.mark.parametrize(
    ("clear", "ranked", "said"),
    [
        (3, 3, []),
        (6, 6, []),
        (7, 7, ["The 6 parameters with the largest effects are shown."]),
        (2, 4, ["No visible effect there: p2, p3."]),
        (
            8,
            9,
            [
                "The 6 parameters with the largest effects are shown.",
                "No visible effect there: p8.",
            ],
        ),
    ],
)
def test_what_is_said_of_parameters_that_are_not_drawn(
    clear: int, ranked: int, said: list[str]
) -> None:
    every = [Coordinate(f"p{j}", j) for j in range(ranked)]
    land = SimpleNamespace(count=30)
    text = pictures._said(None, land, every[:clear], every)  # type: ignore[arg-type]
    assert "A model of the newest 30 evaluations" in text
    for sentence in ("parameters with the largest effects", "No visible effect"):
        assert (sentence in text) == any(sentence in expected for expected in said)
    for sentence in said:
        assert sentence in text
