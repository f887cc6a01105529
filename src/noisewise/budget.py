"""The ledger: the only place that counts evaluations."""

from __future__ import annotations

from dataclasses import dataclass

from noisewise._data import data


@data
@dataclass(slots=True)
class Ledger:
    """Grants evaluations and never more than the budget.

    An evaluation is charged when it is handed out: it stays charged whether it succeeds, fails
    or is lost. ``reserve`` evaluations are kept for the race of finalists
    and the confirmation of the recommendation.
    """

    budget: int
    reserve: int = 0
    #: Charged evaluations, in all and by kind.
    charged: int = 0
    base: int = 0
    reevaluation: int = 0
    race: int = 0
    confirmation: int = 0
    #: Evaluations whose value came back, and how many of those were failures.
    told: int = 0
    failures: int = 0

    @property
    def remaining(self) -> int:
        """Evaluations not handed out yet, the reserve included."""
        return self.budget - self.charged

    @property
    def free(self) -> int:
        """Evaluations the search may still ask for."""
        free = self.budget - self.charged - self.reserve
        return free if free > 0 else 0

    def charge(self, base: int = 0, reevaluation: int = 0) -> None:
        """Charge evaluations of the search; asking for more than is free is a bug."""
        if base + reevaluation > self.budget - self.reserve - self.charged:
            raise AssertionError("the ledger was asked for more than is free")
        self.charged += base + reevaluation
        self.base += base
        self.reevaluation += reevaluation

    def charge_final(self, race: int = 0, confirmation: int = 0) -> None:
        """Charge evaluations of the last phase, from the reserve first."""
        n = race + confirmation
        if n > self.remaining:
            raise AssertionError("the ledger was asked for more than is left")
        self.charged += n
        self.race += race
        self.confirmation += confirmation
        self.reserve = max(0, self.reserve - n)

    def settle(self, failed: bool) -> None:
        """One handed-out evaluation came back."""
        self.told += 1
        self.failures += failed
