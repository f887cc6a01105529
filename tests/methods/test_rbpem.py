"""RB-PEM as a method."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import noisewise as nw
import support
from noisewise.core.profiles import Log, PowerLift, Uniform
from noisewise.methods import CMAES, RBPEM, NoiseModel
from noisewise.methods.rbpem import NO_POOL
from noisewise.noise.centres import CENTRES
from noisewise.noise.diagnostics import CHECKS
from noisewise.noise.scales import MODELS


def test_without_reevaluations_it_says_so_and_is_cma_es() -> None:
    """k_max=0: nothing to bootstrap from, hard ranks to the bit, and a warning."""
    methods = RBPEM(k_max=0), CMAES(covariance="diagonal")
    runs = [support.start(method, budget=200) for method in methods]
    points = [support.drive(opt) for opt in runs]
    assert points[0] == points[1]
    results = [opt.result() for opt in runs]
    assert results[0].x.tobytes() == results[1].x.tobytes()
    assert results[0].warnings == [NO_POOL]
    assert NO_POOL in repr(results[0])
    assert results[1].warnings == []
    assert results[0].n_reevaluations == 0


def test_with_reevaluations_it_does_not_say_so() -> None:
    opt = support.start(RBPEM(k_max=1), budget=200)
    support.drive(opt)
    assert NO_POOL not in opt.result().warnings


@pytest.mark.parametrize("k_max", [1, 2, 5, 40])
def test_spends_at_most_k_max_extra_per_generation(k_max: int) -> None:
    """K_max counts evaluations per generation, not per candidate."""
    opt = support.start(RBPEM(k_max=k_max, population=8), budget=203)
    support.drive(opt)
    r = opt.result()
    extra = np.diff(r.history["reevaluations"], prepend=0)
    assert extra.max() == min(k_max, 8)
    assert (extra[:-2] == min(k_max, 8)).all()
    assert r.nfev == 203
    assert r.n_reevaluations == extra.sum()


def test_nobody_is_looked_at_twice_again() -> None:
    """A re-evaluation is a second value of one candidate, never a third."""
    opt = support.start(RBPEM(k_max=3, population=6), budget=90)
    while not opt.done:
        first = opt.ask()
        opt.tell([t.id for t in first], np.array([support.noisy(t) for t in first]))
        again = opt.ask() if not opt.done else []
        if again and again[0].kind == "reevaluation":
            points = {t.x.tobytes() for t in again}
            assert len(points) == len(again) == 3
            assert points <= {t.x.tobytes() for t in first}
        opt.tell([t.id for t in again], np.array([support.noisy(t) for t in again]))


def test_boundary_band() -> None:
    """Uniform weights: the candidates on either side of the elite boundary are looked at."""
    opt = support.start(RBPEM(k_max=2, population=8, profile=Uniform()), budget=80)
    first = opt.ask()
    order = [3, 7, 0, 5, 2, 6, 1, 4]  # candidates from best to worst
    values = np.argsort(order).astype(float)
    opt.tell([t.id for t in first], values)
    looked_at = {t.x.tobytes() for t in opt.ask()}
    assert looked_at == {first[order[3]].x.tobytes(), first[order[4]].x.tobytes()}


def test_deterministic_objectives_keep_hard_weights() -> None:
    """Re-evaluations that repeat exactly leave nothing to smooth: mu_eff stays the profile's."""
    opt = support.start(RBPEM(k_max=1, population=10), budget=220, confirm=0)
    support.drive(opt, lambda t: float(t.x @ t.x))
    w = Log().weights(10)
    np.testing.assert_allclose(opt.result().history["mu_eff"], 1.0 / (w @ w))
    assert opt.result().misranking == 0.0


def test_noise_flattens_the_weights() -> None:
    """The more noise, the larger mu_eff, up to the population."""

    def mu_eff(noise: float) -> float:
        rng = np.random.default_rng(0)
        r = nw.minimize(
            lambda X: (X * X).sum(axis=1) + noise * rng.normal(size=len(X)),
            np.full(5, 10.0),
            sigma0=0.1,
            budget=440,
            method=RBPEM(population=10, n_bootstrap=128, noise=NoiseModel(scale="constant")),
            rng=0,
            vectorized=True,
        )
        return float(r.history["mu_eff"][5:].mean())

    found = [mu_eff(noise) for noise in (0.0, 2.0, 1000.0)]
    assert found[0] + 0.2 < found[1] < found[2] - 1.0 < 9.0


def test_control_has_the_same_samples_and_hard_ranks() -> None:
    """expected=False: re-evaluations as before, weights of the profile."""
    opt = support.start(RBPEM(expected=False, population=10), budget=220, confirm=0)
    support.drive(opt)
    r, w = opt.result(), Log().weights(10)
    np.testing.assert_allclose(r.history["mu_eff"], 1.0 / (w @ w))
    assert r.n_reevaluations == r.nit
    assert r.warnings == [] or NO_POOL not in r.warnings


@pytest.mark.parametrize("profile", [Log(), Log(active=True), Uniform(), PowerLift()])
@pytest.mark.parametrize("centre", CENTRES)
def test_every_profile_with_every_centre(profile: Any, centre: str) -> None:
    """All parts fit together, failures included, and mu_eff stays within the population."""
    noise = NoiseModel(centre=centre)
    opt = support.start(RBPEM(profile=profile, noise=noise, population=8, k_max=2), budget=400)
    support.drive(opt, lambda t: np.nan if t.id % 7 == 0 else support.noisy(t))
    r = opt.result()
    assert r.nfev == 400
    assert r.n_failures == sum(id % 7 == 0 for id in range(400))
    assert r.history["mu_eff"].min() >= 1.0
    assert (r.history["mu_eff"] <= r.history["population"]).all()
    if centre != "ridge":  # which learns too little from one generation
        assert float(r.x @ r.x) < 2.0


