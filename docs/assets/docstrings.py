"""How docstrings of this project are written, turned into Markdown for the site.

A line followed by indented lines is a term and what it means; lines with >>> are an example.
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

_TERM = re.compile(r"^(?P<term>\w[^\n]*)\n(?P<text>(?:    [^\n]*(?:\n|\Z))+)", re.MULTILINE)
_GROUP = re.compile(r"^(?P<names>\w+(?:, \w+)+)\n(?P<text>(?:    [^\n]*(?:\n|\Z))+)", re.MULTILINE)
_EXAMPLE = re.compile(r"^(?:>>> [^\n]*\n?)(?:[^\n]+(?:\n|\Z))*", re.MULTILINE)


class Docstrings(Extension):
    """Applies `markdown` to every docstring."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """A docstring with definition lists and fenced examples; sections stay as they are."""
    if "\n---" in text:  # numpy's sections have a form of their own
        # Parameters that share a text have types and defaults of their own.
        text = _GROUP.sub(
            lambda found: "".join(
                f"{name}\n{found['text']}" for name in found["names"].split(", ")
            ),
            text,
        )
    else:
        text = _TERM.sub(_definition, text)
        text = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
    return text


def _definition(found: re.Match[str]) -> str:
    lines = [line[4:] for line in found["text"].rstrip("\n").split("\n")]
    terms = ", ".join(f"`{term}`" for term in found["term"].split(", "))
    body = "\n    ".join(lines)
    return f"\n{terms}\n:   {body}\n"
