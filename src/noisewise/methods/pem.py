"""Exact PEM: the yardstick for every estimator of the expected weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from noisewise._check import integer
from noisewise.adaptation.fixed import Fixed
from noisewise.evaluation.plans import Repeat
from noisewise.generation import Parts, Setup
from noisewise.methods.base import Method
from noisewise.recommend import Mean
from noisewise.selection.pem import ExactPEM


@dataclass(frozen=True, kw_only=True)
class PEM(Method):
    """Conditional expected rank weights, by Monte Carlo. **For studies, never for real use.**

    ``draws(X, n, rng)`` returns an (n, len(X)) array of fresh independent noisy evaluations of
    the rows of ``X``. They are not charged, so the method sees far more than its budget: it
    shows what expected weights could do if the noise were known.

    >>> import noisewise as nw
    >>> def draws(X, n, rng):
    ...     return (X * X).sum(axis=1) + rng.normal(size=(n, len(X)))
    >>> method = nw.methods.PEM(draws=draws)
    >>> r = nw.minimize(lambda x: x @ x, [3, 3, 3], sigma0=1.0, budget=300, method=method, rng=0)
    >>> r.nfev
    300
    """

    name: ClassVar[str] = "pem"

    draws: Callable[..., Any] | None = None
    n_draws: int = 128
    covariance: str = "diagonal"

    def __post_init__(self) -> None:
        super().__post_init__()
        integer("n_draws", self.n_draws, least=1)
        if not callable(self.draws):
            raise ValueError(
                "draws must be a function f(X, n, rng) -> (n, len(X)) array of fresh noisy "
                f"evaluations, got {self.draws!r}"
            )

    def parts(self, setup: Setup) -> Parts:
        assert self.draws is not None
        selection = ExactPEM(self.draws, self.n_draws)
        return Parts(self.profile, Repeat(), selection, Fixed(), Mean())
