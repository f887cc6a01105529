"""A PostgreSQL server of our own, in a temporary folder."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

#: A user who has to give a password; the others need none.
GUARDED = "guarded"


def initdb() -> str | None:
    """The program that makes a database, where PostgreSQL is installed."""
    bins = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return str(bins[-1]) if bins else shutil.which("initdb")


@dataclass(frozen=True)
class Server:
    """A server that runs: its programs, its folder with a socket, the user that it runs as, and
    the addresses at which it listens besides."""

    bins: Path
    folder: Path
    user: str
    addresses: str = ""
    port: int = 5432

    def url(self, user: str = "noisewise", password: str = "") -> str:
        """Its database, through the socket."""
        login = f"{user}:{password}" if password else user
        return f"postgresql://{login}@/postgres?host={self.folder}&port={self.port}"

    def begin(self) -> None:
        """Start it; also after `end`."""
        options = (
            f"-c listen_addresses='{self.addresses}' -c unix_socket_directories='{self.folder}' "
            f"-c port={self.port} -c fsync=off -c max_connections=300"
        )
        log = str(self.folder / "log")
        self.run(
            "pg_ctl", "-D", str(self.data), "-l", log, "-w", "-t", "600", "-o", options, "start"
        )

    def end(self) -> None:
        """Stop it at once, as a power cut would."""
        self.run("pg_ctl", "-D", str(self.data), "-m", "immediate", "stop")

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def run(self, program: str, *words: str) -> None:
        as_user = {"user": self.user} if os.geteuid() == 0 else {}
        given = [str(self.bins / program), *words]
        done = subprocess.run(given, capture_output=True, text=True, cwd=self.folder, **as_user)  # type: ignore[call-overload]
        if done.returncode:
            raise RuntimeError(f"{given}: {done.stdout} {done.stderr}")


@contextmanager
def server(addresses: str = "", port: int = 5432) -> Iterator[Server]:
    """A server that is removed in the end. Without ``addresses`` it has a socket in its folder and
    no port: nothing to collide with."""
    program = initdb()
    if program is None:
        raise RuntimeError("PostgreSQL is not installed: there is no initdb")
    folder = Path(tempfile.mkdtemp(prefix="noisewise-postgres-", dir="/tmp"))
    found = Server(Path(program).parent, folder, _unprivileged(folder), addresses, port)
    try:
        found.run(
            "initdb", "-D", str(found.data), "-U", "noisewise", "-A", "trust", "--no-sync"
        )  # fmt: skip
        access = found.data / "pg_hba.conf"
        rules = f"local all {GUARDED} scram-sha-256\nhost all all 10.0.0.0/8 trust\n"
        access.write_text(rules + access.read_text())
        found.begin()
        try:
            yield found
        finally:
            found.end()
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
