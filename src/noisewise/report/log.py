"""Every evaluation of a run, as a line of JSON each."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from noisewise.command.program import Evaluation


class Log:
    """Appends to ``path``, from any thread; a path of None logs nothing. If that fails on the
    way, ``complain`` is told once and no more is written: evaluations are worth more."""

    def __init__(
        self, path: str | os.PathLike[str] | None, complain: Callable[[str], None]
    ) -> None:
        self._complain = complain
        self._file = None if path is None else open(path, "a", encoding="utf-8")  # noqa: SIM115
        self._lock = threading.Lock()

    def evaluation(self, evaluation: Evaluation) -> None:
        """Add a line."""
        if self._file is None:
            return
        line: dict[str, Any] = {
            "parameters": evaluation.parameters,
            "value": evaluation.value,
            "seconds": round(evaluation.seconds, 3),
            "failure": evaluation.failure,
        }
        if evaluation.seed is not None:
            line["seed"] = evaluation.seed
        if evaluation.limited is not None:
            line["limited"] = evaluation.limited
        with self._lock:
            try:
                self._file.write(json.dumps(line) + "\n")
                self._file.flush()
            except OSError as error:
                self._file = None
                self._complain(f"the log ends here: {error}")

    def __enter__(self) -> Log:
        return self

    def __exit__(self, *exc: object) -> None:
        if self._file is not None:
            self._file.close()
