"""What each choice is worth in which `rb-pem` and `probe-switch` differ from the paper's text.

`rb-pem-printed` has every choice as printed. Each is changed alone, in the printed method to that
of the library and in the library's method to that of the text. `rb-pem-published` has what made
the published numbers; how the program behind these differs from it is measured in that program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._duel import duel, percent
from noisewise_bench.experiments.study import Scope, Study, labelled
from noisewise_bench.problems import suite
from noisewise_bench.tables import Column, Table, decades
from noisewise_bench.task import Row

PRINTED, OURS, PUBLISHED = "rb-pem-printed", "rb-pem", "rb-pem-published"
HARD, AS_RUN, BUDGET = "sep-cma-es", "as-run/rb-pem", "100d"


@dataclass(frozen=True)
class Choice:
    """An option as printed and as the library has it, with ``further`` options in both."""

    words: str
    option: str
    printed: Any
    ours: Any
    further: str = ""

    @property
    def undone(self) -> tuple[str, str]:
        """The method as printed, and with this choice as the library has it."""
        return self._pair(PRINTED, self.ours)[::-1]

    @property
    def made(self) -> tuple[str, str]:
        """The library's method with this choice as printed, and as it is."""
        return self._pair(OURS, self.printed)

    def _pair(self, base: str, value: Any) -> tuple[str, str]:
        changed = ",".join(filter(None, (self.further, f"{self.option}={value!r}")))
        return f"{base}({changed})", f"{base}({self.further})" if self.further else base


CHOICES: Final = (
    Choice(
        "centre: cross-fitted ridge, not the observed value", "centre", "cross-fitted", "observed"
    ),
    Choice("covariance: full, not diagonal", "covariance", "full", "diagonal"),
    Choice("scale: linear in the centre, not the spread", "scale", "linear", "spread"),
    Choice("weights: power-lift, not logarithmic", "profile", "power-lift", "log"),
    Choice("residuals: as they are, not widened", "widen", False, True),
    # One re-evaluation per generation does not fill a pool of 512 at this budget.
    Choice("pool: all residuals, not the newest 512 (k_max=3)", "pool_size", None, 512, "k_max=3"),
)
#: Parts of the first choice, and the other reading of the third, in the printed method.
READINGS: Final = {
    "centre: whitened coordinates and one level for both folds": f"{PRINTED}(centre='ridge')",
    "scale: constant": f"{PRINTED}(scale='constant')",
    "re-evaluations: 3": f"{PRINTED}(k_max=3)",
}
#: Words -> with it, without.
PROGRAM: Final = {
    "restarts": (AS_RUN, f"{AS_RUN}(restarts=False)"),
    "only the mu largest averages are kept": (AS_RUN, f"{AS_RUN}(truncated=False)"),
    "re-evaluated points have raw values": (AS_RUN, f"{AS_RUN}(raw=False)"),
    "step size at most half of the box": (AS_RUN, f"{AS_RUN}(capped=False)"),
    "scales fitted from six residuals, averaged from zero": (AS_RUN, f"{AS_RUN}(patient=False)"),
    "a full pool keeps any of its residuals": (AS_RUN, f"{AS_RUN}(newest=True)"),
    "two to four re-evaluations by the rate of flips": (AS_RUN, f"{AS_RUN}(band=4)"),
    "all of these, and its engine": (AS_RUN, PUBLISHED),
    "its engine without restarts": (f"{AS_RUN}(restarts=False)", PUBLISHED),
}
PROBE: Final = {
    "probe thrown away, not a generation": ("probe-switch(warm_start=False)", "probe-switch"),
    "probe-switch-printed, not probe-switch": ("probe-switch-printed", "probe-switch"),
}
#: Everything against hard ranks with the same covariance, and against each other.
WHOLE: Final = {
    "rb-pem": (OURS, HARD),
    "rb-pem-printed": (PRINTED, HARD),
    "rb-pem-printed against full CMA-ES": (PRINTED, "cma-es"),
    "rb-pem-published": (PUBLISHED, HARD),
    "as-run/rb-pem": (AS_RUN, HARD),
    "probe-switch": ("probe-switch", HARD),
    "probe-switch-printed": ("probe-switch-printed", HARD),
    "cma-es": ("cma-es", HARD),
}


def methods() -> tuple[str, ...]:
    """Every method of the study, once."""
    pairs = (*PROGRAM.values(), *PROBE.values(), *WHOLE.values())
    names = [name for pair in pairs for name in pair]
    for choice in CHOICES:
        names += [*choice.undone, *choice.made]
    return tuple(dict.fromkeys([*names, *READINGS.values()]))


def grids(scope: Scope) -> list[Grid]:
    # One instance after the other, so that an interrupted run has whole ones.
    return [
        Grid.of(suite("bbob-noisy", (d,), (i,)), methods(), [BUDGET], scope.seeds)
        for i in scope.instances
        for d in scope.dimensions
    ]


def tables(rows: list[Row]) -> list[Table]:
    rows = labelled(rows)
    made = {c.words: c.made for c in CHOICES}
    undone = {c.words: c.undone for c in CHOICES}
    readings = {words: (name, PRINTED) for words, name in READINGS.items()}
    return [
        _table(rows, WHOLE, f"Whole methods against separable CMA-ES, B = {BUDGET}", "method"),
        _table(
            rows,
            undone,
            "One choice of the text in the method as printed",
            "choice",
            "The method as printed against itself with this choice as the library has it; "
            "positive differences: the choice of the text costs.",
        ),
        _table(
            rows,
            made,
            "One choice of the text in rb-pem",
            "choice",
            "`rb-pem` with this choice as printed against `rb-pem`; positive differences: the "
            "choice of the text costs.",
        ),
        _table(rows, readings, "Other readings of the text, in the method as printed", "reading"),
        _table(rows, PROBE, "The probe", "change"),
        _table(
            rows,
            PROGRAM,
            "The program behind the published numbers",
            "what it has",
            "The program with it against the program without it; the last two lines against "
            "`rb-pem-published`, which has its weights, mean, rates, centre, scale and band.",
        ),
    ]


def _table(
    rows: Sequence[Row], pairs: dict[str, tuple[str, str]], title: str, first: str, *notes: str
) -> Table:
    columns = (
        Column(first),
        Column("functions"),
        Column("d"),
        Column("pairs"),
        Column("win rate", percent, "of the first method, ties count half"),
        Column("low", percent, "95 %, functions resampled"),
        Column("high", percent),
        Column("mean diff", decades, "mean difference of log10 regret; negative is better"),
        Column("from", decades, "95 %, functions resampled"),
        Column("to", decades),
    )
    body = []
    for words, (ours, theirs) in pairs.items():
        for where in ("high misranking", "complement"):
            for d in sorted({row.dimension for row in rows}):
                here = [row for row in rows if row.suite == where and row.dimension == d]
                found = duel(here, ours, theirs, "recommended")
                if found.n:
                    share = (found.rate, *found.rate_interval)
                    gap = (found.mean, found.low, found.high)
                    body.append((words, where, d, found.n, *share, *gap))
    said = "Metric: recommended, the noise-free regret of the point returned."
    return Table(title, columns, tuple(body), (*notes, said))


STUDY = Study(
    "deviations",
    "What the deviations from the paper's text are worth",
    Scope(tuple(range(1, 16)), (10, 40), (1,)),
    grids,
    tables,
)
