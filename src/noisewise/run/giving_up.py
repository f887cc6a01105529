"""When a run ends without hope."""

from __future__ import annotations

import numpy as np

from noisewise.methods.method import default_population
from noisewise.run.run import BARREN, Run

#: A run gives up after at least 40 failures in a row, and a tenth of the budget.
_TRIED, _PART = 40, 10
#: Exceptions after which a run gives up in which no evaluation ever came to an end: the objective
#: is broken. A nan or inf says that a point is infeasible, and few others may be feasible.
_BROKEN = 10


def hopeless(run: Run) -> bool:
    """Whether too many evaluations failed in a row, or nothing but exceptions came."""
    ledger = run.ledger
    broken = run.fruitless >= _BROKEN and ledger.crashes == ledger.told
    if not broken and (run.barren < BARREN or run.fruitless < _patience(run)):
        return False
    return not any(np.isfinite(group.samples.values).any() for group in run.pool)


def _patience(run: Run) -> int:
    """Failures in a row after which a run gives up: a model proposes few at a time, and most of
    the box may be infeasible."""
    least = BARREN * default_population(run.setup.dimension)
    return max(least, _TRIED, run.ledger.budget // _PART)
