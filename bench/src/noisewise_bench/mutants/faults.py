"""Which single-line faults can be planted in a file, found in its syntax tree.

A fault replaces one span of one line. Text is never changed: not in messages, annotations,
assertions, or under ``if TYPE_CHECKING``.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_TURNED: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", ">"),
    ast.Gt: (">", "<"),
    ast.LtE: ("<=", ">="),
    ast.GtE: (">=", "<="),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
}
#: Comparisons with whole numbers that are off by one.
_OFF_BY_ONE: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.Gt: (">", ">="),
    ast.LtE: ("<=", "<"),
    ast.GtE: (">=", ">"),
}
_OTHER_CALL = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "argmin": "argmax",
    "argmax": "argmin",
    "nanmin": "nanmax",
    "nanmax": "nanmin",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
}
_FACTORS = (0.5, 0.8, 1.2, 1.5, 2.0)
#: Smaller numbers only keep divisions and logarithms defined.
_GUARD = 1e-6
#: Whole numbers from here on are changed by a share, smaller ones by one.
_LARGE = 5

#: Kind, line, first and last byte of the span in it, and what takes its place.
_Edit = tuple[str, int, int, int, str]


@dataclass(frozen=True)
class Fault:
    """One changed line. ``key`` names it wherever its file lies."""

    #: Below the folder of the library.
    path: str
    function: str
    line: int
    kind: str
    before: str
    after: str
    #: Number of equal lines of the function above it.
    nth: int = 0

    @property
    def room(self) -> str:
        """The folder of its file; ``(top)`` for files in none."""
        folder = Path(self.path).parent.as_posix()
        return "(top)" if folder == "." else folder

    @property
    def key(self) -> str:
        parts = (Path(self.path).name, self.function, self.before, self.after, str(self.nth))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]

    def apply(self, text: str) -> str:
        """The text of the file with the fault in it."""
        lines = text.split("\n")
        old = lines[self.line - 1]
        if old.strip() != self.before:
            raise ValueError(f"line {self.line} of {self.path} is no longer {self.before!r}")
        lines[self.line - 1] = old[: len(old) - len(old.lstrip())] + self.after
        return "\n".join(lines)

    def __str__(self) -> str:
        return f"{self.path}:{self.line} ({self.kind})\n  - {self.before}\n  + {self.after}"


def library(root: Path) -> list[Fault]:
    """Every fault that can be planted in the files below ``root``."""
    return [
        fault
        for path in sorted(root.rglob("*.py"))
        for fault in in_file(path.read_text(encoding="utf-8"), path.relative_to(root))
    ]


def in_file(text: str, path: Path) -> Iterator[Fault]:
    """Every fault that can be planted in a file of this text."""
    finder = _Finder(text)
    finder.visit(ast.parse(text))
    lines = text.split("\n")
    equal: dict[tuple[str, str], list[int]] = {}
    for function, (kind, line, start, end, new) in finder.found:
        old = lines[line - 1].encode()
        changed = (old[:start] + new.encode() + old[end:]).decode()
        before = lines[line - 1].strip()
        above = equal.setdefault((function, before), [])
        if line not in above:
            above.append(line)
        yield Fault(
            path.as_posix(),
            function,
            line,
            kind,
            before,
            changed.strip(),
            above.index(line),
        )


class _Finder(ast.NodeVisitor):
    """Collects edits with the name of the function they are in."""

    def __init__(self, text: str) -> None:
        self._lines = [line.encode() for line in text.split("\n")]
        self._within: list[str] = []
        self.found: list[tuple[str, _Edit]] = []

    def _add(self, kind: str, line: int, start: int, end: int, new: str) -> None:
        self.found.append((".".join(self._within), (kind, line, start, end, new)))

    def _replace(self, kind: str, node: ast.expr | ast.stmt, new: str) -> None:
        if node.lineno == node.end_lineno:
            assert node.end_col_offset is not None
            self._add(kind, node.lineno, node.col_offset, node.end_col_offset, new)

    def _between(self, kind: str, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """Replace an operator, which stands between its operands."""
        if left.end_lineno != right.lineno:
            return
        assert left.end_col_offset is not None
        line = self._lines[right.lineno - 1]
        at = line.find(old.encode(), left.end_col_offset, right.col_offset)
        if at >= 0:
            self._add(kind, right.lineno, at, at + len(old), new)

    # -- what is left alone

    def visit_Assert(self, node: ast.Assert) -> None:
        """Assertions are for readers and the type checker."""

    def visit_Raise(self, node: ast.Raise) -> None:
        """Numbers in messages."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Text."""

    def visit_arg(self, node: ast.arg) -> None:
        """An annotation."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    # -- functions

    def _scope(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        self._within.append(node.name)
        for child in ([node.args] if isinstance(node, ast.FunctionDef) else []) + node.body:
            self.visit(child)
        self._within.pop()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._scope(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._scope(node)

    # -- faults

    def visit_Compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        for left, op, right in zip(operands, node.ops, node.comparators, strict=False):
            self._between("comparison", left, right, *_TURNED[type(op)])
            whole = _is_whole(left) or _is_whole(right)
            if whole and type(op) in _OFF_BY_ONE:
                self._between("off by one", left, right, *_OFF_BY_ONE[type(op)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        text = _is_text(node.left) or _is_text(node.right)
        if isinstance(node.op, ast.Add | ast.Sub) and not text:
            old, new = ("+", "-") if isinstance(node.op, ast.Add) else ("-", "+")
            self._between("sign", node.left, node.right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub | ast.Not) and node.lineno == node.operand.lineno:
            kind = "sign" if isinstance(node.op, ast.USub) else "comparison"
            self._add(kind, node.lineno, node.col_offset, node.operand.col_offset, "")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between("and, or", left, right, old, new)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        func = node.func
        name = func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")
        if name in _OTHER_CALL and func.end_lineno is not None:
            assert func.end_col_offset is not None
            start = func.end_col_offset - len(name)
            self._add("min, max", func.end_lineno, start, func.end_col_offset, _OTHER_CALL[name])
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool) or not isinstance(value, int | float):
            return
        if isinstance(value, int) and abs(value) < _LARGE:
            self._replace("off by one", node, str(value + 1))
            if value > 0:
                self._replace("off by one", node, str(value - 1))
        elif abs(value) > _GUARD:
            for factor in _FACTORS:
                changed = round(value * factor) if isinstance(value, int) else value * factor
                self._replace("constant", node, f"{changed:.6g}" if changed % 1 else str(changed))

    def visit_If(self, node: ast.If) -> None:
        if ast.unparse(node.test) == "TYPE_CHECKING":
            return
        self._replace("branch removed", node.test, "False")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._replace("branch removed", node.test, "False")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        changes = any(isinstance(n, ast.Attribute | ast.Subscript) for n in node.targets)
        if changes and "__init__" not in self._within:
            self._replace("update removed", node, "pass")
        self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace("update removed", node, "pass")
        if isinstance(node.op, ast.Add | ast.Sub) and not _is_text(node.value):
            old, new = ("+=", "-=") if isinstance(node.op, ast.Add) else ("-=", "+=")
            self._between("sign", node.target, node.value, old, new)
        self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and "__init__" not in self._within:
            self._replace("update removed", node, "pass")
        self.generic_visit(node)


def _is_whole(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "len"


def _is_text(node: ast.expr) -> bool:
    """Operands of a sign that joins instead of adding."""
    joined = isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp)
    return joined or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))
