"""`nw.probe`: how noisy is my objective where I am about to search?"""

from __future__ import annotations

import contextlib
import io
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise._types import FloatArray


def _probe(noise: float, **options: Any) -> Any:
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {"x0": np.full(10, 3.0), "sigma0": 1.0, "rng": 0} | options
    return nw.probe(lambda x: float(x @ x) + noise * rng.normal(), **given)


@pytest.mark.parametrize(
    ("noise", "low", "high", "word"),
    [
        (0.0, 0.0, 0.0, "does not matter"),
        (1.0, 1e-9, 0.12, "hardly matters"),
        (10.0, 0.12, 0.22, "matters. Use"),
        (1e6, 0.25, 0.42, "dominates"),
    ],
)
def test_levels_of_noise(noise: float, low: float, high: float, word: str) -> None:
    """P rises with the noise, and the advice with P."""
    report = _probe(noise, n=60)
    assert low <= report.P <= high
    assert word in report.advice
    assert f"{report.P:.0%}" in report.advice


def test_numbers_agree_with_each_other() -> None:
    """P, Kendall's fraction and elite disagreement lie within the bounds that tie them."""
    report = _probe(15.0, n=20)
    assert 20 / 19 * report.P <= report.kendall <= 40 / 19 * report.P
    assert report.top_mu <= np.sqrt(2.0 * report.P)
    assert report.nfev == 40


def test_whether_a_budget_is_enough() -> None:
    report = _probe(15.0, n=400)
    assert report.noise == pytest.approx(15.0, rel=0.1)
    assert report.spread == pytest.approx(np.sqrt(20.0 + 4 * 90.0), rel=0.2)  # x ~ N(3, 1), d = 10
    assert "with 8 of them" in report.enough(100)
    assert "too few evaluations" in report.enough(100)
    assert "fine enough" in report.enough(1_000_000)
    n = int(report.enough(1000).split("confirm=")[1].split()[0])
    assert report._error(n) <= 0.1 * report.spread < report._error(int(0.9 * n))
    assert "no noise" in _probe(0.0).enough(50)
    assert "too few" in nw.ProbeReport(0.1, 0.1, 0.1, 4).enough(50)


def test_nothing_is_known_where_nothing_succeeds() -> None:
    report = nw.probe(lambda x: float("nan"), [1.0, 2.0], sigma0=1.0, rng=0)
    assert np.isnan([report.P, report.kendall, report.top_mu]).all()
    assert report.advice == "no evaluation succeeded: nothing is known about the noise."


def test_default_number_of_points() -> None:
    """The default population, twice."""
    assert _probe(1.0).nfev == 2 * (4 + int(3 * np.log(10)))


def test_counts_what_it_calls() -> None:
    calls: list[FloatArray] = []

    def fun(x: FloatArray) -> float:
        calls.append(x)
        return 0.0

    report = nw.probe(fun, bounds=[(0, 1)] * 3, n=5, rng=0)
    assert report.nfev == len(calls) == 10
    assert all((x >= 0.0).all() and (x <= 1.0).all() for x in calls)
    assert report.P == 0.0


def test_failures_rank_last_and_do_not_raise() -> None:
    """A point that always fails is at the end of both rankings."""
    x0 = np.zeros(4)
    report = nw.probe(lambda x: np.nan if x[0] > 0.0 else float(x @ x), x0, sigma0=1.0, n=12, rng=0)
    assert report.P == 0.0


def test_same_rng_same_points() -> None:
    """A seed fixes the points; the noise is the user's."""
    assert _probe(15.0) == _probe(15.0)


