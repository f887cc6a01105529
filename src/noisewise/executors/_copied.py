"""Random generators that worker processes would copy, and so repeat each other's numbers."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from noisewise import _functions

_KINDS = (
    np.random.Generator,
    np.random.RandomState,
    np.random.BitGenerator,
    random.Random,
)
#: Generators that are told by their names, so that their libraries need not be imported.
_NAMED = {"torch.Generator", "torch._C.Generator"}
#: Named in the warning at most.
_SHOWN = 3


def generators(fun: Callable[..., Any], args: tuple[Any, ...] = ()) -> list[str]:
    """Names of the random generators that ``fun`` reaches, without those that workers seed: the
    global ones of numpy and `random`."""
    seeded = (np.random.mtrand._rand, getattr(random, "_inst", None))
    found = []
    for name, held in _functions.reached(fun, args):
        if any(held is one for one in seeded) or not _is_generator(held):
            continue
        found.append(name.removesuffix(".__self__"))
    # The bit generator of a generator has no attributes, so nothing is named twice.
    return list(dict.fromkeys(found))


def warn(fun: Callable[..., Any], args: tuple[Any, ...], stacklevel: int) -> None:
    """Warn if workers would copy a generator that ``fun`` uses."""
    names = generators(fun, args)
    if not names:
        return
    shown = ", ".join(names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    warnings.warn(
        f"the objective reaches a random generator outside of it ({shown}): each worker process "
        "has a copy, so workers repeat each other's random numbers unless every call seeds it; "
        "make the generator within the objective, from a seed that noisewise hands out "
        '(seeds="independent", np.random.default_rng(seed))',
        UserWarning,
        stacklevel=stacklevel,
    )


def _is_generator(held: Any) -> bool:
    if isinstance(held, _KINDS):
        return not isinstance(held, random.SystemRandom)  # it has no state to copy
    kind = type(held)
    return f"{kind.__module__}.{kind.__qualname__}" in _NAMED
