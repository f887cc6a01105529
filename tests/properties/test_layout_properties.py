"""Spaces with steps, choices and conditions: decoding, and what a model sees of a point."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from noisewise.problem.layout import Layout
from noisewise.space import Choice, Float, Int, Parameter, Space

NUMBERS: st.SearchStrategy[Parameter] = st.sampled_from(
    [
        Float(-1.0, 3.0), Float(1e-4, 1.0, log=True), Float(0.0, 1.0, step=0.25), Int(2, 2),
        Int(-3, 4), Int(1, 90, log=True), Int(0, 10, step=3), Int(0, 10**6), Float(1.0, 1.0),
    ]
)  # fmt: skip
CHOICES: st.SearchStrategy[Parameter] = st.sampled_from(
    [Choice((False, True)), Choice(("a", "b c", "d")), Choice((1, 2.5, None, "x")), Choice(("on",))]
)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """Up to six parameters, some of which apply only with others."""
    given: dict[str, Parameter] = {}
    for j in range(draw(st.integers(1, 6))):
        p = draw(st.one_of(NUMBERS, CHOICES))
        parents = [name for name, one in given.items() if isinstance(one, (Choice, Int))]
        if parents and draw(st.booleans()):
            when: dict[str, Any] = {}
            for name in draw(st.lists(st.sampled_from(parents), min_size=1, max_size=2)):
                on = given[name]
                values = on.values if isinstance(on, Choice) else tuple(range(on.low, on.low + 2))
                fine = [v for v in values if not isinstance(on, Int) or v in (on.low, on.high)]
                when[name] = draw(st.lists(st.sampled_from(fine), min_size=1, max_size=2))
            p = p.under(when)
        given[f"p{j}"] = p
    return Space(given)


def at_random(space: Space, seed: int) -> Any:
    return np.random.default_rng(seed).random(space.dimension)


@settings(max_examples=150, deadline=None)
@given(space=spaces(), seed=st.integers(0, 10**6))
def test_values_come_back_from_the_cube(space: Space, seed: int) -> None:
    values = space.decode(at_random(space, seed))
    assert space.missing(values) == []
    x = space.encode(values)
    again = space.decode(x)
    assert list(again) == list(values)
    for name, p in space.parameters.items():
        if name not in values:
            assert (x[space.blocks[name]] == 0.5).all()
        elif isinstance(p, Float) and p.step is None:
            np.testing.assert_allclose(again[name], values[name], rtol=1e-12)
        else:
            assert again[name] == values[name]
            assert type(again[name]) is type(values[name])


@settings(max_examples=150, deadline=None)
@given(space=spaces(), seed=st.integers(0, 10**6))
def test_text_keeps_conditions(space: Space, seed: int) -> None:
    assert Space(space.texts) == space
    assert Space.parse([f"{name}={text}" for name, text in space.texts.items()]) == space


@settings(max_examples=200, deadline=None)
@given(space=spaces(), seed=st.integers(0, 10**6))
def test_a_model_sees_what_is_decoded(space: Space, seed: int) -> None:
    """Points with equal values are equal rows, and others are not."""
    layout = space.layout
    if layout is None:
        assert all(isinstance(p, Float) and p.step is None for p in _varying(space))
        return
    assert layout.columns == len(_varying(space))
    assert layout.dimension == space.dimension
    x, y = at_random(space, seed), at_random(space, seed + 1)
    row = layout.by_parameter(x[None])[0]
    np.testing.assert_array_equal(layout.settled(row), row)
    back = layout.coordinates(row)
    assert space.decode(back).keys() == space.decode(x).keys()
    np.testing.assert_array_equal(layout.by_parameter(back[None])[0], row)
    same = layout.by_parameter(space.encode(space.decode(x))[None])[0]
    np.testing.assert_allclose(same, row, rtol=0.0, atol=1e-12)
    for j, (name, p) in enumerate(_columns(space, layout)):
        assert layout.applies(row)[j] == (name in space.decode(x))
        if layout.stepped[j] or p.options:
            mine, other = (space.decode(v).get(name) for v in (x, y))
            alike = layout.by_parameter(y[None])[0][j] == row[j]
            if mine == other:
                assert alike
            elif mine is not None and other is not None:
                assert not alike


@settings(max_examples=100, deadline=None)
@given(space=spaces(), seed=st.integers(0, 10**6))
def test_neighbours_differ_in_one_value(space: Space, seed: int) -> None:
    layout = space.layout
    if layout is None:
        return
    row = layout.by_parameter(at_random(space, seed)[None])[0]
    mine = space.decode(layout.coordinates(row))
    conditional = any(p.conditions for p in space.parameters.values())
    for other in layout.neighbours(row):
        theirs = space.decode(layout.coordinates(other))
        changed = [n for n in mine.keys() & theirs.keys() if mine[n] != theirs[n]]
        assert len(changed) <= 1 or conditional
    choices = [p for _, p in _columns(space, layout) if p.options]
    assert len(layout.neighbours(row)) >= sum(p.options - 1 for p in choices)


def _varying(space: Space) -> list[Parameter]:
    return [p for p in space.parameters.values() if p.width]


def _columns(space: Space, layout: Layout) -> list[tuple[str, Parameter]]:
    starts = {at.start: name for name, at in space.blocks.items() if at.start < at.stop}
    names = [starts[i] for i in layout.first.tolist()]
    return [(name, space.parameters[name]) for name in names]
