"""Statements of the library by room, docstrings not counted.

``python -m noisewise_bench.size`` prints a row for each room (``.``: files that are in none) and
the total; with ``--files`` a row for each file. Statements are those of Python's syntax tree: lines
that are joined or split, comments and docstrings change nothing.
"""

from __future__ import annotations

import argparse
import ast
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import noisewise


def statements(source: str) -> int:
    """Statements in a source text.

    >>> statements("def f(x):\\n    '''What it is.'''\\n    y = x + 1\\n    return y\\n")
    3
    """
    nodes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt)]
    return len(nodes) - sum(map(_is_text, nodes))


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is nothing but a text, as docstrings are."""
    value = node.value if isinstance(node, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="noisewise_bench.size", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path(noisewise.__file__).parent)
    parser.add_argument("--files", action="store_true", help="a row for each file")
    args = parser.parse_args(argv)
    found: Counter[str] = Counter()
    for path in args.folder.rglob("*.py"):
        inside = path.relative_to(args.folder)
        room = inside.parts[0] if len(inside.parts) > 1 else "."
        found[str(inside) if args.files else room] += statements(path.read_text(encoding="utf-8"))
    for name, n in found.most_common():
        print(f"{n:6}  {name}")
    print(f"{found.total():6}  in all")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
