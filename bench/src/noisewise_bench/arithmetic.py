"""The same arithmetic on every x86-64 processor with AVX2.

numpy and OpenBLAS choose among instructions when they are loaded, and results differ in their
last digits. Runs amplify that, so a digest of the points that a method asks for, or a row computed
again, would depend on the processor. The bench leaves out what newer processors add.
"""

from __future__ import annotations

import os
import platform
import sys
from typing import Final

#: Read by numpy and OpenBLAS when they are loaded. Names that a version of numpy does not know
#: are ignored by it.
SETTINGS: Final = {
    "NPY_DISABLE_CPU_FEATURES": (
        "X86_V4 AVX512F AVX512CD AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
    ),
    "OPENBLAS_CORETYPE": "Haswell",
}


def fix() -> None:
    """For this process and those it starts; without effect where numpy is loaded already, on
    other processors, and on variables that are set."""
    if "numpy" not in sys.modules and platform.machine() in ("x86_64", "AMD64"):
        for name, value in SETTINGS.items():
            os.environ.setdefault(name, value)


def fixed() -> bool:
    """Whether digests computed here can be compared with those in the repository."""
    return all(os.environ.get(name) == value for name, value in SETTINGS.items())
