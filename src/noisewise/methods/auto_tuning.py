"""Which engine `auto` puts in charge, when: the constants, and the rule that they make.

Evaluations are counted per parameter (a choice is one parameter), those that are kept for the
last phase included. What each constant is worth is
measured by `python -m noisewise_bench.experiments kinds-tuning`.
"""

from __future__ import annotations

from dataclasses import dataclass

from noisewise._data import data
from noisewise.gp.tuning import GPTuning
from noisewise.methods.method import Setup


@data
@dataclass(frozen=True, kw_only=True)
class AutoTuning:
    """Where the model searches, where it opens, and when it hands over."""

    #: Constants of the model's search.
    model: GPTuning = GPTuning()  # noqa: RUF009 - frozen
    #: The model searches alone up to so many evaluations, and per parameter.
    most: int = 300
    most_each: int = 100
    #: The same where there are choices, in all.
    with_choices: int = 1000
    #: Fewest evaluations per parameter with which the model searches.
    least_each: int = 5
    #: The same with at most ``few_up_to`` numbers.
    few_least_each: int = 2
    #: Most numbers with which ``few_least_each`` evaluations per parameter are enough.
    few_up_to: int = 7
    #: Most numbers (parameters that are no choices) for the model.
    numbers: int = 10
    #: It opens a longer run with at most this many parameters, for so many evaluations, at least
    #: and per parameter, but never for more than half.
    opens_up_to: int = 5
    opening: int = 100
    opening_each: int = 25
    #: With more parameters, up to ``numbers``, it opens runs of at most so many evaluations, for
    #: half of them.
    long_opening_most: int = 1000
    #: In an opening with at most ``opens_up_to`` parameters the strategy begins anew if noise makes
    #: more than this share of the variance, once there are so many values, and per parameter.
    noisy: float = 0.1
    known: int = 15
    known_each: int = 5
    #: The model keeps a run that it opened with at most so many parameters and evaluations, above
    #: this share of noise and this usual surprise, in standard deviations.
    keeps_up_to: int = 2
    kept: int = 1000
    some_noise: float = 0.005
    usual_surprise: float = 0.35
    #: It hands over where the order of new values agrees with its predictions less than this (1: as
    #: expected, 0: chance), once it expected so many pairs in order, with at least so many
    #: parameters, after so many evaluations per parameter, and if so many generations are left.
    agreement: float = 0.25
    pairs: float = 40.0
    hands_over_from: int = 6
    hands_over_each: int = 12
    generations: int = 8

    def searches(self, setup: Setup) -> bool:
        """Whether the model searches alone."""
        few = numbers(setup) <= self.few_up_to
        least = (self.few_least_each if few else self.least_each) * setup.parameters
        return setup.evaluations >= least and self.short(setup) and numbers(setup) <= self.numbers

    def short(self, setup: Setup) -> bool:
        """Whether the run is not too long for the model alone."""
        most = min(self.most, self.most_each * setup.parameters)
        return setup.budget <= (self.with_choices if setup.choices else most)

    def opening_of(self, setup: Setup) -> int:
        """Evaluations for which the model opens a run that is too long for it; 0: none. Shared
        seeds need rounds of many candidates, and so does finding out whether they help, for which
        half of the run may be too few."""
        d, half = setup.parameters, setup.budget // 2
        if self.short(setup) or setup.common or d > self.numbers:
            return 0
        if d <= self.opens_up_to:
            return min(max(self.opening, self.opening_each * d), half)
        long = setup.compares or setup.evaluations > self.long_opening_most
        return 0 if long else half

    def keeps(self, setup: Setup) -> bool:
        """Whether the model may keep a run of this length that it opens."""
        return setup.parameters <= self.keeps_up_to and setup.budget <= self.kept


def numbers(setup: Setup) -> int:
    """Parameters that are no choices."""
    return setup.parameters - setup.choices
