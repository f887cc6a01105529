"""Named parameters and the unit cube."""

from __future__ import annotations

import math
import pickle
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
from noisewise.space import Choice, Float, Int, Parameter, Space, parameter

_FINITE = st.floats(-1e12, 1e12, allow_subnormal=False)
_POSITIVE = st.floats(1e-12, 1e12)


def _ends(kind: Any) -> Any:
    return st.tuples(kind, kind).filter(lambda ends: ends[0] < ends[1])


PARAMETERS = st.one_of(
    _ends(_FINITE).map(lambda ends: Float(*ends)),
    _ends(_POSITIVE).map(lambda ends: Float(*ends, log=True)),
    _ends(st.integers(-1000, 1000)).map(lambda ends: Int(*ends)),
    _ends(st.integers(1, 10**6)).map(lambda ends: Int(*ends, log=True)),
    st.tuples(st.integers(-50, 50), st.integers(0, 90), st.integers(1, 9)).map(
        lambda t: Int(t[0], t[0] + t[1], step=t[2])
    ),
    st.tuples(st.sampled_from([-1.0, 0.0, 0.1]), st.integers(0, 90)).map(
        lambda t: Float(t[0], t[0] + 0.1 * t[1], step=0.1)
    ),
    st.lists(
        st.sampled_from(
            ["a", "b c", "d:e", "1..2 f", "", " ", "g,h", "[i", 1, 1.0, True, None, 2.5]
        ),
        min_size=1,
        unique_by=repr,
    ).map(lambda values: Choice(tuple(values))),
)


@given(PARAMETERS, st.data())
def test_text_and_values_survive_the_round_trip(p: Parameter, data: st.DataObject) -> None:
    read = parameter(p.text)
    assert read == p
    assert repr(read) == repr(p)
    u = np.array(data.draw(st.lists(st.floats(0, 1), min_size=p.width, max_size=p.width)))
    value = p.decode(u)
    again = p.decode(p.encode(value))
    if isinstance(p, Float):
        assert type(value) is float
        assert p.low <= value <= p.high
        near = abs(value) if p.log else max(abs(p.low), abs(p.high))
        assert again == pytest.approx(value, rel=1e-9, abs=1e-12 * near)
    else:
        assert again == value
        assert type(again) is type(value)
        assert any(value is v for v in p.values) if isinstance(p, Choice) else type(value) is int


def test_scales() -> None:
    space = Space.parse(["rate=1e-4..1e-1:log", "shift=-1..3", "units=1..4:int", "n=1..99:int:log"])
    assert space.decode([0.0, 0.0, 0.0, 0.0]) == {"rate": 1e-4, "shift": -1.0, "units": 1, "n": 1}
    assert space.decode([1.0, 1.0, 1.0, 1.0]) == {"rate": 0.1, "shift": 3.0, "units": 4, "n": 99}
    middle = space.decode([0.5] * 4)
    assert middle["rate"] == pytest.approx(math.sqrt(1e-5))
    assert middle["shift"] == pytest.approx(1.0)
    assert middle["n"] == round(math.sqrt(0.5 * 99.5))
    assert space.decode([-1.0, 2.0, 9.0, 0.0]) == {"rate": 1e-4, "shift": 3.0, "units": 4, "n": 1}


def test_ends_and_steps_are_of_the_kind_of_their_values() -> None:
    """Whatever numbers they were given as: texts and files show them."""
    real = Float(0, np.int64(4), step=2)
    assert [type(v) for v in (real.low, real.high, real.step)] == [float] * 3
    assert real.text == "0.0..4.0:step=2.0"
    whole = Int(np.int64(0), np.int64(4), step=np.int64(2))
    assert [type(v) for v in (whole.low, whole.high, whole.step)] == [int] * 3
    assert whole.text == "0..4:int:step=2"


