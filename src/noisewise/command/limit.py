"""Limits of other numbers that a program prints: ``heat<=80``."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Limit:
    """The mean of ``key`` must be at most ``bound``, or with ``least`` at least so much."""

    key: str
    bound: float
    least: bool = False

    @classmethod
    def parse(cls, text: str) -> Limit:
        """A limit as the command line writes it.

        >>> Limit.parse("eval.heat<=80")
        Limit(key='eval.heat', bound=80.0, least=False)
        """
        least = ">=" in text
        key, sign, bound = text.partition(">=" if least else "<=")
        try:
            number = float(bound)
        except ValueError:
            number = math.nan
        if not sign or not key.strip() or not math.isfinite(number):
            raise ValueError(f"--limit must be KEY<=NUMBER or KEY>=NUMBER, got {text!r}")
        return cls(key.strip(), number, least)

    @property
    def text(self) -> str:
        """The limit as `parse` takes it."""
        return f"{self.key}{'>=' if self.least else '<='}{self.bound!r}"

    def excess(self, value: float) -> float:
        """How far a value is beyond the limit; at most 0 if it is met."""
        return self.bound - value if self.least else value - self.bound

    def shown(self, excess: float, se: float) -> str:
        """The estimated mean with its standard error, and the limit, for people."""
        mean = self.bound - excess if self.least else self.bound + excess
        side = "at least" if self.least else "at most"
        return f"{self.key} {mean:.4g} ± {se:.2g} ({side} {self.bound:g})"


def named(texts: object, means: list[float], errors: list[float]) -> list[str]:
    """Estimates by name, if ``texts`` are as many limits; else nothing."""
    if not isinstance(texts, Iterable) or isinstance(texts, str):
        return []
    try:
        limits = [Limit.parse(str(text)) for text in texts]
    except ValueError:
        return []
    if len(limits) != len(means):
        return []
    return [one.shown(g, s) for one, g, s in zip(limits, means, errors, strict=True)]
