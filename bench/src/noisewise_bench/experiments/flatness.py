"""Is it the estimate of the noise that helps, or only that it makes the weights flatter?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from noisewise_bench import flattened
from noisewise_bench.campaign import Grid
from noisewise_bench.experiments.paper._duel import duel, percent
from noisewise_bench.experiments.study import Scope, Study
from noisewise_bench.problems import suite
from noisewise_bench.tables import Column, Table, decades, fixed
from noisewise_bench.task import Row

HARD, UNIFORM = "sep-cma-es", "sep-cma-es(profile='uniform')"
BY_RANK = "noisewise_bench.flattened:by_rank"
CREDITED: Final = ("rb-pem", "probe-switch")
NETWORKS: Final = ("mlp-digits-b4", "mlp-digits-b16")
#: Instances of the functions, of those that are asked for: the networks have fifty.
MOST = 5
#: Problems of a group whose flatness is measured.
MEASURED = 5


def functions(scope: Scope, d: int) -> list[str]:
    return suite("bbob-noisy-high", (d,), [i for i in scope.instances if i <= MOST])


def groups(scope: Scope) -> dict[str, tuple[list[str], str]]:
    """Problems and budget of each group of the tables."""
    found = {f"high misranking, d = {d}": (functions(scope, d), "100d") for d in scope.dimensions}
    for name in NETWORKS:
        found[name] = [f"task/{name}/s{s}" for s in scope.instances], "own"
    return found


@lru_cache(maxsize=32)
def matched(problems: tuple[str, ...], budget: str) -> float:
    """Mean mu_eff of RB-PEM on some of the problems, to one digit."""
    some = problems[:: max(1, len(problems) // MEASURED)][:MEASURED]
    return round(float(np.mean([flattened.mu_eff(p, "rb-pem", budget) for p in some])), 1)


def flat(mu_eff: float) -> str:
    return f"noisewise_bench.flattened:hard_ranks(mu_eff={mu_eff!r})"


def grids(scope: Scope) -> list[Grid]:
    found = []
    for problems, budget in groups(scope).values():
        arms = (HARD, *CREDITED, UNIFORM, flat(matched(tuple(problems), budget)), BY_RANK)
        found.append(Grid.of(problems, arms, [budget], scope.seeds))
    return found


def tables(rows: list[Row]) -> list[Table]:
    credited = [(method, rival) for method in CREDITED for rival in ("log", "flat", "uniform")]
    return [
        _table(
            rows,
            [*credited, ("rb-pem", "by rank")],
            "The estimators against hard ranks",
            "log: hard ranks with log weights; flat: with the mean mu_eff of RB-PEM on these "
            "problems; uniform: equal weights for the better half; none of them has a model of "
            "the noise or re-evaluations. by rank: RB-PEM whose weights are handed out by rank.",
        ),
        _table(
            rows,
            [(rival, "log") for rival in ("flat", "uniform", "by rank")],
            "Flatter weights alone, against log weights",
        ),
    ]


def _table(rows: Sequence[Row], pairs: Sequence[tuple[str, str]], title: str, *notes: str) -> Table:
    columns = (
        Column("problems"),
        Column("method"),
        Column("against"),
        Column("mu_eff", fixed, "of the flat weights"),
        Column("pairs"),
        Column("win rate", percent, "ties count half"),
        Column("low", percent, "95 %; functions resampled where there are several"),
        Column("high", percent),
        Column("mean diff", decades, "mean difference of log10 regret; negative is better"),
        Column("from", decades, "95 %"),
        Column("to", decades),
    )
    body = []
    for where, here in _grouped(rows).items():
        flattest = next(r.method for r in here if "hard_ranks" in r.method)
        names = {"log": HARD, "uniform": UNIFORM, "flat": flattest, "by rank": BY_RANK}
        mass = float(flattest.partition("mu_eff=")[2].rstrip(")"))
        for ours, theirs in pairs:
            found = duel(here, names.get(ours, ours), names[theirs], "recommended")
            share, gap = found.rate_interval, (found.mean, found.low, found.high)
            body.append((where, ours, theirs, mass, found.n, found.rate, *share, *gap))
    said = "Metric: recommended, the noise-free regret (networks: loss) of the point returned."
    return Table(title, columns, tuple(body), (*notes, said))


def _grouped(rows: Sequence[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        network = next((n for n in NETWORKS if f"/{n}/" in row.problem), None)
        found.setdefault(network or f"high misranking, d = {row.dimension}", []).append(row)
    return dict(sorted(found.items()))


STUDY = Study(
    "flatness",
    "Hard ranks with weights as flat as those of RB-PEM",
    Scope(tuple(range(1, 51)), (10, 40), (1,)),
    grids,
    tables,
)
