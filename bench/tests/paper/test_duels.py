"""Wins, intervals, and the published numbers they stand beside."""

from __future__ import annotations

import math

import numpy as np
import pytest

from noisewise_bench import as_run
from noisewise_bench.experiments.paper import _published as published
from noisewise_bench.experiments.paper import verdict
from noisewise_bench.experiments.paper._clusters import MARGIN, clustered, replication
from noisewise_bench.experiments.paper._duel import (
    NOISY_VALUE,
    differs,
    duel,
    duel_table,
    median_log10,
    wilson,
)
from noisewise_bench.experiments.paper._duel import verdict as verdict_of
from noisewise_bench.experiments.paper._methods import AS_RUN, CMA, RB, RES5, RES10, UH
from noisewise_bench.experiments.paper._problems import probe
from noisewise_bench.problem import Oracle
from noisewise_bench.problems import make
from noisewise_bench.problems.bbob_noisy import HIGH
from noisewise_bench.task import Row


def row(method: str, problem: str, regret: float, **others: float) -> Row:
    found = {"recommended_regret": regret, "best_evaluated_regret": regret / 2, **others}
    suite = problem.split("/")[0]
    return Row(problem, method, "10d", 1, suite=suite, dimension=2, **found)  # type: ignore[arg-type]


ROWS = [
    *(row("a", f"p/{i}", r) for i, r in enumerate((1.0, 10.0, 1e-9, 100.0))),
    *(row("b", f"p/{i}", r) for i, r in enumerate((10.0, 1.0, 1e-10, 1000.0))),
    row("a", "p/9", 5.0),  # b was not run here
]


def test_a_duel_is_paired_and_floored() -> None:
    found = duel(ROWS, "a", "b", "recommended")
    assert (found.wins, found.losses, found.ties, found.n) == (2, 1, 1, 4)
    assert found.rate == pytest.approx(2.5 / 4)
    assert found.mean == pytest.approx((-1 + 1 + 0 - 1) / 4)
    assert found.low <= found.mean <= found.high


def test_the_smallest_noisy_value_is_compared_as_it_is() -> None:
    rows = [row("a", "p/1", 1.0, noisy_best=-3.0), row("b", "p/1", 1.0, noisy_best=2.0)]
    found = duel(rows, "a", "b", NOISY_VALUE)
    assert (found.wins, found.losses, found.ties) == (1, 0, 0)
    assert math.isnan(found.mean)
    tested = duel(ROWS, "a", "b", "recommended")
    shown = duel_table("T", (), [((), found, None), ((), tested, None)]).rows
    at = [c.name for c in duel_table("T", (), []).columns].index("Wilcoxon")
    assert math.isnan(shown[0][at])
    assert shown[1][at] == pytest.approx(tested.p)  # what is not tested does not count for Holm


def test_medians_are_of_the_metric_and_runs_asked_for() -> None:
    rows = [row("a", "bbob-noisy/f101", 8.0), row("a", "bbob-noisy/f102", 8.0)]
    assert median_log10(rows, "best-evaluated") == pytest.approx(math.log10(4.0))
    assert math.isnan(median_log10([], "recommended"))


def test_wilson_intervals() -> None:
    assert wilson(10, 20) == pytest.approx((0.2993, 0.7007), abs=1e-4)
    assert wilson(0, 10)[0] == 0.0
    assert wilson(0, 10)[1] == pytest.approx(0.2775, abs=1e-4)
    assert all(math.isnan(end) for end in wilson(0, 0))


def test_differs_is_fishers_test() -> None:
    found = duel(ROWS, "a", "b", "recommended")
    assert differs(found, (2, 1)) == pytest.approx(1.0)
    assert differs(found, (0, 300)) < 0.001
    assert math.isnan(differs(found, None))


def test_the_table_shows_published_and_measured_wins() -> None:
    found = duel(ROWS, "a", "b", "recommended")
    text = duel_table("T", ("who",), [(("a",), found, (30, 10)), (("a",), found, None)]).markdown()
    assert "| a | recommended | 30/10 | 2/1 | 1 |" in text
    assert "| a | recommended | - | 2/1 | 1 |" in text


def test_intervals_of_alike_instances_are_those_of_their_functions() -> None:
    """Twenty equal values in each of six functions are six values, not 120."""
    centres = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0])
    groups = np.repeat([f"f{i}" for i in range(6)], 20).astype(object)
    mean, low, high = clustered(np.repeat(centres, 20), groups)
    assert mean == pytest.approx(centres.mean())
    draws = np.random.default_rng(1).choice(centres, (20000, 6)).mean(axis=1)  # a naive twin
    assert (low, high) == pytest.approx(tuple(np.quantile(draws, (0.025, 0.975))), abs=0.08)
    _, alone_low, alone_high = clustered(np.repeat(centres, 20), np.arange(120).astype(object))
    assert high - low > 3 * (alone_high - alone_low)
    few = clustered(np.arange(6.0), np.array(["a", "b"] * 3, dtype=object), plain=False)
    assert few[0] == 2.5
    assert math.isnan(few[1])


