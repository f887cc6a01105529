"""One thread for small matrices.

Linear algebra libraries start threads for matrices far too small to gain from them, and where
cores are busy the threads wait for each other. Within `single` they are kept to one: by
threadpoolctl where it is installed, else in the OpenBLAS that wheels of numpy and scipy bring
along. Elsewhere, set OPENBLAS_NUM_THREADS=1 or MKL_NUM_THREADS=1.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from ctypes import CDLL
from functools import cache
from pathlib import Path
from typing import Any

#: Reads and sets the number of threads of one library.
Setting = tuple[Callable[[], int], Callable[[int], Any]]


@cache
def _controller() -> Any:
    try:
        import scipy.linalg  # noqa: F401 - its library must be loaded to be found
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


@cache
def bundled() -> list[Setting]:
    """The settings of the libraries inside the wheels of numpy and scipy."""
    import numpy
    import scipy.linalg

    found: list[Setting] = []
    for package in (numpy, scipy):
        home = Path(str(package.__file__)).parent
        beside = home.parent / f"{package.__name__}.libs"
        for file in [*beside.glob("*openblas*"), *home.glob(".dylibs/*openblas*")]:
            found += settings(file)
    return found


def settings(file: Path) -> list[Setting]:
    """What a library offers under the names that wheels of different years gave it."""
    try:
        library = CDLL(str(file))  # loaded already: this finds it again
    except OSError:
        return []
    names = [(first, last) for first in ("scipy_openblas", "openblas") for last in ("64_", "")]
    return [
        (getattr(library, f"{first}_get_num_threads{last}"), write)
        for first, last in names
        if (write := getattr(library, f"{first}_set_num_threads{last}", None))
    ]


class _Limit:
    """Contexts may overlap in threads: the first one in sets the limit, the last one ends it."""

    def __init__(self) -> None:
        self._lock, self._inside, self._before = threading.Lock(), 0, list[int]()

    @contextmanager
    def __call__(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._before = [read() for read, _ in bundled()]
                self._set([1] * len(self._before))
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._set(self._before)

    @staticmethod
    def _set(numbers: list[int]) -> None:
        for (_, write), number in zip(bundled(), numbers, strict=True):
            write(number)


_limit = _Limit()


def single() -> AbstractContextManager[Any]:
    """A context in which linear algebra uses one thread, where that can be arranged."""
    controller = _controller()
    found: AbstractContextManager[Any] = (
        _limit() if controller is None else controller.limit(limits=1, user_api="blas")
    )
    return found


#: Threads of ours that hold no lock while this process is forked.
quiet: set[object] = set()
