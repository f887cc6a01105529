"""Peers in a process of their own, and what is said when a library is missing."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import venv
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from noisewise_bench import behaviour, peers
from noisewise_bench.peers import (
    _common,
    _model_server,
    _noisewise_server,
    environment,
    isolated,
    optuna,
)
from noisewise_bench.peers._nevergrad_server import serve
from noisewise_bench.problem import BudgetExceeded, Oracle

ROOT = Path(__file__).parents[3]


class Problem:
    x0 = np.array([1.0, 2.0])
    bounds = (np.array([-3.0, -3.0]), np.array([3.0, 3.0]))

    def noisy(self, X: Any, rng: np.random.Generator) -> Any:
        return np.sum(X, axis=1)

    def regret(self, X: Any) -> Any:
        return np.sum(X, axis=1)


class CountingOptimizer:
    """Asks for (1, 1), (2, 2), ... and recommends the point of the smallest value told."""

    def __init__(self) -> None:
        self.told: list[tuple[float, list[float]]] = []

    def ask(self) -> SimpleNamespace:
        return SimpleNamespace(value=np.full(2, float(len(self.told) + 1)))

    def tell(self, candidate: SimpleNamespace, value: float) -> None:
        self.told.append((value, candidate.value))

    def provide_recommendation(self) -> SimpleNamespace:
        return SimpleNamespace(value=min(self.told, key=lambda pair: pair[0])[1])


def test_server_speaks_lines_of_json() -> None:
    task = json.dumps({"budget": 3, "report_every": 2})
    lines = iter(
        [task, '{"y": 5}', '{"y": 1}', '{"y": 9}', '{"budget": 1, "report_every": 1}', '{"y": 0}']
    )
    out = io.StringIO()
    serve(lines, out, lambda task: CountingOptimizer())
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [
        {"x": [1.0, 1.0]},
        {"x": [2.0, 2.0]},
        {"x": [3.0, 3.0], "recommended": [2.0, 2.0]},
        {"recommended": [2.0, 2.0]},
        {"x": [1.0, 1.0]},
        {"recommended": [1.0, 1.0]},
    ]


def server(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(text)
    monkeypatch.setattr(isolated, "SCRIPTS", {"nevergrad": path})
    monkeypatch.setattr(isolated, "_idle", {})
    monkeypatch.setattr(environment, "python_of", lambda peer: Path(sys.executable))


def test_the_objective_stays_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    echo = (
        "import json, sys\n"
        "task = json.loads(sys.stdin.readline())\n"
        "assert set(task) >= {'x0', 'sigma0', 'low', 'high', 'budget', 'seed', 'optimizer'}\n"
        "print(json.dumps({'x': [9.0, -1.5]}), flush=True)\n"
        "y = json.loads(sys.stdin.readline())['y']\n"
        "print(json.dumps({'recommended': [y, 0.0]}), flush=True)\n"
    )
    server(tmp_path / "server.py", echo, monkeypatch)
    oracle = Oracle(Problem(), 1, np.random.default_rng(0))
    outcome = peers.get("nevergrad-tbpsa")(oracle, 1, 0)
    # 9 is outside the box and evaluated at its edge: 3 - 1.5
    assert outcome.x.tolist() == [1.5, 0.0]
    (idle,) = isolated._idle["nevergrad"]
    idle.close()


def test_a_server_of_the_process_forked_from_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server(tmp_path / "server.py", "", monkeypatch)
    theirs = isolated.Server("nevergrad", Path(sys.executable))
    theirs.owner += 1
    isolated._idle["nevergrad"] = [theirs]
    ours = isolated._server("nevergrad")
    assert ours is not theirs
    for one in (ours, theirs):
        one.close()


def test_a_run_that_fails_ends_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    greedy = "import sys\nfor line in sys.stdin: print('{\"x\": [0, 0]}', flush=True)\n"
    server(tmp_path / "server.py", greedy, monkeypatch)
    with pytest.raises(BudgetExceeded):
        peers.get("nevergrad-ngopt")(Oracle(Problem(), 2, np.random.default_rng(0)), 2, 0)
    assert isolated._idle == {}


def test_a_process_that_dies_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server(tmp_path / "server.py", "raise SystemExit('no such optimizer')", monkeypatch)
    oracle = Oracle(Problem(), 5, np.random.default_rng(0))
    with pytest.raises(RuntimeError, match="ended early: no such optimizer"):
        peers.get("nevergrad-tbpsa")(oracle, 5, 0)


def test_one_command_makes_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[list[str]] = []
    monkeypatch.setenv("NOISEWISE_PEERS", str(tmp_path))
    monkeypatch.setattr(venv, "create", lambda folder, **options: Path(folder).mkdir())
    monkeypatch.setattr(subprocess, "run", lambda command, check: commands.append(command))
    for _ in range(2):  # the second time it is there already
        environment.main(["nevergrad"])
    assert len(commands) == 1
    assert commands[0][1:4] == ["-m", "pip", "install"]
    assert commands[0][-1].startswith("nevergrad")
    assert capsys.readouterr().out.splitlines()[0].startswith(str(tmp_path))


def test_missing_environment_names_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOISEWISE_PEERS", str(tmp_path))
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"python -m noisewise_bench.peers.environment nevergrad"):
        environment.python_of("nevergrad")


def test_this_interpreter_serves_if_it_has_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOISEWISE_PEERS", str(tmp_path))
    assert environment.python_of("numpy") == Path(sys.executable)


def test_cache_directory_without_a_choice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOISEWISE_PEERS", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert environment.directory("nevergrad").parent == tmp_path / "noisewise" / "peers"


def test_gp_without_torch_names_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOISEWISE_PEERS", str(tmp_path))
    monkeypatch.setattr(isolated, "_idle", {})
    monkeypatch.setattr(optuna.importlib.util, "find_spec", lambda name: None)
    oracle = Oracle(Problem(), 5, np.random.default_rng(0))
    with pytest.raises(ImportError, match=r"noisewise_bench.peers.environment botorch"):
        peers.get("optuna-gp")(oracle, 5, 0)
    assert oracle.spent == 0


class Corners(_model_server.Model):
    """Asks for pairs of opposite corners and recommends the centre."""

    def __init__(self) -> None:
        self.told: list[float] = []

    def ask(self, n: int) -> Any:
        return np.array([[0.0, 0.0], [2.0, 1.0]])[:n]  # the second is outside the unit cube

    def tell(self, U: Any, y: Any) -> None:
        self.told += y.tolist()

    def recommend(self) -> Any:
        return np.full(2, 0.5)


def test_model_server_asks_for_batches_in_the_box() -> None:
    task = {"budget": 3, "x0": [1.0, 0.0], "sigma0": 1.0, "low": [-3.0, -1.0], "high": None}
    lines = iter([json.dumps(task), '{"y": [5, 6]}', '{"y": [1]}'])
    out, model = io.StringIO(), Corners()
    _model_server.serve(lines, out, lambda task: model)
    assert model.told == [5.0, 6.0, 1.0]
    assert [json.loads(line) for line in out.getvalue().splitlines()] == [
        {"x": [[-3.0, -1.0], [6.0, 5.0]]},  # without an upper side: five sigma0 above x0
        {"x": [[-3.0, -1.0]]},
        {"recommended": [1.5, 2.0]},
    ]


@pytest.mark.parametrize(("name", "module"), [("pybads", "pybads"), ("py-bobyqa", "pybobyqa")])
def test_missing_peer_names_the_extra(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    oracle = Oracle(Problem(), 5, np.random.default_rng(0))
    with pytest.raises(ImportError, match=rf"'{module}': pip install '\./bench\[peers\]'"):
        peers.get(name)(oracle, 5, 0)


@pytest.mark.parametrize("environment_name", ["botorch", "smac"])
def test_missing_environment_of_a_slow_peer_is_named(
    environment_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOISEWISE_PEERS", str(tmp_path))
    monkeypatch.setattr(isolated, "_idle", {})
    monkeypatch.setattr(environment.importlib.util, "find_spec", lambda name: None)
    oracle = Oracle(Problem(), 5, np.random.default_rng(0))
    with pytest.raises(ImportError, match=f"peers.environment {environment_name}"):
        peers.get(environment_name)(oracle, 5, 0)


def test_missing_library_names_the_extra() -> None:
    with pytest.raises(ImportError, match=r"'nowhere': pip install '\./bench\[all\]'"):
        _common.library("nowhere.at_all")


@pytest.mark.parametrize("optimizer", ["cma-es", "cma-es/3", "auto/auto"])
def test_an_earlier_version_answers_in_lines_of_json(optimizer: str) -> None:
    task = {"x0": [1.0, 1.0], "sigma0": 0.5, "low": None, "high": None, "seed": 1, "budget": 20}
    out = io.StringIO()

    def lines() -> Any:
        yield json.dumps(task | {"optimizer": optimizer})
        while "x" in (answer := json.loads(out.getvalue().splitlines()[-1])):
            yield json.dumps({"y": np.sum(np.square(answer["x"]), axis=1).tolist()})

    _noisewise_server.serve(lines(), out, _noisewise_server.optimizer_of)
    *batches, last = [json.loads(line) for line in out.getvalue().splitlines()]
    assert sum(len(batch["x"]) for batch in batches) == 20
    if optimizer == "cma-es/3":
        assert batches[-1]["x"] == [last["recommended"]] * 3


def test_earlier_versions_are_known_by_their_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOISEWISE_PEERS", str(tmp_path))
    with pytest.raises(ImportError, match=r"environment noisewise-0\.2"):
        environment.python_of("noisewise-0.2")
    assert behaviour.of_method("peer/noisewise-0.2") == environment.VERSIONS["noisewise-0.2"][:8]
    monkeypatch.setitem(environment.VERSIONS, "noisewise-0.2", "f" * 40)
    with pytest.raises(SystemExit, match="history of the repository"):
        environment.create("noisewise-0.2")


def test_an_earlier_version_comes_from_a_clone_and_answers(tmp_path: Path) -> None:
    clone, old = tmp_path / "clone", tmp_path / "old"
    subprocess.run(["git", "clone", "--quiet", "--shared", str(ROOT), str(clone)], check=True)
    commit = environment.VERSIONS["noisewise-0.2"]
    environment._unpacked(commit, str(old), clone / "src")
    assert 'version = "0.2.0"' in (old / "pyproject.toml").read_text()
    code = (
        "import runpy, sys\n"
        f"sys.path.insert(0, {str(old / 'src')!r})\n"
        "import noisewise\n"
        "assert noisewise.__version__ == '0.2.0'\n"
        f"runpy.run_path({str(isolated.SCRIPTS['noisewise-0.2'])!r}, run_name='__main__')\n"
    )
    task = {"x0": [1.0], "sigma0": 0.5, "low": None, "high": None, "seed": 1, "budget": 4}
    told = json.dumps({"y": [1.0] * 4})
    lines = json.dumps(task | {"optimizer": "cma-es"}) + f"\n{told}\n"
    found = subprocess.run(
        [sys.executable, "-c", code], input=lines, capture_output=True, text=True, check=True
    )
    batch, last = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(batch["x"]) == 4
    assert len(last["recommended"]) == 1


def test_a_clone_without_history_says_how_to_complete_it(tmp_path: Path) -> None:
    shallow = tmp_path / "shallow"
    url = ROOT.as_uri()
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", url, str(shallow)], check=True)
    with pytest.raises(SystemExit, match="git fetch --unshallow"):
        environment._unpacked(environment.VERSIONS["noisewise-0.2"], str(tmp_path), shallow)
