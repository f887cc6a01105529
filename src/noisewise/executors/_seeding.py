"""Random numbers of workers: distinct per evaluation, though forked workers begin alike.

Only the global generators of numpy and `random` are seeded, and only in worker processes. The
seeds follow from the state of these generators in the user's process, which is read and left
alone: a program that seeds them gives the same values again, whichever worker evaluates a trial.
"""

from __future__ import annotations

import hashlib
import itertools
import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np

#: Two runs of one program must not repeat each other.
_RUNS = itertools.count()


def entropy() -> tuple[int, ...]:
    """What the seeds of one run follow from."""
    state = np.random.get_state(legacy=False)  # noqa: NPY002 - the user's objective may use it
    digest = hashlib.blake2b(pickle.dumps((state, random.getstate())), digest_size=16).digest()
    return int.from_bytes(digest, "big"), next(_RUNS)


def seed(entropy: tuple[int, ...], n: int) -> None:
    """Seed this process for evaluation ``n``."""
    digest = hashlib.blake2b(repr((entropy, n)).encode(), digest_size=32).digest()
    np.random.seed(np.frombuffer(digest[:16], dtype=np.uint32))  # noqa: NPY002
    random.seed(int.from_bytes(digest[16:], "big"))


class Seeded:
    """A function that seeds its process before each call; ``n`` tells the calls apart."""

    def __init__(self, fun: Callable[..., Any], entropy: tuple[int, ...], n: int) -> None:
        self._fun, self._entropy, self._n = fun, entropy, n

    def __call__(self, *args: Any, **more: Any) -> Any:
        seed(self._entropy, self._n)
        return self._fun(*args, **more)