def test_every_whole_number_and_choice_has_its_share() -> None:
    """Equal cells for whole numbers; a uniform point chooses each word equally often."""
    cells = Counter(Int(3, 7).decode(np.array([u])) for u in np.linspace(0.0, 1.0, 5001))
    assert set(cells) == {3, 4, 5, 6, 7}
    assert max(cells.values()) - min(cells.values()) <= 2
    u = np.random.default_rng(0).random((3000, 3))
    words = Counter(map(Choice(("a", "b", "c")).decode, u))
    assert min(words.values()) > 900
    centre = u[u.argmax(axis=1) == 1].mean(axis=0)
    assert Choice(("a", "b", "c")).encode("b") == pytest.approx(centre, abs=0.02)


def test_choices_take_a_coordinate_each() -> None:
    space = Space({"opt": "adam,sgd,rms", "x": Float(0, 1)})
    assert space.dimension == 4
    assert space.coordinates == ["opt=adam", "opt=sgd", "opt=rms", "x"]
    assert space.decode([0.1, 0.7, 0.6, 0.25]) == {"opt": "sgd", "x": 0.25}
    assert space.encode({"x": 0.5}).tolist() == [0.5, 0.5, 0.5, 0.5]
    assert space.decode(space.encode({"opt": "rms"}))["opt"] == "rms"


def test_equal_spaces() -> None:
    space = Space.parse(["b=0..1", "a=1..9:int", "c=x,y"])
    assert Space(space.texts) == space
    assert Space.parse(["a=1..9:int", "b=0..1", "c=x,y"]) != space  # the order counts
    assert pickle.loads(pickle.dumps(space)) == space
    assert eval(repr(space), {"Space": Space}) == space


