"""Each check of the noise model fires where its assumption is broken, and only there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import noisewise as nw
import support
from noisewise._types import FloatArray
from noisewise.cma.weights import Log, rank_weights
from noisewise.measured.diagnostics import CHECKS, Diagnostics, near_ties
from noisewise.measured.noise import SCALES, Running
from noisewise.measured.population import Population
from noisewise.measured.samples import Samples
from noisewise.methods import RBPEM, NoiseModel
from noisewise.methods.rbpem import NO_POOL, RBPEMMemory

K, TWICE, W = 12, 4, Log().weights(12)
Noise = Callable[[int, FloatArray, np.random.Generator], FloatArray]
Truth = Callable[[int, np.random.Generator], FloatArray]


def _gaussian(t: int, f: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Two evaluations of each candidate, independent."""
    return rng.normal(size=(len(f), 2))


def _sloped(t: int, rng: np.random.Generator) -> FloatArray:
    """Values spread five times as widely as the noise."""
    return 5.0 * rng.normal(size=K)


def _coin(shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    return rng.choice([-1.0, 1.0], size=shape)


def _rare(shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Mostly nothing, seldom a lot; variance one."""
    return np.where(rng.random(shape) < 0.04, 5.0, 0.01) * _coin(shape, rng)


def _shared(t: int, f: FloatArray, rng: np.random.Generator) -> FloatArray:
    return 0.1 * rng.normal(size=(K, 2)) + rng.normal(size=2)


def _outliers(t: int, f: FloatArray, rng: np.random.Generator) -> FloatArray:
    return np.where(rng.random((K, 2)) < 0.06, 1e4 * _coin((K, 2), rng), _gaussian(t, f, rng))


def _shape(t: int, f: FloatArray, rng: np.random.Generator) -> FloatArray:
    large = (np.abs(f) > 3.4)[:, None]
    return np.where(large, _rare((K, 2), rng), _coin((K, 2), rng))


def _drift(t: int, f: FloatArray, rng: np.random.Generator) -> FloatArray:
    return _coin((K, 2), rng) if t < 30 else _rare((K, 2), rng)


def _shrinking(t: int, f: FloatArray, rng: np.random.Generator) -> FloatArray:
    return 0.9**t * _gaussian(t, f, rng)


def _flat(t: int, rng: np.random.Generator) -> FloatArray:
    return np.zeros(K)


def _plateau(t: int, rng: np.random.Generator) -> FloatArray:
    return np.where(np.arange(K) == 0, 1000.0, 0.0)


@dataclass(frozen=True)
class Case:
    """A world and the checks that should fire in it."""

    fires: tuple[str, ...]
    noise: Noise = _gaussian
    truth: Truth = _sloped
    generations: int = 60
    #: Checks that may fire as well, as another symptom of the same thing.
    also: tuple[str, ...] = ()
    clip: float = 10.0


CASES = {
    "clean": Case(()),
    "shared shocks": Case(("correlation",), noise=_shared),
    "outliers": Case(("clipping",), noise=_outliers, also=tuple(CHECKS), clip=3.0),
    "young": Case(("pool_size",), generations=3, also=("shape_w1", "drift_w1")),
    "shape depends on the value": Case(
        ("shape_ks", "shape_w1"), noise=_shape, also=("scale", "drift_w1")
    ),
    "shape changes in time": Case(("drift_w1",), noise=_drift, also=("scale", "shape_ks")),
    "values do not matter": Case(("centre", "near_ties"), truth=_flat, also=("shape_ks",)),
    "noise shrinks": Case(("scale",), noise=_shrinking, also=("drift_w1", "near_ties")),
    "plateau": Case(("near_ties",), truth=_plateau),
}


def _run(case: Case, method: RBPEM, seed: int = 0) -> tuple[RBPEMMemory, FloatArray]:
    """The memory after the case's generations, and the last generation's weights."""
    rng = np.random.default_rng(seed)
    memory, weights = method.start(support.setup()), W
    for t in range(case.generations):
        weights, memory = _weigh(method, memory, _population(case, t, rng), t)
    return memory, weights


def _weigh(
    method: RBPEM, memory: RBPEMMemory, population: Population, t: int
) -> tuple[FloatArray, RBPEMMemory]:
    """The weights of generation ``t``."""
    memory.generation = t
    bootstrap = np.random.default_rng(t)  # of its own: what is drawn leaves the world as it is
    weights, memory = method.weigh(memory, population, bootstrap)
    assert weights.mean is None
    return weights.covariance, memory


def _population(case: Case, t: int, rng: np.random.Generator) -> Population:
    """Candidates of which four, chosen at random, are evaluated twice."""
    f = case.truth(t, rng)
    values = f[:, None] + case.noise(t, f, rng)
    values[rng.permutation(K)[TWICE:], 1] = np.nan
    return support.population(values, rng.normal(size=(K, 2)))


@pytest.mark.parametrize("name", CASES)
def test_checks_fire_where_they_should(name: str) -> None:
    """A broken assumption is found, and a clean world is left in peace."""
    case = CASES[name]
    model = NoiseModel(scale="constant", clip=case.clip)
    method = RBPEM(noise=model, diagnostics_every=1)
    memory, _ = _run(case, method)
    firing = set(memory.diagnostics.firing())
    assert firing >= set(case.fires)
    assert firing <= set(case.fires) | set(case.also)
    told = method.explain(memory)
    table = told.diagnostics
    assert told.warnings == [CHECKS[check][2] for check in memory.diagnostics.firing()]
    assert set(table) == {"generation", *CHECKS}
    np.testing.assert_array_equal(table["generation"], np.arange(case.generations))


def test_every_check_is_made_to_fire() -> None:
    assert {check for case in CASES.values() for check in case.fires} == set(CHECKS)


@pytest.mark.parametrize(
    ("name", "silent", "fires"),
    [
        ("correlation", 0.5, 0.51),
        ("clipping", 0.05, 0.051),
        ("pool_size", 30.0, 29.0),
        ("shape_ks", 1.0, 1.01),  # in units of the distance that is exceeded once in a hundred
        ("shape_w1", 0.5, 0.51),
        ("drift_w1", 0.5, 0.51),
        ("centre", 0.7, 0.71),
        ("scale", math.log(1.99), math.log(2.01)),
        ("near_ties", 0.3, 0.31),
    ],
)
def test_from_where_on_a_check_fires(name: str, silent: float, fires: float) -> None:
    quiet = {check: 99.0 if check == "pool_size" else 0.0 for check in CHECKS}
    for value, said in ((silent, []), (fires, [name]), (math.nan, [])):
        found = Diagnostics()
        found.table.append((0, *(quiet | {name: value}).values()))
        assert found.firing() == said


def test_two_checks_fire_where_noise_is_as_large_as_what_it_hides() -> None:
    """Values of candidates and their errors are Gaussian, both with variance one."""
    rng, k = np.random.default_rng(0), 4000
    first, second = rng.normal(size=k) + rng.normal(size=(2, k))
    found, spread = Running(), float(np.abs(first - np.median(first)).mean())
    found.observe(Samples(np.stack((first, second), axis=1)), spread, np.zeros(1), np.zeros(1))
    noise = math.sqrt(2.0 / math.pi)  # mean size of an error
    ties = near_ties(np.sort(first), noise)
    # The same by hand: a part of 1/2 of the variance is noise; values are N(0, 2) apart twice.
    assert found.centre == pytest.approx(math.sqrt(0.5), rel=0.05)
    assert ties == pytest.approx(2.0 * stats.norm.cdf(noise / 2.0) - 1.0, rel=0.05)
    for name, value in (("centre", math.sqrt(0.5)), ("near_ties", 0.31)):
        assert 0.95 * value < CHECKS[name][0] < value


@pytest.mark.parametrize("scale", SCALES)
def test_clean_worlds_raise_few_alarms(scale: str) -> None:
    """Over many clean runs hardly any check fires at the end, whatever the scale model."""
    method = RBPEM(noise=NoiseModel(scale=scale), diagnostics_every=59)
    runs = [_run(CASES["clean"], method, seed)[0] for seed in range(15)]
    assert np.mean([len(memory.diagnostics.firing()) for memory in runs]) <= 0.2


@pytest.mark.parametrize("k_max", [2, 3])
def test_choosing_by_rank_is_not_taken_for_shared_noise(k_max: int) -> None:
    """The best of a noisy generation all get worse at a re-evaluation: that is no correlation."""
    noise = np.random.default_rng(0)
    r = nw.minimize(
        lambda X: noise.normal(size=len(X)),
        np.zeros(10),
        sigma0=1.0,
        budget=2000,
        method=RBPEM(k_max=k_max, diagnostics_every=1, noise=NoiseModel(scale="constant")),
        rng=0,
        vectorized=True,
    )
    settled = r.diagnostics["correlation"][60:]
    assert (settled < CHECKS["correlation"][0]).all()
    assert settled.mean() < 0.1


def test_fallback_takes_ranks_at_face_value_while_it_fires() -> None:
    """Hard ranks as long as the named check fires, expected weights as soon as it is silent."""
    method = RBPEM(diagnostics_every=1, fallback=("pool_size",))
    rng, case = np.random.default_rng(0), CASES["clean"]
    memory = method.start(support.setup())
    hard = []
    for t in range(12):
        population = _population(case, t, rng)
        weights, memory = _weigh(method, memory, population, t)
        fired = "pool_size" in memory.diagnostics.firing()
        hard.append(fired)
        assert np.array_equal(weights, rank_weights(population.samples.median(), W)) == fired
    assert hard == [True] * 3 + [False] * 9  # eight residuals per generation, thirty needed


def test_other_alarms_do_not_fall_back() -> None:
    """Only checks that were named count."""
    method = RBPEM(diagnostics_every=1, fallback=("clipping",))
    memory, weights = _run(CASES["values do not matter"], method)
    assert memory.diagnostics.firing()
    assert memory.bootstrapped == 60
    assert len(set(weights.tolist())) > 7  # hard ranks would leave half of them at zero


def test_sentence_when_nothing_was_bootstrapped() -> None:
    """Without a re-evaluation there is no pool, and that is said first."""
    method = RBPEM(diagnostics_every=1)
    values = np.random.default_rng(0).normal(size=K)
    memory = method.start(support.setup())
    weights, memory = _weigh(method, memory, support.population(values), 0)
    np.testing.assert_array_equal(weights, rank_weights(values, W))
    assert method.explain(memory).warnings == [NO_POOL]
