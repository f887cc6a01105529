"""Values of several seeds made comparable, where the candidates of a round share their seeds.

| symbol | meaning | shape |
|---|---|---|
| v_ij | value of candidate i under seed j | (k, r) |
| n_j | candidates with a value under both seed 0 and seed j | |
| o_j | offset of seed j: median over these of v_ij - v_i0 | |

A seed shifts the values of all candidates, which says nothing about their order: only what is left
of v_ij - v_i0 after the offset does. It varies less than the noise, since the offset was estimated
from it; it is widened by sqrt(n_j / (n_j - 1)). A single candidate has nothing left.
"""

from __future__ import annotations

import numpy as np

from noisewise.measured.samples import Samples


def aligned(samples: Samples) -> tuple[Samples, bool]:
    """The samples as if all values had the seed of the first, and whether a seed had an offset,
    which is noise. Values of a seed under which only one candidate was evaluated are left out."""
    values = samples.values
    k, slots = values.shape
    out, shifted = values.copy(), False
    for j in range(1, slots):
        both = np.isfinite(out[:, 0]) & np.isfinite(out[:, j])
        change = np.subtract(out[:, j], out[:, 0], out=np.full(k, np.nan), where=both)
        n = int(both.sum())
        if n == 0:
            continue
        offset = float(np.median(change[both]))
        shifted = shifted or offset != 0.0
        if n == 1:
            out[both, j] = np.nan
        else:
            wider = 1.0 if n == k else float(np.sqrt(n / (n - 1.0)))
            out[both, j] = out[both, 0] + wider * (change[both] - offset)
        alone = np.isfinite(out[:, j]) & ~both
        out[alone, j] -= offset
    return Samples(out, samples.errors), shifted
