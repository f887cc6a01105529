"""How good the answer is, what more would buy, and that every surface says the same."""

from __future__ import annotations

import io
import math
from html import unescape
from typing import Any

import numpy as np
import pytest

import noisewise as nw
from noisewise._types import FloatArray
from noisewise.answer.outlook import Outlook, RunnerUp, _noise_of_pairs, _noise_share, _runner_up
from noisewise.answer.sentences import misranking_shown
from noisewise.measured.estimate import Estimate
from noisewise.measured.evidence import Recent
from noisewise.report import facts, text
from noisewise.report.page import page
from noisewise.report.progress import Progress
from noisewise.run.reserve import reserve
from noisewise.select import race

BOX = (np.full(2, -5.0), np.full(2, 5.0))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def noisy(x: FloatArray, rng: np.random.Generator, failing: float = 0.0) -> float:
    if rng.random() < failing:
        return math.nan
    return float(((x - 0.3) ** 2).sum() + 0.1 * rng.normal())


def ended(failing: float = 0.0, **options: Any) -> nw.Optimizer:
    rng = np.random.default_rng(1)
    opt = nw.Optimizer(budget=80, bounds=BOX, rng=0, **({"method": "watchful"} | options))
    while not opt.done:
        for trial in opt.ask():
            opt.tell(trial.id, noisy(trial.x, rng, failing))
    return opt


@pytest.mark.parametrize("options", [{}, {"method": "auto"}, {"failing": 0.4}, {"confirm": 0}])
def test_every_surface_shows_the_same_estimate(options: dict[str, Any]) -> None:
    opt = ended(**options)
    r, best, found = opt.result(), opt.recommend(), facts.of(opt, "run")
    assert str((best.fun, best.fun_se, best.interval)) == str((r.fun, r.fun_se, r.interval))
    shown = str(r).split("fun: ")[1].splitlines()[0]
    assert f"fun: {shown}" in r.summary()
    assert shown in r._repr_html_()
    assert f"Estimate: {shown}: " in " ".join(text.summary(found).split())
    number, _, words = shown.partition(" (")
    html = unescape(page(found)).lower()  # the number is a headline of its own there
    assert words.removesuffix(")").lower() in html
    assert number[:6] in html
    assert text.as_data(found)["estimate"] == r.fun
    line = Terminal()
    Progress(opt, True, line).finish()
    value = shown.split(" ")[0]
    ends = shown.partition("interval ")[2].partition(")")[0].partition(",")[0]
    assert f"f ≈ {value} ({ends})" in line.getvalue() if ends else "f ≈ " in line.getvalue()


def test_failures_of_the_recommendation_are_told_everywhere() -> None:
    opt = ended(failing=0.5, confirm=10)
    r, found = opt.result(), facts.of(opt, "run")
    n, failed = r.n_confirmations, r.n_confirmations_failed
    assert n == 10
    assert 0 < failed < 10
    said = f"{failed} of 10 confirmations failed"
    label = f"of the {10 - failed} successes in 10"
    for surface in (str(r), r.summary(), text.summary(found), unescape(page(found))):
        flat = " ".join(surface.split())
        assert said in flat
        assert label in flat
    assert said in r._repr_html_()
    assert text.as_data(found)["confirmations"] == {"n": 10, "failed": failed}


def test_without_a_confirmation_nothing_is_claimed() -> None:
    r = ended(confirm=0).result()
    assert math.isnan(r.fun_se)
    assert any("confirm=0" in warning for warning in r.warnings)
    assert "95 %" not in r.summary()


def test_a_model_says_what_is_left_to_gain() -> None:
    r = ended(method="gp").result()
    assert 0.0 <= r.outlook.improvement < 1.0
    assert "the model expects" in r.summary()
    assert math.isnan(ended().result().outlook.improvement)


