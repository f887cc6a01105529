"""Arms of the controlled study, and the effect of one factor with the others held equal.

| symbol | meaning |
|---|---|
| arm | one method: a level of every factor, on the same engine, without restarts |
| contrast | pairs of arms that differ in one factor only |
| effect | mean over pairs and problems of the difference of log10 regret |
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from noisewise_bench.problem import FloatArray
from noisewise_bench.sheets import value
from noisewise_bench.task import Row

HARD, ESTIMATED, EXACT = "hard ranks", "RB-PEM", "exact PEM"
MEANS = ("arithmetic", "weiszfeld")
#: Draws of the noise of exact PEM, as many as RB-PEM has bootstrap rankings.
DRAWS = 32


@dataclass(frozen=True)
class Arm:
    """One level of every factor. ``looks`` are second evaluations per generation, in the same
    places whatever the selection; ``larger`` multiplies the default population."""

    selection: str = HARD
    looks: int = 0
    profile: str = "log"
    mean: str = "arithmetic"
    larger: int = 1
    c_mean: float = 1.0
    covariance: str = "diagonal"
    ridge: bool = False

    @property
    def degenerate(self) -> bool:
        """Whether another arm does the same: without re-evaluations there is nothing to estimate
        expected weights from, and exact ones need no re-evaluations."""
        return (self.selection == ESTIMATED and not self.looks) or (
            self.selection == EXACT and self.looks > 0
        )

    def method(self, d: int) -> str:
        """The name by which the bench knows this arm in ``d`` dimensions."""
        options: dict[str, object] = {}
        if self.selection == EXACT:
            base, options["n_draws"] = "pem", DRAWS
        elif self.looks:
            base = "rb-pem"
            if self.selection == HARD:
                options["expected"] = False
            if self.ridge:
                options |= {"centre": "ridge", "scale": "linear"}
            options["k_max"] = self.looks
        else:
            base = "sep-cma-es" if self.covariance == "diagonal" else "cma-es"
        if self.profile != "log":
            options["profile"] = self.profile
        if self.mean != "arithmetic":
            options["recombination"] = self.mean
        if self.larger > 1:
            options["population"] = self.larger * (4 + math.floor(3.0 * math.log(d)))
        if self.c_mean < 1.0:
            options["c_mean"] = self.c_mean
        if self.covariance != "diagonal":
            options["covariance"] = self.covariance
        given = ",".join(f"{key}={level!r}" for key, level in options.items())
        return f"{base}({given})" if given else base


def factorial() -> list[Arm]:
    """Selection x re-evaluations x weights x mean, without degenerate arms."""
    levels = product((HARD, ESTIMATED, EXACT), (0, 1, 3), ("log", "power-lift"), MEANS)
    arms = [Arm(*chosen) for chosen in levels]
    return [arm for arm in arms if not arm.degenerate]


#: Further factors, at the base of the factorial; the last level of population and learning rate
#: with every selection.
FURTHER = (
    Arm(larger=2),
    Arm(larger=4),
    Arm(HARD, 1, larger=4),
    Arm(ESTIMATED, 1, larger=4),
    Arm(EXACT, larger=4),
    Arm(c_mean=0.5),
    Arm(c_mean=0.25),
    Arm(HARD, 1, c_mean=0.25),
    Arm(ESTIMATED, 1, c_mean=0.25),
    Arm(EXACT, c_mean=0.25),
    Arm(larger=4, c_mean=0.25),
    Arm(covariance="slow-diagonal"),
    Arm(EXACT, covariance="slow-diagonal"),
    Arm(ESTIMATED, 1, ridge=True),
)

Pair = tuple[Arm, Arm]  # with the change, without


def pairs(where: Callable[[Arm], bool], **change: Any) -> list[Pair]:
    """Arms of the factorial for which ``where`` holds, each with its changed twin if there is
    one."""
    arms = factorial()
    found = [(dataclasses.replace(arm, **change), arm) for arm in arms if where(arm)]
    return [(changed, arm) for changed, arm in found if changed in arms]


def contrasts() -> dict[str, list[Pair]]:
    """What is compared, by the words of the figure."""
    base = Arm()
    return {
        "expected weights, noise known": pairs(
            lambda a: a.selection == HARD and a.looks == 0, selection=EXACT
        ),
        "expected weights, estimated": pairs(
            lambda a: a.selection == HARD and a.looks > 0, selection=ESTIMATED
        ),
        "the same, ridge centre": [(Arm(ESTIMATED, 1, ridge=True), Arm(HARD, 1))],
        "1 re-evaluation": pairs(lambda a: a.selection == HARD and a.looks == 0, looks=1),
        "3 re-evaluations": pairs(lambda a: a.selection == HARD and a.looks == 0, looks=3),
        "power-lift, not log weights": pairs(lambda a: a.profile == "log", profile="power-lift"),
        "Weiszfeld, not arithmetic mean": pairs(lambda a: a.mean == "arithmetic", mean="weiszfeld"),
        "covariance learnt slowly": [(Arm(covariance="slow-diagonal"), base)],
        "mean learning rate 1/2": [(Arm(c_mean=0.5), base)],
        "mean learning rate 1/4": [(Arm(c_mean=0.25), base)],
        "population x 2": [(Arm(larger=2), base)],
        "population x 4": [(Arm(larger=4), base)],
        "both: x 4 and rate 1/4": [(Arm(larger=4, c_mean=0.25), base)],
    }


def crossed() -> dict[str, list[Pair]]:
    """What expected weights add where the noise is met by other means already."""
    settings: dict[str, dict[str, Any]] = {
        "default population and rate": {},
        "population x 4": {"larger": 4},
        "mean rate 1/4": {"c_mean": 0.25},
    }
    found = {}
    for words, further in settings.items():
        known, hard = Arm(EXACT, **further), Arm(**further)
        found[f"noise known, {words}"] = [(known, hard)]
    for words, further in settings.items():
        estimated, hard = Arm(ESTIMATED, 1, **further), Arm(HARD, 1, **further)
        found[f"estimated, {words}"] = [(estimated, hard)]
    return found


@dataclass(frozen=True)
class Logs:
    """Log10 regret by problem and method."""

    of: dict[str, dict[str, float]]

    @classmethod
    def read(cls, rows: Iterable[Row], metric: str) -> Logs:
        found: dict[str, dict[str, float]] = {}
        for row in rows:
            found.setdefault(row.problem, {})[row.method] = math.log10(value(row, metric))
        return cls(found)

    def differences(self, chosen: Sequence[tuple[str, str]]) -> FloatArray:
        """Per problem, the mean over (with, without) of what the change adds; problems that lack
        one of the runs are left out."""
        wanted = {name for pair in chosen for name in pair}
        found = [
            np.mean([logs[a] - logs[b] for a, b in chosen])
            for logs in self.of.values()
            if wanted <= set(logs)
        ]
        return np.array(found, dtype=float)
