"""Imports point inward, and each room keeps to what it may touch."""

from __future__ import annotations

import ast
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
BASE = {"_types", "_check", "_data", "_files", "_functions", "_threads", "_values", "errors"}
ROOMS = {"core", "noise", "models", "methods"}
INNER = BASE | ROOMS | {"population", "budget", "history", "race", "reserve", "outlook", "result"}
INNER |= {"problem", "seeds"}
#: What the modules of a room may import, besides each other. Rooms not listed are outermost.
MAY_IMPORT: dict[str, set[str]] = {
    "_types": set(),
    "_check": {"_types"},
    "_data": set(),
    "_files": set(),
    "_functions": set(),
    "errors": set(),
    "_values": {"_check", "_types", "errors"},
    "core": {"_types", "_check", "_data"},
    "history": BASE,
    "budget": BASE,
    "trial": BASE,
    "race": BASE | {"noise"},
    "reserve": BASE,
    "outlook": BASE | {"race", "reserve", "noise"},
    "result": BASE | {"outlook"},
    "noise": BASE | {"history"},
    "models": BASE,
    "bounds": BASE,
    "_parameter": BASE,
    "_ranges": BASE | {"_parameter"},
    "_choice": BASE | {"_parameter"},
    "parameters": BASE | {"_parameter", "_ranges", "_choice"},
    "space": BASE | {"parameters"},
    "problem": BASE | {"core", "bounds"},
    "earlier": BASE | {"core", "methods", "space"},
    "population": BASE | {"noise"},
    "methods": BASE | {"core", "noise", "models", "population"},
    "seeds": BASE,
    "run": INNER,
    "seeding": INNER | {"run"},
    "constrained": INNER | {"run"},
    "final": INNER | {"run", "constrained"},
    "search": INNER | {"run", "final", "constrained", "seeding", "trial"},
    "rehearsal": INNER | {"run", "search"},
    "checkpoint": BASE,
    "executors": BASE | {"trial"},
    "optimizer": INNER
    | {
        "search",
        "final",
        "constrained",
        "rehearsal",
        "run",
        "trial",
        "checkpoint",
        "space",
        "earlier",
    },
    "probe": INNER | {"executors", "trial", "space"},
}
#: Edges that the table forbids, and why they are there.
EXCEPTIONS = {
    ("result", "report.card"): "a result shows itself in notebooks, and only when asked to",
    ("result", "report.plot"): "a result draws itself, and only when asked to",
}
MAY_PRINT = ("cli", "report", "checkpoint")


def room(module: str) -> str:
    return module.split(".")[0]


def imports(module: str, everywhere: bool = True) -> Iterator[str]:
    """Full names of what a module imports, "noisewise." left out; not what only mypy sees."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    nodes = list(_run(tree)) if everywhere else tree.body
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}".removeprefix("noisewise.")
                yield f"noisewise.{inner}" if inner in MODULES else str(node.module)


def _run(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes except the bodies of ``if TYPE_CHECKING``."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from _run(node)


def own(module: str) -> set[str]:
    """Modules of the library that a module imports."""
    found = {name.removeprefix("noisewise.") for name in imports(module) if "noisewise." in name}
    return {name for name in found if name in MODULES} - {module}


@pytest.mark.parametrize("module", list(MODULES))
def test_imports_point_inward(module: str) -> None:
    if room(module) not in MAY_IMPORT:
        return
    allowed = MAY_IMPORT[room(module)] | {room(module)}
    wrong = {
        name
        for name in own(module)
        if room(name) not in allowed and (module, name) not in EXCEPTIONS
    }
    assert not wrong, f"{module} must not import {sorted(wrong)}"


def test_every_exception_is_needed() -> None:
    assert all(target in own(module) for module, target in EXCEPTIONS)


def test_no_circles() -> None:
    done: set[str] = set()

    def visit(module: str, trail: tuple[str, ...]) -> None:
        assert module not in trail, " -> ".join((*trail, module))
        if module not in done:
            for name in own(module):
                visit(name, (*trail, module))
            done.add(module)

    for module in MODULES:
        visit(module, ())
    assert done >= set(MODULES)


@pytest.mark.parametrize("module", list(MODULES))
def test_only_numpy_and_scipy_are_needed(module: str) -> None:
    """At the top of a file; what an extra brings is imported where it is used."""
    known = set(sys.stdlib_module_names) | {"numpy", "scipy", "noisewise", "__future__"}
    foreign = {name.split(".")[0] for name in imports(module, everywhere=False)} - known
    assert not foreign
    bench = [name for name in imports(module) if name.startswith("noisewise_bench")]
    assert not bench or module == "cli"


@pytest.mark.parametrize("module", list(MODULES))
def test_printing_only_where_it_belongs(module: str) -> None:
    if room(module) in MAY_PRINT:
        return
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            assert node.func.id not in ("print", "open", "input"), f"line {node.lineno}"
        if isinstance(node, ast.Attribute):
            assert ast.unparse(node) not in ("sys.stdout", "sys.stderr"), f"line {node.lineno}"


def test_the_core_never_hears_of_values() -> None:
    """Weights are all it sees."""
    for module in MODULES:
        if room(module) == "core":
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
