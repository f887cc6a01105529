"""Two independent looks at the same candidates."""

from __future__ import annotations

import numpy as np

from noisewise._types import FloatArray
from noisewise.noise.samples import Samples


def halves(samples: Samples) -> tuple[FloatArray, FloatArray]:
    """Mean of every other value of each candidate, and mean of the values in between; the last
    of an odd number is left out. A candidate with one value has it in both."""
    slots = samples.values.shape[1]
    if slots == 1:
        return samples.first, samples.first
    even = samples.values[:, : 2 * (slots // 2)]
    a, b = Samples(even[:, ::2]).mean(), Samples(even[:, 1::2]).mean()
    return np.where(np.isfinite(a), a, b), np.where(np.isfinite(b), b, a)
