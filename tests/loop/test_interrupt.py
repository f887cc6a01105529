"""Ctrl-C at any moment from the first import of the command line on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import noisewise
from noisewise.loop import interrupt

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX signals"),
    pytest.mark.untraced,  # a signal can leave coverage waiting for its own lock
]
TUNE = ["tune", "--param", "x=0..1", "--budget", "12", "--method", "cma-es", "--", "sleep", "{x}"]
#: Sends the signal when a module is about to be imported.
HOOK = """
import os, signal, sys

class Interrupter:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ.get("INTERRUPT_AT"):
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupter())
"""


def environment(tmp_path: Path, at: str = "") -> dict[str, str]:
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(HOOK))
    source = Path(noisewise.__file__).parents[1]
    return os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{source}", "INTERRUPT_AT": at}


def script(tmp_path: Path) -> list[str]:
    """As it is installed."""
    path = tmp_path / "noisewise"
    path.write_text("import sys\nfrom noisewise.command.main import main\nsys.exit(main())\n")
    return [sys.executable, str(path)]


@pytest.mark.parametrize(
    "at",
    [
        "numpy",
        "numpy.linalg",
        "noisewise.methods",
        "noisewise.loop.minimize",
        "noisewise.command.main",
        "argparse",
    ],
)
def test_while_modules_are_imported(at: str, tmp_path: Path) -> None:
    for command in ([sys.executable, "-m", "noisewise"], script(tmp_path)):
        done = subprocess.run(
            [*command, *TUNE],
            env=environment(tmp_path, at),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert (done.returncode, done.stderr) == (130, "noisewise: interrupted\n")
    assert not (tmp_path / "run.nw").exists()


def test_after_any_pause(tmp_path: Path) -> None:
    """From the first import to evaluations that are under way."""
    env = environment(tmp_path) | {"PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-v", "-m", "noisewise", *TUNE]  # -v says what is imported
    for pause in (0.0, 0.1, 0.3, 0.6, 1.0, 1.5):
        with subprocess.Popen(command, env=env, cwd=tmp_path, stderr=subprocess.PIPE) as process:
            assert process.stderr is not None
            while b"import 'noisewise.loop.interrupt'" not in process.stderr.readline():
                assert process.poll() is None
            timer = time.monotonic() + pause
            os.set_blocking(process.stderr.fileno(), False)
            said = b""
            while time.monotonic() < timer:
                said += process.stderr.read() or b""
                time.sleep(0.01)
            process.send_signal(signal.SIGINT)
            os.set_blocking(process.stderr.fileno(), True)
            said += process.stderr.read()
            assert process.wait(timeout=60) == 130
        assert b"Traceback" not in said
        assert b"noisewise: interrupted" in said


def test_programs_that_import_the_library_are_left_alone(tmp_path: Path) -> None:
    code = (
        "import signal\nbefore = signal.getsignal(signal.SIGINT)\nimport noisewise\n"
        "assert signal.getsignal(signal.SIGINT) is before is signal.default_int_handler\n"
    )
    (tmp_path / "noisewise_user.py").write_text(code)
    env = environment(tmp_path)
    for command in (["-c", code], [str(tmp_path / "noisewise_user.py")], ["-m", "noisewise_user"]):
        subprocess.run([sys.executable, *command], env=env, check=True, timeout=60)
    interrupt.guard()
    interrupt.release()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As under nohup, or in the background of a script."""
    command = f"trap '' INT; {sys.executable} -m noisewise methods"
    env = environment(tmp_path, "numpy")
    done = subprocess.run(["sh", "-c", command], env=env, capture_output=True, timeout=60)
    assert done.returncode == 0
    assert b"cma-es" in done.stdout
