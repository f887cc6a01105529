"""The bench computes with the same instructions on every x86-64 processor."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from noisewise_bench import arithmetic

_LOADED = """
import noisewise_bench
import numpy._core._multiarray_umath as core
import os
newer = [name for name in core.__cpu_dispatch__ if name == "X86_V4" or "AVX512" in name]
print(os.environ.get("OPENBLAS_CORETYPE"), any(core.__cpu_features__[name] for name in newer))
"""


def _child(script: str, **more: str) -> str:
    environment = {k: v for k, v in os.environ.items() if k not in arithmetic.SETTINGS}
    command = [sys.executable, "-W", "ignore", "-c", script]
    done = subprocess.run(
        command, env=environment | more, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.skipif(not arithmetic.fixed(), reason="this processor has other instructions")
def test_importing_the_bench_first_fixes_it() -> None:
    assert _child(_LOADED) == "Haswell False"


def test_a_variable_of_the_user_stays() -> None:
    assert _child(_LOADED, OPENBLAS_CORETYPE="Prescott").startswith("Prescott ")


def test_it_says_when_it_came_too_late() -> None:
    late = "import numpy, noisewise_bench.arithmetic as a; print(a.fixed())"
    assert _child(late) == "False"