@pytest.mark.parametrize(
    ("spread", "left", "said"),
    [
        (1.0, 0.01, "too little to tell from the noise"),
        (1.0, 0.4, "a longer search may find it"),
        (0.5, 0.01, "more may well help"),
        (math.nan, 0.01, "more may well help"),
    ],
)
def test_the_word_of_a_model_counts_where_the_interval_is_short(
    spread: float, left: float, said: str
) -> None:
    """The interval of `_estimate` is 0.44 long."""
    assert an_outlook(improvement=left, spread=spread).enough.endswith(said)


def test_a_budget_is_not_called_enough_where_noise_hides_the_function() -> None:
    rng = np.random.default_rng(3)
    easy, hard = (
        nw.minimize(
            lambda x, noise=noise: float(np.sum((x - 0.3) ** 2) + noise * rng.normal()),
            bounds=BOX,
            budget=40,
            method="gp",
            rng=0,
        ).outlook
        for noise in (0.1, 20.0)
    )
    assert easy.enough.endswith("too little to tell from the noise")
    assert hard.enough.endswith("more may well help")
    assert hard.spread < hard.noise


def an_outlook(**more: Any) -> Outlook:
    return Outlook(**({"estimate": _estimate(), "budget": 400, "dimension": 3} | more))


def _estimate(n: int = 12, failures: int = 0, kind: str = "mean") -> Estimate:
    return Estimate(1.0, 0.1, 0.78, 1.22, kind, n, failures)


def test_more_evaluations_shorten_the_interval() -> None:
    found = an_outlook()
    widths = [found.width_after(n) for n in (0, 12, 36, 1000)]
    assert widths[0] == pytest.approx(found.estimate.width)
    assert widths == sorted(widths, reverse=True)
    longer = found.width_of_longer_search(1200)
    kept = reserve(1600, 3).confirm
    assert longer == pytest.approx(found.width_after(kept - 12))
    n = found.evaluations_for(widths[2])
    assert n is not None
    assert 30 <= n <= 37
    assert "400 more evaluations of this point" in " ".join(found.sentences())
    assert "70 more evaluations" in " ".join(found.sentences(70))


def test_a_longer_search_is_foretold_where_the_noise_is_the_same_everywhere() -> None:
    """The noise at the recommended point is 0.35; multiplicative noise falls with the value."""
    for elsewhere, pace, known in (
        (0.3, 0.01, True),
        (0.9, 0.0, True),
        (1.2, 0.0, False),
        (0.1, 0.0, False),
        (math.nan, 0.0, True),
        (math.nan, 0.01, False),
    ):
        found = an_outlook(noise_elsewhere=elsewhere, pace=pace, noise_share=0.5)
        assert math.isnan(found.width_of_longer_search(1200)) != known
        assert ("would end with a length" in " ".join(found.sentences(1200))) == known
        differs = elsewhere > 1.1 or elsewhere < 0.2
        assert ("and was" in " ".join(found.sentences())) == differs


def test_the_noise_elsewhere_is_that_of_reevaluations() -> None:
    rng = np.random.default_rng(0)
    seen = Recent(10**6)
    seen.add(np.zeros((3, 1)), rng.normal(size=(3, 1)))
    assert math.isnan(_noise_of_pairs(seen))
    values = 100.0 * rng.normal(size=(4000, 1)) + 2.0 * rng.normal(size=(4000, 3))
    values[::7, 1], values[::9, 0] = math.nan, math.inf
    seen.add(np.zeros((4000, 1)), values)
    assert _noise_of_pairs(seen) == pytest.approx(2.0, rel=0.05)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"improvement": 0.01, "spread": 1.0}, "too little to tell from the noise"),
        ({"improvement": 0.9, "spread": 1.0}, "longer search may find it"),
        ({"pace": 0.01}, "still closing in"),
        ({"pace": 0.01, "noise_share": 0.5}, "still closing in"),
        ({"pace": 0.01, "noise_share": 0.9}, "differ by little but noise: more may help"),
        ({"pace": 0.0}, "no longer fell: more evaluations would gain slowly, by averaging noise"),
        ({"pace": 0.0, "estimate": _estimate(9, 0, "exact")}, "more evaluations would gain little"),
        ({"pace": 0.0, "narrowed": 0.3}, "no longer fell"),
        ({"pace": 0.0, "narrowed": 0.9}, "hardly narrowed when the budget ended: more should help"),
        ({"estimate": _estimate(0, 5, "unknown")}, "all evaluations of the recommended"),
        ({}, ""),
    ],
)
def test_whether_the_budget_was_enough(more: dict[str, Any], said: str) -> None:
    enough = an_outlook(**more).enough
    assert said in enough
    assert bool(enough) == bool(said)


