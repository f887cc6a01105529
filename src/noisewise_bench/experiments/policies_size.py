"""Time and memory of a generation with many parameters, and what each covariance model finds."""

from __future__ import annotations

from noisewise_bench.tables import Table


def size_table(quick: bool) -> Table:
    raise NotImplementedError
