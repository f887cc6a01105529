"""A command with placeholders for parameters."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

#: A placeholder for the seed of an evaluation, unless a parameter has this name.
SEED = "seed"
#: ``{{word}}`` stands for ``{word}``; ``{word}`` is a placeholder; other braces are themselves.
_WORD = r"[^\s{}=\"':,;]+"
_BRACES = re.compile(r"\{\{(" + _WORD + r")\}\}|\{(" + _WORD + r")\}")


@dataclass(frozen=True)
class Template:
    """Arguments in which ``{name}`` stands for a value; with ``shell`` they are joined with
    spaces and given to the shell, values quoted."""

    argv: tuple[str, ...]
    shell: bool = False

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0]:
            raise ValueError("the program to run must be given after --, got nothing")

    @property
    def placeholders(self) -> set[str]:
        """Names of all placeholders."""
        found = (match[2] for arg in self.argv for match in _BRACES.finditer(arg))
        return {name for name in found if name}

    def seeded(self, names: Iterable[str]) -> bool:
        """Whether the command has a placeholder for a seed, besides parameters of these names."""
        return SEED in self.placeholders - set(names)

    def check(self, names: Iterable[str]) -> None:
        """ValueError in one sentence unless exactly these parameters are used."""
        known, used = list(names), self.placeholders
        for name in known:
            if not re.fullmatch(_WORD, name):
                raise ValueError(
                    "the name of a parameter on the command line must not contain quotes, colons, "
                    f"commas or semicolons, got {name!r}"
                )
        for name in sorted(used - {*known, SEED}):
            raise ValueError(
                f"the command has the placeholder {{{name}}}, but there is no --param {name}=...; "
                f"to keep {{{name}}} as it is, write {{{{{name}}}}}"
            )
        for name in known:
            if name not in used:
                raise ValueError(
                    f"the command does not use the parameter {name}: put {{{name}}} where its "
                    "value belongs"
                )

    def fill(self, values: Mapping[str, Any]) -> list[str]:
        """The arguments with these values; with ``shell``, one text for the shell."""

        def value(match: re.Match[str]) -> str:
            if match[1]:
                return f"{{{match[1]}}}"
            text = _text(values[match[2]])
            return shlex.quote(text) if self.shell else text

        filled = [_BRACES.sub(value, arg) for arg in self.argv]
        return [" ".join(filled)] if self.shell else filled

    def shown(self, values: Mapping[str, Any]) -> str:
        """The command as one would type it; a seed stays a placeholder."""
        filled = self.fill({SEED: "{seed}", **values})
        return filled[0] if self.shell else shlex.join(filled)


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
