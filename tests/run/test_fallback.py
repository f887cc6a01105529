"""What is kept of a point that is given up, and after how many failures it is."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import support
from noisewise.run import fallback
from noisewise.run.run import Ledger


@pytest.mark.parametrize(
    ("failures", "told", "here", "left", "workers", "deterministic", "enough"),
    [
        (0, 100, 0, 20, 1, False, 3),  # nothing fails elsewhere: three in a row
        (0, 100, 0, 20, 5, False, 5),  # as many as are under way at the same time
        (0, 100, 0, 20, 1, True, 1),
        (50, 100, 0, 20, 1, False, 5),  # 0.5^5 = 0.03 is the first below 0.05
        (51, 101, 1, 19, 1, False, 5),  # those here do not count as failures elsewhere
        (80, 100, 0, 20, 1, False, 10),  # 0.8^14, but half of what there is
        (100, 100, 0, 20, 1, False, 10),
        (0, 100, 0, 5, 1, False, 5),  # too few to measure another point
    ],
)
def test_failures_in_a_row_before_a_point_is_given_up(
    failures: int, told: int, here: int, left: int, workers: int, deterministic: bool, enough: int
) -> None:
    ledger = Ledger(told + left, charged=told, told=told, failures=failures)
    seen = SimpleNamespace(deterministic=deterministic)
    run: Any = SimpleNamespace(ledger=ledger, evidence=seen, workers=workers)
    assert fallback._enough(run, np.full(here, math.inf)) == enough


def test_its_failures_are_kept_among_the_newest_values() -> None:
    """So that the page and the outlook know of them."""
    opt = support.start("watchful", 2, 100, confirm=12)
    first = None
    while not opt.done:
        for trial in opt.ask():
            failed = False
            if trial.kind == "confirmation":
                first = trial.x if first is None else first
                failed = np.array_equal(trial.x, first)
            opt.tell(trial.id, math.nan if failed else support.noisy(trial))
    rounds = opt._run.evidence.recent.rounds
    kept = [values for X, values in rounds if np.array_equal(X, np.array([first]))]
    assert len(kept) == 1
    assert kept[0].shape[1] >= 3
    assert np.isinf(kept[0]).all()