def test_a_function_of_names_is_minimised() -> None:
    space = Space.parse(["rate=1e-4..1e-1:log", "units=8..256:int"])
    seen: list[dict[str, Any]] = []

    def train(p: dict[str, Any]) -> float:
        seen.append(p)
        return math.log10(p["rate"] / 1e-2) ** 2 + (p["units"] / 64 - 1) ** 2

    r = nw.minimize(space.objective(train), bounds=space.bounds, budget=200, rng=0)
    best = space.decode(r.x)
    assert best["rate"] == pytest.approx(1e-2, rel=0.1)
    assert abs(best["units"] - 64) <= 2
    assert len(seen) == 200
    assert all(type(p["units"]) is int and 8 <= p["units"] <= 256 for p in seen)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lr", "must look like name="),
        ("lr=", "must look like low..high"),
        ("lr=5", "must look like low..high"),
        ("lr=1..2:lin", "must look like low..high"),
        ("lr=1..2:log:log", "must look like low..high"),
        ("lr=a..2", "must be numbers, got 'a'"),
        ("lr=2..1", "low <= high, got 2.0..1.0"),
        ("lr=1..2:step", "must look like low..high"),
        ("lr=1..2:step=", "must look like low..high"),
        ("lr=1..2:step=a", "must be numbers, got 'a'"),
        ("lr=1..2:step=0", "a step must be a positive number"),
        ("lr=1..2:step=-1", "a step must be a positive number"),
        ("lr=1..2:log:step=0.1", "a step must not be combined with log"),
        ("lr=1..2:log=1", "must look like low..high"),
        ("lr=[]", "a list of different values"),
        ("lr=[[1], 2]", "texts, numbers and booleans"),
        ("lr=1..inf", "finite numbers, got inf"),
        ("lr=nan..1", "finite numbers, got nan"),
        ("lr=-1e308..1e308", "finite ends"),
        ("lr=0..1:log", "above zero"),
        ("n=0..9:int:log", "above zero"),
        ("n=1.5..9:int", "whole numbers, got '1.5'"),
        ("n=9..8:int", "low <= high"),
        ("n=1..9:int:step=1.5", "whole numbers, got '1.5'"),
        ("n=1..9:int:step=0", "a step must be a positive number"),
        ("n=0..99999999999999999:int", "within ±2^53"),
        ("=1..2", "a parameter's name"),
        ("a b=1..2", "a parameter's name"),
        ("{a}=1..2", "a parameter's name"),
        ("c=x,x", "different words"),
        ("c=x,,y", "different words"),
    ],
)
def test_what_is_wrong_is_said_in_one_sentence(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=r"\.\.|.") as caught:
        Space.parse([text])
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_other_wrong_arguments() -> None:
    space = Space.parse(["a=0..1", "n=1..9:int", "c=x,y"])
    with pytest.raises(ValueError, match="'a' twice"):
        Space.parse(["a=0..1", "a=0..2"])
    with pytest.raises(ValueError, match="at least one"):
        Space({})
    with pytest.raises(ValueError, match="a must be a Float"):
        Space({"a": 3})  # type: ignore[dict-item]
    with pytest.raises(ValueError, match="x must be 3 numbers"):
        space.decode([0.5])
    with pytest.raises(ValueError, match="x must be 3 numbers"):
        space.decode([math.nan] * 3)
    with pytest.raises(ValueError, match="values must be of a, n, c, got 'b'"):
        space.encode({"b": 1})
    with pytest.raises(ValueError, match=r"^a must be a number in 0.0..1.0, got 2"):
        space.encode({"a": 2})
    with pytest.raises(ValueError, match=r"^n must be a whole number in 1..9, got 2.5"):
        space.encode({"n": 2.5})
    with pytest.raises(ValueError, match=r"^c must be one of x,y, got 'z'"):
        space.encode({"c": "z"})
    with pytest.raises(ValueError, match="finite numbers, got False"):
        Float(False, 1.0)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: s.encode(5), "values must be a dictionary by name, got 5"),
        (lambda s: s.encode({"lr": 10**400}), "lr must be a number in"),
        (lambda s: s.encode({"kind": np.array([1, 2])}), "kind must be one of a,b, got array"),
        (lambda s: s.encode({"n": np.array([1, 2])}), "n must be a whole number in"),
        (lambda s: s.encode({"n": 10**400}), "n must be a whole number in"),
        (lambda s: s.decode(5), "x must be 3 numbers, got 5"),
        (lambda s: s.decode([1.0, "a", 0.0]), "x must be 3 numbers, got"),
        (lambda s: s.decode(np.ma.masked), "x must be 3 numbers, got masked"),
        (lambda s: s.objective(5), "fun must be callable, got 5"),
        (lambda s: Space.parse(5), "texts must be a list of texts such as name="),
        (lambda s: Space.parse("lr=0..1"), "texts must be a list of texts such as name="),
        (lambda s: Space.parse([5]), "texts must be a list of texts such as name="),
        (lambda s: Float(0.0, 10**400), "the ends of a range must be finite numbers, got 1000"),
        (lambda s: Float(0.0, 1.0, log=np.array([1, 2])), "log must be True or False, got array"),
        (lambda s: Int(1, 9, log="yes"), "log must be True or False, got 'yes'"),
        (lambda s: Int(1, 10**400), "the ends of a whole range must be whole numbers within"),
        (lambda s: Choice(5), "a choice must be a list of different values, got 5"),
        (lambda s: Choice(()), "a choice must be a list of different values"),
        (lambda s: Choice((1, 2, 1)), "a choice must be a list of different values"),
        (lambda s: Int(1, 9, step=1.5), "a step must be a positive number"),
        (lambda s: Int(1, 9, step=True), "a step must be a positive number"),
        (lambda s: Float(0.0, 1.0, step="a"), "a step must be a positive number"),
    ],
)
def test_what_is_of_a_wrong_kind(call: Any, said: str) -> None:
    space = Space({"lr": "1e-4..1:log", "n": "1..9:int", "kind": "a,b"})
    with pytest.raises(ValueError, match="^" + said):
        call(space)


TREE = Space(
    {
        "model": ["svm", "forest", "linear"],
        "scaled": [False, True],
        "layers": Int(1, 3),
        "C": Float(1e-2, 1e2, log=True, when={"model": ["svm", "linear"], "scaled": True}),
        "trees": "10..500:int:log when model=forest",
        "kernel": Choice(("rbf", "poly"), when={"model": "svm"}),
        "degree": "2..5:int when kernel=poly",
        "third": "0..1 when layers=3",
        "only": "0..1 when scaled=true",
    }
)


