"""Peers in a process of their own, so that their dependencies need not agree with ours.

Only numbers cross the boundary, as lines of JSON (see `_nevergrad_server` and the like):
the objective stays here, in the oracle. The recommendation is the peer's own.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..problem import Oracle
from ._common import Outcome, inside

#: Environment of a peer -> the script that answers for it there.
SCRIPTS: Final[dict[str, Path]] = {
    "nevergrad": Path(__file__).with_name("_nevergrad_server.py"),
    "botorch": Path(__file__).with_name("_model_server.py"),
    "smac": Path(__file__).with_name("_model_server.py"),
    "noisewise-0.2": Path(__file__).with_name("_noisewise_server.py"),
}
#: Intermediate recommendations asked for in one run.
REPORTS: Final = 50


class Server:
    """A running server process. It ends with this one, when its input is closed."""

    def __init__(self, environment: str, python: Path) -> None:
        self.environment = environment
        self.owner = os.getpid()
        self.log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - lives as long as the process
        # -I keeps this folder, whose files are named like the libraries, off the import path.
        self.process = subprocess.Popen(
            [str(python), "-I", "-W", "ignore", str(SCRIPTS[environment])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
        )

    def answer(self, message: dict[str, Any]) -> dict[str, Any]:
        """Send a message and wait for the answer to it."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            stdin.write(json.dumps(message) + "\n")
            stdin.flush()
            answer: dict[str, Any] = json.loads(stdout.readline())
        except (BrokenPipeError, json.JSONDecodeError) as error:
            self.process.wait()
            self.log.seek(0)
            raise RuntimeError(
                f"the process of {self.environment} ended early: {self.log.read()[-2000:]}"
            ) from error
        return answer

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        self.log.close()


#: Servers waiting for a task: starting one takes seconds, most of it the library's import.
_idle: dict[str, list[Server]] = {}


def _server(environment: str) -> Server:
    # imported here, because `python -m` must be the first to import that module
    from .environment import python_of

    waiting = _idle.get(environment, [])
    while waiting:
        server = waiting.pop()
        if server.owner == os.getpid():  # else it belongs to the process this one forked from
            return server
    return Server(environment, python_of(environment))


@dataclass(frozen=True)
class Isolated:
    """An optimizer that a peer's environment offers under the name ``optimizer``."""

    environment: str
    optimizer: str

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        bounds = (None, None) if oracle.bounds is None else oracle.bounds
        low, high = (None if side is None else np.asarray(side).tolist() for side in bounds)
        task = {
            "optimizer": self.optimizer,
            "x0": oracle.x0.tolist(),
            "sigma0": oracle.sigma0,
            "low": low,
            "high": high,
            "budget": oracle.remaining,
            "seed": seed % 2**32,
            "report_every": max(1, oracle.remaining // REPORTS),
        }
        server = _server(self.environment)
        try:
            outcome = self._converse(oracle, server, task)
        except BaseException:
            server.close()
            raise
        _idle.setdefault(self.environment, []).append(server)
        return outcome

    def _converse(self, oracle: Oracle, server: Server, task: dict[str, Any]) -> Outcome:
        answer = server.answer(task)
        while "x" in answer:  # one point, or a batch as rows
            if "recommended" in answer:
                oracle.report(inside(oracle, answer["recommended"]))
            value = oracle(inside(oracle, answer["x"]))
            answer = server.answer({"y": np.asarray(value).tolist()})
        return Outcome(inside(oracle, answer["recommended"]))