@pytest.mark.parametrize("scale", MODELS)
def test_every_scale_model(scale: str) -> None:
    opt = support.start(RBPEM(noise=NoiseModel(scale=scale), population=8), budget=400)
    support.drive(opt)
    assert float(opt.result().x @ opt.result().x) < 1.0


@pytest.mark.parametrize("scale", ["constant", "spread"])
def test_adding_a_constant_to_f_changes_nothing(scale: str) -> None:
    """Scales that see differences only leave the run as it is, to the rounding of values."""

    def points(shift: float) -> dict[int, bytes]:
        # Values on a grid, so that adding the shift is exact.
        opt = support.start(RBPEM(noise=NoiseModel(scale=scale), population=8), budget=160)
        return support.drive(opt, lambda t: round(support.noisy(t) * 1024.0) / 1024.0 + shift)

    assert points(0.0) == points(4096.0)


def test_diagnostics_are_reported_by_generation() -> None:
    """All seven checks (nine numbers), every ``diagnostics_every`` generations."""
    opt = support.start(RBPEM(k_max=3, population=8, diagnostics_every=4), budget=440)
    support.drive(opt)
    r = opt.result()
    assert set(r.diagnostics) == {"generation", *CHECKS}
    np.testing.assert_array_equal(r.diagnostics["generation"], np.arange(0, r.nit, 4))
    assert all(np.isfinite(r.diagnostics[name][-1]) for name in CHECKS)


def test_fallback_is_hard_ranks_throughout_if_it_always_fires() -> None:
    """A pool that is never large enough never gets a say."""
    small = NoiseModel(pool_size=20)
    method = RBPEM(fallback=("pool_size",), noise=small, population=8, diagnostics_every=1)
    opt = support.start(method, budget=180, confirm=0)
    support.drive(opt)
    w = Log().weights(8)
    np.testing.assert_allclose(opt.result().history["mu_eff"], 1.0 / (w @ w))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k_max": -1}, "k_max must be a whole number of at least 0, got -1"),
        ({"k_max": 1.5}, "k_max must be a whole number"),
        ({"n_bootstrap": 0}, "n_bootstrap must be a whole number of at least 1"),
        ({"noise": "ridge"}, "noise must be a NoiseModel, got 'ridge'"),
        ({"target": "top"}, "target must be one of 'auto', 'boundary', 'instability'"),
        ({"diagnostics_every": 0}, "diagnostics_every must be a whole number of at least 1"),
        ({"fallback": "clipping"}, "fallback must be a tuple of names"),
        ({"fallback": ("noise",)}, "fallback must be one of 'correlation'"),
    ],
)
def test_options_check_themselves(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RBPEM(**options)


_WRONG_MODELS = [
    ({"centre": "mean"}, "centre must be one of 'observed', 'ridge', 'archive', got 'mean'"),
    ({"scale": "log"}, "scale must be one of"),
    ({"clip": 0.0}, "clip must be a positive finite number"),
    ({"pool_size": 1}, "pool_size must be a whole number of at least 2"),
    ({"archive_size": 1}, "archive_size must be a whole number of at least 2"),
]


@pytest.mark.parametrize(("options", "message"), _WRONG_MODELS)
def test_the_noise_model_checks_itself(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NoiseModel(**options)


@pytest.mark.parametrize(("options", "message"), _WRONG_MODELS[:4])
def test_deprecated_options_are_checked_too(options: dict[str, Any], message: str) -> None:
    with (
        pytest.warns(DeprecationWarning, match="is deprecated"),
        pytest.raises(ValueError, match=message),
    ):
        RBPEM(**options)


@pytest.mark.parametrize(
    "options",
    [
        {"centre": "ridge"},
        {"scale": "constant"},
        {"clip": 3.0},
        {"pool_size": 64},
        {"centre": "archive", "scale": "spread", "clip": 5.0, "pool_size": 32},
    ],
)
def test_options_of_the_noise_model_as_options_of_the_method_are_deprecated(
    options: dict[str, Any],
) -> None:
    """The same method, and a warning that says how to write it now."""
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    said = re.escape(f"write RBPEM(noise=NoiseModel({given}))")
    with pytest.warns(DeprecationWarning, match=said):
        method = RBPEM(**options)
    assert method == RBPEM(noise=NoiseModel(**options))


def test_the_deprecation_points_at_the_line_to_change() -> None:
    with pytest.warns(DeprecationWarning, match="is deprecated") as warned:
        RBPEM(clip=4.0)
    assert warned[0].filename == __file__


def test_a_deprecated_option_leaves_the_rest_of_the_noise_model_as_it_is() -> None:
    with pytest.warns(DeprecationWarning, match="is deprecated"):
        method = RBPEM(noise=NoiseModel(centre="ridge", clip=3.0), clip=4.0)
    assert method.noise == NoiseModel(centre="ridge", clip=4.0)


@pytest.mark.filterwarnings("error::DeprecationWarning")
def test_a_copy_of_a_method_warns_of_nothing() -> None:
    noise = NoiseModel(centre="ridge")
    assert replace(RBPEM(noise=noise), k_max=2) == RBPEM(noise=noise, k_max=2)
