"""A PostgreSQL server of our own, in a temporary folder, for the tests of this folder."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import optuna
import pytest

REQUIRED = "NOISEWISE_REQUIRE_POSTGRES"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """URL of a database on a server that this fixture starts and stops."""
    bins = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = shutil.which("initdb") or (str(bins[-1]) if bins else None)
    if found is None:
        if os.environ.get(REQUIRED):
            pytest.fail(f"{REQUIRED} is set, but there is no initdb")
        pytest.skip("PostgreSQL is not installed: there is no initdb")
    folder = Path(tempfile.mkdtemp(prefix="noisewise-postgres-", dir="/tmp"))
    user = _unprivileged(folder)
    try:
        yield from _serve(Path(found).parent, folder, user)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged(folder: Path) -> str:
    """The user that runs the server, who owns the folder: root must not."""
    if os.geteuid() != 0:
        return getpass.getuser()
    name = next((n for n in ("postgres", "nobody") if _exists(n)), "nobody")
    shutil.chown(folder, name)
    return name


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _serve(bins: Path, folder: Path, user: str) -> Iterator[str]:
    def run(*words: str) -> None:
        as_user = {"user": user} if os.geteuid() == 0 else {}
        done = subprocess.run(words, capture_output=True, text=True, cwd=folder, **as_user)
        assert done.returncode == 0, f"{words}: {done.stdout} {done.stderr}"

    data, log = str(folder / "data"), str(folder / "log")
    run(str(bins / "initdb"), "-D", data, "-U", "noisewise", "-A", "trust", "--no-sync")
    # A socket in the folder and no port: nothing to collide with.
    options = f"-c listen_addresses='' -c unix_socket_directories='{folder}' -c fsync=off"
    run(str(bins / "pg_ctl"), "-D", data, "-l", log, "-w", "-t", "600", "-o", options, "start")
    try:
        yield f"postgresql+psycopg://noisewise@/postgres?host={folder}"
    finally:
        run(str(bins / "pg_ctl"), "-D", data, "-m", "immediate", "stop")
