"""The library's own exceptions."""

from __future__ import annotations

from typing import Any


class EvaluationError(RuntimeError):
    """An evaluation of the objective failed. ``result`` is what was known until then.

    >>> import noisewise as nw
    >>> try:
    ...     nw.minimize(lambda x: 1 / 0, [1.0], sigma0=1.0, budget=10)
    ... except nw.EvaluationError as error:
    ...     print(error, error.result.nfev)
    evaluation 0 failed after 0 evaluations with ZeroDivisionError: division by zero 0
    """

    def __init__(self, message: str, result: Any = None) -> None:
        super().__init__(message)
        self.result = result


class CheckpointError(RuntimeError):
    """A checkpoint cannot be read, written or used.

    >>> import noisewise as nw
    >>> try:
    ...     nw.Optimizer.load("no-such-file.nw")
    ... except nw.CheckpointError as error:
    ...     print(error)
    checkpoint no-such-file.nw cannot be used: No such file or directory
    """


class BadValueError(TypeError):
    """The objective returned something that is not one real number. Always raised: it is a
    mistake in the objective, not a failed evaluation."""


def install(extra: str, *, bench: bool = False) -> str:
    """What installs an extra of the library, or of the bench, today, from a clone, and after
    publication; for error messages.

    >>> print(install("plot"))
    pip install '.[plot]' in a clone, or pip install 'noisewise[plot]' once it is published
    >>> print(install("all", bench=True).partition(",")[0])
    pip install './bench[all]' in a clone
    """
    folder, name = ("./bench", "noisewise-bench") if bench else (".", "noisewise")
    return (
        f"pip install '{folder}[{extra}]' in a clone, "
        f"or pip install '{name}[{extra}]' once it is published"
    )
