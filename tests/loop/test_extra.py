"""What users keep with a run."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise import _data
from noisewise.methods import CMAES, NoiseModel


def test_it_is_kept_in_the_checkpoint_from_the_first_write(tmp_path: Path) -> None:
    extra = {"names": ["a", "b"], "unit": None, "nested": {"x": 1.5}}
    path = tmp_path / "run"
    opt = support.start(CMAES(), d=2, extra=extra)
    extra["names"] = []  # a copy was taken
    opt.save(path)
    assert nw.Optimizer.load(path).extra == {
        "names": ["a", "b"],
        "unit": None,
        "nested": {"x": 1.5},
    }


def run(path: Path, extra: Any, stop_after: int | None = None) -> nw.Result:
    def callback(result: nw.Result) -> None:
        if stop_after is not None and result.nit == stop_after:
            raise KeyboardInterrupt

    return nw.minimize(
        support.bumpy,
        [1.0] * 3,
        sigma0=1.0,
        budget=60,
        rng=0,
        method="cma-es",
        checkpoint=path,
        extra=extra,
        callback=callback,
        interrupt="return",
    )


def test_a_resumed_run_must_bring_the_same(tmp_path: Path) -> None:
    path = tmp_path / "run"
    assert run(path, {"a": 1}, stop_after=2).nit == 2
    assert nw.Optimizer.load(path).extra == {"a": 1}
    with pytest.raises(nw.CheckpointError, match=r"a run with extra \{'a': 1\}, not \{'a': 2\}"):
        run(path, {"a": 2})
    assert run(path, {"a": 1}).nfev == 60
    assert nw.Optimizer.load(path).extra == {"a": 1}


@pytest.mark.parametrize(
    "given",
    [
        lambda: {"limits": np.array([0.0, 1.0]), "missing": math.nan},
        lambda: {"nested": [{"a": (np.eye(2), np.nan)}, math.inf], "order": {"x": 1, "y": 2}},
    ],
)
def test_arrays_and_nan_are_the_same_again(given: Any, tmp_path: Path) -> None:
    path = tmp_path / "run"
    run(path, given(), stop_after=2)
    assert run(path, given()).nfev == 60
    with pytest.raises(nw.CheckpointError, match="a run with extra"):
        run(path, given() | {"more": np.zeros(2)})


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.zeros(2), np.zeros(3)),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0])),
        (np.array([1]), np.array([1.0])),
        (math.nan, 0.0),
        ((1, 2), [1, 2]),
        ([1], [1, 2]),
        ({"a": 1}, {"b": 1}),
        (np.zeros(1), 0.0),
        (NoiseModel(), NoiseModel(clip=2.0)),
        (NoiseModel(), None),
    ],
)
def test_what_is_not_the_same(one: Any, other: Any) -> None:
    assert _data.same(one, one)
    assert _data.same(other, other)
    assert not _data.same(one, other)
    assert not _data.same(other, one)


def test_the_order_of_names_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run(path, {"a": 1, "b": 2}, stop_after=2)
    assert run(path, {"b": 2, "a": 1}).nfev == 60


def test_what_no_file_can_hold_is_refused_at_once() -> None:
    for value in (10**5000, deep(3000), np.zeros((1,) * 5)):
        with pytest.raises(ValueError, match="extra must be plain data"):
            support.start(CMAES(), extra={"a": value})


def deep(n: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(n):
        found = [found]
    return found


def test_what_cannot_be_kept() -> None:
    with pytest.raises(ValueError, match="extra must be a dictionary or None, got 3"):
        support.start(CMAES(), extra=3)
    with pytest.raises(ValueError, match=r"extra must be plain data, got .*function"):
        support.start(CMAES(), extra={"f": support.noisy})


def test_deviations_are_those_of_the_samples() -> None:
    opt = nw.Optimizer(
        budget=10**4, bounds=[(0, 30), (0, 3)], sigma0=0.1, rng=0, method=CMAES(population=4000)
    )
    np.testing.assert_allclose(opt.deviations, [1.0, 0.1])
    X = np.array([trial.x for trial in opt.ask()])
    np.testing.assert_allclose(X.std(axis=0), opt.deviations, rtol=0.05)
