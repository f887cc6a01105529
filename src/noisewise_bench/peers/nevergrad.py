"""nevergrad in a process of its own, so that its dependencies need not agree with ours.

Only numbers cross the boundary, as lines of JSON (see `_nevergrad_server`): the objective
stays here, in the oracle. The recommendation is nevergrad's own.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np

from ..problem import Oracle
from ._common import Outcome, inside

SERVER: Final = Path(__file__).with_name("_nevergrad_server.py")
#: Intermediate recommendations asked for in one run.
REPORTS: Final = 50


@dataclass(frozen=True)
class Nevergrad:
    """One optimizer of nevergrad's registry."""

    optimizer: Literal["TBPSA", "OptimisticNoisyOnePlusOne", "NGOpt"]

    def __call__(self, oracle: Oracle, budget: int, seed: int) -> Outcome:
        # imported here, because `python -m` must be the first to import that module
        from .environment import python_of

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
        # -I keeps this folder, whose files are named like the libraries, off the import path.
        command = [str(python_of("nevergrad")), "-I", "-W", "ignore", str(SERVER)]
        with (
            tempfile.TemporaryFile("w+") as log,
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
            ) as process,
        ):
            try:
                return self._converse(oracle, process, task)
            except (BrokenPipeError, EOFError) as error:
                log.seek(0)
                raise RuntimeError(
                    f"the process of nevergrad's {self.optimizer} ended early: {log.read()[-2000:]}"
                ) from error
            finally:
                process.kill()

    def _converse(self, oracle: Oracle, process: subprocess.Popen[str], task: Any) -> Outcome:
        assert process.stdin is not None
        assert process.stdout is not None
        message = task
        while True:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
            if not line:
                raise EOFError
            answer = json.loads(line)
            if "recommended" in answer:
                recommended = inside(oracle, answer["recommended"])
                oracle.report(recommended)
            if "x" not in answer:
                return Outcome(recommended)
            message = {"y": oracle(inside(oracle, answer["x"]))}
