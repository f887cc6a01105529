"""RB-PEM that is told a part of the truth, and the study of what each part is worth."""

from __future__ import annotations

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from noisewise._types import FloatArray
from noisewise.cma.weights import Log
from noisewise.measured.samples import Samples
from noisewise.methods import RBPEM
from noisewise.plugin import Population, Setup
from noisewise.problem.box import Box
from noisewise_bench.experiments import ladder
from noisewise_bench.informed import Informed, pair_scale, shrunk
from noisewise_bench.task import Row, Task, run_task

_NAME = "noisewise_bench.informed:rb_pem"
_F = np.array([0.0, 0.4, 1.0, 1.1, 2.0, 3.0])
_SIZE = np.array([1.0, 0.2, 2.0, 1.0, 0.5, 1.0])


def _draws(X: FloatArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Skewed noise of another size at every candidate; X is the index of the candidate."""
    i = X[:, 0].astype(int)
    return np.asarray(_F[i] + _SIZE[i] * (rng.exponential(size=(n, len(X))) - 1.0))


def _weights(know: set[str], observed: FloatArray, times: int = 1, **options: Any) -> FloatArray:
    """Mean weights of six candidates of which ``observed`` was seen."""
    method = Informed(
        truth=lambda X: _F[X[:, 0].astype(int)],
        draws=_draws,
        know=frozenset(know),
        rbpem=RBPEM(k_max=0),
        **options,
    )
    free = np.full(2, np.inf)
    memory = method.start(Setup(Box.of(-free, free), np.zeros(2), 1.0, 100))
    X = np.stack((np.arange(6.0), np.zeros(6)), axis=1)
    rng = np.random.default_rng(3)
    found = []
    for _ in range(times):
        population = Population(X, X, Samples(observed[:, None].copy()), wave=1)
        found.append(method.weigh(memory, population, rng)[0].covariance)
    return np.asarray(np.mean(found, axis=0))


def _exact(n: int = 40_000) -> FloatArray:
    """Expected weights of fresh values, by a loop over rankings."""
    rng, profile, total = np.random.default_rng(1), Log().weights(6), np.zeros(6)
    X = np.stack((np.arange(6.0), np.zeros(6)), axis=1)
    for row in _draws(X, n, rng):
        total[np.argsort(row)] += profile
    return total / n


def test_who_knows_everything_is_exact_pem_whatever_was_observed() -> None:
    found = _weights({"centre", "scale", "law"}, _F[::-1].copy(), times=200)
    np.testing.assert_allclose(found, _exact(), atol=0.015)


def test_true_ranks_are_those_of_the_truth() -> None:
    np.testing.assert_array_equal(_weights({"ranks"}, _F[::-1].copy()), Log().weights(6))


def test_the_error_of_the_centre_shrinks_with_the_evaluations_it_stands_for() -> None:
    """Without bias where the noise is skewed."""
    near = _weights({"scale", "law"}, _F[::-1].copy(), times=200, copies=400)
    far = _weights({"scale", "law"}, _F[::-1].copy(), times=200, copies=1)
    exact = _exact()
    assert np.abs(near - exact).max() < 0.02
    assert np.abs(far - exact).max() > 0.035


@given(
    hnp.arrays(float, st.tuples(st.integers(2, 9), st.integers(1, 4)), elements=st.floats(-9, 9))
)
def test_the_scale_of_pairs_as_a_double_loop(eps: FloatArray) -> None:
    slow = [np.mean([abs(a - b) for a, b in combinations(c, 2)]) / math.sqrt(2.0) for c in eps.T]
    np.testing.assert_allclose(pair_scale(eps), slow, atol=1e-9)


def test_shrinkage_is_the_regression_of_the_truth_on_the_value() -> None:
    rng = np.random.default_rng(0)
    f, noise = rng.normal(size=20_000), 1.5
    y = f + noise * rng.normal(size=f.size)
    c, s = shrunk(y, np.full(f.size, noise), 1.0)
    assert np.mean((c - f) ** 2) == pytest.approx(float(s[0]) ** 2, rel=0.05)
    assert np.mean((c - f) ** 2) < np.mean((y - f) ** 2) / 2.0


def test_candidates_that_are_all_noise_get_equal_weights() -> None:
    c, s = shrunk(np.array([1.0, 2.0, 3.0]), np.full(3, 9.0), 1.0)
    assert np.ptp(c) < 0.01 * s[0]


@pytest.mark.parametrize(("options", "free"), [("", False), ("(know='centre+law')", True)])
def test_rows_say_what_was_not_paid_for(options: str, free: bool) -> None:
    row = run_task(Task("noisysphere/d14/n8.1", _NAME + options, "200", 1))
    assert row.error is None
    assert row.spent == 200
    assert bool(row.uncharged) is free
    assert row.reevaluations == row.generations


def test_unknown_parts_are_refused() -> None:
    row = run_task(Task("noisysphere/d14/n8.1", _NAME + "(know='truth')", "100", 1))
    assert "know takes centre, scale, law, ranks, joined by +, got 'truth'" in str(row.error)


def test_tables_of_the_study() -> None:
    """One line per arm, in the order of the ladder; a star where something was not paid for."""
    (grid,) = ladder.grids(ladder.STUDY.scope)
    rng, rows = np.random.default_rng(0), []
    for problem, method in [(p, m) for p in grid.problems[:4] for m in grid.methods]:
        regret = 1.0 if method == ladder.HARD else float(rng.uniform(0.1, 10.0))
        free = 9 if method == "pem" else 0
        rows.append(
            Row(
                *(problem, method, "100d", 1, "bbob-noisy"),
                dimension=20,
                evaluations=2000,
                spent=2000,
                uncharged=free,
                recommended_regret=regret,
                seconds_method=1.0,
            )
        )
    known, precision, tried = ladder.tables(rows)
    assert [row[0] for row in known.rows][:3] == [*list(ladder.KNOWN)[:3]]
    assert [row[0] for row in known.rows if row[0].endswith("*")] == [f"{ladder._EXACT}*"]
    assert len(precision.rows) == 5
    assert [row[0] for row in tried.rows] == list(ladder.reachable(12))
    regrets = [row.recommended_regret for row in rows if row.method == "pem"]
    line = next(row for row in known.rows if row[0].startswith("exact"))
    assert line[1] == 4
    assert line[2] == sum(regret < 1.0 for regret in regrets)
    assert line[4] == pytest.approx(float(np.mean(np.log10(regrets))))
