"""Settings and fixtures of the whole test suite."""

from __future__ import annotations

import support
from hypothesis import HealthCheck, settings
from pytest import FixtureRequest, fixture

from noisewise.methods import Method

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("ci")


@fixture(scope="session", params=list(support.METHODS))
def method(request: FixtureRequest) -> Method:
    """Every method that is registered, and a few with other parts."""
    return support.METHODS[request.param]
