"""Lines of equal value through a grid of cells, by marching squares."""

from __future__ import annotations

import numpy as np

from noisewise._types import FloatArray
from noisewise.report.svg import Axis

#: Edges of a square that a line crosses, by which of its corners (lower left, lower right, upper
#: right, upper left: bits 0 to 3) lie above the level. Edges: 0 bottom, 1 right, 2 top, 3 left.
_CROSSED: dict[int, tuple[tuple[int, int], ...]] = {
    1: ((3, 0),), 2: ((0, 1),), 3: ((3, 1),), 4: ((1, 2),), 5: ((3, 2), (0, 1)), 6: ((0, 2),),
    7: ((3, 2),), 8: ((2, 3),), 9: ((0, 2),), 10: ((0, 3), (1, 2)), 11: ((1, 2),), 12: ((1, 3),),
    13: ((0, 1),), 14: ((0, 3),),
}  # fmt: skip


def contour(values: FloatArray, level: float, across: Axis, up: Axis) -> str:
    """The path of a level through values at the centres of equal cells; rows go upwards."""
    rows, columns = values.shape
    xs = across.start + (np.arange(columns) + 0.5) / columns * (across.end - across.start)
    ys = up.start + (np.arange(rows) + 0.5) / rows * (up.end - up.start)
    parts = []
    for r in range(rows - 1):
        for c in range(columns - 1):
            corners = [(r, c), (r, c + 1), (r + 1, c + 1), (r + 1, c)]
            v = [float(values[at]) for at in corners]
            case = sum((v[k] > level) << k for k in range(4))
            for edges in _CROSSED.get(case, ()):
                ends = []
                for edge in edges:
                    a, b = corners[edge], corners[(edge + 1) % 4]
                    t = (level - v[edge]) / (v[(edge + 1) % 4] - v[edge])
                    x = xs[a[1]] + t * (xs[b[1]] - xs[a[1]])
                    y = ys[a[0]] + t * (ys[b[0]] - ys[a[0]])
                    ends.append(f"{x:.1f} {y:.1f}")
                parts.append(f"M{ends[0]}L{ends[1]}")
    return "".join(parts)
