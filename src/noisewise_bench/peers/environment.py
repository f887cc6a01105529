"""Environments of their own for peers that may not install next to this project.

``python -m noisewise_bench.peers.environment nevergrad`` makes one (a virtual environment and
one ``pip install``) in the user's cache directory, or under ``NOISEWISE_PEERS`` if that
variable is set. It never touches the environment this project runs in.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
import venv
from pathlib import Path
from typing import Final

#: What each environment holds.
REQUIREMENTS: Final[dict[str, tuple[str, ...]]] = {
    "nevergrad": ("nevergrad>=1.0.4",),
    # torch is pinned, because a range would take the newest build with its GPU packages
    "botorch": ("torch==2.13.0", "botorch>=0.12", "optuna>=4.0,<6"),
    "smac": ("smac>=2.0",),
}


def directory(peer: str) -> Path:
    """Where the peer's environment is, or would be."""
    chosen = os.environ.get("NOISEWISE_PEERS")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    root = Path(chosen) if chosen else cache / "noisewise" / "peers"
    return root / f"{peer}-py{sys.version_info.major}.{sys.version_info.minor}"


def _python_in(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def python_of(peer: str) -> Path:
    """The interpreter that has the peer: its own environment's, else this one if it has it."""
    own = _python_in(directory(peer))
    if (directory(peer) / "ready").exists() and own.exists():
        return own
    if importlib.util.find_spec(peer) is not None:
        return Path(sys.executable)
    raise ImportError(
        f"{peer} is not installed; make an environment for it with "
        f"python -m noisewise_bench.peers.environment {peer}"
    )


def create(peer: str) -> Path:
    """Make the peer's environment unless it is there; its interpreter."""
    folder = directory(peer)
    python = _python_in(folder)
    ready = folder / "ready"
    if not ready.exists():
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS[peer]]
        subprocess.run(command, check=True)
        ready.touch()
    return python


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make the environment of a peer.")
    parser.add_argument("peer", choices=sorted(REQUIREMENTS))
    print(create(parser.parse_args(arguments).peer))


if __name__ == "__main__":
    main()
