"""One evaluation to do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from noisewise._types import FloatArray


@dataclass(slots=True, eq=False)
class Trial:
    """One evaluation to do: ``x`` is the point, ``id`` is what `Optimizer.tell` takes.

    ``kind`` is "candidate", "reevaluation", "finalist", "confirmation" or, where today's
    setting and what challenges it are measured in turns, "comparison". ``params`` are the
    values by name where the problem has a `Space`, else None. ``seed`` is for the evaluation's
    random numbers where the run hands out seeds, else None.

    >>> import numpy as np, noisewise as nw
    >>> opt = nw.Optimizer([0.0, 0.0], sigma0=1.0, budget=100, rng=0)
    >>> trial = opt.ask(1)[0]
    >>> trial.id, trial.kind, trial.x.shape
    (0, 'candidate', (2,))
    >>> nw.Trial(7, np.array([0.5, 1.0]), "candidate").to_json()
    '{"id": 7, "x": [0.5, 1.0], "kind": "candidate", "params": null, "seed": null}'
    """

    id: int
    x: FloatArray
    kind: str
    params: dict[str, Any] | None = None
    seed: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """The trial as plain data: numbers, texts, a list for ``x`` and a dictionary or None for
        ``params``."""
        return {
            "id": self.id,
            "x": self.x.tolist(),
            "kind": self.kind,
            "params": None if self.params is None else dict(self.params),
            "seed": self.seed,
        }

    def to_json(self) -> str:
        """The same as a line of JSON, numbers to the last bit."""
        return json.dumps(self.to_dict())
