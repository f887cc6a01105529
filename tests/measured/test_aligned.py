"""Values under seeds that the candidates of a round share."""

from __future__ import annotations

import numpy as np

from noisewise.measured.aligned import aligned
from noisewise.measured.samples import Samples


def test_failures_under_common_seeds_are_left_alone_without_a_warning() -> None:
    bad, none = np.inf, np.nan
    values = np.array([[1.0, 6.0], [2.0, 7.0], [bad, bad], [3.0, bad], [bad, 9.0], [4.0, none]])
    with np.errstate(all="raise"):
        samples, shifted = aligned(Samples(values))
    assert shifted
    # The offset of the second seed is 5; a value without a partner is moved by it, too.
    expected = [[1.0, 1.0], [2.0, 2.0], [bad, bad], [3.0, bad], [bad, 4.0], [4.0, none]]
    np.testing.assert_array_equal(samples.values, expected)
