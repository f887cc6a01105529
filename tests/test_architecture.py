"""Imports point inward, and each room keeps to what it may touch."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import noisewise
from noisewise import _data

ROOT = Path(noisewise.__file__).parent
MODULES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted(ROOT.rglob("*.py"))
}
#: The rooms from the inside to the outside, those of a line beside each other. Each may import what
#: stands above it and itself. Files of the root that are not listed are for users: outermost.
ORDER = [
    {"_types", "_check", "_data", "_threads", "errors"},
    {"problem"},
    {"measured"},
    {"methods.method"},
    {"cma", "gp", "select"},
    {"methods"},
    {"run"},
    {"answer"},
    {"executors", "storage"},
    {"loop"},
    {"report", "auditing", "command", "integrations", "policy"},
]
#: The one path to the objective knows nothing of what happens to its values.
EXECUTORS_MAY = ORDER[0] | {"problem"}
MAY_PRINT = ("command", "report", "loop.checkpoint", "loop.files")


def room(module: str) -> str:
    return module if module == "methods.method" else module.split(".")[0]


def level(module: str) -> int:
    """Place of a module's room in the order; facades for users come last."""
    found = [i for i, rooms in enumerate(ORDER) if room(module) in rooms]
    return found[0] if found else len(ORDER)


def imports(module: str, everywhere: bool = True) -> Iterator[str]:
    """Full names of what a module imports, "noisewise." left out: at its top or ``everywhere``,
    which is inside of functions and for type checkers, too."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    nodes = ast.walk(tree) if everywhere else tree.body
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}".removeprefix("noisewise.")
                yield f"noisewise.{inner}" if inner in MODULES else str(node.module)


def own(module: str) -> set[str]:
    """Modules of the library that a module imports."""
    found = {name.removeprefix("noisewise.") for name in imports(module) if "noisewise." in name}
    return {name for name in found if name in MODULES} - {module}


@pytest.mark.parametrize("module", sorted(set(MODULES) - {"__init__", "__main__"}))
def test_imports_point_inward(module: str) -> None:
    for name in own(module):
        if room(name) == room(module):
            continue
        inward = level(name) < level(module) or level(name) == 0
        if room(module) == "executors":
            inward = room(name) in EXECUTORS_MAY
        elif level(module) >= len(ORDER) - 1:  # surfaces and facades may know each other
            inward = True
        assert inward, f"{module} must not import {name}"


def test_every_room_has_its_place() -> None:
    folders = {path.name for path in ROOT.iterdir() if (path / "__init__.py").exists()}
    placed = set().union(*ORDER)
    assert folders <= placed
    files = [path.name for path in ROOT.glob("*.py")]
    assert len(files) <= 10, files


def circles(graph: dict[str, set[str]]) -> list[tuple[str, ...]]:
    """Ways from a module back to itself."""
    done: set[str] = set()
    found = []

    def visit(module: str, trail: tuple[str, ...]) -> None:
        if module in trail:
            found.append((*trail[trail.index(module) :], module))
        elif module not in done:
            for name in sorted(graph.get(module, ())):
                visit(name, (*trail, module))
            done.add(module)

    for module in graph:
        visit(module, ())
    return found


def test_no_circles() -> None:
    graph = {module: own(module) for module in MODULES if module not in ("__init__", "__main__")}
    assert circles(graph) == []
    graph["problem.box"] = graph["problem.box"] | {"run.search"}
    assert circles(graph) != []  # the test would notice


def test_no_file_is_long() -> None:
    lengths = {m: len(path.read_text(encoding="utf-8").splitlines()) for m, path in MODULES.items()}
    assert {m: n for m, n in lengths.items() if n > 350} == {}


@pytest.mark.parametrize("module", list(MODULES))
def test_only_numpy_and_scipy_are_needed(module: str) -> None:
    """At the top of a file; what an extra brings is imported where it is used."""
    known = set(sys.stdlib_module_names) | {"numpy", "scipy", "noisewise", "__future__"}
    foreign = {name.split(".")[0] for name in imports(module, everywhere=False)} - known
    assert not foreign
    bench = [name for name in imports(module) if name.startswith("noisewise_bench")]
    assert not bench or module == "command.main"


@pytest.mark.parametrize("module", list(MODULES))
def test_printing_only_where_it_belongs(module: str) -> None:
    if room(module) in MAY_PRINT or module in MAY_PRINT:
        return
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("print", "open", "input"), f"line {node.lineno}"
        if isinstance(node, ast.Attribute):
            assert ast.unparse(node) not in ("sys.stdout", "sys.stderr"), f"line {node.lineno}"


#: Files of the same loop, which drive the search of an optimizer themselves.
LOOP = {"loop.optimizer", "loop.minimize", "loop.outcomes", "loop.resume", "loop.replica"}


@pytest.mark.parametrize("module", sorted(set(MODULES) - LOOP))
def test_nothing_reaches_into_an_optimizer(module: str) -> None:
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in ("_search", "_run", "_about"):
            assert ast.unparse(node.value) == "self", f"line {node.lineno}"


#: Where values become weights.
VALUES = {"cma.evolution", "cma.warm", "cma.weights"}


def test_the_core_never_hears_of_values() -> None:
    """Weights are all it sees."""
    for module in MODULES:
        if module.startswith("cma.") and module not in VALUES:
            text = MODULES[module].read_text(encoding="utf-8")
            assert "samples" not in text.lower(), module
            assert "budget" not in text.replace("of the budget", ""), module


def test_classes_are_abstract_or_final() -> None:
    """No class inherits from one that can be used itself; records of data may be extended."""
    import importlib
    import inspect

    for module in MODULES:
        if module in ("__main__",):
            continue
        found = importlib.import_module(f"noisewise.{module}" if module else "noisewise")
        for name, cls in inspect.getmembers(found, inspect.isclass):
            if cls.__module__ != found.__name__:
                continue
            for base in cls.__mro__[1:]:
                ours = base.__module__.startswith("noisewise.")
                ours = ours and base not in _data._CLASSES.values()
                assert not ours or inspect.isabstract(base), f"{name} inherits from {base}"


def test_importing_the_library_imports_no_extra() -> None:
    code = (
        "import sys, noisewise; "
        "print([m for m in ('matplotlib', 'cma', 'cmaes', 'optuna', 'dask', 'ray', 'sklearn', "
        "'cocoex', 'gymnasium', 'noisewise_bench') if m in sys.modules])"
    )
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert out.strip() == "[]"


def test_what_takes_long_to_import_waits_until_it_is_used() -> None:
    """Twice the time of numpy itself is soon spent: scipy.special alone takes that long."""
    code = "import sys, noisewise; print(*sys.modules)"
    plain = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=plain, capture_output=True, text=True, check=True
    )
    slow = {"scipy", "scipy.special", "scipy.linalg", "multiprocessing.connection"}
    slow |= {"concurrent.futures", "logging", "sqlite3", "matplotlib", "optuna"}
    assert not slow & set(ran.stdout.split())
