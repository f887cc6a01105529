"""Why the residual pool differs from the noise: the four-term bound, measured on known noise."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noisewise_bench.experiments import mismatch
from noisewise_bench.experiments.mismatch import Budget

_SCALES = st.floats(0.05, 20.0)
_CASES = {case.name: case for case in mismatch.CASES}


@given(
    shift=st.floats(-20, 20), s=_SCALES, s_hat=_SCALES, eps=st.floats(-50, 50), M=st.floats(0.5, 10)
)
def test_standardisation_error_of_one_residual(
    shift: float, s: float, s_hat: float, eps: float, M: float
) -> None:
    """Eq. (55), a little sharper: the stored residual is off by no more than
    abs(alpha) + abs(beta) min(abs(eps), M), and by no more than 2M, because both are clipped."""
    stored = np.clip((shift + s * eps) / s_hat, -M, M)
    alpha, beta = shift / s_hat, (s - s_hat) / s_hat
    bound = min(2.0 * M, abs(alpha) + abs(beta) * min(abs(eps), M))
    assert abs(stored - np.clip(eps, -M, M)) <= bound + 1e-9


@cache
def _measured(name: str) -> Budget:
    return mismatch.measure(_CASES[name], seed=1, repeats=24)


@pytest.mark.parametrize(
    "name", ["Gaussian", "Gaussian, all re-evaluated", "exponential, all re-evaluated"]
)
def test_the_distance_is_at_most_the_sum_of_its_terms(name: str) -> None:
    """Prop. pool_mismatch_decomp, and the bound on its second term."""
    budget = _measured(name)
    assert budget.total <= sum(budget.terms) + 0.03
    assert budget.terms[1] <= budget.bound


def test_terms_cancel_where_candidates_are_chosen_by_rank() -> None:
    """A candidate re-evaluated for a good first value was lucky: ideal residuals are far from the
    noise (III), and residuals about the pair's median are as far from them (II). The pool is right
    all the same. The bound holds and does not tell how large the error is."""
    budget = _measured("Gaussian")
    pool, standardising, shape, drift = budget.terms
    assert budget.total < 0.15
    assert min(standardising, shape) > 0.35
    assert max(pool, drift) < 0.15


def test_the_shape_term_is_small_where_everyone_is_reevaluated() -> None:
    """Then nobody is chosen by luck, and what is left is the law of pairs: right for Gaussian
    noise, and for skewed noise off by what pairs forget."""
    gaussian = _measured("Gaussian, all re-evaluated")
    assert gaussian.total < 0.15
    assert gaussian.terms[2] < 0.12
    skewed = _measured("exponential, all re-evaluated")
    assert skewed.terms[2] < 0.12
    assert skewed.terms[1] > 0.25
    assert skewed.total > 0.25


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(mismatch, "CASES", mismatch.CASES[:1])
    monkeypatch.setattr(mismatch, "measure", lambda case, seed: Budget(1, (2, 3, 4, 5), *[6.0] * 5))
    assert mismatch.main(["--seeds", "1", "--out", str(tmp_path)]) == 0
    assert "| 1.00 | 2.00 | 3.00 | 4.00 | 5.00 | 14.00 | 6.00 |" in capsys.readouterr().out
    assert (tmp_path / "mismatch-1.csv").read_text().count("\n") == 2
    assert mismatch.main(["--seeds", "x", "--out", str(tmp_path)]) == 2
