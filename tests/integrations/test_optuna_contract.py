"""Optuna's own tests of a sampler."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.samplers import BaseSampler
from optuna.testing.pytest_samplers import (
    BasicSamplerTestCase,
    RelativeSamplerTestCase,
    SingleOnlySamplerTestCase,
)

from noisewise.integrations.optuna import NoisewiseSampler


class TestNoisewiseSampler(
    BasicSamplerTestCase, RelativeSamplerTestCase, SingleOnlySamplerTestCase
):
    @pytest.fixture(params=[None, 20], ids=["anytime", "20 trials"])
    def sampler(self, request: pytest.FixtureRequest) -> Callable[[], BaseSampler]:
        return lambda: NoisewiseSampler(request.param, seed=0)