def test_parameters_apply_only_when_others_say_so() -> None:
    given = {"model": "svm", "scaled": True, "kernel": "poly"}
    found = TREE.decode(TREE.encode(given))
    assert list(found) == ["model", "scaled", "layers", "C", "kernel", "degree", "only"]
    assert (found["layers"], found["degree"]) == (2, 4)
    forest = TREE.decode(TREE.encode({"model": "forest", "scaled": False, "layers": 3}))
    assert list(forest) == ["model", "scaled", "layers", "trees", "third"]
    assert TREE.missing({"model": "svm", "scaled": False}) == ["layers", "kernel"]
    # Its parent does not apply, whatever its coordinate says.
    hidden = TREE.encode({"model": "svm", "kernel": "poly"})
    hidden[TREE.blocks["model"]] = [0.0, 1.0, 0.0]
    assert "degree" not in TREE.decode(hidden)


def test_values_of_what_does_not_apply_are_not_read() -> None:
    given = {"model": "linear", "scaled": False, "degree": "?", "C": math.nan}
    assert TREE.encode(given).tolist() == TREE.encode({"model": "linear", "scaled": False}).tolist()


def test_conditions_as_text() -> None:
    assert TREE.texts["C"] == "0.01..100.0:log when model=svm,linear and scaled=[true]"
    assert TREE.texts["third"] == "0.0..1.0 when layers=[3]"
    assert Space(TREE.texts) == TREE
    assert Space.parse(f"{name}={text}" for name, text in TREE.texts.items()) == TREE
    odd = Space({"a b=": ["x when y", "and, so"], "z": Float(0, 1, when={"a b=": "x when y"})})
    assert Space(odd.texts) == odd
    assert repr(TREE.parameters["degree"]) == "Int(low=2, high=5, log=False, step=1)"
    assert TREE.parameters["degree"] != Int(2, 5)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"a": "0..1 when b=1"}, "a: when must name a choice or an Int that comes before it"),
        ({"a": "0..1", "b": "0..1 when a=1"}, "b: when must name a choice or an Int"),
        ({"a": "x,y", "b": "0..1 when a=z"}, "b: when: a must be one of x,y, got 'z'"),
        ({"a": "1..3:int", "b": "0..1 when a=4"}, "b: when: a must be a whole number in 1..3"),
        ({"a": "x,y", "b": "0..1 when a"}, "b: conditions must look like when name=one,other"),
        ({"a": "x,y", "b": "0..1 when a=x and"}, "b: when: a must be one of x,y, got 'x and'"),
        ({"a": "x,y", "b": "0..1 when a=[x"}, "b: conditions must look like when"),
    ],
)
def test_what_is_wrong_with_conditions(given: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(said)) as caught:
        Space(given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("when", [5, {"a": []}, {1: 2}, "a=1"])
def test_conditions_of_a_wrong_kind(when: Any) -> None:
    with pytest.raises(ValueError, match=r"^when must"):
        Float(0.0, 1.0, when=when)


def test_a_switch_is_one_coordinate() -> None:
    space = Space({"a": [False, True], "b": "x,y", "c": "x,y,z"})
    assert space.dimension == 1 + 1 + 3
    assert space.coordinates == ["a=True", "b=y", "c=x", "c=y", "c=z"]
    middle = np.full(5, 0.5)
    assert space.decode(middle) == {"a": False, "b": "x", "c": "x"}
    assert space.decode(middle + 1e-9)["a"] is True
    assert space.encode({"a": True, "b": "x"}).tolist()[:2] == [0.75, 0.25]


def test_options_that_cannot_be_compared_are_known_by_identity() -> None:
    """Two arrays have no single answer to whether they are equal."""
    first, second = np.zeros(2), np.ones(2)
    space = Space({"net": [first, second, None]})
    for option in (first, second, None):
        assert space.decode(space.encode({"net": option}))["net"] is option
    with pytest.raises(ValueError, match="net must be one of"):
        space.encode({"net": np.ones(2)})
