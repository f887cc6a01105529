"""RB-PEM as a method."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import noisewise as nw
import support
from noisewise.cma.weights import Log, PowerLift, Uniform
from noisewise.measured.centres import CENTRES
from noisewise.measured.diagnostics import CHECKS
from noisewise.measured.noise import SCALES
from noisewise.methods import CMAES, RBPEM, NoiseModel
from noisewise.methods.rbpem import NO_POOL


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


def _asked_again(method: RBPEM, values: Any, *, common: bool = False) -> list[int]:
    """1-based ranks of the candidates that are re-evaluated in the first generation."""
    population = support.population(values)
    population.common = common
    memory = method.start(support.setup())
    again = method.request(memory, population, np.random.default_rng(0))
    return sorted(int(r) for r in np.argsort(np.argsort(values))[again] + 1)


@given(values=st.permutations(range(9)))
def test_boundary_band_is_that_of_the_paper(values: list[int]) -> None:
    """Whatever the order of the candidates: K = 3 looks at ranks mu - 1, mu and mu + 1; fewer are
    the inner ones, more go on outwards, the better rank first."""
    bands = {1: [4], 2: [4, 5], 3: [3, 4, 5], 4: [3, 4, 5, 6], 5: [2, 3, 4, 5, 6]}
    for k_max, band in bands.items():
        for method in (RBPEM(k_max=k_max, profile=Uniform()), RBPEM.published(k_max=k_max)):
            assert _asked_again(method, values) == band  # mu = 4 of 9


def test_cap_under_common_seeds() -> None:
    """Three re-evaluations at least, because one has nothing to be compared with, unless the cap
    is strict, as it is in the presets."""
    values = np.arange(8.0)

    def count(method: RBPEM, common: bool) -> int:
        return len(_asked_again(method, values, common=common))

    for k_max, expected in ((0, 0), (1, 3), (2, 3), (3, 3), (5, 5), (20, 8)):
        capped = min(k_max, 8)
        assert count(RBPEM(k_max=k_max), common=True) == expected
        assert count(RBPEM(k_max=k_max, strict=True), common=True) == capped
        assert count(RBPEM.printed(k_max=k_max), common=True) == capped
        assert count(RBPEM.published(k_max=k_max), common=True) == capped
        assert count(RBPEM(k_max=k_max), common=False) == capped
    assert len(_asked_again(RBPEM(k_max=1), values[:2], common=True)) == 2


@pytest.mark.parametrize(("strict", "extra"), [(False, 3), (True, 1)])
def test_cap_under_common_seeds_in_a_run(strict: bool, extra: int) -> None:
    def fun(x: Any, seed: int) -> float:
        return float(x @ x + np.random.default_rng(seed).normal())

    method = RBPEM(strict=strict, population=8)
    r = nw.minimize(
        fun, [2.0] * 3, sigma0=1.0, budget=99, rng=0, seeds="common", method=method, confirm=0
    )
    assert np.diff(r.history["reevaluations"], prepend=0)[:-2].tolist() == [extra] * (r.nit - 2)
    # What a single one would say is taken for the offset of its seed.
    assert (NO_POOL in r.warnings) == strict


@pytest.mark.parametrize("clip", [0.5, 2.0])
def test_residuals_are_winsorised_in_the_pool(clip: float) -> None:
    """What the pool holds lies in [-clip, clip], on both sides, and inside it is as it was."""
    method = RBPEM(noise=NoiseModel(scale="constant", clip=clip))
    memory = method.start(support.setup())
    values = np.column_stack((np.zeros(4), [1.0, 1.0, 1.0, 9.0]))
    method.observe(memory, support.population(values))
    root = np.sqrt(0.5)  # sizes of the residuals, widened: root, and 9 root; their mean: 3 root
    assert memory.scale == (pytest.approx(3.0 * root), 0.0)
    expected = np.array([-1.0, 1.0] * 3 + [-9.0, 9.0]) / 3.0
    np.testing.assert_allclose(memory.pool.z, np.clip(expected, -clip, clip))
    assert np.abs(memory.pool.z).max() == clip


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
    if centre not in ("ridge", "cross-fitted"):  # which learn too little from one generation
        assert float(r.x @ r.x) < 2.0


@pytest.mark.parametrize("scale", SCALES)
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
        ({"strict": "yes"}, "strict must be True or False, got 'yes'"),
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
    (
        {"centre": "mean"},
        "centre must be one of 'observed', 'ridge', 'cross-fitted', 'archive', got 'mean'",
    ),
    ({"scale": "log"}, "scale must be one of"),
    ({"clip": 0.0}, "clip must be a positive finite number"),
    ({"pool_size": 1}, "pool_size must be a whole number of at least 2"),
    ({"archive_size": 1}, "archive_size must be a whole number of at least 2"),
    ({"widen": 3}, "widen must be True or False, got 3"),
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


def test_printed_preset_is_the_text_of_the_paper() -> None:
    """Appendix A: a full covariance; step 2: cross-fitting; step 3: a linear scale; steps 1 and 4:
    raw residuals, all of them; the power-lift map; K_t <= K_max."""
    noise = NoiseModel(centre="cross-fitted", scale="linear", pool_size=None, widen=False)
    profile = PowerLift()
    assert RBPEM.printed() == RBPEM(
        covariance="full", profile=profile, noise=noise, strict=True, k_max=1, n_bootstrap=32
    )
    assert nw.methods.get("rb-pem-printed") == RBPEM.printed()
    changed = nw.methods.get("rb-pem-printed", k_max=3, covariance="diagonal")
    assert changed == replace(RBPEM.printed(), k_max=3, covariance="diagonal")


def test_published_preset_is_what_made_the_numbers() -> None:
    noise = NoiseModel(centre="observed", scale="linear", widen=False)
    options = {"covariance": "slow-diagonal", "recombination": "weiszfeld", "strict": True}
    expected = RBPEM(profile=PowerLift(), noise=noise, target="boundary", k_max=4, **options)
    assert RBPEM.published() == nw.methods.get("rb-pem-published") == expected
    assert RBPEM.published(k_max=0) == replace(expected, k_max=0)


def test_presets_check_their_options() -> None:
    with pytest.raises(ValueError, match="'rb-pem-printed' does not take these options"):
        nw.methods.get("rb-pem-printed", taste=3)
    with pytest.raises(ValueError, match="k_max must be a whole number"):
        RBPEM.published(k_max=-1)


def test_printed_preset_keeps_all_residuals() -> None:
    opt = support.start(RBPEM.printed(k_max=5, population=6), budget=1100, confirm=0)
    support.drive(opt)
    r = opt.result()
    assert r.n_reevaluations == 500
    assert len(opt._run.memory.pool.z) == 1000
