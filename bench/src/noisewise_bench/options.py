"""Tables of the methods' options, made from their docstrings.

``python -m noisewise_bench.options docs/methods.md`` renews every table between
``<!-- options NAME -->`` and ``<!-- /options -->`` of these pages.
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from noisewise import methods

PAGES = ("docs/methods.md",)
_TERM = re.compile(r"^(?P<names>\w+(?:, \w+)*)\n(?P<text>(?:    [^\n]*\n?)+)", re.MULTILINE)
_MARKED = re.compile(r"(?<=<!-- options )(\w+)( -->\n).*?(?=<!-- /options -->)", re.DOTALL)


def table(name: str) -> str:
    """The options of a method that its docstring explains, as a table in Markdown.

    >>> print(table("Resample").splitlines()[2])
    | `k` | `5` | Evaluations of each candidate. |
    """
    method = getattr(methods, name)
    defaults = {f.name: f.default for f in dataclasses.fields(method)}
    lines = ["| option | default | meaning |", "|---|---|---|"]
    for term in _TERM.finditer(inspect.getdoc(method) or ""):
        names = [word for word in term["names"].split(", ") if word in defaults]
        if names:
            meaning = " ".join(term["text"].split()).replace("``", "`").replace("|", "\\|")
            shown = ", ".join(f"`{defaults[word]!r}`" for word in names)
            lines.append(f"| {', '.join(f'`{word}`' for word in names)} | {shown} | {meaning} |")
    return "\n".join(lines)


def renewed(page: str) -> str:
    """``page`` with its tables made anew."""
    return _MARKED.sub(lambda found: f"{found[1]}{found[2]}\n{table(found[1])}\n\n", page)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="noisewise_bench.options", description=__doc__)
    parser.add_argument("pages", type=Path, nargs="+", help="pages to bring up to date")
    for page in parser.parse_args(argv).pages:
        page.write_text(renewed(page.read_text(encoding="utf-8")), encoding="utf-8")
        print(page)
    return 0


if __name__ == "__main__":
    sys.exit(main())
