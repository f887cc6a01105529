"""What becomes of the last phase when the chosen point fails: another finalist is confirmed.

A point is given up when it fails more often in a row than failures elsewhere explain, and before
more than half of what is left is spent on it; not where so little is left that another point could
hardly be measured. The last finalist gets all that is left: if that fails, too, the run has no
answer.
"""

from __future__ import annotations

import math

import numpy as np

from noisewise._types import FloatArray
from noisewise.methods.method import Method
from noisewise.run import feasibility
from noisewise.run.comparison import CHALLENGER
from noisewise.run.recheck import Final
from noisewise.run.run import Run
from noisewise.select import race

#: Fewest failures in a row before a point is given up.
_FEW = 3
#: The share of failures elsewhere does not explain those at a point if it makes as many in a row
#: less likely than this.
_CHANCE = 0.05


def move_on(method: Method, run: Run) -> None:
    """Choose the next finalist if the chosen one was given up."""
    last, values = run.final, measured(run)
    assert last is not None
    if not failed(values) or len(values) < _enough(run, values):
        return
    others = last.finalists[1:] if last.given_up else _others(method, run, last)
    if len(others):
        run.evidence.recent.add(last.chosen[None], values[None])
        run.final = Final(others, race.start(len(others), 0), given_up=last.given_up + 1)


def wave(run: Run) -> int:
    """Evaluations of the chosen point to hand out now: a few until one succeeds, then the rest."""
    values, left, batch = measured(run), run.ledger.remaining, run.setup.batch
    few = _enough(run, values) - len(values)
    waits = batch > 0 or run.workers == 1  # else a worker would have nothing to do
    if few <= 0 or np.isfinite(values).any() or not (waits or run.ledger.failures):
        return left
    return min(left, math.ceil(few / batch) * batch if batch else few)


def measured(run: Run) -> FloatArray:
    """Values of the confirmation of the chosen point so far."""
    last = run.final
    if last is not None and run.comparison is not None:
        return run.comparison.against(last.chosen).at(CHALLENGER)
    chosen = last is not None and run.is_confirmed(last.chosen)
    return run.confirmed if chosen else np.empty(0)


def failed(values: FloatArray) -> bool:
    """Whether there are values and none of them is a success."""
    return len(values) > 0 and not bool(np.isfinite(values).any())


def _enough(run: Run, values: FloatArray) -> int:
    """Failures in a row after which the chosen point, with these ``values``, is given up."""
    if run.evidence.deterministic:
        return 1
    ledger, here = run.ledger, len(values)
    failures = ledger.failures - int((~np.isfinite(values)).sum())
    share = failures / max(1, ledger.told - here)
    half = (here + ledger.remaining) // 2
    if half < _FEW:
        return here + ledger.remaining
    if not share < 1.0:
        return half
    needed = math.ceil(math.log(_CHANCE) / math.log(share)) if share > 0.0 else _FEW
    return min(max(needed, _FEW, run.workers), half)


def _others(method: Method, run: Run, last: Final) -> FloatArray:
    """Points to confirm instead of the chosen one, best first: other finalists that did not fail
    whenever they were measured, those of the method, and the best point seen."""
    order = dict.fromkeys([*last.race.alive, *range(len(last.finalists))])
    points = [last.finalists[i] for i in order if not failed(_raced(last.race, i))]
    points += list(method.finalists(run.memory))
    if run.best_value < math.inf:
        points.append(run.setup.box.inner(run.best_x))
    found: FloatArray = feasibility.safe(run, np.array(points))
    outer, tried = run.setup.box.outer(found), run.setup.box.outer(last.chosen)
    rows = {tuple(x): i for i, x in reversed(list(enumerate(outer.tolist())))}
    rows.pop(tuple(tried.tolist()), None)
    return np.asarray(found[sorted(rows.values())])


def _raced(told: race.Race, i: int) -> FloatArray:
    """Values of a finalist in the race."""
    return np.asarray(told.values[i][~np.isnan(told.values[i])])