def test_the_objective_may_keep_or_change_its_argument() -> None:
    """Every call gets its own array."""

    def rude(x: FloatArray) -> float:
        value = float(x @ x)
        x[:] = 0.0
        return value

    assert nw.probe(rude, np.ones(4), sigma0=0.5, n=8, rng=0).P == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 1}, "n must be a whole number of at least 2, got 1"),
        ({"sigma0": -1.0}, "sigma0 must be a positive finite number"),
        ({"x0": None}, "x0 is required"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _probe(0.0, **options)


def test_bad_values() -> None:
    with pytest.raises(TypeError, match="the objective must return one real number"):
        nw.probe(lambda x: "high", np.ones(2), sigma0=1.0, rng=0)


def test_the_guide_does_what_it_prints() -> None:
    """Every block of the guide runs, in order, and prints what stands below it."""
    text = (Path(__file__).parents[2] / "docs/guides/is-my-objective-noisy.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == text.count("```python") >= 4
    names: dict[str, Any] = {}
    for code, expected in blocks:
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(code, names)
        assert said.getvalue() == expected


def test_the_probe_may_use_workers() -> None:
    """Where evaluations run does not change what the probe says."""
    given: dict[str, Any] = {"x0": [2.0] * 4, "sigma0": 1.0, "rng": 3}
    here = nw.probe(support.bumpy, **given)
    assert nw.probe(support.bumpy, **given, workers=2) == here
    with ThreadPoolExecutor(3) as pool:
        assert nw.probe(support.bumpy, **given, executor=pool) == here
    assert nw.probe(lambda x, a: a * support.bumpy(x), **given, args=(2.0,), workers=2) == here


def test_a_probe_gives_up_what_takes_too_long_and_raises_what_is_raised() -> None:
    def slow(x: Any) -> float:
        if x[0] > 2.5:
            time.sleep(6000.0)
        return support.bumpy(x)

    report = nw.probe(slow, [2.0] * 4, sigma0=1.0, n=6, rng=0, workers=4, timeout=0.3)
    assert report.nfev == 12

    def wrong(x: Any) -> float:
        raise KeyError("lost")

    for workers in (1, 2):
        with pytest.raises(KeyError, match="lost"):
            nw.probe(wrong, [2.0], sigma0=1.0, workers=workers)


# -- seeds


def _shifted(x: FloatArray, seed: int) -> float:
    """A seed adds to all points alike."""
    return float(x @ x) + 100.0 * float(np.random.default_rng(seed).normal())


def test_common_seeds_are_shared_within_a_ranking() -> None:
    seen: list[tuple[bytes, int]] = []

    def fun(x: FloatArray, seed: int) -> float:
        seen.append((x.tobytes(), seed))
        return _shifted(x, seed)

    given: dict[str, Any] = {"x0": np.full(4, 3.0), "sigma0": 1.0, "n": 12, "rng": 0}
    common = nw.probe(fun, seeds="common", **given)
    assert (common.P, common.nfev, common.seeds) == (0.0, 24, "common")
    assert [len({s for _, s in part}) for part in (seen[:12], seen[12:])] == [1, 1]
    assert len({s for _, s in seen}) == 2
    assert [x for x, _ in seen[:12]] == [x for x, _ in seen[12:]]
    first, seen = seen, []
    own = nw.probe(fun, seeds="independent", **given)
    assert own.P > 0.15
    assert len({s for _, s in seen}) == 24
    assert [x for x, _ in seen] == [x for x, _ in first]


def test_auto_compares_both_kinds() -> None:
    given: dict[str, Any] = {"x0": np.full(4, 3.0), "sigma0": 1.0, "n": 12, "rng": 0}
    both = nw.probe(_shifted, seeds="auto", **given)
    assert (both.nfev, both.seeds) == (48, "common")
    assert both == nw.probe(_shifted, seeds="auto", workers=2, **given)
    assert both.agreement["common"] == pytest.approx(1.0)
    assert "agree by 1.00 with common seeds" in both.advice
    assert both.noise == pytest.approx(100.0, rel=0.5)  # that of independent evaluations
    single = nw.probe(_shifted, seeds="common", **given)
    assert (both.P, both.kendall) == (single.P, single.kendall)


def test_seeds_that_cannot_be_used() -> None:
    with pytest.raises(ValueError, match="seeds must be one of"):
        nw.probe(_shifted, [1.0], sigma0=1.0, seeds="same")
    with pytest.raises(ValueError, match="fun must take a keyword argument seed"):
        nw.probe(lambda x: 1.0, [1.0], sigma0=1.0, seeds="common")


def test_values_may_have_known_errors() -> None:
    assert nw.probe(lambda x: (float(x @ x), 0.5), [1.0, 2.0], sigma0=1.0, rng=0).P == 0.0
