"""Constants of a search with a Gaussian process, each with its meaning and unit.

What they are worth is measured by `python -m noisewise_bench.experiments kinds-tuning`.
"""

from __future__ import annotations

from dataclasses import dataclass

from noisewise._data import data


@data
@dataclass(frozen=True, kw_only=True)
class GPTuning:
    """How a search begins and how it answers."""

    #: Points of the start design, per parameter.
    start_each: float = 2.0
    #: The largest part of the evaluations that the start design takes, but at least three points.
    start_part: float = 1 / 3
    #: At the end of a search, whether the values need a logarithm is looked at with at least so
    #: many parameters.
    misfit_from: int = 3
    #: Part of the way from the model's minimum to the average of the best tenth of the points,
    #: where values need a logarithm or noise is strong.
    towards_best: float = 0.5

    def design(self, dimension: int, budget: int) -> int:
        """Points of the start design."""
        least, most = round(self.start_each * dimension), round(self.start_part * budget)
        return max(3, min(least, most))
