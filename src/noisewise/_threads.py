"""One thread for small matrices.

Linear algebra libraries start threads for matrices far too small to gain from them, and where
cores are busy the threads wait for each other. With threadpoolctl installed (scikit-learn brings
it along) they are kept to one; without it, set OPENBLAS_NUM_THREADS=1.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    try:
        import scipy.linalg  # noqa: F401 - its library must be loaded to be found
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()


def single() -> AbstractContextManager[Any]:
    """A context in which linear algebra uses one thread, where that can be arranged."""
    controller = _controller()
    found: AbstractContextManager[Any] = (
        nullcontext() if controller is None else controller.limit(limits=1, user_api="blas")
    )
    return found
