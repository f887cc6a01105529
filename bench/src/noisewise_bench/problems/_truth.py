"""The truth of the batch evaluated last, so that a noisy call and its score compute it once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar, final

from ..problem import FloatArray

T = TypeVar("T")


@final
class LastBatch(Generic[T]):
    """``compute(X)``, remembered for one batch; compares contents, so ``X`` may be overwritten."""

    def __init__(self, compute: Callable[[FloatArray], T], dimension: int) -> None:
        self._compute = compute
        self._dimension = dimension
        self._last: tuple[bytes, T] | None = None

    def __call__(self, X: FloatArray) -> T:
        if X.ndim != 2 or X.shape[1] != self._dimension:
            raise ValueError(f"X has shape {X.shape}, it takes (n, {self._dimension})")
        key, last = X.tobytes(), self._last
        if last is not None and last[0] == key:
            return last[1]
        value = self._compute(X)
        self._last = (key, value)
        return value
