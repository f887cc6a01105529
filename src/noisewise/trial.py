"""One evaluation to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from noisewise._types import FloatArray


@dataclass(slots=True, eq=False)
class Trial:
    """One evaluation to do: ``x`` is the point, ``id`` is what `Optimizer.tell` wants back.

    ``kind`` is "candidate", "reevaluation" or "confirmation". ``params`` are the values by name
    where the problem has a `Space`, else None.

    >>> import noisewise as nw
    >>> opt = nw.Optimizer([0.0, 0.0], sigma0=1.0, budget=100, rng=0)
    >>> trial = opt.ask(1)[0]
    >>> trial.id, trial.kind, trial.x.shape
    (0, 'candidate', (2,))
    """

    id: int
    x: FloatArray
    kind: str
    params: dict[str, Any] | None = None
