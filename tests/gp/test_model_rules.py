"""When a model is fitted again, which transformation it takes, and what it says in the user's
units: one rule at a time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from noisewise._types import FloatArray
from noisewise.gp import model
from noisewise.gp.model import MOST, Fit, Model, local, refit, used
from noisewise.gp.values import FAMILY, Measurements, Warp


def measured(n: int, d: int = 2, y: FloatArray | None = None) -> Measurements:
    rng = np.random.default_rng(n)
    X = rng.random((n, d))
    return Measurements.empty(d).add(
        X, X.sum(axis=1) + 0.1 * rng.normal(size=n) if y is None else y
    )


# -- transformations, by formulas


@pytest.mark.parametrize("n", [2, 5, 6, 31])
def test_the_identity_divides_by_half_of_the_distance_between_the_quartiles(n: int) -> None:
    y = np.random.default_rng(n).normal(5.0, 3.0, n)
    warp = Warp.of("none", y)
    low, middle, high = np.quantile(y, [0.25, 0.5, 0.75])
    assert (warp.shift, warp.scale) == pytest.approx((middle, (high - low) / 2.0))
    np.testing.assert_allclose(warp.forward(y), (y - y.mean()) / y.std())


@pytest.mark.parametrize(
    ("y", "scale"),
    [
        ([0.0] * 9 + [4.0], 2.0),  # the quartiles are equal: half of the range
        ([3.0] * 5, 1.0),
        ([7.0], 1.0),
        ([1e6, 1e6 + 1e-9], 1e-8),  # below the rounding of the values: 1e-14 of the largest
    ],
)
def test_scales_of_values_with_ties(y: list[float], scale: float) -> None:
    assert Warp.of("none", np.array(y)).scale == pytest.approx(scale)


@pytest.mark.parametrize("name", FAMILY)
def test_centre_and_width_are_quantiles(name: str) -> None:
    """c = min y for logarithms, the median for tails; b is a quantile of |y - c|."""
    y = np.random.default_rng(2).lognormal(0.0, 1.0, 30)
    low, middle, high = np.quantile(y, [0.25, 0.5, 0.75])
    u = (y - middle) / ((high - low) / 2.0)
    centre = u.min() if name.startswith("log") else 0.0
    share = {"1": 0.9, "2": 0.5, "3": 0.2}[name[-1]]
    width = np.quantile(np.abs(u - centre), share)
    warp = Warp.of(name, y)
    assert (warp.centre, warp.width) == (pytest.approx(centre), pytest.approx(width))
    g = width * np.arcsinh((u - centre) / width)
    np.testing.assert_allclose(warp.forward(y), (g - g.mean()) / g.std())


def test_a_width_of_nothing_is_the_smallest_distance() -> None:
    warp = Warp.of("log-3", np.array([1.0] * 8 + [2.0, 5.0]))  # a scale of 2
    assert warp.width == pytest.approx(0.5)


def test_ranks_are_normal_scores_of_the_middle_of_ties() -> None:
    warp = Warp.of("ranks", np.array([4.0, 1.0, 1.0, 9.0]))
    scores = stats.norm.ppf(np.array([1.0, 2.5, 3.5]) / 4.0)
    expected = scores[[1, 0, 0, 2]]
    z = warp.forward(np.array([4.0, 1.0, 1.0, 9.0]))
    np.testing.assert_allclose(z, (expected - expected.mean()) / expected.std())
    # Between known values, a straight line; beyond them, the outermost.
    np.testing.assert_allclose(warp.forward(np.array([2.5])), (z[0] + z[1]) / 2.0)
    np.testing.assert_allclose(warp.backward(z), [4.0, 1.0, 1.0, 9.0])
    assert warp.forward(np.array([99.0])) == pytest.approx(z[3])


# -- in the user's units


def made(name: str, y: FloatArray) -> Model:
    n = len(y)
    fit = replace(Fit.start(1), name=name)
    return Model.of(Measurements.empty(1).add(np.linspace(0.0, 1.0, n)[:, None], y), fit)


def test_the_identity_scales_the_posterior() -> None:
    y = np.random.default_rng(0).normal(10.0, 4.0, 20)
    found = made("none", y)
    assert found.raw(0.5, 0.09) == pytest.approx((y.mean() + 0.5 * y.std(), 0.3 * y.std()))
    # The noise has no part in the mean of an untransformed value.
    assert found.expected(0.5, 0.09) == pytest.approx(found.raw(0.5, 0.09))


def test_the_expected_value_lies_above_the_median_where_a_logarithm_is_undone() -> None:
    """Against numerical integration over the noise of one evaluation."""
    found = made("log-2", np.random.default_rng(0).lognormal(1.0, 1.0, 20))
    sd = math.sqrt(found.posterior.noise())
    z = np.linspace(-8.0, 8.0, 20_001)
    for mean, var in ((0.0, 0.04), (-0.7, 0.25)):
        low, middle, high = (
            float(np.trapezoid(stats.norm.pdf(z) * found.warp.backward(at + sd * z), z))
            for at in (mean - math.sqrt(var), mean, mean + math.sqrt(var))
        )
        expected = (middle, (high - low) / 2.0)
        assert found.expected(mean, var) == pytest.approx(expected, rel=1e-4)
        ends = found.warp.backward(mean + math.sqrt(var) * np.array([-1.0, 0.0, 1.0]))
        assert found.raw(mean, var) == pytest.approx((ends[1], (ends[2] - ends[0]) / 2.0))


# -- when it is fitted again


@pytest.mark.parametrize(
    ("n", "fitted", "chosen", "what"),
    [
        (1, 0, 0, "nothing"),
        (2, 0, 0, "fit"),  # of two values every transformation is a straight line
        (3, 0, 0, "choice"),
        (4, 4, 4, "nothing"),
        (4, 3, 3, "fit"),  # a value more, at least
        (11, 10, 10, "nothing"),
        (12, 10, 10, "fit"),  # a fifth more
        (119, 100, 100, "nothing"),
        (120, 100, 100, "fit"),
        (449, 400, 400, "nothing"),
        (450, 400, 400, "fit"),  # fifty more
        (15, 10, 10, "fit"),
        (16, 10, 10, "choice"),  # three fifths more
        (16, 15, 10, "nothing"),
        (18, 15, 10, "choice"),
    ],
)
def test_when_a_model_is_fitted_again(
    n: int, fitted: int, chosen: int, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "_choose", lambda seen, old, prior: replace(old, name="log-1"))
    monkeypatch.setattr(model, "_fitted", lambda seen, old, *more: replace(old, name="tails-1"))
    old = replace(Fit.start(2), fitted=fitted, chosen=chosen)
    found = refit(measured(n), old)
    if what == "nothing":
        assert found is old
    elif what == "fit":
        assert (found.name, found.fitted, found.chosen) == ("tails-1", n, chosen)
    else:
        assert (found.name, found.fitted, found.chosen) == ("log-1", n, n)


def test_two_values_need_no_transformation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_choose", lambda *given: pytest.fail("there is nothing to choose"))
    seen = measured(20, y=np.array([0.0, 1.0] * 10))
    assert refit(seen, Fit.start(2)).chosen == 0


def choice(
    scores: dict[str, float],
    monkeypatch: pytest.MonkeyPatch,
    surprise: float = 0.0,
    noise: float = 0.2,
    old: Fit | None = None,
) -> Fit:
    """The fit that is chosen if transformations score like this; others score -9."""
    start = old or Fit.start(2)
    hyper = replace(start.hyper, noise=0.5 * math.log(noise))

    def fitted(seen: object, old: Fit, prior: object, starts: object) -> Fit:
        return replace(old, hyper=hyper)

    monkeypatch.setattr(model, "_fitted", fitted)
    monkeypatch.setattr(model, "score", lambda seen, fit: scores.get(fit.name, -9.0))
    monkeypatch.setattr(model, "_surprise", lambda seen, fit: surprise)
    return refit(measured(20), start)


@pytest.mark.parametrize(
    ("scores", "name"),
    [
        ({"none": 1.0}, "none"),
        ({"none": 1.0, "tails-1": 1.019}, "none"),
        ({"none": 1.0, "tails-1": 1.021}, "tails-1"),  # by more than 0.02
        ({"none": 1.0, "tails-1": 1.03, "log-2": 1.04}, "log-2"),
        ({"none": 1.0, "log-1": math.nan}, "none"),
    ],
)
def test_a_transformation_must_predict_better_than_none(
    scores: dict[str, float], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = choice(scores, monkeypatch)
    assert (found.name, found.focused) == (name, False)


@pytest.mark.parametrize(
    ("name", "gain", "noise", "closer", "focused"),
    [
        ("log-2", 0.321, 0.031, True, True),
        ("log-2", 0.319, 0.031, True, False),  # 0.3 after the margin of 0.02
        ("log-2", 0.321, 0.029, True, False),  # without noise, values are only steep
        ("log-2", 0.33, 0.04, False, False),
        ("tails-2", 0.9, 0.04, True, False),
    ],
)
def test_where_noise_falls_with_the_values_the_model_looks_closer(
    name: str, gain: float, noise: float, closer: bool, focused: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    old = replace(Fit.start(2), closer=closer)
    found = choice({"none": 1.0, name: 1.0 + gain}, monkeypatch, noise=noise, old=old)
    assert (found.name, found.focused) == (name, focused)


@pytest.mark.parametrize(("surprise", "name"), [(7.9, "none"), (8.1, "ranks")])
def test_values_that_the_model_declares_impossible_become_ranks(
    surprise: float, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert choice({"none": 1.0}, monkeypatch, surprise).name == name


def test_later_only_the_best_rival_is_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first time all are; later the identity, the present one and one other."""
    asked: list[str] = []

    def score(seen: Measurements, fit: Fit) -> float:
        asked.append(fit.name)
        return {"none": 1.0, "log-1": 1.5, "tails-1": 1.2}.get(fit.name, 0.5)

    monkeypatch.setattr(model, "score", score)
    monkeypatch.setattr(model, "_fitted", lambda seen, old, *more: (tried.append(old.name), old)[1])
    tried: list[str] = []
    assert refit(measured(20), Fit.start(2)).name == "log-1"
    assert tried[:6] == ["none", *FAMILY]
    tried.clear()
    refit(measured(20), replace(Fit.start(2), name="tails-1", chosen=5, fitted=5))
    assert sorted(set(tried)) == ["log-1", "none", "tails-1"]


# -- how many points


@pytest.mark.parametrize("n", [220, 221, 440])
def test_at_most_220_points_are_in_one_regression(n: int) -> None:
    assert MOST == 220  # twice as many take eight times as long
    seen, fit = measured(n), Fit.start(2)
    assert len(local(seen, fit).X) == used(seen, fit).sum() == min(n, 220)
    assert len(local(seen, fit, most=40).X) == 40


def test_the_points_around_the_best_ones_stay() -> None:
    """A valley at 0.8, and one value by luck far from it."""
    X = np.random.default_rng(1).random((400, 1))
    y = (X[:, 0] - 0.8) ** 2
    far = int(np.argmin(np.abs(X[:, 0] - 0.1)))
    y[far] = -1.0
    kept = used(Measurements.empty(1).add(X, y), Fit.start(1))
    nearest = np.argsort(np.abs(X[:, 0] - 0.8))
    assert kept[nearest[:90]].all()
    assert 0 < kept[nearest[200:]].sum() < 110  # others stand for the rest
