"""The library's own exceptions."""

from __future__ import annotations

from typing import Any


class EvaluationError(RuntimeError):
    """An evaluation of the objective failed. ``result`` is what was known until then."""

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class CheckpointError(RuntimeError):
    """A checkpoint cannot be read, written or used."""


class BadValueError(TypeError):
    """The objective returned something that is not one real number. Always raised: it is a
    mistake in the objective, not a failed evaluation."""
