"""Every artifact by name, found by looking at the modules of this package."""

from __future__ import annotations

import importlib
import pkgutil

from noisewise_bench.experiments import paper
from noisewise_bench.experiments.paper._artifact import Artifact


def artifacts() -> dict[str, Artifact]:
    """Name -> artifact, in alphabetical order of the modules."""
    found = {}
    for module in pkgutil.iter_modules(paper.__path__):
        if not module.name.startswith("_"):
            artifact = importlib.import_module(f"{paper.__name__}.{module.name}").ARTIFACT
            found[artifact.name] = artifact
    return found
