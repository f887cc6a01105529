"""A checkpoint's path: resolved once, links followed, regular files only, nothing left behind."""

from __future__ import annotations

import multiprocessing as mp
import os
import signal
import socket
import stat
import sys
from pathlib import Path
from typing import Any

import pytest

import noisewise as nw
import support
from noisewise.loop.checkpoint import Journal
from noisewise.methods import CMAES

posix = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX files")
_GOOD: dict[str, Any] = {
    "x0": [2.0, 2.0],
    "sigma0": 1.0,
    "budget": 60,
    "rng": 0,
    "method": CMAES(population=6),
}


def test_a_relative_path_does_not_follow_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The objective may change it in the middle of a run."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setattr("noisewise.loop.checkpoint._FRESHEN", 0.0)  # renewed after every generation

    def wandering(x: Any) -> float:
        os.chdir(there)
        return support.bumpy(x)

    r = nw.minimize(wandering, **_GOOD, checkpoint="run")
    assert [p.name for p in here.iterdir()] == ["run"]
    assert list(there.iterdir()) == []
    assert nw.Optimizer.load(here / "run").spent == 60
    monkeypatch.chdir(here)
    assert support.same_result(nw.minimize(support.bumpy, **_GOOD, checkpoint="run"), r)


@posix
def test_a_link_is_followed(tmp_path: Path) -> None:
    """What it points to is replaced, not the link."""
    store = tmp_path / "store"
    store.mkdir()
    link = tmp_path / "run"
    link.symlink_to(store / "real")
    nw.minimize(support.bumpy, **_GOOD, checkpoint=link)
    assert link.is_symlink()
    assert [p.name for p in store.iterdir()] == ["real"]
    assert [p.name for p in tmp_path.iterdir() if p != store] == ["run"]
    assert nw.Optimizer.load(store / "real").spent == 60
    opt = support.start(CMAES(), d=2)
    opt.save(link)
    assert link.is_symlink()
    assert nw.Optimizer.load(store / "real").spent == 0


@posix
def test_two_names_of_one_file_have_one_lock(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "run")
    (tmp_path / "folder").symlink_to(tmp_path)
    first = Journal(tmp_path / "run")
    first.lock()
    try:
        for other in (tmp_path / "link", tmp_path / "folder" / "run"):
            with pytest.raises(nw.CheckpointError, match="it is in use by another process"):
                nw.minimize(support.bumpy, **_GOOD, checkpoint=other)
    finally:
        first.close()


@posix
def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "run"
    loop.symlink_to(loop)
    refused(loop, "symbolic links")
    assert loop.is_symlink()


def refused(path: Path, why: str) -> None:
    with pytest.raises(nw.CheckpointError, match=f"cannot be used: .*{why}"):
        nw.minimize(support.bumpy, **_GOOD, checkpoint=path)
    with pytest.raises(nw.CheckpointError, match=f"cannot be used: .*{why}"):
        nw.Optimizer.load(path)
    with pytest.raises(nw.CheckpointError, match=f"cannot be used: .*{why}"):
        support.start(CMAES(), d=2).save(path)


@posix
@pytest.mark.timeout(60)
def test_what_is_no_regular_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading a fifo would wait for a writer; renaming would replace a device."""
    os.mkfifo(tmp_path / "fifo")
    refused(tmp_path / "fifo", "not a regular file")
    assert stat.S_ISFIFO((tmp_path / "fifo").stat().st_mode)
    with socket.socket(socket.AF_UNIX) as ear:
        monkeypatch.chdir(tmp_path)  # a socket's path must be short
        ear.bind("ear")
        refused(tmp_path / "ear", "not a regular file")
    (tmp_path / "null").symlink_to("/dev/null")
    refused(tmp_path / "null", "not a regular file")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@posix
@pytest.mark.timeout(60)
def test_a_lock_that_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.lock")
    with pytest.raises(nw.CheckpointError, match=r"run\.lock is not a regular file"):
        nw.minimize(support.bumpy, **_GOOD, checkpoint=tmp_path / "run")


def test_a_path_with_nul_is_refused() -> None:
    refused(Path("a\0b"), "NUL")


@posix
def test_kills_within_a_rename_leave_nothing_for_good(tmp_path: Path) -> None:
    """A half-written file that belongs to nobody goes with the next run or save."""
    path = tmp_path / "run"

    def die(*args: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def work() -> None:
        os.replace = die
        nw.minimize(support.bumpy, **_GOOD, checkpoint=path)

    def killed() -> None:
        process = mp.get_context("fork").Process(target=work)
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL

    killed()
    assert [p.suffix for p in tmp_path.iterdir() if p.suffix == ".part"] == [".part"]
    nw.minimize(support.bumpy, **_GOOD, checkpoint=path)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
    path.unlink()
    killed()
    (tmp_path / "run.lock").unlink()
    support.start(CMAES(), d=2).save(path)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@posix
def test_a_half_written_file_of_a_living_process_stays(tmp_path: Path) -> None:
    from noisewise.loop import files

    with files._part(tmp_path / "run") as (name, _):
        files.clean(tmp_path / "run")
        assert Path(name).exists()
        (tmp_path / ".other.0123abcd.part").touch()  # that of another checkpoint
        files.clean(tmp_path / "run")
    Path(name).unlink()
    assert [p.name for p in tmp_path.iterdir()] == [".other.0123abcd.part"]


@posix
def test_a_renewed_file_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "run"
    opt = support.start(CMAES(), d=2)
    opt.save(path)
    path.chmod(0o640)
    opt.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
