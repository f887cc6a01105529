"""The codec: what is encoded comes back, and nothing else can be built."""

from __future__ import annotations

import json
import warnings
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from noisewise import _data
from noisewise.cma.weights import Log
from noisewise.run.run import Ledger

_FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)
_ARRAYS = hnp.arrays(
    st.sampled_from([np.dtype(float), np.dtype(np.int64), np.dtype(bool)]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
_KEYS = st.text(max_size=5) | st.integers() | st.tuples(st.integers(), st.text(max_size=2))
_LEAVES = st.none() | st.booleans() | st.integers() | _FLOATS | st.text() | _ARRAYS
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(_KEYS, inner, max_size=3)
    ),
    max_leaves=12,
)


def same(a: Any, b: Any) -> bool:
    """Equal to the bit and of the same kind; nan equals nan, -0.0 differs from 0.0."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray):
        return (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
    if isinstance(a, float):
        return repr(a) == repr(b)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[k], b[k]) for k in a)
    return bool(a == b)


def through_text(value: Any) -> Any:
    return _data.decode(json.loads(json.dumps(_data.encode(value), allow_nan=False)))


@given(value=_VALUES)
def test_round_trip(value: Any) -> None:
    assert same(through_text(value), value)


@given(value=_VALUES)
def test_what_comes_back_is_the_same(value: Any) -> None:
    assert _data.same(through_text(value), value)
    assert not _data.same([value], value)


@dataclass(frozen=True)
class Spelt:
    """Its old spelling has an annotation that cannot be evaluated, as all have on Python 3.10."""

    kept: int = 1
    old: InitVar[NoSuchName | None] = None  # type: ignore[name-defined]  # noqa: F821


def test_only_annotations_of_what_is_saved_are_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_data, "_CLASSES", {})
    _data.data(Spelt)
    assert through_text(Spelt(3)) == Spelt(3)
    with pytest.raises(_data.DataError, match=r"Spelt\.kept cannot be 'x'"):
        _data.decode({"~" + _data._name(Spelt): {"kept": "x"}})


@given(value=hnp.arrays(float, hnp.array_shapes(min_dims=2, max_dims=3, max_side=4)))
def test_layout_survives(value: Any) -> None:
    """Products of arrays round differently in another layout, so it is part of the data."""
    for array in (value, np.asfortranarray(value), value.T):
        back = through_text(array)
        assert same(back, array)
        assert back.flags.c_contiguous == array.flags.c_contiguous
        assert back.flags.f_contiguous == array.flags.f_contiguous
        assert back.flags.writeable


def test_strided_views_come_back_contiguous() -> None:
    view = np.arange(20.0).reshape(4, 5)[:, 1]
    back = through_text(view)
    np.testing.assert_array_equal(back, view)
    assert back.flags.c_contiguous


def test_narrow_integers_come_back_as_int64() -> None:
    back = through_text(np.arange(3, dtype=np.int32))
    assert back.dtype == np.int64
    np.testing.assert_array_equal(back, [0, 1, 2])


@given(seed=st.integers(0, 2**64), used=st.integers(0, 20))
def test_generators_go_on_where_they_were(seed: int, used: int) -> None:
    rng = np.random.default_rng(seed)
    rng.standard_normal(used)
    rng.integers(0, 10, used, dtype=np.uint32)
    back = through_text(rng)
    np.testing.assert_array_equal(back.standard_normal(5), rng.standard_normal(5))
    np.testing.assert_array_equal(
        back.integers(0, 99, 5, dtype=np.uint32), rng.integers(0, 99, 5, dtype=np.uint32)
    )


def test_numpy_scalars_become_python_numbers() -> None:
    assert through_text([np.float64(0.5), np.int64(3), np.float32(0.25)]) == [0.5, 3, 0.25]
    assert all(type(v) in (float, int) for v in through_text([np.float64(0.5), np.int64(3)]))


def test_registered_classes_come_back() -> None:
    ledger = Ledger(10, reserve=2, base=3)
    assert through_text(ledger) == ledger
    assert through_text(Log(active=True)) == Log(active=True)


@pytest.mark.parametrize(
    "value", [object(), lambda: 0, 1j, b"bytes", {1, 2}, np.array([1j]), np.array(["a"]), print]
)
def test_what_is_not_data_cannot_be_saved(value: Any) -> None:
    with pytest.raises(_data.DataError, match="cannot be saved"):
        _data.encode(value)


def test_only_the_very_class_that_was_registered_can_be_saved() -> None:
    impostor = type("Ledger", (), {})()
    with pytest.raises(_data.DataError, match="Ledger cannot be saved"):
        _data.encode(impostor)


_WRONG: list[Any] = [
    {"~float": "1e5"},
    {"~float": ["nan"]},
    {"~array": ["float64", [1], "C"]},
    {"~array": ["float32", [1], "C", "AAAA"]},
    {"~array": [["float64"], [1], "C", "AAAA"]},
    {"~array": ["float64", [-1], "C", ""]},
    {"~array": ["float64", [1.0], "C", "AAAAAAAAAAA="]},
    {"~array": ["float64", [1, 1, 1, 1, 1], "C", "AAAAAAAAAAA="]},
    {"~array": ["float64", [2], "C", "AAAAAAAAAAA="]},
    {"~array": ["float64", [10**12], "C", "AAAAAAAAAAA="]},
    {"~array": ["float64", [1], "Z", "AAAAAAAAAAA="]},
    {"~array": ["float64", [1], ["C"], "AAAAAAAAAAA="]},
    {"~array": ["float64", [1], "C", "not base64!"]},
    {"~array": ["float64", [1], "C", "é"]},
    {"~array": ["float64", [1], "C", 5]},
    {"~array": ["float64", 1, "C", "AAAAAAAAAAA="]},
    {"~array": 5},
    {"~tuple": 5},
    {"~tuple": None},
    {"~dict": [[1]]},
    {"~dict": [[[1], 2]]},
    {"~dict": 3},
    {"~generator": 5},
    {"~generator": {"~dict": [["bit_generator", "PCG64"]]}},
    {"~generator": {"~dict": [["bit_generator", "MT19937"], ["state", None]]}},
    {"~Ledger": {"budget": 1}},
    {"~Ledger": []},
    {"~Unknown": {}},
    {"~os.system": "ls"},
    {"Ledger": {}},
    {"a": 1, "b": 2},
    {},
    {"~Log": {"active": "yes"}},
    {"~PowerLift": {"start": -1.0, "end": 2.0}},
]


@pytest.mark.parametrize("value", _WRONG, ids=repr)
def test_what_is_not_an_encoding_is_refused(value: Any) -> None:
    with pytest.raises(_data.DataError):
        _data.decode(value)


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(
                st.sampled_from(
                    ["~array", "~tuple", "~dict", "~generator", "~float", "~Ledger", "~Log", "x"]
                ),
                inner,
                max_size=2,
            )
        ),
        max_leaves=15,
    )
)
def test_any_json_is_decoded_or_refused(value: Any) -> None:
    try:
        _data.decode(value)
    except _data.DataError as error:
        said = str(error)
    else:
        said = "decoded"
    assert said


@pytest.mark.parametrize("wrong", [-1, 1.5, None, "1", True, 2**128, {"~float": "nan"}, [1]])
@pytest.mark.parametrize("field", ["state", "inc", "has_uint32", "uinteger"])
def test_generators_have_states_of_whole_numbers(wrong: Any, field: str) -> None:
    encoded = _data.encode(np.random.default_rng(0))
    pairs = encoded["~generator"]["~dict"]
    inner = next(value for key, value in pairs if key == "state")["~dict"]
    for pair in [*pairs, *inner]:
        if pair[0] == field and not isinstance(pair[1], dict):
            pair[1] = wrong
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(_data.DataError):
            _data.decode(encoded)
