"""What computed a row: version, fingerprint of the source, environment."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
from functools import lru_cache
from pathlib import Path
from typing import Any

import noisewise
import noisewise_bench

PACKAGES = (
    *("numpy", "scipy", "cma", "cmaes", "optuna", "scikit-learn", "gymnasium"),
    *("pybads", "Py-BOBYQA"),
)


@lru_cache(maxsize=1)
def provenance() -> dict[str, Any]:
    """The columns ``version``, ``code`` and ``environment`` of every row computed here."""
    environment = {"python": platform.python_version(), "machine": platform.machine()}
    for package in PACKAGES:
        try:
            environment[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return {
        "version": noisewise.__version__,
        "code": _fingerprint(),
        "environment": json.dumps(environment),
    }


def _fingerprint() -> str:
    """Twelve digits that change when the source that computes rows changes."""
    library = Path(str(noisewise.__file__)).parent
    bench = Path(str(noisewise_bench.__file__)).parent
    folders = [library, bench / "problems", bench / "peers"]
    sources = [(f.parent, path) for f in folders for path in f.rglob("*.py")]
    files = ("as_run.py", "methods.py", "problem.py", "record.py", "task.py")
    sources += [(bench.parent, bench / name) for name in files if (bench / name).exists()]
    named = sorted((path.relative_to(root).as_posix(), path) for root, path in sources)
    digest = hashlib.sha256()
    for name, path in named:
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]
