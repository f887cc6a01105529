"""Problems like those of users: simulators, fits, tuning, control, games, schedules.

kinds/queue/i3/d4: family, instance, number of parameters. An instance draws sizes, the place of the
optimum and the strength of the noise. Half of the families are for tuning a method; the others are
held out: `experiments kinds` writes down every look at them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from . import held_out, tuning
from ._kind import Family, Kind

TUNING: Final[dict[str, Family]] = tuning.FAMILIES
HELD_OUT: Final[dict[str, Family]] = held_out.FAMILIES
FAMILIES: Final[dict[str, Family]] = TUNING | HELD_OUT

__all__ = ["FAMILIES", "HELD_OUT", "TUNING", "Kind", "make", "names"]


def make(family: str, instance: int, dimension: int) -> Kind:
    """The problem of a family.

    >>> make("queue", 1, 3).name
    'kinds/queue/i1/d3'
    """
    if family not in FAMILIES:
        raise ValueError(f"family is {family!r}, it takes one of {', '.join(FAMILIES)}")
    dimensions = FAMILIES[family].dimensions
    if dimension not in dimensions:
        raise ValueError(f"dimension is {dimension!r}, {family} takes one of {dimensions}")
    if instance < 1:
        raise ValueError(f"instance is {instance!r}, it takes an integer of at least 1")
    again = partial(make, family, instance, dimension)
    return Kind(family, FAMILIES[family], instance, dimension, again)


def names(
    dimensions: Iterable[int],
    instances: Iterable[int],
    families: Iterable[str] = tuple(FAMILIES),
) -> list[str]:
    """Names ordered by family, dimension and instance; dimensions that a family has not are left
    out."""
    dimensions, instances = tuple(dimensions), tuple(instances)
    return [
        f"kinds/{family}/i{i}/d{d}"
        for family in families
        for d in FAMILIES[family].dimensions
        if d in dimensions
        for i in instances
    ]
