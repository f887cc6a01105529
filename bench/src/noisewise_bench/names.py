"""Names given on the command line: lists, ranges, options in parentheses, import paths."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any


class BenchError(ValueError):
    """What went wrong, in one sentence for the person who asked."""


@dataclass(frozen=True)
class Spec:
    """A name taken apart: ``cma-es(population=60)`` is base ``cma-es`` with one option."""

    base: str
    options: dict[str, Any]


def parse(name: str) -> Spec:
    """Take apart ``base`` or ``base(key=literal, ...)``."""
    match = re.fullmatch(r"([^()]+)(?:\((.*)\))?", name.strip(), flags=re.DOTALL)
    if match is None:
        raise BenchError(f"a name looks like base or base(key=value), got {name!r}")
    base, inside = match.groups()
    if not inside:
        return Spec(base, {})
    try:
        call = ast.parse(f"_({inside})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args or any(k.arg is None for k in call.keywords):
            raise ValueError("positional")
        options = {str(k.arg): ast.literal_eval(k.value) for k in call.keywords}
    except (SyntaxError, ValueError):
        raise BenchError(
            f"options look like (key=1, other='text') with plain values, got {name!r}"
        ) from None
    return Spec(base, options)


def load(path: str) -> Any:
    """The object at an import path ``module:attribute``."""
    module_name, _, attribute = path.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise BenchError(f"{path!r} cannot be imported: {error}") from None
    if not hasattr(module, attribute):
        raise BenchError(f"module {module_name!r} has no attribute {attribute!r}")
    return getattr(module, attribute)


def split(texts: str | Iterable[str]) -> list[str]:
    """Names separated by commas outside parentheses; several texts are joined."""
    found: list[str] = []
    for text in [texts] if isinstance(texts, str) else texts:
        depth, current = 0, ""
        for character in text:
            depth += (character in "([{") - (character in ")]}")
            if character == "," and depth == 0:
                found.append(current.strip())
                current = ""
            else:
                current += character
        found.append(current.strip())
    return [name for name in found if name]


def numbers(text: str, what: str) -> list[int]:
    """Whole numbers from ``1-15`` or ``1,3,5-7``; ``what`` names the option in the error."""
    found: list[int] = []
    for part in split(text):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?", part)
        if match is None:
            raise BenchError(f"{what} takes whole numbers and ranges such as 1-15, got {part!r}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise BenchError(f"{what} has a range that runs backwards: {part!r}")
        found.extend(range(first, last + 1))
    return list(dict.fromkeys(found))


@dataclass(frozen=True)
class Budget:
    """A number of evaluations: absolute (``800``), per dimension (``200d``), or ``own``."""

    label: str

    @classmethod
    def parse(cls, text: str | int) -> Budget:
        match = re.fullmatch(r"0*([1-9]\d*d?)|(own)", str(text).strip().lower())
        if match is None:
            raise BenchError(f"a budget is a number such as 800 or 200d, or own, got {str(text)!r}")
        return cls(match[1] or match[2])

    def evaluations(self, problem: Any) -> int:
        """How many evaluations this is on a problem; ``own`` is its attribute ``budget``."""
        if self.label == "own":
            if not hasattr(problem, "budget"):
                raise BenchError("the budget 'own' needs problems with the attribute budget")
            return int(problem.budget)
        amount = int(self.label.rstrip("d"))
        return amount * len(problem.x0) if self.label.endswith("d") else amount


def one_of(items: Sequence[str], limit: int = 40) -> str:
    """A readable list of known names for an error, cut after ``limit``."""
    shown = ", ".join(items[:limit])
    return shown if len(items) <= limit else f"{shown}, ... ({len(items)} in all)"
