"""A command with placeholders for parameters."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from noisewise.command.shell import misplaced
from noisewise.problem.space import Space

#: A placeholder for the seed of an evaluation, unless a parameter has this name.
SEED = "seed"
#: The seed of a command that is shown: any would do.
ANY_SEED = 1
#: ``{{word}}`` stands for ``{word}``; ``{word}`` is a placeholder; other braces are themselves.
_WORD = r"[^\s{}=\"':,;]+"
_BRACES = re.compile(r"\{\{(" + _WORD + r")\}\}|\{(" + _WORD + r")\}")


@dataclass(frozen=True)
class Template:
    """Arguments in which ``{name}`` stands for a value; with ``shell`` they are joined with
    spaces and given to the shell, where every value is one word whatever is in it."""

    argv: tuple[str, ...]
    shell: bool = False

    def __post_init__(self) -> None:
        if not self.argv or not self.argv[0]:
            raise ValueError("the program to run must be given after --, got nothing")
        wrong = misplaced(" ".join(self.argv), _BRACES) if self.shell else None
        if wrong:
            raise ValueError(
                f"with --shell a placeholder must not be {wrong[1]}, got {wrong[0]}: "
                f"noisewise quotes values itself, so end the quotes before it, as in "
                f"'text '{wrong[0]}' text', or begin with v={wrong[0]}; and write $v there"
            )

    @property
    def placeholders(self) -> set[str]:
        """Names of all placeholders."""
        return {name for arg in self.argv for name in self._names(arg)}

    def seeded(self, names: Iterable[str]) -> bool:
        """Whether the command has a placeholder for a seed, besides parameters of these names."""
        return SEED in self.placeholders - set(names)

    def check(self, space: Space) -> None:
        """ValueError in one sentence unless exactly the parameters of the space are used."""
        known, used = space.names, self.placeholders
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
            if space.parameters[name].conditions:
                self._check_conditional(name)

    def _check_conditional(self, name: str) -> None:
        """ValueError unless arguments with a parameter that may not apply can be left out."""
        for arg in self.argv:
            names = self._names(arg)
            if name in names and (self.shell or len(names) > 1 or arg == f"{{{name}}}"):
                raise ValueError(
                    f"the parameter {name} does not always apply, so it must stand in an argument "
                    f"of its own that can be left out, such as --{name}={{{name}}} (without "
                    f"--shell), got {arg}"
                )

    @staticmethod
    def _names(arg: str) -> set[str]:
        """Names of the placeholders in an argument."""
        return {match[2] for match in _BRACES.finditer(arg) if match[2]}

    def fill(self, values: Mapping[str, Any]) -> list[str]:
        """The arguments with these values, without those for parameters that do not apply; with
        ``shell``, one text for the shell. It refers to values that are more than letters and digits
        as variables of the `environment`."""
        names = _variables(values)

        def word(name: str, text: str) -> str:
            return f'"${names[name]}"' if name in names else text

        return self._filled(values, word)

    def environment(self, values: Mapping[str, Any]) -> dict[str, str]:
        """The variables that `fill` refers to; so the shell never parses what is in a value."""
        found = _variables(values) if self.shell else {}
        return {variable: _text(values[name]) for name, variable in found.items()}

    def shown(self, values: Mapping[str, Any]) -> str:
        """The command as one would type it, with some seed."""
        filled = self._filled({SEED: ANY_SEED, **values}, lambda name, text: shlex.quote(text))
        return filled[0] if self.shell else shlex.join(filled)

    def _filled(self, values: Mapping[str, Any], word: Callable[[str, str], str]) -> list[str]:
        def value(match: re.Match[str]) -> str:
            if match[1]:
                return f"{{{match[1]}}}"
            text = _text(values[match[2]])
            return word(match[2], text) if self.shell else text

        filled = [_BRACES.sub(value, arg) for arg in self.argv if self._names(arg) <= values.keys()]
        return [" ".join(filled)] if self.shell else filled


def _variables(values: Mapping[str, Any]) -> dict[str, str]:
    """Names of variables for those values that a shell could take for more than a word."""
    return {
        name: f"NOISEWISE_VALUE_{i}"
        for i, (name, value) in enumerate(values.items())
        if shlex.quote(_text(value)) != _text(value)
    }


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, float) else str(value)
