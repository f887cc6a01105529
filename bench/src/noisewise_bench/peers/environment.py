"""Environments of their own for peers that may not install next to this project.

``python -m noisewise_bench.peers.environment nevergrad`` makes one (a virtual environment and
one ``pip install``) in the user's cache directory, or under ``NOISEWISE_PEERS`` if that
variable is set. It never touches the environment this project runs in. Earlier versions of
noisewise are peers, too; they are taken from the history of the repository.
"""

from __future__ import annotations

import argparse
import importlib.util
import io
import os
import subprocess
import sys
import tarfile
import tempfile
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
#: Earlier versions of noisewise, by the commit that closed them.
VERSIONS: Final[dict[str, str]] = {"noisewise-0.2": "0328d347d83b1803f9fb1f7e15d6b63ae504e1a5"}


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
    if peer not in VERSIONS and importlib.util.find_spec(peer) is not None:
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
        with tempfile.TemporaryDirectory() as source:
            wanted = REQUIREMENTS.get(peer) or (_unpacked(VERSIONS[peer], source),)
            venv.create(folder, with_pip=True, clear=True)
            command = [str(python), "-m", "pip", "install", "--quiet", *wanted]
            subprocess.run(command, check=True)
        ready.touch()
    return python


def _unpacked(commit: str, folder: str, here: Path = Path(__file__).parent) -> str:
    """``folder`` with the files of the repository of ``here`` as they were at ``commit``."""
    top = _git(here, "rev-parse", "--show-toplevel")
    root = Path(top.stdout.decode().strip()) if top.returncode == 0 else here
    found = _git(root, "archive", commit)
    if found.returncode:
        raise SystemExit(
            f"an earlier version is built from the history of the repository: commit {commit} was "
            f"not found in {root}. It takes a whole clone; git fetch --unshallow completes one"
        )
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
        archive.extractall(folder)  # our own commit
    return folder


def _git(folder: Path, *command: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["git", "-C", str(folder), *command], capture_output=True, check=False)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make the environment of a peer.")
    parser.add_argument("peer", choices=sorted([*REQUIREMENTS, *VERSIONS]))
    print(create(parser.parse_args(arguments).peer))


if __name__ == "__main__":
    main()