TINY = "fun was not measured at x (confirm=0, or a tiny budget), so its error is not known"


@pytest.mark.parametrize(
    ("dimension", "noise", "said"),
    [
        (2, 1.0, TINY),
        (4, 1.0, TINY),
        (20, 3.0, "hardly narrowed when the budget ended: more should help"),
    ],
)
def test_a_budget_of_five_evaluations_per_parameter_is_called_short(
    dimension: int, noise: float, said: str
) -> None:
    """Where a model spends all of it, nothing is left to measure the answer."""
    rng = np.random.default_rng(1)
    r = nw.minimize(
        lambda x: float(np.sum((x - 0.2) ** 2) + noise * rng.normal()),
        bounds=[(-1.0, 1.0)] * dimension,
        budget=5 * dimension,
        rng=0,
    )
    assert r.summary().endswith(said)
    assert (r.n_confirmations == 0) == (said == TINY)


def test_a_strategy_that_a_model_started_is_compared_with_the_start_of_the_run() -> None:
    rng = np.random.default_rng(0)
    r = nw.minimize(
        lambda x: float(((x - 0.4) ** 2).sum() + 0.01 * rng.normal()),
        bounds=[(0.0, 1.0)] * 2,
        budget=1200,
        rng=0,
    )
    assert "handed over" in r.message
    assert r.outlook.narrowed < 0.5
    assert "hardly narrowed" not in r.summary()


def test_one_printout_has_one_share_of_the_noise() -> None:
    """The method's message may have one (of all values); the outlook has absolute numbers."""
    for method in ("gp", "watchful"):
        said = text.summary(facts.of(ended(method=method), "run"))
        assert "standard deviation of the noise is" in " ".join(said.split())
        assert said.count("% of the variance") + said.count("disagree by") <= 1


def test_the_runner_up_is_compared_with_the_winner() -> None:
    told = race.settle(race.start(2, 4), np.array([5.0, 6.0, 1.0, 2.0]))
    assert told.winner == 1
    rival = _runner_up(told)
    assert rival is not None
    assert rival.worse_by == pytest.approx(4.0)
    kept = race.settle(race.start(2, 4), np.array([1.0, 2.0, 5.0, 6.0]))
    again = _runner_up(kept)
    assert again == rival
    assert _runner_up(race.start(2, 4)) is None
    assert "worse by 4 (standard error" in an_outlook(runner_up=rival).sentences()[0]
    close = an_outlook(runner_up=RunnerUp(-0.1, 1.0)).sentences()[0]
    assert "better by 0.1" in close
    assert "not clearly different" in close


@pytest.mark.parametrize(("spread", "share"), [(0.0, 1.0), (1.0, 0.5), (10.0, 0.01)])
def test_the_share_of_the_noise(spread: float, share: float) -> None:
    rng = np.random.default_rng(0)
    seen = Recent(400)
    for _ in range(4):
        X = rng.normal(size=(100, 2))
        seen.add(X, (spread * X[:, 0] + rng.normal(size=100))[:, None])
    assert _noise_share(seen, 1.0) == pytest.approx(share, abs=0.15)
    assert math.isnan(_noise_share(Recent(0), 1.0))


def test_few_re_evaluations_say_nothing_about_ranks() -> None:
    assert misranking_shown(0.2, 3) == "3 re-evaluations: too few to say"
    assert misranking_shown(0.2, 30) == "misranking 0.20 (n=30)"
