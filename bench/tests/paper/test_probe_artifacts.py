"""What the probe tells: thresholds, areas and the artifacts made of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from noisewise_bench.experiments.paper import (
    _routing,
    decoupling,
    probe_budget,
    probe_calibration,
    threshold_sensitivity,
)
from noisewise_bench.experiments.paper._artifact import Scale
from noisewise_bench.experiments.paper._methods import CMA, RB, SIDES
from noisewise_bench.experiments.paper._routing import Cases
from noisewise_bench.task import Row, suite_of

FUNCTIONS = {"f101": 0.01, "f110": 0.3, "f117": 0.3, "f109": 0.05}


def ordered(budget: str, instances: int = 8) -> list[Row]:
    """RB-PEM is ten times better on noisy functions and ten times worse on the others."""
    rows = []
    for function, P in FUNCTIONS.items():
        for i in range(1, instances + 1):
            problem = f"bbob-noisy/{function}/i{i}/d40"
            for side in SIDES.values():
                for role, regret in ((CMA, 1.0), (RB, 0.1 if P > 0.1 else 10.0)):
                    rows.append(
                        Row(
                            *(problem, side[role], budget, 1, suite_of(problem)),
                            dimension=40,
                            recommended_regret=regret,
                            best_evaluated_regret=regret,
                        )
                    )
    return rows


def test_cases_leave_ties_and_single_runs_out() -> None:
    def row(problem: str, role: str, regret: float) -> Row:
        name = SIDES["as run"][role]
        return Row(problem, name, "200d", 1, "bbob-noisy", best_evaluated_regret=regret)

    rows = [
        *(row("bbob-noisy/f110/i1/d40", role, r) for role, r in ((CMA, 10.0), (RB, 1.0))),
        *(row("bbob-noisy/f110/i7/d40", role, r) for role, r in ((CMA, 1e-9), (RB, 1e-12))),
        row("bbob-noisy/f110/i3/d40", CMA, 1.0),
    ]
    found = _routing.cases(rows, "as run", "200d", "best-evaluated")
    assert found.problems == ("bbob-noisy/f110/i1/d40",)
    assert found.gain == pytest.approx([1.0])
    assert found.won.tolist() == found.train.tolist() == [True]


def test_area_under_the_curve_is_that_of_the_rank_test() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(0, 12, 80) / 12.0
    won = rng.random(80) < 0.2 + 0.6 * s
    u = stats.mannwhitneyu(s[won], s[~won]).statistic
    assert _routing.auc(s, won) == pytest.approx(u / (won.sum() * (~won).sum()))
    x, y = _routing.roc(s, won)
    assert (x[0], y[0], x[-1], y[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert np.trapezoid(y, x) == pytest.approx(_routing.auc(s, won))
    assert np.isnan(_routing.auc(s, np.ones(80, dtype=bool)))


def test_threshold_accuracy_and_decision_regret_by_hand() -> None:
    s, gain = np.array([0.0, 0.1, 0.2, 0.3]), np.array([-1.0, 2.0, -0.5, 1.0])
    won = gain > 0.0
    assert _routing.accuracy(s, won, 0.05) == 0.75
    assert _routing.accuracy(s, won, np.inf) == 0.5
    assert _routing.decision_regret(s, gain, 0.05) == pytest.approx(0.5 / 4)
    assert _routing.decision_regret(s, gain, np.inf) == pytest.approx(3.0 / 4)
    assert 0.0 < _routing.best_threshold(s, won, np.arange(0.0, 0.4, 0.01)) <= 0.1


def test_variance_at_the_start_is_not_misranking() -> None:
    """The rank probe fires where the variance probe, which looks at the start alone, cannot."""
    P, spread = decoupling.probes("additive/f1/i1/d80/radial/0.5")
    assert spread < 1e-12
    assert P > decoupling.TAU
    assert _routing.variance_probe("bbob-noisy/f110/i1/d10") > 0.3
    assert _routing.rank_probe("additive/f1/i1/d10/none") == 0.0


def test_a_probe_that_knows_is_always_right(monkeypatch: pytest.MonkeyPatch) -> None:
    def known(problem: str, population: int = 15) -> float:
        return FUNCTIONS[problem.split("/")[1]]

    def blind(problem: str, evaluations: int = 30) -> float:
        return 0.0

    for module in (probe_calibration, probe_budget, threshold_sensitivity):
        monkeypatch.setattr(module, "rank_probe", known)
    monkeypatch.setattr(threshold_sensitivity, "variance_probe", blind)
    rows = ordered("200d") + ordered("500d", instances=3)

    table = probe_calibration.make(rows, Scale("short")).tables[0]
    header = [column.name for column in table.columns]
    by_case = {line[:3]: dict(zip(header, line, strict=True)) for line in table.rows}
    held_out = by_case["as run", "200d", "best-evaluated"]
    assert (held_out["problems"], held_out["accuracy"], held_out["published"]) == (12, 1.0, 0.730)
    assert 0.05 < held_out["chosen tau"] <= 0.3
    assert by_case["as run", "500d", "recommended"]["problems"] == 12  # no others to test on
    areas = probe_budget.make(rows, Scale("short")).tables[0]
    assert {line[5] for line in areas.rows} == {1.0}
    assert [line[8] for line in areas.rows[:4]] == [0.714, 0.746, 0.757, 0.732]
    sweep = threshold_sensitivity.make(rows, Scale("short")).tables[0].rows[0]
    assert sweep[4:6] == (1.0, 1.0)
    assert max(sweep[6:8]) < 1.0  # the blind probe
    assert sweep[9:] == pytest.approx((0.0, 0.5, 0.5))


def test_calibration_counts_wins_in_bins_of_equal_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_calibration, "rank_probe", lambda p: float(p.rpartition("i")[2]))
    names = tuple(f"f/i{i}" for i in range(16))
    bins = probe_calibration.curve(Cases(names, np.r_[-np.ones(8), np.ones(8)]))
    assert [wins for _, wins, _ in bins] == [0, 0, 0, 0, 2, 2, 2, 2]
    assert [P for P, _, _ in bins] == sorted(P for P, _, _ in bins)
