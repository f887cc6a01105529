"""Which missing knowledge keeps RB-PEM from exact PEM, and what can be had without an oracle?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from noisewise.methods.method import default_population
from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.study import Scope, Study
from noisewise_bench.problems import suite
from noisewise_bench.score import compare
from noisewise_bench.sheets import sheets
from noisewise_bench.tables import Column, Table, decades, fixed
from noisewise_bench.task import Row

HARD: Final = "sep-cma-es"
BUDGET: Final = "100d"
_INFORMED: Final = "noisewise_bench.informed:rb_pem"
_EXACT: Final = "exact PEM, no re-evaluations"


def _informed(**options: object) -> str:
    inside = ",".join(f"{name}={value!r}" for name, value in options.items())
    return f"{_INFORMED}({inside})" if inside else _INFORMED


#: What is known, each with one re-evaluation per generation unless it says otherwise.
KNOWN: Final = {
    "hard ranks of means, one re-evaluation": "rb-pem(expected=False)",
    "nothing": _informed(),
    "scale": _informed(know="scale"),
    "law": _informed(know="law"),
    "scale and law": _informed(know="scale+law"),
    "centre": _informed(know="centre"),
    "centre and scale": _informed(know="centre+scale"),
    "centre and law": _informed(know="centre+law"),
    "centre, scale and law": _informed(know="centre+scale+law"),
    _EXACT: "pem",
    "true ranks, no re-evaluations": _informed(know="ranks", k_max=0),
}
#: The centre is as uncertain as the median of so many evaluations; scale and law are known.
PRECISION: Final = {
    **{
        f"as of {n} evaluation{'s' * (n > 1)}": _informed(know="scale+law", copies=n, k_max=0)
        for n in (1, 4, 16, 64)
    },
    _EXACT: "pem",
}


def reachable(k: int) -> dict[str, str]:
    """What can be tried without an oracle, at a population of ``k`` and its multiples."""
    archive = "rb-pem(centre='archive')"
    return {
        "rb-pem": "rb-pem",
        "rb-pem-printed": "rb-pem-printed",
        "rb-pem-published": "rb-pem-published",
        "hard ranks, uniform weights": f"{HARD}(profile='uniform')",
        f"{k // 2} re-evaluations": f"rb-pem(k_max={k // 2})",
        f"{k} re-evaluations": f"rb-pem(k_max={k})",
        "shared shrinkage": _informed(shrink=True),
        "model with memory": archive,
        "model with memory, scale and law known": _informed(know="scale+law", centre="archive"),
        f"hard ranks, population {2 * k}": f"{HARD}(population={2 * k})",
        f"hard ranks, population {4 * k}": f"{HARD}(population={4 * k})",
        f"rb-pem, population {4 * k}": f"rb-pem(population={4 * k})",
        f"model with memory, population {4 * k}": f"{archive[:-1]},population={4 * k})",
        f"exact PEM, population {4 * k}": f"pem(population={4 * k})",
    }


def _population(dimension: int) -> int:
    return default_population(dimension)


def grids(scope: Scope) -> list[Grid]:
    found = []
    for d in scope.dimensions:
        arms = KNOWN | PRECISION | reachable(_population(d))
        problems = suite("bbob-noisy-high", (d,), scope.instances)
        found.append(Grid.of(problems, (HARD, *arms.values()), [BUDGET], scope.seeds))
    return found


def tables(rows: list[Row]) -> list[Table]:
    found: list[Table] = []
    for d in sorted({row.dimension for row in rows}):
        here = [row for row in rows if row.dimension == d]
        found += [
            _table(here, KNOWN, f"What is known exactly, d = {d}", "known"),
            _table(
                here,
                PRECISION,
                f"How well the centre must be known, d = {d}",
                "centre",
                "Scale and law are known. The centre is the true value with an error as large as "
                "that of the median of so many evaluations, but symmetric: where one tail of the "
                "noise is heavy, luck is then as heavy as bad luck.",
            ),
            _table(here, reachable(_population(d)), f"What can be tried, d = {d}", "method"),
        ]
    return found


def _table(
    rows: Sequence[Row], arms: Mapping[str, str], title: str, first: str, *notes: str
) -> Table:
    """Each arm against hard ranks, in the order of ``arms``."""
    compared = {c.method: c for c in compare(sheets(rows, "recommended", by=("dimension",)), HARD)}
    free = {row.method for row in rows if row.uncharged}
    columns = (
        Column(first),
        Column("n", meaning="pairs: same problem and noise seed"),
        Column("wins"),
        Column("median", fixed, "median log10 regret"),
        Column("mean diff", decades, "mean log10 regret minus that of hard ranks"),
        Column("low", decades, "95 % bootstrap interval"),
        Column("high", decades),
    )
    body = []
    for label, method in arms.items():
        c = compared[method]
        name = label + "*" * (method in free)
        body.append((name, c.n, c.wins, c.median_log10, c.mean_diff, c.mean_low, c.mean_high))
    said = (
        *notes,
        f"Metric: recommended, the noise-free regret of the point returned; B = {BUDGET}. "
        f"Differences are to hard ranks ({HARD}) without re-evaluations, negative is better.",
        "* drew from the noise or was told the truth without paying for it.",
    )
    return Table(title, columns, tuple(body), said)


STUDY = Study(
    "ladder",
    "What RB-PEM would need to know to be exact PEM",
    Scope((1, 2), (20,), (1,)),
    grids,
    tables,
)