def test_what_comes_back() -> None:
    assert replication(330, 120, (340, 110)) == "equivalent"
    assert replication(7, 3, (340, 110)) == "open"
    assert replication(150, 300, (340, 110)) == "differs"
    assert replication(50, 0, (50, 0)) == "equivalent"
    assert replication(0, 0, (50, 0)) == replication(50, 0, (0, 0)) == "-"


@pytest.mark.parametrize("share", [0.5, 0.8])
@pytest.mark.parametrize("apart", [0.0, 0.2])
def test_the_rule_for_replication_is_not_too_bold(share: float, apart: float) -> None:
    """Two experiments on the same thirty functions, whose shares differ by ``apart`` either way:
    the variance of the gap is at most the binomial one, and no more than one in twenty true
    replications is said to differ, no more than one in twenty of a gap at the margin to be
    equivalent."""
    rng = np.random.default_rng(0)
    p = share + np.where(np.arange(30) % 2, apart, -apart)
    ours = rng.binomial(15, p, size=(2000, 30)).sum(axis=1)
    theirs = rng.binomial(15, p, size=(2000, 30)).sum(axis=1)
    gaps = (ours - theirs) / 450
    assert gaps.std() <= 1.04 * math.sqrt(2 * share * (1 - share) / 450)
    words = [replication(a, 450 - a, (b, 450 - b)) for a, b in zip(ours, theirs, strict=True)]
    assert words.count("differs") <= 0.06 * 2000
    assert words.count("equivalent") >= 0.7 * 2000
    moved = rng.binomial(15, np.clip(p - MARGIN, 0.0, 1.0), size=(2000, 30)).sum(axis=1)
    said = [replication(a, 450 - a, (b, 450 - b)) for a, b in zip(moved, theirs, strict=True)]
    assert said.count("equivalent") <= 0.06 * 2000


def test_one_verdict_for_one_pair_of_counts() -> None:
    """Whatever the functions behind the pairs, a table says what the rule says of its counts."""
    rows = []
    for function in range(6):
        for i in range(20):
            win = function < 4 or i < 3
            name = f"bbob-noisy/f{101 + function}/i{i}/d10"
            rows += [row("a", name, 1.0 if win else 3.0), row("b", name, 2.0)]
    found = duel(rows, "a", "b", "recommended")
    assert (found.wins, found.losses) == (86, 34)
    for counts in ((86, 34), (300, 150), (200, 250), (80, 40)):
        assert verdict_of(found, counts) == replication(86, 34, counts)
    assert verdict_of(found, None) == "-"


def test_stars_stand_for_raw_p_values_and_the_published_ones_are_there() -> None:
    assert [verdict.stars(p) for p in (0.2, 0.04, 0.004, 0.0004)] == ["", "*", "**", "***"]
    assert verdict.stars(math.nan) == ""
    assert {w: set(c) for w, c in published.TABLE1_STARS.items()} == {
        where: set(counts) for where, counts in published.TABLE1.items()
    }


def test_published_totals_add_up() -> None:
    for rival, total in published.TABLE1_TOTAL.items():
        counts = [places[rival] for places in published.TABLE1.values()]
        assert tuple(map(sum, zip(*counts, strict=True))) == total


def test_published_tables_agree_with_each_other() -> None:
    same = published.ROBUSTNESS[40, "100d"][CMA]
    assert published.ABLATIONS["K_max = 1"] == published.ABLATIONS["B_boot = 32"] == same
    assert tuple(published.HIGH_MEDIANS) == HIGH
    for function, medians in published.CONVERGENCE.items():
        for role in (CMA, UH, RB):
            assert published.HIGH_MEDIANS[function][role] == medians[role]
    at = published.LOG_WEIGHT_BUDGETS.index("100d")
    for role, ((wins, n), _) in published.REGIMES.items():
        assert published.LOG_WEIGHTS[role][at] == pytest.approx(wins / n, abs=6e-4)


def test_families_cover_the_suite_once() -> None:
    functions = [f for group, _ in published.FAMILIES.values() for f in group]
    assert functions == list(range(101, 131))
    for group, (wins, losses) in published.FAMILIES.values():
        assert wins + losses == 15 * len(group)


@pytest.mark.parametrize("role", [CMA, RES5, RES10])
def test_published_depth_comes_back_exactly(role: str) -> None:
    assert _depth(role) == published.DEPTH[role]


def test_published_depth_of_rb_pem_comes_back_nearly() -> None:
    assert _depth(RB) == pytest.approx(published.DEPTH[RB], rel=0.04)


def _depth(role: str) -> int:
    problem = make("bbob-noisy/f108/i1/d40")
    oracle = Oracle(problem, 4000, np.random.default_rng(1))
    outcome = as_run.get(AS_RUN[role].removeprefix("as-run/"))(oracle, 4000, 1)
    return int(outcome.nit)


def test_the_probe_separates_the_published_clusters() -> None:
    high = probe("bbob-noisy/f116/i1/d40", 32, 5)
    low = probe("bbob-noisy/f101/i1/d40", 32, 5)
    assert np.all((high > 0.16) & (high <= 0.5))
    assert np.all(low < 0.16)
    assert np.array_equal(high, probe("bbob-noisy/f116/i1/d40", 32, 5))
